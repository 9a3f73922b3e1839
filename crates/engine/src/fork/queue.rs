//! The queue is empty before a fork is made, or somebody says that it does not matter: an extension that is still at work on the parent would
//! write into the book that the fork is made from.

use forklore_core::adapter::Status;
use forklore_vault::Library;

use super::ForkError;
use super::request::Spot;
use crate::warning::{Warning, WarningCode};

/// Refuses a fork while work waits. Gives how much is waiting that is to be ignored.
pub(super) fn waiting(library: &Library, spot: &Spot<'_>) -> Result<usize, ForkError> {
    let waiting = library.operations(spot.chat)?;
    let kinds: Vec<String> =
        waiting
            .iter()
            .filter(|op| op.status.is_open())
            .map(|op| {
                if op.status == Status::Retrying {
                    format!("{} (retrying)", op.kind)
                } else {
                    op.kind.clone()
                }
            })
            .collect();
    if !kinds.is_empty() && !spot.request.ignore_queue {
        let count = kinds.len();
        let mut kinds = kinds;
        kinds.sort();
        kinds.dedup();
        return Err(ForkError::QueueNotEmpty { count, kinds });
    }
    Ok(kinds.len())
}

pub(super) fn ignored(waiting: usize) -> Option<Warning> {
    let message = format!(
        "What waits in the queue ({waiting}) stayed with the parent: what it would write is not in the fork"
    );
    (waiting > 0).then_some(Warning::new(WarningCode::QueueIgnored, message))
}
