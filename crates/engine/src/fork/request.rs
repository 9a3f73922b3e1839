//! [`ForkRequest`]: the fork that somebody asks for. What the command line, the API, a form and SillyTavern's page say all becomes this.

use forklore_core::fork::ForkKind;
use forklore_core::format::names::ForkName;
use forklore_vault::address::AddressError;
use forklore_vault::{ChatIx, Library};
use schemars::JsonSchema;
use serde::Deserialize;

/// The fork that somebody asks for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForkRequest {
    /// Checkpoint or branch; left out where the path says it already, or the name of the fork is to tell
    pub kind: Option<ForkKind>,
    /// Address of the chat to fork
    pub chat: String,
    /// The last message of the fork; the last one of the chat if left out
    pub at: Option<usize>,
    /// Name of the new chat; one like SillyTavern's own is made if left out
    pub name: Option<String>,
    /// The swipe of the last message that the fork shows, counted from 0
    pub swipe: Option<usize>,
    /// Wait until the memory extension's queue is empty, then fork
    #[serde(default)]
    pub when_ready: bool,
    /// Fork although work waits in the queue
    #[serde(default)]
    pub ignore_queue: bool,
    /// Refuse unless a recapped scene ends here and the state of the lorebook is known; as the settings say if left out
    pub strict: Option<bool>,
    /// Put a link to the fork into the parent's message
    #[serde(default = "yes")]
    pub link: bool,
    /// Give the fork a copy of its own even of a lorebook that is shared by choice
    #[serde(default)]
    pub copy_book: bool,
    /// Change nothing
    #[serde(default)]
    pub dry_run: bool,
}

fn yes() -> bool {
    true
}

impl ForkRequest {
    /// A fork of this chat, about which nothing else is said.
    pub fn of(chat: impl Into<String>) -> Self {
        Self {
            kind: None,
            chat: chat.into(),
            at: None,
            name: None,
            swipe: None,
            when_ready: false,
            ignore_queue: false,
            strict: None,
            link: yes(),
            copy_book: false,
            dry_run: false,
        }
    }

    /// Checkpoint or branch. Where nobody says it, SillyTavern's own names tell branches; whatever somebody typed is a checkpoint.
    pub fn kind(&self) -> ForkKind {
        let told = || match self.name.as_deref().map(ForkName::read) {
            Some(ForkName::Branch(_)) => ForkKind::Branch,
            Some(ForkName::Checkpoint(_) | ForkName::Plain) | None => ForkKind::Checkpoint,
        };
        self.kind.unwrap_or_else(told)
    }

    /// Which message of which chat is meant.
    pub(super) fn spot(&self, library: &Library) -> Result<Spot<'_>, AddressError> {
        let chat = library.find_chat(&self.chat)?;
        let at = self.at.unwrap_or(library.chat(chat).head());
        Ok(Spot { request: self, kind: self.kind(), chat, at })
    }
}

/// A request, and where in a library it leads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot<'a> {
    pub(super) request: &'a ForkRequest,
    pub(super) kind: ForkKind,
    /// Number of the parent
    pub(super) chat: ChatIx,
    /// The last message of the fork
    pub(super) at: usize,
}
