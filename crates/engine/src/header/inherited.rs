//! [`notes`]: what of a chat's metadata is not known to have been so at the message, in words.

use forklore_json::Raw;
use forklore_vault::state::metadata::{HeaderSight, MetadataAt, MetadataSource, Unsure};

/// What people call keys of the metadata. One that ends with `_` stands for all that begin so.
const NAMES: [(&str, &str); 17] = [
    ("note_", "author's note"),
    ("variables", "variables"),
    ("persona", "persona"),
    ("scenario", "scenario"),
    ("system_prompt", "system prompt"),
    ("mes_example", "example messages"),
    ("objective", "objective"),
    ("narrator_name", "narrator's name"),
    ("cfg_", "CFG settings"),
    ("script_injects", "injected prompts"),
    ("quickReply", "quick replies"),
    ("attachments", "attachments"),
    ("custom_background", "background"),
    ("chat_backgrounds", "chosen backgrounds"),
    ("pick_reroll_seed", "random seed"),
    ("lastInContextMessageId", ""),
    ("chat_id_hash", ""),
];

/// The key of the author's note.
const NOTE: &str = "note_prompt";

/// So many keys that have no name are told.
const KEYS: usize = 5;

/// Sentences about what nothing tells at message `at`. Nothing of what is empty.
pub(super) fn notes(then: &MetadataAt, at: usize) -> Vec<String> {
    let mut groups: Vec<(Told, Vec<&str>)> = Vec::new();
    for unsure in &then.unsure {
        let told = Told::of(unsure);
        if (!told.is_there && !told.otherwise.is_some_and(|(_, is_there)| is_there)) || is_idle(then, unsure)
        {
            continue;
        }
        match groups.iter_mut().find(|(known, _)| *known == told) {
            Some((_, keys)) => keys.push(&unsure.key),
            None => groups.push((told, vec![&unsure.key])),
        }
    }
    groups.iter().filter_map(|(told, keys)| told.sentence(&Subject::of(keys)?, at)).collect()
}

/// SillyTavern writes into every chat where an author's note stands and how often. That goes with the note.
fn is_idle(then: &MetadataAt, unsure: &Unsure) -> bool {
    let told = then.unsure.iter().any(|unsure| unsure.key == NOTE);
    let has_note = then.get(NOTE).is_some_and(Raw::is_truthy);
    unsure.key.starts_with("note_") && unsure.key != NOTE && (told || !has_note)
}

/// What is told of some keys alike.
#[derive(Clone, Copy, PartialEq)]
struct Told {
    from: HeaderSight,
    is_there: bool,
    otherwise: Option<(HeaderSight, bool)>,
}

impl Told {
    fn of(unsure: &Unsure) -> Self {
        Self { from: unsure.from, is_there: unsure.is_there, otherwise: unsure.otherwise }
    }

    fn sentence(&self, keys: &Subject, at: usize) -> Option<String> {
        let Subject { names, are, they, were, .. } = keys;
        let unknown = format!("nothing tells what {they} {were} at message {at}");
        let Some((other, was_there)) = self.otherwise else {
            let now = match (self.from.source, self.from.message) {
                (MetadataSource::First, Some(message)) => {
                    format!("as of message {message}, when Forklore first saw this chat")
                }
                (MetadataSource::Backup, Some(message)) => {
                    format!("as of message {message}, when SillyTavern made a backup")
                }
                _ => "today's".to_owned(),
            };
            return Some(format!("{names} {are} {now}: {unknown}."));
        };
        let is_later = |sight: HeaderSight| sight.message.is_none_or(|message| message > at);
        let since = match other.message {
            Some(message) => format!("some time before message {message}"),
            None => "some time since".to_owned(),
        };
        let then = other.message.unwrap_or_default();
        let (none, another) =
            if keys.many { ("there were none", "others") } else { ("there was none", "another one") };
        Some(match (is_later(self.from), self.is_there, was_there) {
            (false, true, true) => {
                let from = self.from.message?;
                format!("{names} {are} as of message {from}; {they} {were} changed {since}: {unknown}.")
            }
            (false, true, false) => {
                let from = self.from.message?;
                format!("{names} {are} as of message {from}; {they} {were} taken away {since}: {unknown}.")
            }
            (false, false, _) => {
                let from = self.from.message?;
                format!(
                    "{names} {are} left out: at message {from} {none}, and {they} {were} added {since}. {}.",
                    capital(&unknown)
                )
            }
            (true, true, true) => {
                let now = self.todays();
                format!("{names} {are} {now}: at message {then} {they} {were} {another}; {unknown}.")
            }
            (true, true, false) => {
                let now = self.todays();
                format!("{names} {are} {now}: at message {then} {none}; {unknown}.")
            }
            (true, false, _) => {
                let now = match self.from.message {
                    Some(message) => format!("by message {message}"),
                    None => "today".to_owned(),
                };
                format!(
                    "{names} {are} left out, gone {now}: at message {then} {they} {were} still there; {unknown}."
                )
            }
        })
    }

    fn todays(&self) -> String {
        self.from.message.map_or_else(|| "today's".to_owned(), |message| format!("as of message {message}"))
    }
}

/// What a sentence is about.
struct Subject {
    names: String,
    many: bool,
    are: &'static str,
    they: &'static str,
    were: &'static str,
}

impl Subject {
    /// Those that have a name by name, in one order, then the others by their keys.
    fn of(keys: &[&str]) -> Option<Self> {
        let is = |key: &str, known: &str| known == key || (known.ends_with('_') && key.starts_with(known));
        let has = |known: &str| keys.iter().any(|key| is(key, known));
        let mut names: Vec<String> = NAMES
            .iter()
            .filter(|(known, name)| !name.is_empty() && has(known))
            .map(|(_, name)| (*name).to_owned())
            .collect();
        let mut others: Vec<String> = keys
            .iter()
            .filter(|key| !NAMES.iter().any(|(known, _)| is(key, known)))
            .map(|key| format!("\"{}\"", cut(key)))
            .collect();
        let is_named = !names.is_empty();
        if !others.is_empty() {
            let more = others.len().saturating_sub(KEYS);
            others.truncate(KEYS);
            others.extend((more > 0).then(|| format!("{more} more")));
            names.push(format!("what is kept under {}", and(&others)));
        }
        let many = names.len() > 1 || names.last()?.ends_with('s');
        let names = if is_named { format!("The {}", and(&names)) } else { capital(&and(&names)) };
        let (are, they, were) = if many { ("are", "they", "were") } else { ("is", "it", "was") };
        Some(Self { names, many, are, they, were })
    }
}

/// "a, b and c".
fn and(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A key as it fits into a sentence.
fn cut(key: &str) -> String {
    match key.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &key[..end]),
        None => key.to_owned(),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
