//! [`TreeDrawing`]: where everything stands in the drawing of a story. Chats are rows, messages are columns.
//!
//! Forks stand below their parent, the one that parted last first. So a line that leads down to an older fork passes to the left of
//! where the younger ones begin, and no two lines ever cross.

use std::collections::HashMap;

use forklore_engine::tree::{self, StoryTree, TreeChat};

use crate::names::{self, name_of};
use crate::words;

/// Beyond this many rows they move together.
const MANY: usize = 60;

/// Where everything stands.
pub(super) struct TreeDrawing<'a> {
    pub(super) rows: Vec<Row<'a>>,
    pub(super) flags: Vec<Flag<'a>>,
    /// Number of the last message of the longest chat
    pub(super) last: usize,
    /// Whether there are many rows
    pub(super) dense: bool,
}

/// A line.
pub(super) struct Row<'a> {
    pub(super) line: Line<'a>,
    /// The row that it parts from
    pub(super) parent: Option<usize>,
    /// The message that it parts at; the beginning if there is none
    pub(super) from: Option<usize>,
    /// Its last message
    pub(super) end: usize,
    /// How many rows below belong to it
    pub(super) below: usize,
    /// Its colour, of eight
    pub(super) colour: usize,
    /// What it is called, without what it shares with the lines that it comes from
    pub(super) name: String,
    /// Whether it is the one that was played last
    pub(super) latest: bool,
}

/// What a line stands for.
pub(super) enum Line<'a> {
    Chat(&'a TreeChat),
    /// A chat that is gone, by the name that its forks have for it
    Ghost(&'a str),
}

/// A checkpoint that was never played on: a flag on the line that it was taken of.
pub(super) struct Flag<'a> {
    pub(super) chat: &'a TreeChat,
    pub(super) row: usize,
    pub(super) at: usize,
    /// How many stand at the same message before it
    pub(super) level: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Above<'a> {
    Nothing,
    Chat(&'a str),
    Ghost(&'a str),
}

/// The colour of a chat, of eight: its own, whatever other chats there are, and never that of the line that it parts from.
fn colour(chat: &str, above: Option<usize>) -> usize {
    let Some(above) = above else { return 0 };
    let sum = chat.bytes().fold(7_usize, |sum, byte| (sum * 31 + usize::from(byte)) % 1_000_003);
    (above + 1 + sum % 7) % 8
}

impl<'a> TreeDrawing<'a> {
    pub(super) fn of(story: &'a StoryTree) -> Self {
        let known: HashMap<&str, &TreeChat> = story.chats.iter().map(|chat| (&*chat.chat, chat)).collect();
        let above = |chat: &'a TreeChat| match (&chat.parent, &chat.lost_parent) {
            (Some(parent), _) if known.contains_key(&**parent) => Above::Chat(parent),
            (_, Some(name)) => Above::Ghost(name),
            _ => Above::Nothing,
        };
        let mut below: HashMap<Above<'_>, Vec<&TreeChat>> = HashMap::new();
        for chat in &story.chats {
            below.entry(above(chat)).or_default().push(chat);
        }
        for (above, chats) in &mut below {
            if *above != Above::Nothing {
                chats.sort_by_key(|chat| (std::cmp::Reverse(chat.fork_message), &chat.chat));
            }
        }
        let mut planning = Planning {
            below,
            plan: TreeDrawing { rows: Vec::new(), flags: Vec::new(), last: 0, dense: false },
            story: &story.name,
            latest: { story.chats.iter() }
                .filter(|_| story.chats.len() > 1)
                .max_by_key(|chat| &chat.changed)
                .map(|chat| &*chat.chat),
        };
        planning.grow(Above::Nothing, None);
        let mut ghosts: Vec<&str> = story
            .chats
            .iter()
            .map(above)
            .filter_map(|a| if let Above::Ghost(name) = a { Some(name) } else { None })
            .collect();
        ghosts.sort_unstable();
        ghosts.dedup();
        for name in ghosts {
            planning.ghost(name);
        }
        // Chats that are each other's parents are reached from nowhere: each begins a line of its own.
        for chat in &story.chats {
            if planning.below.contains_key(&above(chat)) {
                planning.grow(above(chat), None);
            }
        }
        planning.tell_apart();
        let mut plan = planning.plan;
        plan.last = plan.rows.iter().map(|row| row.end).max().unwrap_or(0);
        plan.dense = plan.rows.len() > MANY;
        plan
    }
}

struct Planning<'a> {
    below: HashMap<Above<'a>, Vec<&'a TreeChat>>,
    plan: TreeDrawing<'a>,
    story: &'a str,
    /// The chat that was played last, if there are several
    latest: Option<&'a str>,
}

impl<'a> Planning<'a> {
    /// Chats that begin a line and were begun within a minute would be called the same.
    fn tell_apart(&mut self) {
        let firsts: Vec<usize> =
            (0..self.plan.rows.len()).filter(|row| self.plan.rows[*row].parent.is_none()).collect();
        let ways = |row: &usize| match &self.plan.rows[*row] {
            Row { line: Line::Chat(chat), name, .. } => {
                let short = self.short_name(chat, None);
                vec![name.clone(), words::exact_chat_name(&short), short]
            }
            ghost => vec![ghost.name.clone()],
        };
        let ways: Vec<_> = firsts.iter().map(ways).collect();
        for (row, name) in firsts.into_iter().zip(names::apart(&ways)) {
            self.plan.rows[row].name = name;
        }
    }

    fn short_name(&self, chat: &TreeChat, parent: Option<usize>) -> String {
        // A fork takes its name from its parent, or from that one's parent: farther ones are long forgotten.
        let above = std::iter::successors(parent, |row| self.plan.rows[*row].parent).take(4);
        let mut names: Vec<&str> = above
            .filter_map(|row| {
                if let Line::Chat(chat) = self.plan.rows[row].line { Some(name_of(&chat.chat)) } else { None }
            })
            .collect();
        names.reverse();
        let short = tree::short_name(name_of(&chat.chat), self.story, &names);
        // The drawing shows what it parts from.
        short.strip_prefix("… - ").map(str::to_owned).unwrap_or(short)
    }

    fn ghost(&mut self, name: &'a str) {
        let forks = self.below.get(&Above::Ghost(name)).map(Vec::as_slice).unwrap_or_default();
        let end = forks.iter().filter_map(|chat| chat.fork_message).max().unwrap_or(0);
        let row = self.plan.rows.len();
        self.plan.rows.push(Row {
            line: Line::Ghost(name),
            parent: None,
            from: None,
            end,
            below: 0,
            colour: 0,
            name: name.to_owned(),
            latest: false,
        });
        self.grow(Above::Ghost(name), Some(row));
        self.plan.rows[row].below = self.plan.rows.len() - row - 1;
    }

    /// Adds everything below a row. A story can be a thousand forks deep, so the way back is a list and not the stack.
    fn grow(&mut self, above: Above<'a>, parent: Option<usize>) {
        enum Growth<'a> {
            Add(&'a TreeChat, Option<usize>),
            Close(usize),
        }
        let todo = self.below.remove(&above).unwrap_or_default();
        let mut todo: Vec<Growth<'_>> =
            todo.into_iter().rev().map(|chat| Growth::Add(chat, parent)).collect();
        while let Some(step) = todo.pop() {
            let (chat, parent) = match step {
                Growth::Close(row) => {
                    self.plan.rows[row].below = self.plan.rows.len() - row - 1;
                    continue;
                }
                Growth::Add(chat, parent) => (chat, parent),
            };
            let end = chat.messages.saturating_sub(1);
            let forks = self.below.remove(&Above::Chat(&chat.chat)).unwrap_or_default();
            let from = chat.fork_message.filter(|_| parent.is_some());
            if let (Some(row), Some(at)) = (parent, from)
                && chat.kind == "checkpoint"
                && end <= at
                && forks.is_empty()
            {
                let level = self.plan.flags.iter().filter(|flag| (flag.row, flag.at) == (row, at)).count();
                self.plan.flags.push(Flag { chat, row, at, level });
                continue;
            }
            let row = self.plan.rows.len();
            let above = parent.map(|parent| self.plan.rows[parent].colour);
            let colour = colour(&chat.chat, above);
            let name = words::chat_name(&self.short_name(chat, parent));
            let (line, latest) = (Line::Chat(chat), self.latest == Some(&*chat.chat));
            self.plan.rows.push(Row { line, parent, from, end, below: 0, colour, name, latest });
            todo.push(Growth::Close(row));
            todo.extend(forks.into_iter().rev().map(|fork| Growth::Add(fork, Some(row))));
        }
    }
}
