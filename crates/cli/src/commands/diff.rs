//! `forklore diff`

use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, FromArgMatches, value_parser};
use forklore_api::Failure;
use forklore_api::look::{self, Spot};

use crate::context::Context;
use crate::ui;

/// Show what differs between two states of a story
///
/// Where the messages part; lorebook entries that were added, removed and changed, field by field, with the words that differ;
/// registries row by row; recaps, variables, the author's note, sticky effects, the queue. All of it goes from A to B: "+" is
/// what only B has, "-" what only A has.
///
/// Each --at belongs to the chat before it. With two --at behind one chat, the chat is compared with itself; with one, with its
/// own last message. A fork on its own is compared with its parent, which is then A.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "forklore diff [OPTIONS] <A> [--at <N>] [B] [--at <M>]",
    after_help = "\
Examples:
  forklore diff \"The Lighthouse Road\" --at 20 --at 60     what has changed between 20 and 60
  forklore diff \"The Lighthouse Road\" --at 20             what has changed since 20
  forklore diff \"Bram's oath\"                             a fork and its parent, as they are now
  forklore diff \"Bram's oath\" \"Loft night\"                two forks
  forklore diff \"Bram's oath\" --at 20 \"Loft night\" --at 22
  forklore diff \"Bram's oath\" --json | jq '.book.added[].comment'"
)]
pub(crate) struct Args {
    #[command(flatten)]
    sides: Sides,

    /// Show whole texts, and fields that probably mean nothing, too
    #[arg(long)]
    full: bool,
}

/// One or two chats, each with the messages that were named behind it.
#[derive(Debug, Clone, Default)]
struct Sides {
    chats: Vec<(String, Vec<usize>)>,
    /// Whether a message was named before any chat
    stray: bool,
}

// By hand, because it is the order of the arguments that tells which message belongs to which chat.
impl clap::Args for Sides {
    fn augment_args(command: clap::Command) -> clap::Command {
        let chat = |name: &'static str| Arg::new(name).value_name(name);
        command
            .arg(
                chat("A")
                    .required(true)
                    .help("Chat to compare, as FOLDER/CHAT, group:ID/CHAT, or its name where that is unique"),
            )
            .arg(
                chat("B")
                    .help("Chat to compare it with; without it, A at another message, or the parent of A"),
            )
            .arg(
                Arg::new("at")
                    .long("at")
                    .value_name("N")
                    .action(ArgAction::Append)
                    .value_parser(value_parser!(usize))
                    .help("Message of the chat before it, counted from 0; the last one if left out"),
            )
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Sides {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut sides = Self::default();
        let mut places = Vec::new();
        for name in ["A", "B"] {
            if let (Some(chat), Some(place)) = (matches.get_one::<String>(name), matches.index_of(name)) {
                sides.chats.push((chat.clone(), Vec::new()));
                places.push(place);
            }
        }
        let messages = matches.get_many::<usize>("at").into_iter().flatten();
        for (at, place) in messages.zip(matches.indices_of("at").into_iter().flatten()) {
            match places.iter().rposition(|chat| *chat < place) {
                Some(chat) => sides.chats[chat].1.push(*at),
                None => sides.stray = true,
            }
        }
        Ok(sides)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Sides {
    /// Whether it is clear what is meant.
    fn check(&self) -> Result<(), Failure> {
        if self.stray {
            let text = "--at belongs to the chat before it: forklore diff CHAT --at 20 --at 60";
            return Err(Failure::usage(text.to_owned()));
        }
        let most = if self.chats.len() == 1 { 2 } else { 1 };
        match self.chats.iter().find(|(_, messages)| messages.len() > most) {
            Some((chat, messages)) => Err(Failure::usage(format!(
                "{} messages are named for {chat:?}: only two states can be compared",
                messages.len()
            ))),
            None => Ok(()),
        }
    }
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, Failure> {
    args.sides.check()?;
    let mut spots = Vec::new();
    for (chat, messages) in &args.sides.chats {
        let spot = |at| Spot { chat: chat.clone(), at };
        spots.extend(messages.iter().map(|at| spot(Some(*at))));
        if messages.is_empty() {
            spots.push(spot(None));
        }
    }
    let report = context.ask(|open| look::diff(open, &spots))?;
    if context.json {
        ui::json(&report)?;
    } else {
        ui::diff(&report, args.full)?;
    }
    Ok(ExitCode::SUCCESS)
}
