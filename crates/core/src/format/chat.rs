//! Chat files, line by line: [`Line`] says what one line is for SillyTavern, [`Header`] and [`Message`] look inside.
//!
//! SillyTavern splits the file at newlines and parses each line on its own; what does not parse, or parses to something that
//! JavaScript counts as false, is dropped without a word. So message *i* is the *i*-th line that survives, and that is how
//! Forklore counts.

use std::borrow::Cow;

use forklore_json::{Kind, Raw, SyntaxError};

/// The mark some editors put at the start of a file. SillyTavern never writes it and cannot read a header behind it.
pub const BOM: &[u8] = b"\xEF\xBB\xBF";

/// What one line of a chat file is.
#[derive(Debug, Clone, Copy)]
pub enum Line<'a> {
    /// Nothing but white space; harmless.
    Blank,
    /// Not JSON: SillyTavern drops it on the next save.
    Broken(SyntaxError),
    /// JSON that JavaScript counts as false (`null`, `0`, `""`): dropped too.
    Falsy,
    /// The header or a message. Which of them only its place in the file tells.
    Element(Message<'a>),
}

impl<'a> Line<'a> {
    /// Reads one line, without its newline. A carriage return at its end is white space.
    pub fn read(line: &'a [u8]) -> Self {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Self::Blank;
        }
        match Message::parse(line) {
            Ok(message) if message.raw.is_truthy() => Self::Element(message),
            Ok(_) => Self::Falsy,
            Err(e) => Self::Broken(e),
        }
    }
}

/// Whether the first element of a chat file is its header.
///
/// In a group chat only an element with `chat_metadata` is. In a solo chat SillyTavern takes whatever comes first; we call a
/// first element with a message's text and no metadata what it is, a message, so that nothing is lost in counting.
pub fn is_header(first: Message<'_>, group: bool) -> bool {
    first.has_metadata || (!group && first.mes.is_none())
}

/// The first line of a chat: what SillyTavern and its extensions keep for the chat as a whole.
#[derive(Debug, Clone, Copy)]
pub struct Header<'a> {
    raw: Raw<'a>,
    metadata: Raw<'a>,
}

impl<'a> Header<'a> {
    /// Looks at a header line.
    pub fn new(raw: Raw<'a>) -> Self {
        let metadata = raw.get("chat_metadata").filter(|m| m.kind() == Kind::Object).unwrap_or(Raw::NULL);
        Self { raw, metadata }
    }

    /// A header in which it is known already where `chat_metadata` is: finding it takes a look at all of the line.
    pub fn with_metadata(raw: Raw<'a>, metadata: Raw<'a>) -> Self {
        Self { raw, metadata }
    }

    /// A header of which only `chat_metadata` is known.
    pub fn new_metadata(metadata: Raw<'a>) -> Self {
        Self { raw: Raw::NULL, metadata }
    }

    /// The header of a chat that has none.
    pub const NONE: Header<'static> = Header { raw: Raw::NULL, metadata: Raw::NULL };

    /// The whole line.
    pub fn raw(self) -> Raw<'a> {
        self.raw
    }

    /// `chat_metadata`; `null` where it is missing.
    pub fn metadata(self) -> Raw<'a> {
        self.metadata
    }

    /// A text in `chat_metadata` that is not empty.
    pub fn text(self, key: &str) -> Option<Cow<'a, str>> {
        self.metadata.get(key).and_then(Raw::as_text).filter(|text| !text.is_empty())
    }

    /// The slug by which SillyTavern tells chats apart.
    pub fn slug(self) -> Option<Cow<'a, str>> {
        self.text("integrity")
    }

    /// Name of the chat that this one says it was forked from.
    pub fn main_chat(self) -> Option<Cow<'a, str>> {
        self.text("main_chat")
    }

    /// Name of the lorebook bound to the chat.
    pub fn book(self) -> Option<Cow<'a, str>> {
        self.text("world_info")
    }
}

/// One message, with the fields that matter found in one pass over its line.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    raw: Raw<'a>,
    name: Option<Raw<'a>>,
    is_user: Option<Raw<'a>>,
    is_system: Option<Raw<'a>>,
    mes: Option<Raw<'a>>,
    send_date: Option<Raw<'a>>,
    swipe_info: Option<Raw<'a>>,
    extra: Option<Raw<'a>>,
    swipes: Option<Raw<'a>>,
    has_metadata: bool,
}

/// Who speaks, as far as it belongs to the story. A character's name does not: it changes when the card is renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The user's persona
    User,
    /// Anybody else
    Character,
}

impl<'a> Message<'a> {
    const NONE: Message<'static> = Message {
        raw: Raw::NULL,
        name: None,
        is_user: None,
        is_system: None,
        mes: None,
        send_date: None,
        swipe_info: None,
        extra: None,
        swipes: None,
        has_metadata: false,
    };

    /// Reads a message line: checks it and finds its fields in one pass.
    pub fn parse(line: &'a [u8]) -> Result<Self, SyntaxError> {
        let mut message = Self::NONE;
        let raw = Raw::parse_members(line, |key, value| message.note(key, value))?;
        Ok(Self { raw, ..message })
    }

    /// Looks at a message.
    pub fn new(raw: Raw<'a>) -> Self {
        let mut message = Self { raw, ..Self::NONE };
        raw.members().for_each(|(key, value)| message.note(key, value));
        message
    }

    fn note(&mut self, key: Raw<'a>, value: Raw<'a>) {
        let field = match key.bytes() {
            b"\"name\"" => &mut self.name,
            b"\"is_user\"" => &mut self.is_user,
            b"\"is_system\"" => &mut self.is_system,
            b"\"mes\"" => &mut self.mes,
            b"\"send_date\"" => &mut self.send_date,
            b"\"swipe_info\"" => &mut self.swipe_info,
            b"\"extra\"" => &mut self.extra,
            b"\"swipes\"" => &mut self.swipes,
            b"\"chat_metadata\"" => {
                self.has_metadata = true;
                return;
            }
            _ => return,
        };
        *field = Some(value);
    }

    /// The whole line.
    pub fn raw(self) -> Raw<'a> {
        self.raw
    }

    /// Who speaks.
    pub fn role(self) -> Role {
        if self.is_user.is_some_and(Raw::is_truthy) { Role::User } else { Role::Character }
    }

    /// Whether the message is hidden from the model. Slash commands write `""` here for "no".
    pub fn is_hidden(self) -> bool {
        self.is_system.is_some_and(Raw::is_truthy)
    }

    /// The speaker's name, for showing.
    pub fn speaker(self) -> Cow<'a, str> {
        self.name.and_then(Raw::as_text).unwrap_or_default()
    }

    /// The shown text as it stands.
    pub fn mes(self) -> Option<Raw<'a>> {
        self.mes
    }

    /// The shown text, for showing.
    pub fn text(self) -> Cow<'a, str> {
        self.mes.and_then(Raw::as_text).unwrap_or_default()
    }

    /// When what it shows was sent, in whatever form.
    pub fn send_date(self) -> Option<Raw<'a>> {
        self.send_date
    }

    /// When its first swipe was sent, in whatever form.
    pub fn first_date(self) -> Option<Raw<'a>> {
        self.swipe_info?.elements().next()?.get("send_date")
    }

    /// `extra`, where extensions keep their data; `null` where it is missing.
    pub fn extra(self) -> Raw<'a> {
        self.extra.unwrap_or(Raw::NULL)
    }

    /// The texts of all swipes, the shown one included.
    pub fn swipes(self) -> impl Iterator<Item = Raw<'a>> {
        self.swipes.unwrap_or(Raw::NULL).elements()
    }

    /// Names of what hangs on this message, as typed: its checkpoint, and its branches.
    pub fn links(self) -> (Option<Cow<'a, str>>, impl Iterator<Item = Cow<'a, str>>) {
        let [bookmark, branches] = self.extra().pick(["bookmark_link", "branches"]);
        let bookmark = bookmark.and_then(Raw::as_text).filter(|name| !name.is_empty());
        (bookmark, branches.unwrap_or(Raw::NULL).elements().filter_map(Raw::as_text))
    }
}
