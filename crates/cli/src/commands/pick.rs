//! `forklore pick`

use std::process::ExitCode;

use forklore_api::merge::{self, Picking};
use forklore_api::{Failure, OpenVault};
use forklore_engine::merge::pick::PickReport;

use crate::context::Context;
use crate::ui;

/// Take one thing over into a chat, from anywhere
///
/// One entry of a lorebook, or one field of it; a variable; the author's note; a version of the running recap, or the combined recap. From
/// another chat, also one that was deleted, or from the chat's own past; as it is, or as it was at a message, a time or an observation.
/// --left-out takes what a fork was made without, --quarantined what `forklore heal` has put aside; --recap, --combined-recap
/// and --queue find what was archived when a chat was forked.
///
/// What goes into a lorebook makes a new one that the chat is bound to, because SillyTavern's pages keep lorebooks in memory and write
/// them back whole; that is asked first. Reload SillyTavern's page afterwards. `forklore undo` takes it back.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore pick \"The Lighthouse Road\" --from \"Blue door\" --entry \"character-Mara\"
  forklore pick \"The Lighthouse Road\" --from \"Blue door\" --entry Mara --field keys
  forklore pick \"The Lighthouse Road\" --entry Mara --at 28        as it was at message 28
  forklore pick \"Blue door\" --left-out \"Keeper's key\"
  forklore pick \"The Lighthouse Road\" --from \"Blue door\" --variable gold
  forklore pick \"The Lighthouse Road\" --from \"Blue door\" --recap 3")]
#[command(group(clap::ArgGroup::new("what").required(true).multiple(false)))]
pub(crate) struct Args {
    /// Chat that gets it: FOLDER/CHAT, group:ID/CHAT, or its name
    chat: String,

    /// Chat that has it, also one that was deleted; the same chat if left out
    #[arg(long, value_name = "CHAT")]
    from: Option<String>,

    /// As of this message, counted from 0
    #[arg(long, value_name = "N", conflicts_with_all = ["when", "observation"])]
    at: Option<usize>,

    /// As it was at the end of this time: 2026-11-15, "2026-11-15 05:23" (UTC), or how long ago, such as 3d or "2 hours"
    #[arg(long, value_name = "TIME", conflicts_with = "observation", allow_hyphen_values = true)]
    when: Option<String>,

    /// As it was when this observation was made
    #[arg(long, value_name = "NUMBER")]
    observation: Option<u64>,

    /// An entry of the lorebook: its number, its title, or the beginning of its title
    #[arg(long, value_name = "ENTRY", group = "what")]
    entry: Option<String>,

    /// An entry that the chat was forked without, as its parent has it
    #[arg(long, value_name = "ENTRY", group = "what")]
    left_out: Option<String>,

    /// An entry that `forklore heal` has put aside
    #[arg(long, value_name = "ENTRY", group = "what")]
    quarantined: Option<String>,

    /// Only this field of the entry: text, title, keys, or as the file calls it
    #[arg(long, value_name = "FIELD", conflicts_with_all = ["variable", "note", "recap", "combined_recap", "queue"])]
    field: Option<String>,

    /// A variable
    #[arg(long, value_name = "NAME", group = "what")]
    variable: Option<String>,

    /// The author's note
    #[arg(long, group = "what")]
    note: bool,

    /// A version of the running recap
    #[arg(long, value_name = "VERSION", group = "what")]
    recap: Option<i64>,

    /// The combined recap
    #[arg(long, group = "what")]
    combined_recap: bool,

    /// Work that waited in the memory extension's queue when the chat was forked; it waits again, paused
    #[arg(long, group = "what")]
    queue: bool,

    /// Bind the chat to the new lorebook without asking
    #[arg(long)]
    yes: bool,

    /// Go on although work waits in the queue: what it would write is lost with the old lorebook
    #[arg(long)]
    ignore_queue: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, Failure> {
    let picking = Picking {
        chat: args.chat.clone(),
        from: args.from.clone(),
        at: args.at,
        when: args.when.clone(),
        observation: args.observation,
        entry: args.entry.clone(),
        left_out: args.left_out.clone(),
        quarantined: args.quarantined.clone(),
        field: args.field.clone(),
        variable: args.variable.clone(),
        note: args.note,
        recap: args.recap,
        combined_recap: args.combined_recap,
        queue: args.queue,
        yes: args.yes,
        ignore_queue: args.ignore_queue,
        dry_run: context.dry_run,
    };
    let agreed = |report: &PickReport| context.agrees(args.yes, || ui::ask_to_pick(report));
    let report = context.ask(|open: &OpenVault<'_>| merge::pick(open, &picking, &agreed))?;
    if context.json {
        ui::json(&report)?;
    } else {
        ui::picked(&report)?;
    }
    Ok(ExitCode::SUCCESS)
}
