//! Character cards: PNG pictures that carry the character as base64 JSON in a text chunk.

use base64::Engine as _;
use forklore_json::Raw;

/// What Forklore needs of a character card.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Card {
    /// The name shown to the user.
    pub name: String,
    /// The chat that opens with the character, without extension.
    pub current_chat: Option<String>,
    /// The lorebook bound to the character.
    pub book: Option<String>,
}

impl Card {
    /// Reads a card. `None` if it is no PNG, or carries no character.
    pub fn parse(png: &[u8]) -> Option<Self> {
        let json = character_json(png)?;
        let raw = Raw::parse(&json).ok()?;
        let text = |path: &[&str]| raw.at(path).and_then(Raw::as_text).map(std::borrow::Cow::into_owned);
        let filled = |text: Option<String>| text.filter(|t| !t.is_empty());
        Some(Self {
            name: filled(text(&["data", "name"])).or_else(|| filled(text(&["name"]))).unwrap_or_default(),
            current_chat: filled(text(&["chat"])),
            book: filled(text(&["data", "extensions", "world"])),
        })
    }
}

/// The character's JSON: the newer chunk `ccv3` wins over `chara`, as in SillyTavern.
fn character_json(png: &[u8]) -> Option<Vec<u8>> {
    let mut chunks = png.strip_prefix(b"\x89PNG\r\n\x1a\n")?;
    let mut found: [Option<&[u8]>; 2] = [None, None];
    while let [a, b, c, d, rest @ ..] = chunks {
        let len = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        let (kind, rest) = rest.split_at_checked(4)?;
        let (data, rest) = rest.split_at_checked(len)?;
        chunks = rest.get(4..)?;
        if kind == b"tEXt" {
            let zero = memchr::memchr(0, data)?;
            match &data[..zero] {
                b"ccv3" => found[0] = Some(&data[zero + 1..]),
                b"chara" => found[1] = Some(&data[zero + 1..]),
                _ => {}
            }
        }
    }
    let text = found[0].or(found[1])?;
    base64::engine::general_purpose::STANDARD.decode(text).ok()
}
