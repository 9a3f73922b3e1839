//! `check`: everything that is wrong in a vault, as far as files can tell. One module a topic; each rule adds [`Finding`]s.

mod baseline;
mod books;
mod deep;
mod entries;
mod files;
mod incremental;
mod kinship;
mod queue;
mod recaps;

use forklore_core::check::{Code, Finding, Remedy, Severity};
use forklore_fs::PathError;
use forklore_vault::{ChatIx, Library};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::baseline::{Entering, entering};
pub use self::deep::{DeepReport, deep};
pub use self::incremental::check_changed;

/// What `check` found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CheckReport {
    /// Whether there is no error. Warnings are allowed.
    pub ok: bool,
    /// What was found, chat by chat.
    pub findings: Vec<Finding>,
    /// What to tell on entering the chat that was asked about, if Forklore made it
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entering: Option<Entering>,
    /// What can be relied on here, by what the disk promises, in a sentence
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guarantee: Option<String>,
    /// What reading everything that is kept came to, if that was asked for
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deep: Option<DeepReport>,
    /// Whether work is running somewhere: then it depends on the time what is found
    #[serde(skip)]
    pub timed: bool,
}

impl CheckReport {
    /// A report of these findings.
    pub fn of(findings: Vec<Finding>) -> Self {
        Self {
            ok: findings.iter().all(|f| f.severity != Severity::Error),
            findings,
            entering: None,
            guarantee: None,
            deep: None,
            timed: false,
        }
    }

    /// Adds what reading everything came to.
    pub fn add_deep(&mut self, deep: DeepReport, findings: Vec<Finding>) {
        self.ok &= findings.iter().all(|finding| finding.severity != Severity::Error);
        self.findings.extend(findings);
        self.deep = Some(deep);
    }
}

/// Checks the vault, or one chat and what it is bound to. `now` is the time in milliseconds since 1970.
pub fn check(library: &Library, only: Option<ChatIx>, now: i64) -> CheckReport {
    let chats: Vec<ChatIx> = only.map_or_else(|| library.chat_ixs().collect(), |c| vec![c]);
    library.get_ready();
    let found: Vec<(Vec<Finding>, bool)> =
        chats.par_iter().map(|c| of_chat(library, *c, only.is_some(), now)).collect();
    let books = library.books().keys().filter(|_| only.is_none());
    let books: Vec<OfBook> = books.map(|stem| of_book(library, stem, now)).collect();
    report(library, only, now, found, books)
}

/// What is found in one chat, and whether that depends on the time.
fn of_chat(library: &Library, c: ChatIx, alone: bool, now: i64) -> (Vec<Finding>, bool) {
    let mut checker = Checker { library, now, findings: Vec::new(), timed: false };
    checker.damage(c);
    checker.kinship(c);
    checker.links(c);
    checker.recaps(c);
    checker.conflicts(c);
    if let Err(e) = checker.book_of(c, alone) {
        checker.unreadable_book(c, &e);
    }
    checker.accepted(c);
    (checker.findings, checker.timed)
}

/// What is found in one lorebook.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct OfBook {
    stem: String,
    findings: Vec<Finding>,
    /// The extension that keeps it
    keeper: Option<String>,
}

fn of_book(library: &Library, stem: &str, now: i64) -> OfBook {
    let mut checker = Checker { library, now, findings: Vec::new(), timed: false };
    // One that cannot be read is told with the chats that are bound to it.
    let keeper = checker.book(stem).ok().flatten().map(str::to_owned);
    OfBook { stem: stem.to_owned(), findings: checker.findings, keeper }
}

/// What was found in chats and lorebooks, with what can be found only in all of them together.
fn report(
    library: &Library,
    only: Option<ChatIx>,
    now: i64,
    chats: Vec<(Vec<Finding>, bool)>,
    books: Vec<OfBook>,
) -> CheckReport {
    let timed = chats.iter().any(|(_, timed)| *timed);
    let findings = chats.into_iter().flat_map(|(findings, _)| findings).collect();
    let mut checker = Checker { library, now, findings, timed };
    if only.is_none() {
        checker.books(books);
        checker.left_overs();
    }
    checker.slugs(only);
    let entering = only.and_then(|c| entering(library, c));
    CheckReport {
        entering,
        guarantee: Some(library.fs().guarantee().sentence()),
        timed,
        ..CheckReport::of(checker.findings)
    }
}

struct Checker<'a> {
    library: &'a Library,
    now: i64,
    findings: Vec<Finding>,
    /// Whether what is found depends on the time
    timed: bool,
}

impl Checker<'_> {
    fn add(
        &mut self,
        code: Code,
        severity: Severity,
        chat: Option<ChatIx>,
        book: Option<&str>,
        message: String,
        remedy: impl Into<Remedy>,
    ) {
        let Remedy { typed: remedy, shown: to_do, heals } = remedy.into();
        self.findings.push(Finding {
            code,
            severity,
            chat: chat.map(|c| self.library.address(c).to_string()),
            book: book.map(str::to_owned),
            message,
            remedy,
            to_do,
            heals,
        });
    }

    /// Everything about the book that a chat is bound to.
    fn book_of(&mut self, c: ChatIx, alone: bool) -> Result<(), PathError> {
        self.bound_book(c)?;
        if alone && let Some(stem) = self.library.chat(c).book_stem() {
            self.book(stem)?;
        }
        self.entries(c)?;
        self.baseline(c)?;
        self.queue(c)
    }

    fn unreadable_book(&mut self, c: ChatIx, e: &PathError) {
        let book = self.library.chat(c).book_stem();
        let message = format!("What belongs to its lorebook cannot be read: {e}.");
        self.add(Code::BookDamaged, Severity::Error, Some(c), book, message, MAY_READ);
    }

    /// The name of a chat, for a sentence.
    fn name(&self, chat: ChatIx) -> &str {
        self.library.chat(chat).name()
    }
}

/// What to do about a file that the system does not let us read.
const MAY_READ: &str = "Give Forklore (and SillyTavern) the right to read the file, and look at the disk.";

/// "a, b, c and 4 more".
fn list(names: &[String], most: usize) -> String {
    and_more(&names[..names.len().min(most)], names.len())
}

/// The first of so many names.
fn and_more(first: &[String], all: usize) -> String {
    match all.saturating_sub(first.len()) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// "1 entry", "3 entries".
fn count(n: usize, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {many}") }
}
