//! [`Ill`]: a lorebook that holds what is not its line's, or lacks what its line has earned. What comes along from such a one is what healing
//! would make of it; otherwise each thing that is wrong there would be asked, or taken for what happened.

use forklore_core::check::Code;
use forklore_vault::state::at::Wanted;
use forklore_vault::{ChatIx, Library};

use crate::check::check;
use crate::warning::{Warning, WarningCode};

/// What is wrong with the lorebook of a chat that heals.
pub(super) struct Ill {
    /// Address of the chat
    pub(super) chat: String,
    name: String,
    /// What is wrong, in a sentence
    why: String,
}

impl Ill {
    /// What is wrong with the lorebook of a chat; nothing if nothing is.
    pub(super) fn of(library: &Library, c: ChatIx) -> Option<Self> {
        // What is found here does not depend on the time. What another line wrote is worse than what is missing.
        let findings = check(library, Some(c), 0).findings;
        let codes = [Code::EntryForeign, Code::EntryFromFuture, Code::BookDamaged];
        let found = |code: &Code| findings.iter().find(|finding| finding.heals && finding.code == *code);
        let worst = codes.iter().find_map(found)?;
        let name = library.chat(c).name().to_owned();
        Some(Self { chat: library.address(c).to_string(), name, why: worst.message.clone() })
    }

    /// That it should be healed first.
    pub(super) fn warning(&self) -> Warning {
        let why = self.why.trim_end_matches('.');
        let message =
            format!("Heal \"{}\" first. {why}; only what belongs to its own line is looked at", self.name);
        Warning::new(WarningCode::HealFirst, message)
    }
}

/// What is asked for of a chat's state: what healing would make of it, if something is wrong.
pub(super) fn wanted(ill: Option<&Ill>) -> Wanted {
    match ill {
        Some(_) => Wanted { head: false, fill: true, ..Wanted::default() },
        None => Wanted::default(),
    }
}
