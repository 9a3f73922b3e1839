//! Addresses of pages and pictures, relative to any other page.

use forklore_api::export_import::Leaving;
use forklore_vault::StoryKind;
use form_urlencoded::Serializer;

fn with(page: &str, arguments: &[(&str, &str)]) -> String {
    let query = Serializer::new(String::new()).extend_pairs(arguments).finish();
    if query.is_empty() { page.to_owned() } else { format!("{page}?{query}") }
}

/// All stories.
pub fn stories() -> String {
    "./".to_owned()
}

/// What a story is called in addresses, unmistakably.
pub fn story_name(kind: StoryKind, folder: &str) -> String {
    match kind {
        StoryKind::Character => folder.to_owned(),
        StoryKind::Group => format!("group:{folder}"),
    }
}

/// What the story of a chat is called in addresses.
pub fn story_of(chat: &str) -> &str {
    chat.split_once('/').map_or(chat, |(story, _)| story)
}

/// The tree of a story.
pub fn tree(story: &str) -> String {
    with("tree", &[("story", story)])
}

/// The tree of a story, where a chat is in it.
pub fn tree_at(story: &str, chat: &str, at: usize) -> String {
    format!(
        "{}#{}",
        tree(story),
        with("", &[("chat", chat), ("at", &at.to_string())]).trim_start_matches('?')
    )
}

/// The picture of a story.
pub fn picture(story: &str) -> String {
    with("picture", &[("story", story)])
}

/// A chat at a message, or at its last one.
pub fn moment(chat: &str, at: Option<usize>) -> String {
    match at {
        Some(at) => with("moment", &[("chat", chat), ("at", &at.to_string())]),
        None => with("moment", &[("chat", chat)]),
    }
}

/// Two moments side by side.
pub fn compare(a: &str, a_at: Option<usize>, b: Option<&str>, b_at: Option<usize>) -> String {
    let (a_at, b_at) = (a_at.map(|at| at.to_string()), b_at.map(|at| at.to_string()));
    let all = [("a", Some(a)), ("a_at", a_at.as_deref()), ("b", b), ("b_at", b_at.as_deref())];
    let said: Vec<(&str, &str)> = all.iter().filter_map(|(name, value)| Some((*name, (*value)?))).collect();
    with("compare", &said)
}

/// Two lines, to bring one along into the other.
pub fn bring(a: &str, b: Option<&str>) -> String {
    match b {
        Some(b) => with("bring", &[("a", a), ("b", b)]),
        None => with("bring", &[("a", a)]),
    }
}

/// What is wrong with a chat, or with all.
pub fn health(chat: Option<&str>) -> String {
    chat.map_or_else(|| "health".to_owned(), |chat| with("health", &[("chat", chat)]))
}

/// What is wrong with a story.
pub fn health_of_story(story: &str) -> String {
    with("health", &[("story", story)])
}

/// What Forklore did.
pub fn log() -> String {
    "log".to_owned()
}

/// Something to do with a chat: `branch`, `checkpoint`, `rename` or `delete`.
pub fn act(kind: &str, chat: &str, at: Option<usize>) -> String {
    match at {
        Some(at) => with("act", &[("kind", kind), ("chat", chat), ("at", &at.to_string())]),
        None => with("act", &[("kind", kind), ("chat", chat)]),
    }
}

/// A branch from a swipe that is not the one that is shown.
pub fn branch_of_swipe(chat: &str, at: usize, swipe: usize) -> String {
    let said = [("chat", chat), ("at", &at.to_string()), ("swipe", &swipe.to_string())];
    with("act", &[&[("kind", "branch")], &said[..]].concat())
}

/// A chat at a message with so many entries of its lorebook, or those in which something is said.
pub fn lore(chat: &str, at: usize, entries: usize, find: Option<&str>) -> String {
    let (at, entries) = (at.to_string(), entries.to_string());
    let mut said = vec![("chat", chat), ("at", &*at), ("entries", &*entries)];
    said.extend(find.map(|find| ("find", find)));
    with("moment", &said)
}

/// A chat at a message, seen by somebody who comes from another one.
pub fn step(chat: &str, at: usize, from: usize) -> String {
    with("moment", &[("chat", chat), ("at", &at.to_string()), ("from", &from.to_string())])
}

/// What an operation did.
pub fn done(operation: &str) -> String {
    with("done", &[("operation", operation)])
}

/// What healing a chat, or all, would change.
pub fn heal(chat: Option<&str>) -> String {
    chat.map_or_else(|| "heal".to_owned(), |chat| with("heal", &[("chat", chat)]))
}

/// Healing that gives a chat a copy of its own of a lorebook that it shares by choice.
pub fn own_copy(chat: &str) -> String {
    with("heal", &[("chat", chat), (&format!("choose/{chat}"), "copy")])
}

/// Healing that gives a chat a lorebook with what its own line has earned.
pub fn rebuild(chat: &str) -> String {
    with("heal", &[("chat", chat), (&format!("choose/{chat}"), "rebuild")])
}

/// The timeline of an entry, by its number or its title; at a message, or at the last one.
pub fn entry(chat: &str, uid: Option<i64>, title: &str, at: Option<usize>) -> String {
    let entry = uid.map_or_else(|| title.to_owned(), |uid| uid.to_string());
    match at {
        Some(at) => with("entry", &[("chat", chat), ("entry", &entry), ("at", &at.to_string())]),
        None => with("entry", &[("chat", chat), ("entry", &entry)]),
    }
}

/// What happened to a chat, by time.
pub fn history(chat: &str) -> String {
    with("past", &[("chat", chat)])
}

/// Something of a chat that is to come back; `said` says what, and of when.
pub fn bring_back(chat: &str, said: &[(&str, &str)]) -> String {
    with("bring-back", &[&[("chat", chat)], said].concat())
}

/// A story, or a chat of it, that is to be taken along.
pub fn export(what: &str) -> String {
    with("export", &[("what", what)])
}

/// The file of what is taken along.
pub fn export_file(of: &Leaving) -> String {
    let flags =
        [("line", of.line), ("with_card", of.with_card), ("no_history", of.no_history), ("media", of.media)];
    let said = flags.iter().filter(|(_, on)| *on).map(|(name, _)| (*name, "true"));
    with("export-file", &std::iter::once(("what", &*of.what)).chain(said).collect::<Vec<_>>())
}

/// A file that comes from elsewhere.
pub fn import() -> String {
    "import".to_owned()
}

/// The settings; `saved` is the one that was just saved.
pub fn settings(saved: Option<&str>) -> String {
    saved.map_or_else(|| "settings".to_owned(), |saved| with("settings", &[("saved", saved)]))
}

/// How much is kept; `said` is what there is to tell.
pub fn retention(said: &[(&str, &str)]) -> String {
    with("keep", said)
}

/// A chat in SillyTavern, for a page that the plugin passed on: SillyTavern is three folders up, and Forklore's extension there reads
/// the chat from behind the `#`.
pub fn in_sillytavern(chat: &str) -> String {
    format!("../../../#{}", with("", &[("forklore-open", chat)]).trim_start_matches('?'))
}
