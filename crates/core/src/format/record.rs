//! [`ForkRecord`]: the `forklore` key that Forklore puts into the header of the forks it makes.
//!
//! SillyTavern's own forks copy their parent's metadata, this key included. So the record names its owner; where file and slug
//! are not the owner's, the chat is a copy and the record is somebody else's. [`Uncertain`] are entries that it was made with, and that
//! nothing dated.

use std::ops::RangeInclusive;

use forklore_json::{Kind, Raw, list, object, quote};
use serde::{Deserialize, Serialize};

use super::book::EntryImage;
use super::conflict::Conflict;

/// What the header of a fork says about its making.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ForkRecord {
    /// Version of the record's format.
    pub version: i64,
    /// `branch`, `checkpoint` or `copy`.
    pub kind: String,
    /// File stem of the chat that the record was written for.
    pub owner_file: String,
    /// Slug of the chat that the record was written for.
    pub owner_slug: String,
    /// File stem of the parent at the time of forking.
    pub parent_file: String,
    /// Slug of the parent at the time of forking.
    pub parent_slug: String,
    /// The last message that came from the parent.
    pub message: usize,
    /// The moment of that message, in hexadecimal digits.
    pub moment: String,
    /// File stem of the chat that all of this began with.
    pub root: String,
    /// How many forks lie between the root and this one, this one included.
    pub depth: usize,
    /// Name of the book that was made for the fork.
    pub book: Option<String>,
    /// What came along into it although nothing told whether it belonged there.
    pub undated: Vec<Uncertain>,
    /// What the fork started with.
    pub baseline: Option<Baseline>,
    /// Codes of findings that the user has accepted as they are.
    pub accepted: Vec<String>,
    /// When the record was written, in milliseconds since 1970.
    pub created: i64,
    /// Whether healing wrote it: then the fork is older than the record.
    pub adopted: bool,
    /// The observation of the parent that the fork is a copy of, if it brings back the past: messages after
    /// [`ForkRecord::message`] are not the parent's any more.
    pub restored: Option<u64>,
    /// What was brought along from another line when it was made: that is its second parent.
    pub learnt: Option<Learnt>,
    /// Whose messages follow the parent's, if another chat's do.
    pub appended: Option<Appended>,
}

/// An entry that came along into a book although nothing told whether it belonged there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Uncertain {
    /// Its number.
    pub uid: i64,
    /// What it said, in few signs: once somebody has written on, it is as certain as that.
    pub says: String,
}

impl Uncertain {
    /// Of an entry that has a number.
    pub fn of(entry: &EntryImage) -> Option<Self> {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(entry.comment.len() as u64).to_le_bytes());
        hasher.update(entry.comment.as_bytes());
        hasher.update(entry.content().as_bytes());
        Some(Self { uid: entry.uid?, says: hasher.finalize().to_hex()[..16].to_owned() })
    }

    fn read(raw: Raw<'_>) -> Option<Self> {
        // Older records have nothing but the number.
        Some(Self {
            uid: raw.get("uid").and_then(Raw::as_i64)?,
            says: raw.get("says")?.as_text()?.into_owned(),
        })
    }

    fn write(&self) -> Vec<u8> {
        object(&[("uid", self.uid.to_string().into_bytes()), ("says", quote(&self.says))])
    }
}

/// What a chat has from a second parent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Learnt {
    /// File stem of that chat at the time.
    pub file: String,
    /// Its slug at the time.
    pub slug: String,
    /// The last message of it that counted.
    pub message: usize,
    /// The moment of that message, in hexadecimal digits.
    pub moment: String,
    /// Numbers of its entries, and those that they got here.
    pub numbers: Vec<(i64, i64)>,
    /// What the two do not agree on, and nobody has answered yet.
    pub conflicts: Vec<Conflict>,
}

/// Whose messages follow those that a chat has from its parent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Appended {
    /// File of that chat, without its ending.
    pub file: String,
    /// Its identity.
    pub slug: String,
    /// The first of its messages that follows.
    pub first: usize,
    /// The last one.
    pub message: usize,
    /// The moment of that, there.
    pub moment: String,
    /// When they were put there, in milliseconds since 1970, if that was written down.
    pub when: Option<i64>,
}

impl Appended {
    fn read(raw: Raw<'_>) -> Option<Self> {
        let text = |key: &str| raw.get(key).and_then(Raw::as_text).map(std::borrow::Cow::into_owned);
        let number = |key: &str| raw.get(key).and_then(Raw::as_i64).and_then(|n| usize::try_from(n).ok());
        Some(Self {
            file: text("file")?,
            slug: text("slug").unwrap_or_default(),
            first: number("first")?,
            message: number("message")?,
            moment: text("moment").unwrap_or_default(),
            when: raw.get("when").and_then(Raw::as_i64),
        })
    }

    /// As it is written under `appended`.
    pub fn write(&self) -> Vec<u8> {
        object(&[
            ("file", quote(&self.file)),
            ("slug", quote(&self.slug)),
            ("first", self.first.to_string().into_bytes()),
            ("message", self.message.to_string().into_bytes()),
            ("moment", quote(&self.moment)),
            (
                "when",
                self.when.map_or_else(|| Raw::NULL.bytes().to_vec(), |when| when.to_string().into_bytes()),
            ),
        ])
    }
}

impl Learnt {
    fn read(raw: Raw<'_>) -> Option<Self> {
        let text = |key: &str| raw.get(key).and_then(Raw::as_text).map(std::borrow::Cow::into_owned);
        let elements = |key: &str| raw.get(key).unwrap_or(Raw::NULL).elements();
        let pair = |pair: Raw<'_>| {
            let mut numbers = pair.elements().filter_map(Raw::as_i64);
            Some((numbers.next()?, numbers.next()?))
        };
        Some(Self {
            file: text("file")?,
            slug: text("slug").unwrap_or_default(),
            message: raw.get("message").and_then(Raw::as_i64).and_then(|n| usize::try_from(n).ok())?,
            moment: text("moment").unwrap_or_default(),
            numbers: elements("numbers").filter_map(pair).collect(),
            conflicts: elements("conflicts").filter_map(Conflict::read).collect(),
        })
    }

    /// As it is written under `learnt`.
    pub fn write(&self) -> Vec<u8> {
        let numbers: Vec<Vec<u8>> =
            self.numbers.iter().map(|(there, here)| format!("[{there},{here}]").into_bytes()).collect();
        object(&[
            ("file", quote(&self.file)),
            ("slug", quote(&self.slug)),
            ("message", self.message.to_string().into_bytes()),
            ("moment", quote(&self.moment)),
            ("numbers", list(&numbers)),
            ("conflicts", self.write_conflicts()),
        ])
    }

    /// The conflicts as they are written.
    pub fn write_conflicts(&self) -> Vec<u8> {
        list(&self.conflicts.iter().map(Conflict::write).collect::<Vec<_>>())
    }
}

/// What a fork started with, to be compared with later.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Baseline {
    /// How many messages it had.
    pub messages: usize,
    /// The moment of the last one, in hexadecimal digits.
    pub moment: String,
    /// Fingerprint of its book.
    pub book: Option<String>,
    /// Number of the version of the running recap that was in use.
    pub current: Option<i64>,
    /// The versions of the running recap.
    pub versions: Vec<BaselineVersion>,
    /// The combined recap: how many messages it covered, and its hash.
    pub combined: Option<(i64, String)>,
}

/// One version of the running recap at the start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineVersion {
    /// Its number
    pub version: i64,
    /// Its hash
    pub hash: String,
}

/// The newest format of the record that this Forklore understands. A record with a second parent has it; all others have the first one,
/// which every Forklore understands.
pub const RECORD_VERSION: i64 = 2;

impl ForkRecord {
    /// Reads the record out of `chat_metadata`. `None` if there is none, if it only says that a fork is pending, or if a newer
    /// Forklore wrote it.
    pub fn read(metadata: Raw<'_>) -> Option<Self> {
        let raw = metadata.get("forklore")?;
        let text = |path: &[&str]| raw.at(path).and_then(Raw::as_text).map(std::borrow::Cow::into_owned);
        let number = |path: &[&str]| raw.at(path).and_then(Raw::as_i64).and_then(|n| usize::try_from(n).ok());
        let baseline = raw.get("baseline").and_then(|raw| serde_json::from_slice(raw.bytes()).ok());
        Some(Self {
            version: raw.get("version").and_then(Raw::as_i64).filter(|version| *version <= RECORD_VERSION)?,
            kind: text(&["kind"])?,
            owner_file: text(&["owner", "file"])?,
            owner_slug: text(&["owner", "slug"])?,
            parent_file: text(&["parent", "file"])?,
            parent_slug: text(&["parent", "slug"]).unwrap_or_default(),
            message: number(&["parent", "message"])?,
            moment: text(&["parent", "moment"]).unwrap_or_default(),
            root: text(&["root"]).unwrap_or_default(),
            depth: number(&["depth"]).unwrap_or(1),
            book: text(&["book", "name"]),
            undated: raw
                .at(&["book", "undated"])
                .unwrap_or(Raw::NULL)
                .elements()
                .filter_map(Uncertain::read)
                .collect(),
            baseline,
            accepted: raw
                .get("accepted")
                .unwrap_or(Raw::NULL)
                .elements()
                .filter_map(Raw::as_text)
                .map(std::borrow::Cow::into_owned)
                .collect(),
            created: raw.get("created").and_then(Raw::as_i64).unwrap_or(0),
            adopted: raw.get("adopted").and_then(Raw::as_bool).unwrap_or(false),
            restored: number(&["restored", "observation"]).map(|seq| seq as u64),
            learnt: raw.get("learnt").and_then(Learnt::read),
            appended: raw.get("appended").and_then(Appended::read),
        })
    }

    /// The record as it is written, with members that it only keeps: what is worth keeping and nobody asks for.
    pub fn write(&self, book: &[(&str, Vec<u8>)], kept: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let number = |n: usize| n.to_string().into_bytes();
        let mut own = vec![("name", self.book.as_deref().map_or(b"null".to_vec(), quote))];
        own.extend(book.iter().cloned());
        if !self.undated.is_empty() {
            own.push(("undated", list(&self.undated.iter().map(Uncertain::write).collect::<Vec<_>>())));
        }
        // Plain data into memory cannot fail.
        let baseline = serde_json::to_vec(&self.baseline).unwrap_or_else(|_| b"null".to_vec());
        let mut fields = vec![
            ("version", number(if self.learnt.is_some() || self.appended.is_some() { 2 } else { 1 })),
            ("kind", quote(&self.kind)),
            ("owner", object(&[("file", quote(&self.owner_file)), ("slug", quote(&self.owner_slug))])),
            (
                "parent",
                object(&[
                    ("file", quote(&self.parent_file)),
                    ("slug", quote(&self.parent_slug)),
                    ("message", number(self.message)),
                    ("moment", quote(&self.moment)),
                ]),
            ),
            ("root", quote(&self.root)),
            ("depth", number(self.depth)),
            ("book", object(&own)),
            ("baseline", baseline),
            ("created", self.created.to_string().into_bytes()),
        ];
        if !self.accepted.is_empty() {
            fields.push(("accepted", serde_json::json!(self.accepted).to_string().into_bytes()));
        }
        if let Some(seq) = self.restored {
            fields.push(("restored", object(&[("observation", seq.to_string().into_bytes())])));
        }
        if let Some(learnt) = &self.learnt {
            fields.push(("learnt", learnt.write()));
        }
        if let Some(appended) = &self.appended {
            fields.push(("appended", appended.write()));
        }
        if self.adopted {
            fields.push(("adopted", b"true".to_vec()));
        }
        fields.extend(kept.iter().cloned());
        object(&fields)
    }

    /// The book that Forklore made for the fork. Healing may have left the chat with one that was its own already.
    pub fn made_book(&self) -> Option<&str> {
        let made = !self.adopted || self.baseline.as_ref().is_some_and(|baseline| baseline.book.is_some());
        self.book.as_deref().filter(|_| made)
    }

    /// The messages that were another chat's before they were this one's.
    pub fn put_behind(&self) -> Option<RangeInclusive<usize>> {
        let appended = self.appended.as_ref()?;
        let more = appended.message.checked_add(1)?.checked_sub(appended.first)?;
        Some(self.message.checked_add(1)?..=self.message.checked_add(more)?)
    }

    /// Whether the record was written for the chat with this slug. A renamed chat keeps its slug, so the file alone decides nothing.
    pub fn belongs_to(&self, slug: Option<&str>) -> bool {
        slug == Some(self.owner_slug.as_str())
    }
}

/// What a record keeps of what was put aside, now and earlier: nothing of it is lost when the record is written anew.
pub fn quarantined(before: Option<Raw<'_>>, new: &[Vec<u8>]) -> Vec<u8> {
    let old = before.and_then(|record| record.get("quarantine")).unwrap_or(Raw::NULL).elements();
    let mut all: Vec<Vec<u8>> = old.map(|entry| entry.bytes().to_vec()).collect();
    all.extend(new.iter().filter(|entry| !all.contains(entry)).cloned().collect::<Vec<_>>());
    list(&all)
}

/// What a record keeps of what was archived, now and earlier: lists grow, and what something else takes the place of is kept as `earlier`.
pub fn archived(before: Option<Raw<'_>>, new: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let old = before.and_then(|record| record.get("archive")).unwrap_or(Raw::NULL);
    let mut all: Vec<(String, Vec<u8>)> = Vec::new();
    let mut earlier: Vec<Vec<u8>> = Vec::new();
    for (key, value) in old.members() {
        let Some(key) = key.as_text() else { continue };
        let now = new.iter().find(|(name, _)| *name == key).map(|(_, value)| Raw::trust(value));
        let both_lists = |now: &Raw<'_>| now.kind() == Kind::Array && value.kind() == Kind::Array;
        match now {
            _ if key == "earlier" => earlier.extend(value.elements().map(|one| one.bytes().to_vec())),
            None => all.push((key.into_owned(), value.bytes().to_vec())),
            Some(now) if both_lists(&now) => {
                let mut items: Vec<&[u8]> = value.elements().map(Raw::bytes).collect();
                items.extend(
                    now.elements().map(Raw::bytes).filter(|item| !items.contains(item)).collect::<Vec<_>>(),
                );
                let items: Vec<Vec<u8>> = items.into_iter().map(<[u8]>::to_vec).collect();
                all.push((key.into_owned(), list(&items)));
            }
            Some(now) => {
                if now.bytes() != value.bytes() {
                    earlier.push(object(&[(&key, value.bytes().to_vec())]));
                }
                all.push((key.into_owned(), now.bytes().to_vec()));
            }
        }
    }
    let more = new.iter().filter(|(key, _)| !all.iter().any(|(known, _)| known == key));
    let more: Vec<(String, Vec<u8>)> = more.map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    all.extend(more);
    if !earlier.is_empty() {
        all.push(("earlier".to_owned(), list(&earlier)));
    }
    object(&all.iter().map(|(key, value)| (key.as_str(), value.clone())).collect::<Vec<_>>())
}

/// Whether a newer Forklore has written a record that this one does not understand, and must not replace.
pub fn is_newer(metadata: Raw<'_>) -> bool {
    let version = metadata.at(&["forklore", "version"]).and_then(Raw::as_i64);
    version.is_some_and(|version| version > RECORD_VERSION)
}

/// Whether a fork is waiting for its book (see the spec, "A fork that ST saves").
pub fn is_pending(metadata: Raw<'_>) -> bool {
    metadata.at(&["forklore", "pending"]).is_some_and(Raw::is_truthy)
}

/// The note in a fork that was saved without its book, because there was no engine or it refused.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pending {
    /// Why: the code of an error
    pub code: String,
    /// The same for people
    pub message: String,
    /// When it was saved, in milliseconds since 1970
    pub since: i64,
    /// The book that the parent was bound to
    pub book: Option<String>,
}

impl Pending {
    /// Reads the note out of `chat_metadata`.
    pub fn read(metadata: Raw<'_>) -> Option<Self> {
        let note = metadata.at(&["forklore", "pending"]).filter(|note| note.is_truthy())?;
        let text = |key: &str| note.get(key).and_then(Raw::as_text).map(std::borrow::Cow::into_owned);
        Some(Self {
            code: text("code").unwrap_or_default(),
            message: text("message").unwrap_or_default(),
            since: note.get("since").and_then(Raw::as_i64).unwrap_or(0),
            book: text("book"),
        })
    }

    /// The note as it is written under `forklore`.
    pub fn write(&self) -> Vec<u8> {
        let note = object(&[
            ("code", quote(&self.code)),
            ("message", quote(&self.message)),
            ("since", self.since.to_string().into_bytes()),
            ("book", self.book.as_deref().map_or(b"null".to_vec(), quote)),
        ]);
        object(&[("pending", note)])
    }
}
