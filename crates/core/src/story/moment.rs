//! [`Moment`]: identity of "this message with everything before it"; [`MessageId`]: identity of a message on its own.
//!
//! A moment is a hash chained over speaker role and shown text, so two chats share a moment exactly when they share that
//! prefix. What does not belong to the story stays out of it: names (a card can be renamed), hidden flags, `extra`, swipes that
//! are not shown, the bytes themselves (SillyTavern rewrites messages when it loads them).

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use forklore_json::Raw;

use crate::format::chat::{Message, Role};

/// Identity of a message together with everything before it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Moment(pub [u8; 16]);

impl Moment {
    /// The moment before the first message.
    pub const START: Moment = Moment([0; 16]);

    /// The moment after one more message.
    #[must_use]
    pub fn then(self, role: Role, text: &TextHash) -> Moment {
        let mut block = [0; 16 + 1 + 32];
        block[..16].copy_from_slice(&self.0);
        block[16] = role as u8;
        block[17..].copy_from_slice(&text.0);
        Moment(truncated(blake3::hash(&block)))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Identity of a message on its own: role, text and send date. It survives an edit of an earlier message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct MessageId(pub u64);

/// Hash of a shown text, however it is escaped in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextHash([u8; 32]);

impl TextHash {
    fn of(mes: Option<Raw<'_>>) -> Self {
        let Some(mes) = mes else { return Self([0; 32]) };
        Self(match mes.as_stringified() {
            Some(text) => blake3::hash(&text).into(),
            // Not a text at all: the bytes themselves, kept apart from every text.
            None => blake3::keyed_hash(&[1; 32], mes.bytes()).into(),
        })
    }
}

/// What identifies one message, worked out from its line alone; the chain comes later.
pub fn identify(message: Message<'_>) -> (Role, TextHash, MessageId) {
    let role = message.role();
    let text = TextHash::of(message.mes());
    let date = message
        .send_date()
        .map(|date| date.as_wtf8().unwrap_or(Cow::Borrowed(date.bytes())))
        .unwrap_or_default();
    // A date is short: one block on the stack instead of a hasher for every message.
    let mut block = [0; 128];
    let len = 33 + date.len();
    let id = if let Some(block) = block.get_mut(..len) {
        block[0] = role as u8;
        block[1..33].copy_from_slice(&text.0);
        block[33..].copy_from_slice(&date);
        blake3::hash(block)
    } else {
        blake3::hash(&[&[role as u8], &text.0[..], &date].concat())
    };
    let id = truncated(id);
    (role, text, MessageId(u64::from_le_bytes(id)))
}

fn truncated<const N: usize>(hash: blake3::Hash) -> [u8; N] {
    std::array::from_fn(|i| hash.as_bytes()[i])
}

/// What a transcript keeps of a message besides its place.
#[derive(Debug, Clone, Copy)]
pub struct Said {
    /// Whether it is hidden from the model
    pub hidden: bool,
    /// When it was sent, see [`sent`]
    pub sent: Option<i64>,
    /// Who it is, see [`identify`]
    pub identity: (Role, TextHash, MessageId),
}

impl Said {
    /// Looks at a message.
    pub fn of(message: Message<'_>) -> Self {
        Self { hidden: message.is_hidden(), sent: sent(message), identity: identify(message) }
    }
}

/// When a message was sent, in milliseconds since 1970: a swipe dates it anew, but it has been there since its first one. Older SillyTavern
/// wrote the local time to the minute: that is no clock that other times could be compared with, and tells nothing.
pub fn sent(message: Message<'_>) -> Option<i64> {
    let shown = time(message.send_date()?)?;
    Some(message.first_date().and_then(time).map_or(shown, |first| first.min(shown)))
}

fn time(date: Raw<'_>) -> Option<i64> {
    match date.as_text() {
        Some(text) => Some(text.parse::<jiff::Timestamp>().ok()?.as_millisecond()),
        None => date.as_i64(),
    }
}

/// The moments that a message would have with each of its swipes shown, after the moment `before` it.
pub fn swipe_moments(before: Moment, message: Message<'_>) -> Vec<Moment> {
    let role = message.role();
    message.swipes().map(|swipe| before.then(role, &TextHash::of(Some(swipe)))).collect()
}

/// One message of a transcript: where its line is, and who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Row {
    /// Offset of the line in the file.
    pub start: u64,
    /// Length of the line, without its newline.
    pub len: u32,
    /// Whether the message is hidden from the model.
    pub hidden: bool,
    /// When it was sent, in milliseconds since 1970, if it says so exactly.
    pub sent: Option<i64>,
    /// Identity of the message on its own.
    pub id: MessageId,
    /// Identity of the message with everything before it.
    pub moment: Moment,
}

/// The messages of a chat: all of them in memory, or looked up one by one where only a few of very many are needed.
#[derive(Debug, Clone)]
pub struct Transcript(Rows);

#[derive(Debug, Clone)]
enum Rows {
    Here(Arc<[Row]>),
    Elsewhere(Arc<dyn RowSource>),
}

/// Somewhere that rows can be looked up.
pub trait RowSource: fmt::Debug + Send + Sync {
    /// How many there are.
    fn count(&self) -> usize;

    /// One of them; `n` is below [`RowSource::count`].
    fn row(&self, n: usize) -> Row;
}

impl Default for Transcript {
    fn default() -> Self {
        Self(Rows::Here(Arc::new([])))
    }
}

impl Transcript {
    /// A transcript whose rows are looked up elsewhere.
    pub fn elsewhere(rows: Arc<dyn RowSource>) -> Self {
        Self(Rows::Elsewhere(rows))
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        match &self.0 {
            Rows::Here(rows) => rows.len(),
            Rows::Elsewhere(rows) => rows.count(),
        }
    }

    /// Whether there is no message.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One message, if there is such a message.
    pub fn row(&self, message: usize) -> Option<Row> {
        match &self.0 {
            Rows::Here(rows) => rows.get(message).copied(),
            Rows::Elsewhere(rows) => (message < rows.count()).then(|| rows.row(message)),
        }
    }

    /// The messages from one on.
    pub fn rows_from(&self, first: usize) -> impl Iterator<Item = Row> {
        (first..self.len()).filter_map(|i| self.row(i))
    }

    /// The moment of a message, if there is such a message.
    pub fn moment(&self, message: usize) -> Option<Moment> {
        self.row(message).map(|row| row.moment)
    }

    /// The moment before a message.
    pub fn moment_before(&self, message: usize) -> Moment {
        message.checked_sub(1).and_then(|before| self.moment(before)).unwrap_or(Moment::START)
    }
}

impl FromIterator<Row> for Transcript {
    fn from_iter<T: IntoIterator<Item = Row>>(rows: T) -> Self {
        Self(Rows::Here(rows.into_iter().collect()))
    }
}

/// Chains messages into a [`Transcript`] as their lines come in.
#[derive(Debug, Default)]
pub struct TranscriptBuilder {
    rows: Vec<Row>,
}

impl TranscriptBuilder {
    /// Adds the next message.
    pub fn push(&mut self, start: u64, len: u32, said: Said) {
        let before = self.rows.last().map_or(Moment::START, |row| row.moment);
        let Said { hidden, sent, identity: (role, text, id) } = said;
        self.rows.push(Row { start, len, hidden, sent, id, moment: before.then(role, &text) });
    }

    /// How many messages were added.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no message was added.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The transcript.
    pub fn finish(self) -> Transcript {
        Transcript(Rows::Here(self.rows.into()))
    }
}
