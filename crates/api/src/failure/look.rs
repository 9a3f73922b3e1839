//! Why something cannot be shown.

use forklore_engine::diff::DiffError;
use forklore_engine::notes::NotesError;
use forklore_engine::show::ShowError;
use forklore_vault::state::at::StateError;
use forklore_vault::{AddressError, LoadError};
use serde_json::json;

use super::{ErrorCode, Failure, capital, quoted};

impl From<LoadError> for Failure {
    fn from(e: LoadError) -> Self {
        match e {
            LoadError::Path(e) => e.into(),
            LoadError::NotAVault => Self::typed(
                ErrorCode::NoVault,
                e.to_string(),
                "Name a SillyTavern user folder, the one with \"chats\" and \"worlds\" in it: --vault .../data/default-user",
            ),
        }
    }
}

impl From<AddressError> for Failure {
    fn from(e: AddressError) -> Self {
        let message = e.to_string();
        match e {
            AddressError::NoSuchChat { like, .. } => {
                let code = ErrorCode::ChatNotFound;
                let failure = if like.is_empty() {
                    Self::typed(code, message, "Run `forklore tree` to see the chats and their names.")
                } else {
                    Self::new(code, message, format!("Did you mean {}?", quoted(&like)))
                };
                failure.with_details(json!({"like": like}))
            }
            AddressError::Ambiguous { candidates, .. } => {
                let hint = format!("Say which: {}", quoted(&candidates));
                Self::new(ErrorCode::ChatAmbiguous, message, hint)
                    .with_details(json!({"candidates": candidates}))
            }
            AddressError::NoSuchStory { like, .. } => {
                let code = ErrorCode::StoryNotFound;
                let failure = if like.is_empty() {
                    Self::typed(code, message, "Run `forklore stories` to see what there is.")
                } else {
                    Self::new(code, message, format!("There is {}.", quoted(&like)))
                };
                failure.with_details(json!({"like": like}))
            }
        }
    }
}

impl From<ShowError> for Failure {
    fn from(e: ShowError) -> Self {
        let message = e.to_string();
        match e {
            ShowError::NoSuchMessage { messages: 0, .. } => Self::typed(
                ErrorCode::MessageNotFound,
                message,
                "The chat is empty. Run `forklore check` to see whether its file is damaged.",
            ),
            ShowError::NoSuchMessage { messages, .. } => {
                let hint = format!("The last message is {}.", messages - 1);
                Self::new(ErrorCode::MessageNotFound, message, hint)
            }
            ShowError::CorruptChat { .. } => Self::plain(ErrorCode::CorruptChat, message),
            ShowError::State(e) => e.into(),
            ShowError::Path(e) => e.into(),
        }
    }
}

impl From<DiffError> for Failure {
    fn from(e: DiffError) -> Self {
        let message = e.to_string();
        match e {
            DiffError::NoParent { .. } | DiffError::ParentGone { .. } => Self::typed(
                ErrorCode::NoParent,
                message,
                "Name a second chat, or two messages: forklore diff CHAT --at 20 --at 60",
            ),
            DiffError::Show(e) => e.into(),
        }
    }
}

impl From<StateError> for Failure {
    fn from(e: StateError) -> Self {
        let message = e.to_string();
        match e {
            StateError::CorruptBook { closed: true, .. } => Self::new(
                ErrorCode::CorruptBook,
                message,
                "Give Forklore (and SillyTavern) the right to read the file, and look at the disk. Forklore has changed nothing.",
            ),
            StateError::CorruptBook { .. } => {
                let hint = "Mend the file in a text editor, or put a copy in its place. Forklore has changed nothing.";
                Self::new(ErrorCode::CorruptBook, message, hint)
            }
            StateError::Path(e) => e.into(),
        }
    }
}

impl From<NotesError> for Failure {
    fn from(e: NotesError) -> Self {
        match e {
            NotesError::Path(e) => e.into(),
            NotesError::Damaged(_) => Self::plain(ErrorCode::NotesUnreadable, capital(&e.to_string())),
            NotesError::TooMany | NotesError::TooLong => {
                Self::new(ErrorCode::TooLarge, capital(&e.to_string()), "Write less.")
            }
        }
    }
}
