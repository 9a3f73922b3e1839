//! `tree`: the fork tree of a story, with what each chat carries.

use std::collections::HashMap;

use forklore_core::check::{Code, Finding, Health};
use forklore_core::format::names::chat_stem;
use forklore_core::story::lineage::{Basis, Kind, ParentNote};
use forklore_fs::PathError;
use forklore_journal::oplog::time;
use forklore_vault::{Chat, ChatIx, Library, StoryIx, StoryKind};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{merge, notes};

/// The fork trees of some stories.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TreeReport {
    /// One a story
    pub stories: Vec<StoryTree>,
}

/// The fork tree of one story.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StoryTree {
    /// The name shown to the user
    pub name: String,
    /// Character or group
    pub kind: StoryKind,
    /// The card's file stem, or the group's id
    pub folder: String,
    /// Its chats, parents before their forks
    pub chats: Vec<TreeChat>,
}

/// One chat in the tree.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TreeChat {
    /// Its address
    pub chat: String,
    /// `main`, `branch`, `checkpoint` or `copy`
    pub kind: &'static str,
    /// How many messages it has
    pub messages: usize,
    /// Address of the chat it was forked from
    pub parent: Option<String>,
    /// The last message it has from its parent
    pub fork_message: Option<usize>,
    /// The chat that was brought along into it, if one was
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learnt: Option<TreeLearnt>,
    /// The chat whose messages follow in it, if another one's do
    #[serde(skip_serializing_if = "Option::is_none")]
    pub appended: Option<TreeAppended>,
    /// Whether it is marked as the line that is the story now
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub story: bool,
    /// Whether it is the one that SillyTavern opens with the character or the group. Only pages show it.
    #[serde(skip)]
    pub open: bool,
    /// What people have noted at messages that are its own. Only pages show it.
    #[serde(skip)]
    pub notes: Vec<TreeNote>,
    /// Name of the parent that is gone
    pub lost_parent: Option<String>,
    /// How this is known: `recorded`, `main_chat`, `moments` or `none`
    pub lineage: &'static str,
    /// How sure it is: `certain`, `likely` or `guess`
    pub confidence: &'static str,
    /// Messages that end a scene
    pub scenes: Vec<usize>,
    /// Their titles, in the same order
    pub scene_names: Vec<Option<String>>,
    /// The running recap as stored
    pub running_recap: TreeRecap,
    /// The lorebook
    pub book: TreeBook,
    /// When its file was last changed, as RFC 3339
    pub changed: String,
    /// Worst finding
    pub health: Health,
    /// Codes of its findings, worst first
    pub findings: Vec<Code>,
    /// How deep it stands in the tree; 0 for a chat that was not forked from anything there is
    pub depth: usize,
}

/// A star or a note at a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeNote {
    /// The message
    pub message: usize,
    /// What is written; empty for a star alone
    pub text: String,
}

/// The second parent of a chat: the one whose lore was brought along into it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TreeLearnt {
    /// Its address, if it is still there
    pub chat: Option<String>,
    /// Its name at the time
    pub name: String,
    /// The last message of it that counted
    pub message: usize,
    /// How many conflicts are open
    pub conflicts: usize,
}

/// The second parent of a chat: the one whose messages follow in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TreeAppended {
    /// Its address, if it is still there
    pub chat: Option<String>,
    /// Its name at the time
    pub name: String,
    /// The first of its messages that follows
    pub first: usize,
    /// The last one
    pub message: usize,
}

/// The running recap in the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TreeRecap {
    /// Number of the version in use
    pub current: Option<i64>,
    /// How many versions there are
    pub versions: usize,
}

/// The lorebook in the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TreeBook {
    /// Its name as the chat has it
    pub name: Option<String>,
    /// `own`, `shared`, `missing` or `none`
    pub state: &'static str,
}

/// A chat's name without the part that it has from one of its ancestors, and without what its story is called: what tells it from
/// the others. `…` stands where an ancestor's name was. `ancestors` begins with the farthest.
pub fn short_name(name: &str, story: &str, ancestors: &[&str]) -> String {
    let rest = |ancestor: &&str| name.strip_prefix(*ancestor).filter(|rest| rest.starts_with(" - "));
    if let Some(rest) = ancestors.iter().rev().find_map(rest) {
        return format!("…{rest}");
    }
    let own = name.strip_prefix(story).and_then(|rest| rest.strip_prefix(" - "));
    own.filter(|rest| !rest.trim().is_empty()).unwrap_or(name).to_owned()
}

/// The tree of the given story, or of all.
pub fn tree(
    library: &Library,
    story: Option<StoryIx>,
    findings: &[Finding],
) -> Result<TreeReport, PathError> {
    let mut by_chat: HashMap<&str, Vec<&Finding>> = HashMap::new();
    for finding in findings {
        if let Some(chat) = &finding.chat {
            by_chat.entry(chat).or_default().push(finding);
        }
    }
    let wanted = library.stories().map(|(s, _)| s).filter(|s| story.is_none_or(|only| only == *s));
    let noted = noted(library);
    let stories = wanted.map(|s| story_tree(library, s, &by_chat, &noted)).collect::<Result<_, _>>()?;
    Ok(TreeReport { stories })
}

fn story_tree(
    library: &Library,
    s: StoryIx,
    findings: &HashMap<&str, Vec<&Finding>>,
    noted: &HashMap<ChatIx, Vec<TreeNote>>,
) -> Result<StoryTree, PathError> {
    let story = library.story(s);
    let order = in_tree_order(library, story.chats());
    let chat = |(c, depth): (ChatIx, usize)| {
        let notes = noted.get(&c).cloned().unwrap_or_default();
        Ok(TreeChat { notes, ..tree_chat(library, c, depth, findings)? })
    };
    let chats = order.into_iter().map(chat).collect::<Result<_, PathError>>()?;
    Ok(StoryTree {
        name: story.name().to_owned(),
        kind: story.kind(),
        folder: story.folder().to_owned(),
        chats,
    })
}

/// Every note once: with the chat whose own message it is at, wherever it was written.
fn noted(library: &Library) -> HashMap<ChatIx, Vec<TreeNote>> {
    let mut noted: HashMap<ChatIx, Vec<TreeNote>> = HashMap::new();
    // Notes that cannot be read are told to whoever writes one.
    for note in notes::all(&**library.fs()).unwrap_or_default().notes {
        let Some(mut c) = notes::place(library, &note) else { continue };
        // As many steps as there are chats: some are each other's parents.
        for _ in 0..library.chats().len() {
            let lineage = library.chat(c).lineage();
            match lineage.parent {
                Some(parent) if lineage.fork_message.is_some_and(|at| note.message <= at) => c = parent,
                _ => break,
            }
        }
        noted.entry(c).or_default().push(TreeNote { message: note.message, text: note.text });
    }
    noted
}

/// Parents before their forks, forks in the order of their fork points.
pub(super) fn in_tree_order(library: &Library, chats: &[ChatIx]) -> Vec<(ChatIx, usize)> {
    let story = chats.first().map(|c| library.chat(*c).story());
    let parent =
        |c: ChatIx| library.chat(c).lineage().parent.filter(|p| Some(library.chat(*p).story()) == story);
    let mut children: HashMap<Option<ChatIx>, Vec<ChatIx>> = HashMap::new();
    for c in chats {
        children.entry(parent(*c)).or_default().push(*c);
    }
    for list in children.values_mut() {
        // Forks of the same lost parent stand together, after all others.
        list.sort_by_key(|c| {
            let chat = library.chat(*c);
            (lost_parent(chat).map(str::to_owned), chat.lineage().fork_message, chat.name().to_owned())
        });
    }
    let mut order = Vec::with_capacity(chats.len());
    let mut todo: Vec<(ChatIx, usize)> = Vec::new();
    let mut roots = children.remove(&None).unwrap_or_default();
    loop {
        todo.extend(roots.drain(..).rev().map(|c| (c, 0)));
        while let Some((c, depth)) = todo.pop() {
            order.push((c, depth));
            let forks = children.remove(&Some(c)).unwrap_or_default();
            todo.extend(forks.into_iter().rev().map(|fork| (fork, depth + 1)));
        }
        // Chats that are each other's parents would never be reached from a root: start with any of them.
        match children.keys().next().copied() {
            Some(key) => roots = children.remove(&key).unwrap_or_default(),
            None => return order,
        }
    }
}

/// Whether a chat is the one that SillyTavern opens.
fn opens(library: &Library, chat: &Chat) -> bool {
    let story = library.story(chat.story());
    let current = match story.kind() {
        StoryKind::Character => {
            library.cards().get(story.folder()).and_then(|card| card.current_chat.as_deref())
        }
        StoryKind::Group => {
            library.groups().get(story.folder()).and_then(|group| group.current_chat.as_deref())
        }
    };
    current.is_some_and(|name| chat_stem(name) == chat.name())
}

fn tree_chat(
    library: &Library,
    c: ChatIx,
    depth: usize,
    findings: &HashMap<&str, Vec<&Finding>>,
) -> Result<TreeChat, PathError> {
    let chat = library.chat(c);
    let address = library.address(c).to_string();
    let mut found: Vec<&Finding> = findings.get(address.as_str()).cloned().unwrap_or_default();
    found.sort_by_key(|f| std::cmp::Reverse(f.severity));
    let mut codes: Vec<Code> = found.iter().map(|f| f.code).collect();
    codes.dedup();
    let running = chat.running_outline();
    let scenes = || chat.facts().scenes.iter().filter(|(_, scene)| scene.is_real());
    Ok(TreeChat {
        kind: kind(chat.lineage().kind),
        messages: chat.transcript().len(),
        parent: chat.lineage().parent.map(|p| library.address(p).to_string()),
        fork_message: chat.lineage().fork_message,
        learnt: learnt_of(library, chat),
        appended: appended_of(library, chat),
        story: merge::adopt::is_story(chat),
        open: opens(library, chat),
        notes: Vec::new(),
        lost_parent: lost_parent(chat).map(str::to_owned),
        lineage: basis(chat.lineage().basis),
        confidence: chat.lineage().confidence.as_str(),
        scenes: scenes().map(|(m, _)| *m).collect(),
        scene_names: scenes().map(|(_, scene)| scene.name.clone()).collect(),
        running_recap: TreeRecap {
            current: running.and_then(|r| r.current),
            versions: running.map_or(0, |r| r.versions.len()),
        },
        book: book_of(library, c)?,
        changed: time(chat.modified() / 1_000_000),
        health: Health::of(found.iter().copied()),
        findings: codes,
        depth,
        chat: address,
    })
}

fn appended_of(library: &Library, chat: &Chat) -> Option<TreeAppended> {
    let appended = chat.record()?.appended.as_ref()?;
    Some(TreeAppended {
        chat: merge::appended_from(library, chat).map(|c| library.address(c).to_string()),
        name: appended.file.clone(),
        first: appended.first,
        message: appended.message,
    })
}

fn learnt_of(library: &Library, chat: &Chat) -> Option<TreeLearnt> {
    let learnt = merge::learnt(chat)?;
    Some(TreeLearnt {
        chat: merge::second_parent(library, chat).map(|c| library.address(c).to_string()),
        name: learnt.file.clone(),
        message: learnt.message,
        conflicts: learnt.conflicts.len(),
    })
}

/// Where a chat stands in its story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Place {
    /// `main`, `branch`, `checkpoint` or `copy`
    pub kind: &'static str,
    /// Address of the chat it was forked from
    pub parent: Option<String>,
    /// The last message it has from its parent
    pub message: Option<usize>,
    /// The other forks of that chat, by their fork points
    pub siblings: Vec<Sibling>,
}

/// Another fork of the same chat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Sibling {
    /// Its address
    pub chat: String,
    /// The last message it has from the parent
    pub message: Option<usize>,
}

/// Where a chat stands in its story.
pub fn place_of(library: &Library, c: ChatIx) -> Place {
    let chat = library.chat(c);
    let parent = chat.lineage().parent;
    let others = library.story(chat.story()).chats().iter().copied();
    let mut forks: Vec<ChatIx> = others
        .filter(|o| *o != c && parent.is_some() && library.chat(*o).lineage().parent == parent)
        .collect();
    forks.sort_by_key(|o| (library.chat(*o).lineage().fork_message, library.chat(*o).name()));
    let sibling = |o: ChatIx| Sibling {
        chat: library.address(o).to_string(),
        message: library.chat(o).lineage().fork_message,
    };
    Place {
        kind: kind(chat.lineage().kind),
        parent: parent.map(|p| library.address(p).to_string()),
        message: chat.lineage().fork_message,
        siblings: forks.into_iter().map(sibling).collect(),
    }
}

fn lost_parent(chat: &Chat) -> Option<&str> {
    match &chat.lineage().note {
        Some(ParentNote::Missing(name)) => Some(name),
        _ => None,
    }
}

/// The word for a kind of chat.
pub fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Main => "main",
        Kind::Branch => "branch",
        Kind::Checkpoint => "checkpoint",
        Kind::Copy => "copy",
    }
}

fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::Recorded => "recorded",
        Basis::MainChat => "main_chat",
        Basis::Moments => "moments",
        Basis::None => "none",
    }
}

/// The lorebook of a chat, and how it stands to it.
pub fn book_of(library: &Library, c: ChatIx) -> Result<TreeBook, PathError> {
    let name = library.chat(c).book().map(|(name, _)| name.to_owned());
    Ok(TreeBook { name, state: book_state(library, c)? })
}

fn book_state(library: &Library, c: ChatIx) -> Result<&'static str, PathError> {
    let Some((_, stem)) = library.chat(c).book() else { return Ok("none") };
    if !library.books().contains_key(stem) {
        return Ok("missing");
    }
    let users = library.users_of(stem);
    if users.len() < 2 {
        return Ok("own");
    }
    Ok(if library.is_machine_kept(stem)? && library.owner_of(stem) == Some(c) { "own" } else { "shared" })
}
