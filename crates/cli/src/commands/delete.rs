//! `forklore delete`

use std::process::ExitCode;

use forklore_api::Failure;
use forklore_api::ops::{self, Deletion};

use crate::context::Context;
use crate::ui;

/// Move a chat and its own lorebook to the trash
///
/// The lorebook goes along if it was made for this chat and nothing else refers to it: no other chat, character, persona, and
/// not the list of global lorebooks. Links to the chat are taken away. Chats that were forked from it keep everything.
///
/// If the chat is open in SillyTavern, open another one first: a page that still shows it would save it anew.
///
/// Nothing is lost: `forklore undo` brings it all back, until `forklore gc` finds it older than the setting trash.days.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore delete \"Maren Voss/Blue door\"
  forklore delete \"Blue door\" --dry-run
  forklore delete -- \"-a name with a dash-\"")]
pub(crate) struct Args {
    /// Chat to delete: FOLDER/CHAT, group:ID/CHAT, or its name
    chat: String,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, Failure> {
    let deletion = Deletion { chat: args.chat.clone(), dry_run: context.dry_run };
    let report = context.ask(|open| ops::delete(open, &deletion))?;
    if context.json {
        ui::json(&report)?;
    } else {
        ui::deleted(&report)?;
    }
    Ok(ExitCode::SUCCESS)
}
