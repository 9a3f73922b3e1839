//! SillyTavern's timed effects: [`rekey`] moves sticky and cooldown effects of a book to the fork's book; [`along`] takes those of another
//! line along with its entries.
//!
//! An effect is kept under `<book>.<uid>` and found by a hash of the entry, the book's name included ([`entry_hash`]). Under a
//! new name nothing would be found, and what was sticky would silently not be. So the hash is worked out as the browser will:
//! cyrb53 over the UTF-16 units of what `JSON.stringify` writes. [`Form`] tells which text the browser sees: an extension can
//! wrap the text of every entry before SillyTavern hashes it.

use std::collections::HashMap;

use forklore_json::{Kind, PathPart, Raw, Splice, apply_all, quote, set};

use crate::adapter::{ALL, Adapter};
use crate::format::book::EntryImage;
use crate::format::js::{Units, js_number, units};
use crate::format::revision::Revision;

/// In which form the browser hashes the text of entries.
#[derive(Clone, Copy)]
pub enum Form {
    /// As it stands in the book.
    Plain,
    /// In what an extension puts around it while it is installed.
    Wrapped(&'static dyn Adapter),
}

impl PartialEq for Form {
    fn eq(&self, other: &Self) -> bool {
        self.extension() == other.extension()
    }
}

impl Eq for Form {}

impl std::fmt::Debug for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.extension() {
            None => f.write_str("Plain"),
            Some(name) => write!(f, "Wrapped({name})"),
        }
    }
}

impl Form {
    /// The form in which an entry of the book `world` has this hash; `None` if it has it in none: then the entry was changed
    /// since.
    pub fn of(hash: u64, entry: Raw<'_>, world: &str) -> Option<Self> {
        let wrapped = ALL.into_iter().map(Self::Wrapped);
        std::iter::once(Self::Plain).chain(wrapped).find(|form| entry_hash(entry, world, *form) == hash)
    }

    /// The extension that wraps the text.
    fn extension(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Wrapped(adapter) => Some(adapter.name()),
        }
    }
}

/// SillyTavern's `getStringHash` with seed 0: cyrb53, 53 bits.
pub fn string_hash(units: impl Iterator<Item = u16>) -> u64 {
    let (mut a, mut b) = (0xdead_beef_u32, 0x41c6_ce57_u32);
    for unit in units.map(u32::from) {
        a = (a ^ unit).wrapping_mul(2_654_435_761);
        b = (b ^ unit).wrapping_mul(1_597_334_677);
    }
    let mix = |x: u32, y: u32| {
        (x ^ (x >> 16)).wrapping_mul(2_246_822_507) ^ (y ^ (y >> 13)).wrapping_mul(3_266_489_909)
    };
    a = mix(a, b);
    b = mix(b, a);
    u64::from(b & 0x1f_ffff) << 32 | u64::from(a)
}

/// The hash that SillyTavern gives an entry of the book `world`.
pub fn entry_hash(entry: Raw<'_>, world: &str, form: Form) -> u64 {
    string_hash(stringified(entry, world, form).into_iter())
}

/// `chat_metadata.timedWorldInfo` for a fork, as the bytes of a JSON object.
///
/// Effects of the book `old` go to the book `new`, with the hash of the fork's entry, which `entries` gives by uid; without an
/// entry they go away. Effects of other books stay. Whatever started when there were already `visible` messages that are not
/// hidden, or more, goes away: a generation that has n messages before it starts effects at n, so the fork does not have it.
pub fn rekey(
    timed: Raw<'_>,
    old: &str,
    new: &str,
    entries: &dyn Fn(i64) -> Option<EntryImage>,
    visible: usize,
    form: Form,
) -> Vec<u8> {
    let effect = |key: Raw<'_>, value: Raw<'_>| -> Option<Vec<u8>> {
        if value.get("start").and_then(number).is_some_and(|start| start >= visible as f64) {
            return None;
        }
        if let Some(uid) = uid_in(key, old) {
            let hash = entry_hash(entries(uid)?.raw(), new, form).to_string();
            let value = set(value, &[PathPart::key("hash")], hash.as_bytes()).ok()?.apply(value.bytes());
            return Some([&quote(&format!("{new}.{uid}"))[..], b":", &value].concat());
        }
        // The new book is new: an effect of that name is of a book that is gone, and could hide one of ours.
        let stale = uid_in(key, new).is_some();
        (!stale).then(|| [key.bytes(), b":", value.bytes()].concat())
    };
    let splice = |(key, list): (Raw<'_>, Raw<'_>)| {
        let known = (key.is_text("sticky") || key.is_text("cooldown")) && list.kind() == Kind::Object;
        let range = list.range_in(timed.bytes()).filter(|_| known)?;
        let effects: Vec<Vec<u8>> = list.members().filter_map(|(key, value)| effect(key, value)).collect();
        Some(Splice { range, with: [b"{", &effects.join(&b","[..])[..], b"}"].concat() })
    };
    let splices: Vec<Splice> = timed.members().filter_map(splice).collect();
    apply_all(timed.bytes(), &splices)
}

/// What of the effects in another line's book `old` goes on in the book `new`: `entries` gives the entry that came along for a uid there,
/// and `visible` how many messages are not hidden, there and here. As many messages are left of each effect as are left there.
pub fn along(
    timed: Raw<'_>,
    (old, new): (&str, &str),
    entries: &dyn Fn(i64) -> Option<EntryImage>,
    visible: (usize, usize),
    form: Form,
) -> Vec<Revision> {
    let (there, here) = (visible.0 as f64, visible.1 as f64);
    let effect = |kind: &str, key: Raw<'_>, value: Raw<'_>| -> Option<Revision> {
        let entry = entries(uid_in(key, old)?)?;
        let (start, end) = (number(value.get("start")?)?, number(value.get("end")?)?);
        // What starts with the next message has not begun, and what ends with the last one is over.
        if start >= there || end <= there {
            return None;
        }
        let mut bytes = value.bytes().to_vec();
        let hash = entry_hash(entry.raw(), new, form).to_string();
        for (field, value) in [
            ("hash", hash),
            ("start", (start - there + here).to_string()),
            ("end", (end - there + here).to_string()),
        ] {
            bytes = set(Raw::trust(&bytes), &[PathPart::key(field)], value.as_bytes()).ok()?.apply(&bytes);
        }
        Some(Revision::set(&["timedWorldInfo", kind, &format!("{new}.{}", entry.uid?)], bytes))
    };
    let lists = timed.members().filter_map(|(kind, list)| Some((kind.as_text()?, list)));
    let lists = lists.filter(|(kind, _)| matches!(&**kind, "sticky" | "cooldown"));
    lists
        .flat_map(|(kind, list)| {
            list.members().filter_map(|(key, value)| effect(&kind, key, value)).collect::<Vec<_>>()
        })
        .collect()
}

/// The splices in `doc` that give the effects of the book `old` to the book `new`, with everything in it as it was: an effect whose
/// entry is still the one that it began with is found again, one whose entry has changed since is not, as before.
pub fn renamed(
    doc: &[u8],
    timed: Raw<'_>,
    old: &str,
    new: &str,
    entries: &dyn Fn(i64) -> Option<EntryImage>,
) -> Vec<Splice> {
    let mut splices = Vec::new();
    let lists = timed.members().filter(|(key, _)| key.is_text("sticky") || key.is_text("cooldown"));
    for (key, effect) in lists.flat_map(|(_, list)| list.members()) {
        let Some((uid, range)) = uid_in(key, old).zip(key.range_in(doc)) else { continue };
        splices.push(Splice { range, with: quote(&format!("{new}.{uid}")) });
        let Some(hash) = effect.get("hash") else { continue };
        let known = hash.as_i64().and_then(|hash| u64::try_from(hash).ok()).zip(entries(uid));
        let form = known.and_then(|(hash, entry)| Some((Form::of(hash, entry.raw(), old)?, entry)));
        if let Some(((form, entry), range)) = form.zip(hash.range_in(doc)) {
            splices.push(Splice { range, with: entry_hash(entry.raw(), new, form).to_string().into_bytes() });
        }
    }
    splices
}

/// The uid in a key `<book>.<uid>`, if it is of this book.
fn uid_in(key: Raw<'_>, book: &str) -> Option<i64> {
    key.as_text()?.strip_prefix(book)?.strip_prefix('.')?.parse().ok()
}

/// What JavaScript's `Number` makes of a number or a text.
fn number(value: Raw<'_>) -> Option<f64> {
    match value.kind() {
        Kind::Number => std::str::from_utf8(value.bytes()).ok()?.parse().ok(),
        Kind::String => value.as_text()?.trim().parse().ok(),
        _ => None,
    }
}

/// One member on its way to be written.
enum Value<'a> {
    Raw(Raw<'a>),
    Text(Units),
    Texts(Vec<Units>),
}

/// What SillyTavern hashes: `uid` and `world` are put first, the other fields follow in file order, then `decorators`.
fn stringified(entry: Raw<'_>, world: &str, form: Form) -> Units {
    let mut fields = Members::default();
    if let Some(uid) = entry.get("uid") {
        fields.put(units("uid"), Value::Raw(uid));
    }
    fields.put(units("world"), Value::Text(units(world)));
    for (key, value) in entry.members().filter(|(key, _)| !key.is_text("uid")) {
        fields.put(key.as_utf16().unwrap_or_default(), Value::Raw(value));
    }
    let content = entry.get("content").and_then(Raw::as_utf16).unwrap_or_default();
    let content = match form {
        Form::Plain => content,
        Form::Wrapped(adapter) => adapter.wrapped(&content, entry, world).unwrap_or(content),
    };
    let (decorators, content) = split_decorators(content);
    fields.put(units("decorators"), Value::Texts(decorators));
    fields.put(units("content"), Value::Text(content));

    let mut out = Writer::default();
    out.mark('{');
    for (i, (key, value)) in fields.in_order().into_iter().enumerate() {
        out.comma_unless(i == 0);
        out.key(&key);
        match value {
            Value::Raw(raw) => out.raw(raw),
            Value::Text(text) => out.quoted(&text),
            Value::Texts(texts) => out.list(&texts),
        }
    }
    out.mark('}');
    out.units
}

/// Takes the `@@` lines off the start of a text as SillyTavern does, and gives those that it knows.
///
/// A line with three signs is a second choice: it counts only right after a line that is not known. A text of nothing but such
/// lines keeps them.
fn split_decorators(content: Units) -> (Vec<Units>, Units) {
    let (two, three) = (units("@@"), units("@@@"));
    let known = [units("@@activate"), units("@@dont_activate")];
    if !content.starts_with(&two) {
        return (Vec::new(), content);
    }
    let mut decorators = Vec::new();
    let mut failed = false;
    let mut at = 0;
    for line in content.split(|unit| *unit == u16::from(b'\n')) {
        if !line.starts_with(&two) {
            return (decorators, content[at..].to_vec());
        }
        at += line.len() + 1;
        let second = line.starts_with(&three);
        if second && !failed {
            continue;
        }
        let line = if second { &line[1..] } else { line };
        failed = !known.iter().any(|name| line.starts_with(name));
        if !failed {
            decorators.push(line.to_vec());
        }
    }
    (decorators, content)
}

/// The members of an object in the order that JavaScript keeps: a key that is put again keeps its place.
struct Members<T> {
    list: Vec<(Units, T)>,
    places: HashMap<Units, usize>,
}

impl<T> Default for Members<T> {
    fn default() -> Self {
        Self { list: Vec::new(), places: HashMap::new() }
    }
}

impl<T> Members<T> {
    fn put(&mut self, key: Units, value: T) {
        match self.places.get(&key).and_then(|place| self.list.get_mut(*place)) {
            Some(member) => member.1 = value,
            None => {
                self.places.insert(key.clone(), self.list.len());
                self.list.push((key, value));
            }
        }
    }

    /// Keys that look like an array index come first, in their own order.
    fn in_order(mut self) -> Vec<(Units, T)> {
        // The sort is stable, so the others stay as they were put.
        self.list.sort_by_key(|(key, _)| array_index(key).unwrap_or(u32::MAX));
        self.list
    }
}

/// The number of a key that JavaScript treats as an array index: canonical decimal, at most 2^32 - 2.
fn array_index(key: &[u16]) -> Option<u32> {
    let text = String::from_utf16(key).ok()?;
    let index: u32 = text.parse().ok().filter(|index| *index < u32::MAX)?;
    (index.to_string() == text).then_some(index)
}

/// Writes JSON as `JSON.stringify` does.
#[derive(Default)]
struct Writer {
    units: Units,
}

/// The rest of an object or a list that is being written.
struct Open<'a> {
    items: std::vec::IntoIter<(Option<Units>, Raw<'a>)>,
    end: char,
    is_first: bool,
}

impl Writer {
    fn mark(&mut self, c: char) {
        self.units.extend(c.encode_utf16(&mut [0; 2]).iter());
    }

    fn comma_unless(&mut self, is_first: bool) {
        if !is_first {
            self.mark(',');
        }
    }

    fn key(&mut self, key: &[u16]) {
        self.quoted(key);
        self.mark(':');
    }

    fn list(&mut self, texts: &[Units]) {
        self.mark('[');
        for (i, text) in texts.iter().enumerate() {
            self.comma_unless(i == 0);
            self.quoted(text);
        }
        self.mark(']');
    }

    fn quoted(&mut self, text: &[u16]) {
        self.mark('"');
        for c in char::decode_utf16(text.iter().copied()) {
            match c {
                Ok('"') => self.units.extend("\\\"".encode_utf16()),
                Ok('\\') => self.units.extend("\\\\".encode_utf16()),
                Ok('\n') => self.units.extend("\\n".encode_utf16()),
                Ok('\r') => self.units.extend("\\r".encode_utf16()),
                Ok('\t') => self.units.extend("\\t".encode_utf16()),
                Ok('\u{8}') => self.units.extend("\\b".encode_utf16()),
                Ok('\u{c}') => self.units.extend("\\f".encode_utf16()),
                Ok(c @ '\0'..' ') => self.units.extend(format!("\\u{:04x}", u32::from(c)).encode_utf16()),
                Ok(c) => self.mark(c),
                Err(lone) => {
                    self.units.extend(format!("\\u{:04x}", lone.unpaired_surrogate()).encode_utf16());
                }
            }
        }
        self.mark('"');
    }

    /// Writes a value. With a stack of its own: values can be nested deeper than the machine's.
    fn raw(&mut self, value: Raw<'_>) {
        let mut stack: Vec<Open<'_>> = self.open(value).into_iter().collect();
        while let Some(open) = stack.last_mut() {
            let Some((key, value)) = open.items.next() else {
                self.mark(open.end);
                stack.pop();
                continue;
            };
            self.comma_unless(open.is_first);
            open.is_first = false;
            if let Some(key) = key {
                self.key(&key);
            }
            stack.extend(self.open(value));
        }
    }

    /// Writes a simple value, or the start of one that has others inside.
    fn open<'a>(&mut self, value: Raw<'a>) -> Option<Open<'a>> {
        let (items, end): (Vec<_>, char) = match value.kind() {
            Kind::Object => {
                let mut members = Members::default();
                for (key, value) in value.members() {
                    members.put(key.as_utf16().unwrap_or_default(), value);
                }
                let items = members.in_order().into_iter().map(|(key, value)| (Some(key), value));
                self.mark('{');
                (items.collect(), '}')
            }
            Kind::Array => {
                self.mark('[');
                (value.elements().map(|value| (None, value)).collect(), ']')
            }
            Kind::String => {
                self.quoted(&value.as_utf16().unwrap_or_default());
                return None;
            }
            Kind::Number => {
                // What is too large for a number is infinite, which JSON cannot say.
                self.units.extend(js_number(value).as_deref().unwrap_or("null").encode_utf16());
                return None;
            }
            Kind::Null | Kind::Bool => {
                self.units.extend(value.bytes().iter().copied().map(u16::from));
                return None;
            }
        };
        Some(Open { items: items.into_iter(), end, is_first: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::auto_recap::AutoRecap;

    fn raw(json: &str) -> Raw<'_> {
        Raw::parse(json.as_bytes()).unwrap()
    }

    #[test]
    fn hashes_texts_as_sillytavern_does() {
        let vectors = [
            ("", 3_338_908_027_751_811),
            ("a", 7_929_297_801_672_961),
            ("hello", 4_625_896_200_565_286),
            ("Zoë 🐉", 432_319_642_021_094),
        ];
        for (text, hash) in vectors {
            assert_eq!(string_hash(text.encode_utf16()), hash);
        }
        let cut = std::iter::once(0xd83d).chain(" cut".encode_utf16());
        assert_eq!(string_hash(cut), 1_737_395_191_642_294);
    }

    /// The values are what SillyTavern's and Auto-Recap's own functions gave in node.
    #[test]
    fn hashes_entries_as_the_browser_does() {
        let vectors = [
            (
                "Book",
                r#"{"uid":3,"key":["a"],"comment":"Ana","content":"Plain","order":100,"sticky":4}"#,
                [4_774_529_219_774_717, 7_881_397_741_210_808],
            ),
            (
                "Bö & \"k\" 🐉",
                r#"{"content":"\ud83d cut 🐉\u0007","uid":1,"extensions":{"b":1,"2":1.50,"10":-0,"b":1e21,"f":1e-7}}"#,
                [5_722_025_314_279_958, 8_361_819_689_802_996],
            ),
            (
                "a.b",
                r#"{"uid":9007199254740993,"7":[1e400,0.1,123456789012345678901],"content":"@@unknown\n@@@activate 2\n@@dont_activate\nText\r\nmore","world":"own","decorators":["old"]}"#,
                [8_296_759_061_359_766, 7_899_426_990_704_615],
            ),
            (
                "Book",
                r#"{"uid":2,"content":"@@activate","comment":"O'Neil <x>","key":["k","l"],"depth":4,"role":null,"position":0}"#,
                [2_462_444_843_803_431, 2_462_444_843_803_431],
            ),
            ("Book", r#"{"comment":"no text"}"#, [1_578_222_395_485_445, 1_578_222_395_485_445]),
            (
                "Book",
                r#"{"uid":5,"content":"@@activate\r\n \ufeffBody\u0085 ","comment":"","key":["k & l",null],"order":1.0,"depth":"4","role":0}"#,
                [437_944_391_817_051, 95_561_698_780_083],
            ),
        ];
        for (world, entry, hashes) in vectors {
            let found =
                [Form::Plain, Form::Wrapped(&AutoRecap)].map(|form| entry_hash(raw(entry), world, form));
            assert_eq!(found, hashes, "{entry}");
        }
    }

    /// An entry and its effect's hash from the harbor vault, where SillyTavern ran with Auto-Recap.
    #[test]
    fn hashes_a_real_entry_as_it_was_hashed() {
        let entry = raw(
            r#"{"uid":10,"key":["watch log","log","watch"],"keysecondary":[],"comment":"document-Watch Log","content":"A page has been razored out","constant":false,"vectorized":false,"selective":true,"selectiveLogic":0,"addMemo":false,"order":988,"position":0,"disable":false,"ignoreBudget":true,"excludeRecursion":false,"preventRecursion":false,"matchPersonaDescription":false,"matchCharacterDescription":false,"matchCharacterPersonality":false,"matchCharacterDepthPrompt":false,"matchScenario":false,"matchCreatorNotes":false,"delayUntilRecursion":0,"probability":100,"useProbability":true,"depth":4,"outletName":"","group":"","groupOverride":false,"groupWeight":100,"scanDepth":null,"caseSensitive":null,"matchWholeWords":null,"useGroupScoring":null,"automationId":"","role":0,"sticky":4,"cooldown":null,"delay":null,"triggers":[]}"#,
        );
        let world = "z-AutoLB-Harbor Watch-1794704887326";
        assert_eq!(Form::of(2_369_099_058_669_754, entry, world), Some(Form::Wrapped(&AutoRecap)));
        assert_eq!(Form::of(entry_hash(entry, world, Form::Plain), entry, world), Some(Form::Plain));
        assert_eq!(Form::of(1, entry, world), None);
    }

    #[test]
    fn depth_is_no_danger() {
        let deep = format!(r#"{{"uid":1,"x":{}{}}}"#, "[".repeat(5_000), "]".repeat(5_000));
        let units = stringified(raw(&deep), "B", Form::Plain);
        assert!(units.len() > 10_000);
    }

    #[test]
    fn effects_follow_their_book() {
        let timed = raw(
            r#"{"sticky":{"Old.9":{"hash":1,"start":3,"end":7,"protected":false,"x":[1.0]},"Old.10":{"hash":2,"start":4},"Old.11":{"hash":3,"start":2},"Old.b.9":{"hash":4,"start":1},"New.9":{"hash":5,"start":1}},"cooldown":{"World.1":{"hash":6,"start":4,"protected":true},"World.2":{"hash":7,"start":0}}, "other": {"Old.9":1}}"#,
        );
        let entry = r#"{"uid":9,"content":"x"}"#;
        let entries = |uid: i64| (uid != 11).then(|| EntryImage::new(Some(uid), "", raw(entry)));
        let hash = entry_hash(raw(entry), "New", Form::Plain);
        let expected = format!(
            r#"{{"sticky":{{"New.9":{{"hash":{hash},"start":3,"end":7,"protected":false,"x":[1.0]}},"Old.b.9":{{"hash":4,"start":1}}}},"cooldown":{{"World.2":{{"hash":7,"start":0}}}}, "other": {{"Old.9":1}}}}"#
        );
        let found = rekey(timed, "Old", "New", &entries, 4, Form::Plain);
        assert_eq!(String::from_utf8(found).unwrap(), expected);
    }

    #[test]
    fn what_is_no_effect_is_no_danger() {
        let entries = |_| Some(EntryImage::new(None, "", raw("{}")));
        for odd in ["null", "[]", r#"{"sticky":[1]}"#, r#"{"sticky":{}}"#, r#"{"sticky":{"W.1":null}}"#] {
            assert_eq!(rekey(raw(odd), "Old", "New", &entries, 1, Form::Plain), odd.as_bytes());
        }
        let broken = raw(r#"{"sticky":{"Old.1":7}}"#);
        assert_eq!(rekey(broken, "Old", "New", &entries, 1, Form::Plain), br#"{"sticky":{}}"#);
    }
}
