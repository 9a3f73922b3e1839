//! `stories`, `tree`, `show`, `diff`, `check`, and what waits in the queue.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use forklore_engine::check::{self, CheckReport};
use forklore_engine::diff::{self, DiffReport, Side};
use forklore_engine::gained::{self, GainedReport};
use forklore_engine::messages::{self, MessagesReport};
use forklore_engine::search::{self, SearchReport};
use forklore_engine::show::{self, ShowOperation, ShowReport};
use forklore_engine::stories::{self, StoriesReport};
use forklore_engine::tree::{self, TreeReport};
use forklore_vault::{ChatIx, Library, StoryIx, StoryKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::found::{Found, Stamp};
use crate::library_cache::{self, SharedLibrary};
use crate::{Failure, OpenVault};

/// A chat, by its address.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OneChat {
    /// Address of the chat: FOLDER/CHAT or group:ID/CHAT
    pub chat: String,
}

/// One chat, or all.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnyChat {
    /// Address of the chat; all chats if left out
    pub chat: Option<String>,
}

/// One story, or all.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnyStory {
    /// Name, folder or group id of the story; all stories if left out
    pub story: Option<String>,
}

/// A message of a chat.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spot {
    /// Address of the chat
    pub chat: String,
    /// The message, counted from 0; the last one if left out
    pub at: Option<usize>,
}

/// Two states to compare.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// Address of the first chat
    pub a: String,
    /// Its message; the last one if left out
    pub a_at: Option<usize>,
    /// Address of the second chat; the first one's parent if left out, or the first one itself if only a message is named
    pub b: Option<String>,
    /// Its message; the last one if left out
    pub b_at: Option<usize>,
}

impl Pair {
    /// The states that are meant.
    pub fn spots(&self) -> Vec<Spot> {
        let first = Spot { chat: self.a.clone(), at: self.a_at };
        let same = || self.b_at.map(|_| self.a.clone());
        let second = self.b.clone().or_else(same).map(|chat| Spot { chat, at: self.b_at });
        std::iter::once(first).chain(second).collect()
    }
}

/// What a memory extension still has to do in a chat.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct QueueReport {
    /// Address of the chat
    pub chat: String,
    /// Whether nothing waits or runs
    pub idle: bool,
    /// How many operations wait, run or are being tried again
    pub count: usize,
    /// What those are, each once
    pub types: Vec<String>,
    /// All that the queue holds
    pub operations: Vec<ShowOperation>,
}

/// A part of a chat.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stretch {
    /// Address of the chat
    pub chat: String,
    /// The first message, counted from 0
    pub from: usize,
    /// The last one; at most 200 are given at once
    pub to: usize,
}

/// What is looked for.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// Name, folder or group id of the story; all stories if left out
    pub story: Option<String>,
    /// What is looked for, without regard to case
    pub text: String,
    /// How many messages and entries are known already, and left out
    #[serde(default)]
    pub from: usize,
}

/// A story.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OneStory {
    /// Name, folder or group id of the story
    pub story: String,
}

/// The stories.
pub fn stories(open: &OpenVault<'_>) -> Result<StoriesReport, Failure> {
    let shared = open.shared()?;
    Ok(stories::stories(&shared.library, shared.findings()))
}

/// The fork tree.
pub fn tree(open: &OpenVault<'_>, of: &AnyStory) -> Result<TreeReport, Failure> {
    let shared = open.shared()?;
    let story = of.story.as_deref().map(|name| shared.library.find_story(name)).transpose()?;
    Ok(tree::tree(&shared.library, story, shared.findings())?)
}

/// What forks gained since they were made.
pub fn gained(open: &OpenVault<'_>, of: &OneStory) -> Result<GainedReport, Failure> {
    let shared = open.shared()?;
    Ok(gained::gained(&shared.library, shared.library.find_story(&of.story)?))
}

/// Where something is said.
pub fn search(open: &OpenVault<'_>, of: &Search) -> Result<SearchReport, Failure> {
    let shared = open.shared()?;
    let story = of.story.as_deref().map(|name| shared.library.find_story(name)).transpose()?;
    Ok(search::search(&shared.library, story, &of.text, of.from, open.progress)?)
}

/// What is said in a part of a chat.
pub fn messages(open: &OpenVault<'_>, of: &Stretch) -> Result<MessagesReport, Failure> {
    let shared = open.shared()?;
    Ok(messages::messages(&shared.library, shared.library.find_chat(&of.chat)?, of.from, of.to)?)
}

/// The state at a message.
pub fn show(open: &OpenVault<'_>, spot: &Spot) -> Result<ShowReport, Failure> {
    let shared = open.shared()?;
    Ok(show::show(&shared.library, shared.library.find_chat(&spot.chat)?, spot.at)?)
}

/// What is wrong, and how many chats were looked at.
pub fn check(open: &OpenVault<'_>, of: &AnyChat) -> Result<(CheckReport, usize), Failure> {
    if of.chat.is_some() {
        return Ok((checked(open, of)?.1, 1));
    }
    if open.library_cache.is_none() {
        open.settled();
        // Nothing has changed: nothing is worked out, and no chat is even opened.
        if let Some(found) = Found::recall(&*open.fs, &Stamp::of(&open.fs)) {
            let chats = found.chats;
            return Ok((found.report(), chats));
        }
    }
    let (shared, report) = checked(open, of)?;
    Ok((report, shared.library.chats().len()))
}

/// What is wrong in a vault as it is before or after whatever other Forklores do to it: lorebooks are read only now.
fn checked(open: &OpenVault<'_>, of: &AnyChat) -> Result<(Arc<SharedLibrary>, CheckReport), Failure> {
    let check = |shared: Arc<SharedLibrary>| {
        let only = of.chat.as_deref().map(|name| shared.library.find_chat(name)).transpose()?;
        let report = shared.check(only);
        Ok((shared, report))
    };
    let undisturbed = || {
        let stamp = Stamp::of(&open.fs);
        check(Arc::new(SharedLibrary::new(Library::load(open.fs.clone(), open.progress)?, stamp)))
    };
    library_cache::calmly(&*open.fs, || check(open.shared()?), undisturbed)
}

/// A chat, or all of a story, or everything.
#[derive(Debug, Clone, Default)]
pub struct Patient {
    /// Address of the chat
    pub chat: Option<String>,
    /// Name, folder or group id of the story
    pub story: Option<String>,
}

/// What is wrong, with what the stories are called.
#[derive(Debug, Clone)]
pub struct HealthReport {
    /// What is wrong
    pub check: CheckReport,
    /// How many chats were looked at
    pub chats: usize,
    /// What stories are called, by what their chats' addresses begin with
    pub names: BTreeMap<String, String>,
    /// What the addresses of the story's chats begin with, if only one was looked at
    pub story: Option<String>,
}

/// What is wrong, for people.
pub fn health(open: &OpenVault<'_>, of: &Patient) -> Result<HealthReport, Failure> {
    let (shared, mut check) = checked(open, &AnyChat { chat: of.chat.clone() })?;
    let library = &shared.library;
    let key = |s: StoryIx| {
        let story = library.story(s);
        match story.kind() {
            StoryKind::Character => story.folder().to_owned(),
            StoryKind::Group => format!("group:{}", story.folder()),
        }
    };
    let names = library.stories().map(|(s, story)| (key(s), story.name().to_owned()));
    let mut chats = if of.chat.is_some() { 1 } else { library.chats().len() };
    let (names, mut only) = (names.collect(), None);
    if let Some(name) = of.story.as_deref().filter(|_| of.chat.is_none()) {
        let s = library.find_story(name)?;
        let begin = format!("{}/", key(s));
        let books: HashSet<&str> =
            library.story(s).chats().iter().flat_map(|c| library.chat(*c).bound()).collect();
        check.findings.retain(|finding| match (&finding.chat, &finding.book) {
            (Some(chat), _) => chat.starts_with(&begin),
            (None, Some(book)) => books.contains(book.as_str()),
            (None, None) => false,
        });
        chats = library.story(s).chats().len();
        only = Some(key(s));
    }
    Ok(HealthReport { check, chats, names, story: only })
}

/// As [`check()`], and everything that is kept is read; what can be mended of it is, with `mend`.
pub fn check_deep(open: &OpenVault<'_>, of: &AnyChat, mend: bool) -> Result<(CheckReport, usize), Failure> {
    let (mut report, chats) = check(open, of)?;
    let (deep, findings) = check::deep(&open.library()?, mend)?;
    report.add_deep(deep, findings);
    Ok((report, chats))
}

/// What waits in the queue.
pub fn queue(open: &OpenVault<'_>, of: &OneChat) -> Result<QueueReport, Failure> {
    let shared = open.shared()?;
    let chat = shared.library.find_chat(&of.chat)?;
    queue_of(&shared.library, chat)
}

pub(crate) fn queue_of(library: &Library, chat: ChatIx) -> Result<QueueReport, Failure> {
    let operations = library.operations(chat)?;
    let open = || operations.iter().filter(|op| op.status.is_open());
    let mut types: Vec<String> = open().map(|op| op.kind.clone()).collect();
    types.sort();
    types.dedup();
    let count = open().count();
    let operations = operations.iter().map(|op| ShowOperation {
        id: op.id.clone(),
        kind: op.kind.clone(),
        status: op.status.as_str().to_owned(),
    });
    let address = library.address(chat).to_string();
    Ok(QueueReport { chat: address, idle: count == 0, count, types, operations: operations.collect() })
}

/// What differs between two states; between a fork and its parent, or a message and the last one, if only one is named.
pub fn diff(open: &OpenVault<'_>, spots: &[Spot]) -> Result<DiffReport, Failure> {
    let shared = open.shared()?;
    let library = &shared.library;
    let mut sides = Vec::new();
    for spot in spots {
        sides.push(Side { chat: library.find_chat(&spot.chat)?, at: spot.at });
    }
    let Some(first) = sides.first() else {
        return Err(Failure::usage("no chat is named".to_owned()));
    };
    let (a, b, chosen) = diff::sides(library, *first, sides.get(1).copied())?;
    Ok(diff::diff(library, a, b, chosen)?)
}
