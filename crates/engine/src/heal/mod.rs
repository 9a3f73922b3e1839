//! `heal`: forks that were made elsewhere are adopted and get what is theirs; what `check` found is repaired.
//!
//! [`plan`] looks at every chat on its own (see `remedies`), asks where somebody has to decide, and gives a [`HealPlan`]: new books, edits of
//! headers, old books that nothing needs any more. [`execute`] makes all of it one operation. No existing book is ever written:
//! open pages keep books in memory and write them back whole, so a book that is wrong is left, and the chat bound to a right one.

mod links;
mod own_book;
mod record;
mod remedies;

use std::collections::BTreeMap;

use forklore_config::Config;
use forklore_core::check::{Code, Finding, Severity};
use forklore_core::format::names::book_stem;
use forklore_fs::{Part, PathError, VaultPath};
use forklore_journal::operation::{Edit, Kind};
use forklore_journal::{About, TxError, layout};
use forklore_vault::state::at::StateError;
use forklore_vault::{ChatIx, Library, Progress};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::remedies::{ChatToHeal, Remedies};
use super::check::check;
use super::finder::finder;

/// What becomes of a book that is missing, another chat's, or shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Choice {
    /// The same book under its new name
    Follow,
    /// A new book with what this chat's own line has earned
    Rebuild,
    /// A new book without entries
    Empty,
    /// A copy of the parent's book as it is now
    Copy,
    /// No book
    Detach,
    /// Leave it, and say no more
    Accept,
}

/// Something that somebody has to decide.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Question {
    /// What it is about
    pub code: Code,
    /// Address of the chat
    pub chat: String,
    /// The book as the chat has it
    pub book: String,
    /// What is the case, in a sentence
    pub text: String,
    /// What can be chosen here
    pub choices: Vec<Choice>,
    /// The book that would be copied: the parent's, or the chat's own
    pub copy_of: Option<String>,
    /// Whether saying nothing leaves it as it is: the chat would leave a book that it uses now
    pub ask_first: bool,
}

impl Question {
    /// Whether a copy would be one of the chat's own book.
    pub fn copies_its_own(&self) -> bool {
        self.copy_of.as_ref() == Some(&self.book)
    }

    /// Whether nothing is wrong: it is answered only by whoever wants something else.
    pub fn is_optional(&self) -> bool {
        self.code == Code::BookSharedByChoice
    }
}

/// Who decides. `None` leaves it as it is.
pub type Decide<'a> = dyn Fn(&Question) -> Option<Choice> + 'a;

/// What was healed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HealReport {
    /// Id of the operation; nothing if there was nothing to do, or it was only planned
    pub operation: Option<String>,
    /// What was done
    pub actions: Vec<Action>,
    /// Entries of old books that nobody can attribute: they stay there, and a copy is kept in the record of the chat that left
    pub quarantined: Vec<Quarantined>,
    /// What is still there
    pub left: Vec<Finding>,
}

/// An entry that was put aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Quarantined {
    /// Address of the chat that goes on without it
    pub chat: String,
    /// The book that has it
    pub book: String,
    /// Its number
    pub uid: Option<i64>,
    /// Its title
    pub comment: String,
}

/// One thing that was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Action {
    /// The finding that it answers
    pub code: Code,
    /// Address of the chat
    pub chat: String,
    /// The book
    pub book: Option<String>,
    /// What was done, in a phrase
    pub did: String,
}

/// Why nothing was healed.
#[derive(Debug, thiserror::Error)]
pub enum HealError {
    /// The file system cannot let files trade names, so nothing that SillyTavern may write is touched.
    #[error("On this file system chats cannot be changed without the risk of losing a save")]
    NoExchange,
    /// A header cannot be edited.
    #[error("The header of \"{0}\" cannot be edited")]
    CorruptHeader(String),
    /// The state of a book cannot be told.
    #[error(transparent)]
    State(#[from] StateError),
    /// It could not be done.
    #[error(transparent)]
    Tx(#[from] TxError),
    /// The system said no.
    #[error(transparent)]
    Path(#[from] PathError),
}

/// A cure that is worked out.
pub struct HealPlan {
    /// What is told of it
    pub report: HealReport,
    books: Vec<(VaultPath, Vec<u8>)>,
    edits: Vec<Edit>,
    retire: Vec<VaultPath>,
    chats: Vec<ChatIx>,
}

impl HealPlan {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.books.is_empty() && self.edits.is_empty()
    }

    /// The chats that are changed, and the books that they have until then.
    pub fn files(&self, library: &Library) -> Vec<VaultPath> {
        let mut files = self.retire.clone();
        for chat in self.chats.iter().map(|c| library.chat(*c)) {
            files.push(chat.path().clone());
            files.extend(chat.book_stem().and_then(|stem| layout::book(stem).ok()));
        }
        files.sort();
        files.dedup();
        files
    }
}

/// Works out what to do for chat `only`, or for all.
pub fn plan(
    library: &Library,
    only: Option<ChatIx>,
    config: &Config,
    decide: &Decide<'_>,
    now: i64,
    progress: &dyn Progress,
) -> Result<HealPlan, HealError> {
    let findings = check(library, only, now).findings;
    let chats: Vec<ChatIx> = only.map_or_else(|| library.chat_ixs().collect(), |c| vec![c]);
    let mut plan = HealPlan {
        report: HealReport {
            operation: None,
            actions: Vec::new(),
            quarantined: Vec::new(),
            left: Vec::new(),
        },
        books: Vec::new(),
        edits: Vec::new(),
        retire: Vec::new(),
        chats: Vec::new(),
    };
    // Slugs that this very operation gives: a fork's record names its parent's new one.
    let mut slugs: BTreeMap<ChatIx, String> = BTreeMap::new();
    let mut names: Vec<String> = Vec::new();
    let mut untreated: Vec<Finding> = Vec::new();
    let mut rebound: BTreeMap<ChatIx, Option<String>> = BTreeMap::new();
    // Parents before their forks.
    let mut order = chats;
    order.sort_by_key(|c| library.root_of(*c).1);
    progress.start("Working out what to heal", order.len() as u64);
    for c in order {
        progress.advance(1);
        let address = library.address(c).to_string();
        let own: Vec<&Finding> = findings.iter().filter(|f| f.chat.as_deref() == Some(&address)).collect();
        let named = only.is_some();
        let (findings, names_so_far) = (own, &names[..]);
        let chat_to_heal =
            ChatToHeal { library, c, address, findings, config, decide, names: names_so_far, named };
        let remedies = match chat_to_heal.remedies() {
            Ok(Some(_)) if let Some(above) = library.unreadable_above(c) => {
                untreated.push(not_known(&chat_to_heal.address, above));
                continue;
            }
            // The lorebook of a copy is that of the original, with what that one's line has written.
            Ok(Some(Remedies { book: Some(_), .. })) if let Some(other) = library.unreadable_original(c) => {
                untreated.push(not_known(&chat_to_heal.address, other));
                continue;
            }
            Ok(Some(remedies)) => remedies,
            Ok(None) => continue,
            // A file that cannot be read keeps nobody else ill.
            Err(e @ (HealError::State(_) | HealError::CorruptHeader(_) | HealError::Path(_))) if !named => {
                untreated.push(not_healed(&chat_to_heal.address, &e));
                continue;
            }
            Err(e) => return Err(e),
        };
        let Remedies { slug, book, binding, actions, .. } = &remedies;
        if let Some(slug) = slug {
            slugs.insert(c, slug.clone());
        }
        if let Some((path, name, bytes)) = book {
            names.push(book_stem(name));
            plan.books.push((path.clone(), bytes.clone()));
        }
        if let Some(binding) = binding {
            rebound.insert(c, binding.clone());
        }
        plan.report.actions.extend(actions.iter().cloned());
        plan.report.quarantined.extend(remedies.quarantined.iter().cloned());
        plan.edits.extend(remedies.edit(library, c, &slugs, now)?);
        plan.chats.push(c);
    }
    progress.finish();
    plan.retire = unneeded(library, &rebound)?;
    plan.report.left = findings.into_iter().filter(|f| !answered(&plan.report.actions, f)).collect();
    plan.report.left.extend(untreated);
    Ok(plan)
}

const MEND_FIRST: &str = "Mend that file, or put a copy in its place, and heal again.";
const OPEN_FIRST: &str =
    "Give Forklore (and SillyTavern) the right to read that file, look at the disk, and heal again.";

/// What is told of a fork of a chat that cannot be read: what its line had earned there is not known, so nothing is taken from it.
fn not_known(chat: &str, above: &str) -> Finding {
    let message = format!("It is left as it is: \"{above}\", which it may come from, cannot be read.");
    left_alone(chat, Code::ChatDamaged, Severity::Warning, message, OPEN_FIRST)
}

/// What is told of a chat that cannot be healed because something that it needs cannot be read.
fn not_healed(chat: &str, why: &HealError) -> Finding {
    let closed =
        matches!(why, HealError::Path(_) | HealError::State(StateError::CorruptBook { closed: true, .. }));
    let first = if closed { OPEN_FIRST } else { MEND_FIRST };
    left_alone(chat, Code::BookDamaged, Severity::Error, format!("It cannot be healed: {why}."), first)
}

/// What is told of a chat that somebody else has to do something for first.
fn left_alone(chat: &str, code: Code, severity: Severity, message: String, first: &str) -> Finding {
    Finding {
        code,
        severity,
        chat: Some(chat.to_owned()),
        book: None,
        message,
        remedy: first.to_owned(),
        to_do: first.to_owned(),
        heals: false,
    }
}

fn answered(actions: &[Action], finding: &Finding) -> bool {
    actions.iter().any(|action| action.code == finding.code && Some(&action.chat) == finding.chat.as_ref())
}

/// Books that an extension keeps and that nothing refers to once these chats are bound elsewhere.
pub(crate) fn unneeded(
    library: &Library,
    rebound: &BTreeMap<ChatIx, Option<String>>,
) -> Result<Vec<VaultPath>, PathError> {
    let mut left: Vec<&str> = rebound.keys().filter_map(|c| library.chat(*c).book_stem()).collect();
    left.sort_unstable();
    left.dedup();
    let mut found = Vec::new();
    for stem in left {
        let Some(path) = library.books().get(stem) else { continue };
        let stays = |c: &ChatIx| {
            let bound = rebound.get(c).map(|binding| binding.as_deref().map(book_stem));
            let besides = library.chat(*c).book_stem() != Some(stem);
            besides || bound.is_none_or(|stem_now| stem_now.as_deref() == Some(stem))
        };
        let used = library.users_of(stem).iter().any(stays);
        // Counted without the chats: those are what changes here.
        let others = library.referring_to(stem, &[]);
        let by_chats: Vec<String> =
            library.users_of(stem).iter().map(|c| format!("\"{}\"", library.chat(*c).name())).collect();
        let elsewhere = others.iter().any(|who| !by_chats.contains(who));
        if !used && !elsewhere && library.is_machine_kept(stem)? {
            found.push(path.clone());
        }
    }
    Ok(found)
}

/// Does it, as one operation. What is left is to be told by a new look at the vault.
pub fn execute(library: &Library, plan: HealPlan, now: i64) -> Result<HealReport, HealError> {
    let mut report = plan.report;
    if plan.books.is_empty() && plan.edits.is_empty() {
        return Ok(report);
    }
    let mut tx = library.begin(now)?;
    if !plan.edits.is_empty() && !tx.can_edit()? {
        return Err(HealError::NoExchange);
    }
    let models: Vec<_> = plan.chats.iter().flat_map(|c| library.models_of_book(*c)).collect();
    for (path, bytes) in &plan.books {
        tx.publish(path.clone(), &[Part::Bytes(bytes)], &models)?;
    }
    for c in &plan.chats {
        let chat = library.chat(*c);
        if let Some(identity) = chat.identity() {
            tx.guard(chat.path().clone(), identity.into());
        }
    }
    plan.edits.into_iter().try_for_each(|edit| tx.edit(edit))?;
    for path in plan.retire {
        tx.retire(path)?;
    }
    report.operation = Some(tx.id().to_owned());
    let chats = plan.chats.len();
    let about = About {
        kind: Kind::Heal,
        chat: (chats == 1).then(|| library.address(plan.chats[0]).to_string()),
        summary: if chats == 1 { "healed 1 chat".to_owned() } else { format!("healed {chats} chats") },
        undoes: None,
    };
    tx.commit(about, &finder(library))?;
    Ok(report)
}
