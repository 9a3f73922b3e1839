//! `doctor`: how Forklore is doing here, point by point, each with what to do about it.

use forklore_core::check::Health;
use forklore_engine::doctor::{Grounds, Recorded, grounds, recorded};
use forklore_fs::VaultPath;
use forklore_vault::Library;
use forklore_vault::history::HistoryError;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Failure, OpenVault, now};

/// What a point is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum About {
    /// This program
    Program,
    /// The SillyTavern user folder
    Vault,
    /// What Forklore may read and write, and who else may
    Rights,
    /// What the file system can do
    System,
    /// What is left behind of work that was cut off
    Leftovers,
    /// Whether history is being recorded
    History,
    /// The SillyTavern install
    Sillytavern,
    /// Forklore's plugin in it
    Plugin,
    /// How much room there is
    Disk,
}

impl About {
    /// As a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Vault => "vault",
            Self::Rights => "rights",
            Self::System => "system",
            Self::Leftovers => "leftovers",
            Self::History => "history",
            Self::Sillytavern => "sillytavern",
            Self::Plugin => "plugin",
            Self::Disk => "disk",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Point {
    /// What it is about
    pub about: About,
    /// How that is
    pub health: Health,
    /// In a sentence
    pub message: String,
    /// What to do; nothing if nothing needs to be done
    pub remedy: Option<String>,
}

impl Point {
    /// All is well.
    pub fn well(about: About, message: impl Into<String>) -> Self {
        Self { about, health: Health::Ok, message: message.into(), remedy: None }
    }

    /// Something to be done, or to be known.
    pub fn wants(about: About, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { about, health: Health::Warning, message: message.into(), remedy: Some(remedy.into()) }
    }

    /// Something does not work.
    pub fn fails(about: About, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { health: Health::Error, ..Self::wants(about, message, remedy) }
    }

    /// Something does not work, as it was told.
    pub fn failed(about: About, failure: Failure) -> Self {
        Self::fails(about, failure.message, failure.hint)
    }
}

/// How Forklore is doing in a vault.
pub fn doctor(open: &OpenVault<'_>) -> Vec<Point> {
    let library = match open.library() {
        Ok(library) => library,
        Err(failure) => return vec![Point::failed(About::Vault, failure)],
    };
    let mut points = vec![vault(&library)];
    match grounds(&library, now()) {
        Ok(grounds) => {
            points.push(rights(&library, &grounds));
            points.push(system(&grounds));
            points.push(leftovers(&library, &grounds));
        }
        Err(e) => points.push(Point::failed(About::Rights, e.into())),
    }
    points.push(match recorded(&library, now()) {
        Ok(recorded) => history(&recorded),
        Err(e) => stopped(e),
    });
    points
}

fn vault(library: &Library) -> Point {
    let [stories, chats, books] = [
        (library.stories().len(), "story", "stories"),
        (library.chats().len(), "chat", "chats"),
        (library.books().len(), "lorebook", "lorebooks"),
    ]
    .map(count);
    Point::well(About::Vault, format!("{stories}, {chats}, {books}."))
}

fn rights(library: &Library, grounds: &Grounds) -> Point {
    let closed = &grounds.closed;
    let chats = library.chats().filter(|(_, chat)| chat.unreadable().is_some());
    let unread: Vec<VaultPath> =
        library.not_read().iter().chain(chats.map(|(_, chat)| chat.path())).cloned().collect();
    let names = |paths: &[VaultPath]| match paths {
        [one] => format!("\"{one}\""),
        [one, rest @ ..] => format!("\"{one}\" and {} more", rest.len()),
        [] => String::new(),
    };
    if !closed.is_empty() {
        let message = format!("Forklore may not write into {}: no fork can be made there.", names(closed));
        Point::fails(
            About::Rights,
            message,
            "Run Forklore as the user who runs SillyTavern, or give the folders to that user.",
        )
    } else if !unread.is_empty() {
        let message =
            format!("Forklore may not read {}, or it is a link that leads out of the vault.", names(&unread));
        Point::wants(
            About::Rights,
            message,
            "Give the right to read it, or put the file or folder itself in the link's place.",
        )
    } else if grounds.open {
        let message = "Others on this machine can look into .forklore, where parts of chats are kept.";
        Point::wants(
            About::Rights,
            message,
            "chmod -R go= .forklore, in the vault. The next change closes it, too.",
        )
    } else {
        Point::well(
            About::Rights,
            "Forklore may read and write what it has to, and nobody else looks into its folder.",
        )
    }
}

fn system(grounds: &Grounds) -> Point {
    const ELSEWHERE: &str =
        "Put the vault on a disk of this machine with a journal (ext4, btrfs, XFS, APFS, NTFS).";
    if grounds.exchange == Some(false) {
        let left_alone = "Files cannot trade names on this file system: Forklore makes forks, but leaves the chats alone that SillyTavern may be writing (no links, no heal).";
        return Point::wants(About::System, format!("{left_alone} {}", grounds.guarantee), ELSEWHERE);
    }
    // They can, at once or in steps, or it was not tried yet: it is said what that means, and there is nothing to be done about it.
    Point::well(About::System, grounds.guarantee.clone())
}

fn leftovers(library: &Library, grounds: &Grounds) -> Point {
    let mut left = Vec::new();
    if !library.unfinished().is_empty() {
        left.push(format!(
            "{} of an operation that was cut off",
            count((library.unfinished().len(), "file", "files"))
        ));
    }
    if !library.litter().is_empty() {
        left.push(format!("{} of saves that were cut off", count((library.litter().len(), "file", "files"))));
    }
    if grounds.lost > 0 {
        left.push(format!(
            "{} in .forklore/lost that nobody could place",
            count((grounds.lost, "file", "files"))
        ));
    }
    if left.is_empty() {
        return Point::well(About::Leftovers, "Nothing is left behind.");
    }
    let remedy =
        "`forklore check` names them. What is Forklore's own is finished or taken back by the next change.";
    Point::wants(About::Leftovers, format!("{}.", left.join(", ")), remedy)
}

fn history(recorded: &Recorded) -> Point {
    let place = recorded.outside.as_ref().map(|dir| format!(" in {dir}")).unwrap_or_default();
    let keep = "SillyTavern's plugin records by itself: `forklore install`, and restart SillyTavern. Without it, leave `forklore watch` running.";
    if recorded.closed {
        let message = format!("History is not being recorded: its folder{place} cannot be written.");
        return Point::fails(
            About::History,
            message,
            "Give Forklore the right to write it, or choose another folder: forklore config history.dir PATH",
        );
    }
    if recorded.saves == 0 {
        return Point::wants(
            About::History,
            "Nothing is recorded: what SillyTavern overwrites is gone.",
            keep,
        );
    }
    let [saves, files] = [(recorded.saves, "save", "saves"), (recorded.files, "file", "files")].map(count);
    let known = format!("{saves} of {files}{place}");
    if let Some(first) = recorded.behind.first() {
        let behind = count((recorded.behind.len(), "file", "files"));
        let message = format!(
            "History is not being recorded: {behind} changed since, such as \"{first}\". It has {known}."
        );
        return Point::wants(
            About::History,
            message,
            format!("{keep} `forklore watch --once` records what there is now."),
        );
    }
    Point::well(About::History, format!("Everything is recorded: {known}."))
}

/// History that cannot be read cannot be recorded, either.
fn stopped(e: HistoryError) -> Point {
    let failure = Failure::from(e);
    let mut point = Point::failed(About::History, failure);
    point.message = format!("History is not being recorded: {}", point.message);
    point
}

/// "1 chat", "1,200 chats".
pub fn count((n, one, many): (usize, &str, &str)) -> String {
    let digits = n.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{grouped} {}", if n == 1 { one } else { many })
}
