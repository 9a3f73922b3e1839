//! Why a story cannot leave, or arrive.

use forklore_archive::ArchiveError;
use forklore_engine::export::ExportError;
use forklore_engine::import::ImportError;

use super::{ErrorCode, Failure, capital};

impl From<ArchiveError> for Failure {
    fn from(e: ArchiveError) -> Self {
        let message = capital(&e.to_string());
        let refused = |code, hint: &str| Self::new(code, message.clone(), hint);
        let typed = |code, hint: &str| Self::typed(code, message.clone(), hint);
        match e {
            ArchiveError::Io(e) => e.into(),
            ArchiveError::NotOurs => {
                typed(ErrorCode::NotAnExport, "Name a file that `forklore export` has written.")
            }
            ArchiveError::Newer(_) => refused(
                ErrorCode::ExportNewer,
                "Nothing was imported. Get the Forklore that wrote it, or a newer one.",
            ),
            ArchiveError::Damaged(_) => refused(
                ErrorCode::ExportDamaged,
                "Nothing was imported. Get the file again, or export it again where it comes from.",
            ),
            ArchiveError::Bomb(_) => refused(
                ErrorCode::ExportDamaged,
                "Nothing was imported. No real story is like that: do not trust whoever made this file.",
            ),
            ArchiveError::TooLarge(_) => typed(
                ErrorCode::ExportTooLarge,
                "A file in an export can have 8 GB. Export the other chats with --line.",
            ),
            ArchiveError::Changed(_) => refused(ErrorCode::ChatChanged, "Nothing was written. Try again."),
        }
    }
}

impl From<ExportError> for Failure {
    fn from(e: ExportError) -> Self {
        let message = capital(&e.to_string());
        let refused = |code, hint: &str| Self::new(code, message.clone(), hint);
        let typed = |code, hint: &str| Self::typed(code, message.clone(), hint);
        match e {
            ExportError::Empty => {
                typed(ErrorCode::EmptyStory, "`forklore stories` tells which stories have chats.")
            }
            ExportError::Unreadable { .. } => {
                typed(ErrorCode::CorruptChat, "Nothing was written. `forklore check` tells more.")
            }
            ExportError::NoCard(_) => typed(ErrorCode::NoCard, "Leave --with-card out."),
            ExportError::Changed(_) => {
                refused(ErrorCode::ChatChanged, "Nothing was written. Try again when SillyTavern has saved.")
            }
            ExportError::Archive(e) => e.into(),
            ExportError::History(e) => {
                let e = Self::from(e);
                // Only who types commands can.
                let typed = |hint: &str| format!("{hint} To export without history: --no-history");
                Self { hint: typed(&e.hint), ..e }
            }
            ExportError::Path(e) => e.into(),
        }
    }
}

impl From<ImportError> for Failure {
    fn from(e: ImportError) -> Self {
        let message = capital(&e.to_string());
        match e {
            ImportError::Archive(e) => e.into(),
            ImportError::Address(e) => e.into(),
            ImportError::Tx(e) => e.into(),
            ImportError::History(e) => e.into(),
            ImportError::Path(e) => e.into(),
            ImportError::Changed => {
                Self::new(ErrorCode::ExportChanged, message, "Nothing was imported. Try again.")
            }
            ImportError::OtherKind { .. } => Self::typed(
                ErrorCode::OtherKind,
                message,
                "Leave --into out, or name a story of the same kind: `forklore stories` lists them.",
            ),
        }
    }
}
