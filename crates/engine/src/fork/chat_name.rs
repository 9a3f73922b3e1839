//! What a fork is called: [`fork_name`], and [`place`], the file and the address that go with it.

use std::collections::HashSet;

use forklore_config::Config;
use forklore_core::fork::ForkKind;
use forklore_core::fork::names::{self, TemplateValues};
use forklore_core::format::names::chat_stem;
use forklore_fs::VaultPath;
use forklore_vault::address::Address;
use forklore_vault::{ChatIx, Library};

use super::ForkError;
use super::request::Spot;

/// The name of the fork: as typed, by the user's template, or as SillyTavern would make it.
pub(super) fn fork_name(library: &Library, spot: &Spot<'_>, config: &Config) -> Result<String, ForkError> {
    let chat = library.chat(spot.chat);
    // Names are compared without regard to case: on some systems they are the same file.
    let dir = chat.path().parent();
    let mut used: HashSet<String> =
        library.fs().list(&dir)?.iter().map(|node| node.name.to_lowercase()).collect();
    let story = library.story(chat.story());
    for name in library.groups().get(story.folder()).into_iter().flat_map(|group| &group.chats) {
        used.insert(format!("{}.jsonl", chat_stem(name).to_lowercase()));
    }
    let taken = |stem: &str| used.contains(&format!("{}.jsonl", stem.to_lowercase()));
    if let Some(typed) = &spot.request.name {
        let name = names::typed(typed).map_err(|why| ForkError::InvalidName { name: typed.clone(), why })?;
        return if taken(&name) { Err(ForkError::NameTaken(name)) } else { Ok(name) };
    }
    // The name of a chat that is gone is not free while others say that they come from it: they would get a new parent.
    let siblings = story.chats().iter().map(|c| library.chat(*c));
    let parents = siblings.filter_map(|chat| chat.main_chat().map(str::to_lowercase));
    let remembered: HashSet<String> = parents.collect();
    let taken = |stem: &str| taken(stem) || remembered.contains(&stem.to_lowercase());
    if spot.kind == ForkKind::Checkpoint {
        if !config.checkpoint.auto_name {
            return Err(ForkError::NameRequired);
        }
        let real: Vec<_> = chat
            .facts()
            .scenes
            .iter()
            .filter(|(message, scene)| *message <= spot.at && scene.is_real())
            .collect();
        let values = TemplateValues {
            scene_number: Some(real.len()).filter(|n| *n > 0),
            scene_name: real.last().and_then(|(_, scene)| scene.name.as_deref()),
            message: spot.at,
            chat: chat.name(),
        };
        let template = &config.checkpoint.name_template;
        if !template.is_empty()
            && let Some(name) = names::from_template(template, &values, &taken)
        {
            return Ok(name);
        }
    }
    Ok(names::automatic(chat.name(), spot.kind, &taken))
}

/// File and address of a new chat beside another.
pub(super) fn place(library: &Library, c: ChatIx, name: &str) -> Result<(VaultPath, Address), ForkError> {
    let dir = library.chat(c).path().parent();
    let invalid = |_| ForkError::NameTaken(name.to_owned());
    let target = dir.join(&format!("{name}.jsonl")).map_err(invalid)?;
    Ok((target, Address { chat: name.to_owned(), ..library.address(c) }))
}
