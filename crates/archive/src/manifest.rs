//! [`Manifest`]: what is in an export, and how long each part is.

use serde::{Deserialize, Serialize};

use crate::{ArchiveError, LONGEST, PLAIN, VERSION, tar};

/// So many members there can be.
const MOST: usize = 100_000;
/// What a file can unpack to, whatever its size.
const SLACK: u64 = 64 << 20;
/// How many times smaller a chat or a book can be, compressed. Real ones are 3 to 20 times smaller.
const RATIO: u64 = 1_000;
/// How many times smaller history can be: versions of one chat are nearly the same. It is stored compressed again.
const HISTORY_RATIO: u64 = 20_000;

/// What is in an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// "forklore export"
    pub format: String,
    /// Version of the format
    pub version: u32,
    /// The Forklore that wrote it
    pub forklore: String,
    /// When, in milliseconds since 1970
    pub exported: i64,
    /// The story
    pub story: Story,
    /// The chat whose line it is; absent if it is the whole story
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// What follows, in this order
    pub members: Vec<Member>,
}

/// Whose chats they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Story {
    /// "character" or "group"
    pub kind: String,
    /// The card's file stem, or the group's id
    pub folder: String,
    /// The name shown to the user
    pub name: String,
}

/// One file in an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// What it is
    pub kind: MemberKind,
    /// Its name: the stem of the file that it was
    pub name: String,
    /// Its length
    pub bytes: u64,
}

/// What a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemberKind {
    /// What history needs: objects
    Objects,
    /// What history saw: one observation a line
    Observations,
    /// A lorebook
    Book,
    /// The group
    Group,
    /// The character's card
    Card,
    /// An image or a file that chats link to; its name is where it was
    Media,
    /// A chat
    Chat,
}

impl Member {
    fn is_history(&self) -> bool {
        matches!(self.kind, MemberKind::Objects | MemberKind::Observations)
    }

    /// Its name in the tar archive, for people who unpack it by hand. Nothing depends on it.
    pub fn path(&self, number: usize) -> String {
        let plain =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '_' | '#' | '@' | '(' | ')' | '.');
        let good = |name: &str| {
            name.chars().all(plain)
                && name.starts_with(|c: char| c.is_ascii_alphanumeric())
                && !name.ends_with(['.', ' '])
        };
        let good = self.name.len() <= 80
            && match self.kind {
                MemberKind::Media => self.name.split('/').all(good),
                _ => good(&self.name),
            };
        let name = if good { self.name.clone() } else { format!("{number:05}") };
        match self.kind {
            MemberKind::Book => format!("worlds/{name}.json"),
            MemberKind::Group => "group.json".to_owned(),
            MemberKind::Card => "card.png".to_owned(),
            MemberKind::Media => format!("media/{name}"),
            MemberKind::Chat => format!("chats/{name}.jsonl"),
            MemberKind::Objects => "history/objects".to_owned(),
            MemberKind::Observations => "history/observations.jsonl".to_owned(),
        }
    }
}

impl Manifest {
    /// A manifest with nothing in it.
    pub fn new(story: Story, forklore: &str, exported: i64) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: PLAIN,
            forklore: forklore.to_owned(),
            exported,
            story,
            line: None,
            members: Vec::new(),
        }
    }

    /// One more member. What an older Forklore would not know makes it a newer export.
    pub fn add(&mut self, member: Member) {
        if member.kind == MemberKind::Media {
            self.version = VERSION;
        }
        self.members.push(member);
    }

    /// Whether members can be what they are said to be, in a file of `packed` bytes.
    pub(crate) fn check(&self, packed: u64) -> Result<(), ArchiveError> {
        if self.format != FORMAT {
            return Err(ArchiveError::NotOurs);
        }
        if self.version > VERSION {
            return Err(ArchiveError::Newer(self.version));
        }
        if self.members.len() > MOST {
            return Err(ArchiveError::Bomb(format!("{} files", self.members.len())));
        }
        let (mut files, mut history) = (0u64, 0u64);
        for member in &self.members {
            if member.bytes > LONGEST {
                return Err(ArchiveError::Bomb(format!("{} bytes in one file", member.bytes)));
            }
            let sum = if member.is_history() { &mut history } else { &mut files };
            *sum += member.bytes;
        }
        for (sum, ratio) in [(files, RATIO), (history, HISTORY_RATIO)] {
            if sum > packed.saturating_mul(ratio).saturating_add(SLACK) {
                return Err(ArchiveError::Bomb(format!("{sum} bytes in a file of {packed}")));
            }
        }
        let ordered = self.members.is_sorted_by_key(|member| member.kind);
        let once = |kind| self.members.iter().filter(|member| member.kind == kind).count() < 2;
        let single = [MemberKind::Group, MemberKind::Card, MemberKind::Objects, MemberKind::Observations];
        if !ordered || !single.into_iter().all(once) {
            return Err(ArchiveError::Damaged("its parts are not in order".to_owned()));
        }
        Ok(())
    }

    /// The paths of everything that is hashed: the manifest itself, and the members.
    pub(crate) fn paths(&self) -> Vec<String> {
        let members = self.members.iter().enumerate().map(|(n, member)| member.path(n));
        std::iter::once(tar::MANIFEST.to_owned()).chain(members).collect()
    }
}

const FORMAT: &str = "forklore export";
