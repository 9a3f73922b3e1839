//! What is where in a vault: cards, groups, stories and the files of their chats. What is closed to us is told of, and keeps nobody from
//! finding the rest.

use std::collections::BTreeMap;

use forklore_core::format::card::Card;
use forklore_core::format::group::Group;
use forklore_core::format::names::{chat_stem, is_save_litter};
use forklore_fs::{NodeKind, PathError, VaultPath, Vfs};
use forklore_journal::layout;
use rayon::prelude::*;

use crate::StoryIx;
use crate::library::{Story, StoryKind};

/// Id of the story for group chats that no group lists any more.
pub(super) const NO_GROUP: &str = "-";

/// Files of a folder with an extension, as (stem, path); litter and links that lead nowhere we may go are set aside.
pub(super) fn files(
    fs: &dyn Vfs,
    dir: &VaultPath,
    extension: &str,
    litter: &mut Vec<VaultPath>,
    links: &mut Vec<VaultPath>,
) -> Result<Vec<(String, VaultPath)>, PathError> {
    let mut found = Vec::new();
    for node in fs.list(dir)? {
        let Ok(path) = dir.join(&node.name) else { continue };
        match node.kind {
            NodeKind::File if is_save_litter(&node.name) => litter.push(path),
            NodeKind::File => {
                if let Some(stem) = node.name.strip_suffix(extension) {
                    found.push((stem.to_owned(), path));
                }
            }
            NodeKind::Other if node.name.ends_with(extension) => links.push(path),
            NodeKind::Dir | NodeKind::Other => {}
        }
    }
    Ok(found)
}

/// What is in a folder; a folder that is closed to us is told of, and keeps nobody from reading the others.
pub(super) fn or_closed<T: Default>(
    found: Result<T, PathError>,
    dir: &VaultPath,
    not_read: &mut Vec<VaultPath>,
) -> T {
    found.unwrap_or_else(|_| {
        not_read.push(dir.clone());
        T::default()
    })
}

pub(super) fn read_cards(fs: &dyn Vfs, not_read: &mut Vec<VaultPath>) -> BTreeMap<String, Card> {
    let dir = layout::folder(layout::CHARACTERS);
    let paths = or_closed(files(fs, &dir, ".png", &mut Vec::new(), &mut Vec::new()), &dir, not_read);
    let read = |(stem, path): (String, VaultPath)| {
        // One that cannot be read may name any lorebook.
        let (bytes, closed) = match fs.read(&path) {
            Ok(bytes) => (bytes, None),
            Err(e) => (None, Some(e.path)),
        };
        // A picture without a character in it is no card, but its folder of chats has a name all the same.
        let card = bytes.and_then(|png| Card::parse(&png));
        let card = card.unwrap_or_else(|| Card { name: stem.clone(), ..Card::default() });
        (stem, card, closed)
    };
    let read: Vec<_> = paths.into_par_iter().map(read).collect();
    not_read.extend(read.iter().filter_map(|(.., closed)| closed.clone()));
    read.into_iter().map(|(stem, card, _)| (stem, card)).collect()
}

pub(super) fn read_groups(
    fs: &dyn Vfs,
    litter: &mut Vec<VaultPath>,
    not_read: &mut Vec<VaultPath>,
) -> BTreeMap<String, Group> {
    let mut groups = BTreeMap::new();
    let dir = layout::folder(layout::GROUPS);
    let found = files(fs, &dir, ".json", litter, not_read);
    for (stem, path) in or_closed(found, &dir, not_read) {
        match fs.read(&path) {
            Ok(bytes) => match bytes.and_then(|bytes| Group::parse(&bytes, &stem)) {
                Some(group) => drop(groups.insert(group.id.clone(), group)),
                None => not_read.push(path),
            },
            Err(_) => not_read.push(path),
        }
    }
    groups
}

type Places = Vec<(StoryIx, String, VaultPath)>;

/// The stories, still without chats, and where the chats are.
pub(super) fn find_chats(
    fs: &dyn Vfs,
    cards: &BTreeMap<String, Card>,
    groups: &BTreeMap<String, Group>,
    litter: &mut Vec<VaultPath>,
    not_read: &mut Vec<VaultPath>,
) -> Result<(Vec<Story>, Places), PathError> {
    let mut stories: Vec<Story> = Vec::new();
    let mut places = Vec::new();
    let chats = layout::folder(layout::CHATS);
    for node in fs.list(&chats)? {
        let Ok(dir) = chats.join(&node.name) else { continue };
        match node.kind {
            NodeKind::Dir => {}
            NodeKind::Other => {
                not_read.push(dir);
                continue;
            }
            NodeKind::File => continue,
        }
        let found = files(fs, &dir, ".jsonl", litter, not_read);
        // A story whose folder is closed to us is one all the same.
        let closed = found.is_err();
        let found = or_closed(found, &dir, not_read);
        if found.is_empty() && !closed && !cards.contains_key(&node.name) {
            continue;
        }
        let name = cards.get(&node.name).map(|card| card.name.clone()).filter(|name| !name.is_empty());
        let story = StoryIx::new(stories.len());
        stories.push(Story {
            kind: StoryKind::Character,
            name: name.unwrap_or_else(|| node.name.clone()),
            folder: node.name,
            chats: Vec::new(),
        });
        places.extend(found.into_iter().map(|(stem, path)| (story, stem, path)));
    }
    let dir = layout::folder(layout::GROUP_CHATS);
    let in_groups = files(fs, &dir, ".jsonl", litter, not_read);
    let in_groups = or_closed(in_groups, &dir, not_read);
    let mut left: BTreeMap<String, VaultPath> = in_groups.into_iter().collect();
    for group in groups.values() {
        let story = StoryIx::new(stories.len());
        let name = if group.name.is_empty() { group.id.clone() } else { group.name.clone() };
        stories.push(Story { kind: StoryKind::Group, folder: group.id.clone(), name, chats: Vec::new() });
        let mut listed: Vec<String> =
            group.chats.iter().chain(&group.current_chat).map(|c| chat_stem(c)).collect();
        listed.sort();
        listed.dedup();
        places.extend(
            listed
                .into_iter()
                .filter_map(|stem| left.remove_entry(&stem))
                .map(|(stem, path)| (story, stem, path)),
        );
    }
    if !left.is_empty() {
        let story = StoryIx::new(stories.len());
        let name = "Chats of no group".to_owned();
        stories.push(Story { kind: StoryKind::Group, folder: NO_GROUP.to_owned(), name, chats: Vec::new() });
        places.extend(left.into_iter().map(|(stem, path)| (story, stem, path)));
    }
    Ok((stories, places))
}
