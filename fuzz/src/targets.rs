//! The targets. Each takes any bytes, and panics if something does not hold that must.

use std::collections::BTreeSet;
use std::sync::Arc;

use forklore_archive::Reader;
use forklore_config::{Config, SettingChange};
use forklore_core::adapter::auto_recap::AutoRecap;
use forklore_core::adapter::{Adapter as _, registry as registries};
use forklore_core::fork::swipe;
use forklore_core::format::book::Book;
use forklore_core::format::chat::{Header, Line, Message};
use forklore_core::format::group::Group;
use forklore_core::format::record::{ForkRecord, Pending};
use forklore_core::format::settings::Settings;
use forklore_core::story::identify;
use forklore_fs::{NodeKind, SimFs, Vfs};
use forklore_journal::seal;
use forklore_json::{Kind, PathPart, Raw, compact, object, pretty, push, quote, remove, set};
use forklore_store::Store;
use forklore_vault::{Library, NoProgress, settle};
use serde_json::Value;

use crate::vault::{BOOK, NOW, path, play, vault};

/// Deeper than this, `serde_json` gives up; and what is compared is compared by recursion.
const DEPTH: usize = 100;

fn depth(bytes: &[u8]) -> usize {
    let (mut now, mut most) = (0_usize, 0);
    for byte in bytes {
        match byte {
            b'{' | b'[' => now += 1,
            b'}' | b']' => now = now.saturating_sub(1),
            _ => {}
        }
        most = most.max(now);
    }
    most
}

/// Whether two readings of a document mean the same.
fn is_same(ours: Raw<'_>, theirs: &Value) -> bool {
    match (ours.kind(), theirs) {
        (Kind::Object, Value::Object(map)) => {
            // Of members with the same name the last one counts, as for SillyTavern.
            let keys: BTreeSet<String> =
                ours.members().map(|(key, _)| key.as_text().unwrap().into_owned()).collect();
            keys.len() == map.len()
                && map.iter().all(|(key, value)| ours.get(key).is_some_and(|ours| is_same(ours, value)))
        }
        (Kind::Array, Value::Array(list)) => {
            ours.elements().count() == list.len() && ours.elements().zip(list).all(|(a, b)| is_same(a, b))
        }
        (Kind::String, Value::String(text)) => ours.as_text().as_deref() == Some(text) && ours.is_text(text),
        (Kind::Number, Value::Number(number)) => {
            ours.as_i64().is_none_or(|ours| number.as_i64().is_none_or(|theirs| ours == theirs))
        }
        (Kind::Bool, Value::Bool(is)) => ours.as_bool() == Some(*is),
        (Kind::Null, Value::Null) => true,
        _ => false,
    }
}

/// What `serde_json` accepts, we accept, and read the same; what we write again still means that.
pub fn json(bytes: &[u8]) {
    let ours = Raw::parse(bytes);
    if depth(bytes) > DEPTH {
        return;
    }
    let theirs = serde_json::from_slice::<Value>(bytes);
    if let Ok(ours) = ours {
        for again in [compact(ours), pretty(ours, 0)] {
            let again = Raw::parse(&again).unwrap_or_else(|e| panic!("we cannot read what we wrote: {e}"));
            assert!(again.says_the_same(ours), "written again it says something else");
        }
        assert!(ours.says_the_same(ours));
        // What only we take is what JavaScript takes: halves of surrogate pairs, and numbers that are too large for others.
        let text = String::from_utf8_lossy(bytes);
        let known =
            text.contains("\\u") || text.contains("\\U") || text.contains(['e', 'E']) || text.len() > 300;
        assert!(
            theirs.is_ok() || known || std::str::from_utf8(bytes).is_err(),
            "only we read {text:?}: {theirs:?}"
        );
    }
    if let Ok(theirs) = &theirs {
        let ours = ours.unwrap_or_else(|e| panic!("serde_json reads it, and we do not: {e}"));
        assert!(is_same(ours, theirs), "read differently: {theirs}");
    }
}

/// An edit changes what it is about and nothing else.
pub fn splice(bytes: &[u8]) {
    // A name, then a document.
    let Some((name, document)) =
        bytes.split_first().and_then(|(len, rest)| rest.split_at_checked(usize::from(*len % 16)))
    else {
        return;
    };
    let (Ok(name), Ok(before)) = (std::str::from_utf8(name), Raw::parse(document)) else { return };
    if depth(document) > DEPTH {
        return;
    }
    let others = |doc: Raw<'_>| -> Vec<(String, Vec<u8>)> {
        let others = doc.members().filter(|(key, _)| !key.is_text(name));
        others.map(|(key, value)| (key.as_text().unwrap().into_owned(), value.bytes().to_vec())).collect()
    };
    // Blanks around it are not the edit's.
    let document = before.bytes();
    let step = [PathPart::key(name)];
    if let Ok(edit) = set(before, &step, b"[1, 2]") {
        let after = edit.apply(document);
        let after = Raw::parse(&after).unwrap_or_else(|e| panic!("broken by an edit: {e}"));
        assert_eq!(after.get(name).map(Raw::bytes), Some(&b"[1, 2]"[..]));
        assert_eq!(others(after), others(before), "an edit of one member changed another");
        let more = push(after, &step, b"3").unwrap().apply(after.bytes());
        let more = Raw::parse(&more).unwrap();
        assert_eq!(more.get(name).unwrap().elements().count(), 3);
        let less = remove(more, &step).unwrap().apply(more.bytes());
        let less = Raw::parse(&less).unwrap_or_else(|e| panic!("broken by a removal: {e}"));
        assert_eq!(others(less), others(before), "a removal of one member changed another");
    }
    if before.kind() == Kind::Array {
        let count = before.elements().count();
        let after = push(before, &[], &quote(name)).unwrap().apply(document);
        assert_eq!(Raw::parse(&after).unwrap().elements().count(), count + 1);
    }
}

/// A chat's file: read line by line, then as a part of a vault.
pub fn chat(bytes: &[u8]) {
    for line in bytes.split(|byte| *byte == b'\n') {
        let _read = Line::read(line);
        if let Ok(message) = Message::parse(line) {
            identify(message);
            for k in 0..message.swipes().count().min(3) {
                if let Some(shown) = swipe::show(message.raw(), k) {
                    Message::parse(&shown).unwrap_or_else(|e| panic!("broken by showing a swipe: {e}"));
                }
            }
        }
    }
    play(&vault(&[("chats/Ana/main.jsonl", bytes)]));
    // Beside a sound one, of which it may be a fork.
    play(&vault(&[("chats/Ana/other.jsonl", bytes), ("group chats/100.jsonl", bytes)]));
}

/// A lorebook's file.
pub fn book(bytes: &[u8]) {
    if let Ok(book) = Book::parse(bytes) {
        assert_eq!(book.images().len(), book.entries().len());
        let map = book.map(bytes);
        assert_eq!(map.book(bytes).entries().len(), book.entries().len());
    }
    let _parsed = (Group::parse(bytes, "1"), Settings::parse(bytes));
    play(&vault(&[("worlds/B.json", bytes)]));
    play(&vault(&[("groups/1.json", bytes), ("settings.json", bytes), ("characters/Ana.png", bytes)]));
}

/// The metadata of a chat.
pub fn header(bytes: &[u8]) {
    let Ok(metadata) = Raw::parse(bytes) else { return };
    let header = Header::new_metadata(metadata);
    let _read = (header.slug(), header.main_chat(), header.book(), Pending::read(metadata));
    if let Some(record) = ForkRecord::read(metadata) {
        let written = record.write(&[], &[]);
        let document = object(&[("forklore", written)]);
        let again = ForkRecord::read(Raw::parse(&document).unwrap());
        assert!(again.is_some(), "a record that we wrote is none");
    }
    let line = object(&[("chat_metadata", compact(metadata))]);
    let mut lines = vec![line];
    lines.extend(crate::vault::CHAT.split(|byte| *byte == b'\n').skip(1).map(<[u8]>::to_vec));
    let file = lines.join(&b"\n"[..]);
    play(&vault(&[("chats/Ana/main.jsonl", &file)]));
    play(&vault(&[("chats/Ana/fork.jsonl", &file)]));
}

/// The text of a registry.
pub fn registry(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _kind = registries::kind_of(&text);
    for uid in registries::lines(&text).into_iter().filter_map(|line| line.uid) {
        let changed = registries::with_line_of(&text, &text, uid);
        assert_eq!(
            registries::lines(&changed).len(),
            registries::lines(&text).len(),
            "its own line put in its place"
        );
    }
    let mut entry = br#"{"uid":0,"key":[],"comment":"_registry_character","content":"#.to_vec();
    entry.extend(quote(&text));
    entry.push(b'}');
    let mut file = br#"{"entries":{"0":"#.to_vec();
    file.extend(&entry);
    file.extend(br#","1":{"uid":1,"comment":"character-Ana","content":"A girl"}}}"#);
    let images = Book::parse(&file).unwrap().images();
    let metadata = Raw::trust(br#"{"auto_lorebooks":{"registry":{"index":{}}}}"#);
    let indexes = AutoRecap.reindex(metadata, &images).into_iter().filter_map(|revision| revision.to);
    indexes.for_each(|index| assert!(Raw::parse(&index).is_ok(), "an index that is no JSON"));
    registries::dangling(&images);
    play(&vault(&[("worlds/B.json", &file)]));
}

/// A file that somebody says is an export.
pub fn archive(bytes: &[u8]) {
    let Ok(mut reader) = Reader::open(bytes, bytes.len() as u64) else { return };
    let mut left = 1 << 24;
    while let Ok(Some(_)) = reader.next_member() {
        let read = std::io::copy(&mut std::io::Read::take(&mut reader, left), &mut std::io::sink());
        left = left.saturating_sub(read.unwrap_or(left));
        if left == 0 {
            return;
        }
    }
    let _whole = reader.finish();
}

/// A store, one of whose packs is not what it was. Whatever it still gives is right.
pub fn store(bytes: &[u8]) {
    let (sound, ids) = sound_store();
    let packs: Vec<_> = sound.list(&path("h/packs")).unwrap();
    for node in packs.iter().filter(|node| node.name.ends_with(".pack")) {
        let fs = SimFs::new();
        for other in &packs {
            let at = path("h/packs").join(&other.name).unwrap();
            let whole = sound.read(&at).unwrap().unwrap();
            // What is given replaces a part of it, or all of it.
            let changed = match bytes.split_first() {
                Some((0, rest)) => rest.to_vec(),
                Some((at, rest)) => {
                    let at = usize::from(*at) * whole.len() / 256;
                    let mut changed = whole.clone();
                    let end = (at + rest.len()).min(changed.len());
                    changed[at..end].copy_from_slice(&rest[..end - at]);
                    changed
                }
                None => Vec::new(),
            };
            fs.put(&at, if other.name == node.name { &changed } else { &whole });
        }
        let Ok(mut store) = Store::open(Arc::new(fs), path("h")) else { continue };
        for id in &ids {
            if let Ok(object) = store.get(id) {
                assert_eq!(
                    *blake3::hash(&object).as_bytes(),
                    *id.as_bytes(),
                    "an object is not what it says"
                );
            }
        }
        store.records().for_each(drop);
        store.verify(&|_| Vec::new());
        let added = store.writer().ok().map(|mut writer| {
            let id = writer.put(b"new", None).unwrap();
            writer.commit().unwrap();
            id
        });
        if let Some(id) = added {
            assert_eq!(&*store.get(&id).unwrap(), b"new", "what comes later is not affected");
        }
    }
}

fn sound_store() -> (SimFs, Vec<forklore_store::Id>) {
    let fs = Arc::new(SimFs::new());
    let mut ids = Vec::new();
    for pack in 0..2_u8 {
        let mut store = Store::open(fs.clone(), path("h")).unwrap();
        let mut writer = store.writer().unwrap();
        let mut base = None;
        for n in 0..3_u8 {
            let text: Vec<u8> = (0..200_u8).map(|i| i.wrapping_mul(n + 1) ^ pack).collect();
            let id = writer.put(&text, base.as_ref()).unwrap();
            writer.record(&[pack, n]);
            base = Some(id);
            ids.push(id);
        }
        writer.commit().unwrap();
    }
    (Arc::into_inner(fs).unwrap(), ids)
}

/// The file of settings: read, and changed, with everything else left as it is.
pub fn config(bytes: &[u8]) {
    let fs = vault(&[(".forklore/config.toml", bytes)]);
    let was = Config::load(&*fs);
    for (key, value) in [("trash.days", "7"), ("checkpoint.auto_name", "true"), ("books.shared", "x")] {
        if Config::plan(&*fs, key, &SettingChange::Set(value.to_owned())).is_err() {
            continue;
        }
        if Config::set(&*fs, key, value).is_ok() {
            let now = Config::load(&*fs).unwrap_or_else(|e| panic!("broken by setting {key}: {e}"));
            let told = now.get(key).unwrap().to_string();
            assert!(told.contains(value), "{key} is {told}");
        }
    }
    if was.is_ok() {
        Config::load(&*fs).unwrap_or_else(|e| panic!("it was fine before it was changed: {e}"));
    }
}

/// What somebody left in the folder of work under way, sealed as ours is: it touches chats, books and groups at most, and nothing of
/// it makes the vault unusable.
pub fn operation(bytes: &[u8]) {
    let mut sealed = bytes.to_vec();
    let hash = blake3::hash(bytes).to_hex();
    sealed.push(b'\n');
    sealed.extend_from_slice(hash.as_bytes());
    sealed.push(b'\n');
    let id = "20260101-000000-000-abcd";
    let _read = seal::unseal(&sealed, id);
    let fs = vault(&[
        (&format!(".forklore/tx/{id}.intent"), &sealed),
        (&format!(".forklore/tx/{id}.0.staged"), BOOK),
        ("secrets.json", b"secret"),
        (".forklore/ops/x", b""),
        (".forklore/objects/x", b""),
    ]);
    let kept = |fs: &SimFs| fs.read(&path("secrets.json")).unwrap();
    let _recovered = settle::recover(&*fs, NOW);
    let _again = settle::recover(&*fs, NOW + 1);
    assert_eq!(kept(&fs).as_deref(), Some(&b"secret"[..]));
    let shared: Arc<dyn Vfs> = fs;
    assert!(Library::load(shared, &NoProgress).is_ok(), "the vault cannot be read any more");
}

/// A cache that is torn only costs time: what is read with it is what is read without.
pub fn cache(bytes: &[u8]) {
    let fs = vault(&[("chats/Ana/other.jsonl", crate::vault::CHAT)]);
    let shared: Arc<dyn Vfs> = fs.clone();
    let look = |fs: &Arc<dyn Vfs>| {
        let library = Library::load(fs.clone(), &NoProgress).unwrap();
        let moments = library.chats().map(|(_, chat)| {
            let rows =
                (0..chat.transcript().len()).map(|n| chat.transcript().moment(n).map(|m| m.to_string()));
            (chat.path().as_str().to_owned(), rows.collect::<Vec<_>>())
        });
        moments.collect::<Vec<_>>()
    };
    let was = look(&shared);
    let dir = path(".forklore/cache");
    let Some((place, rest)) = bytes.split_first() else { return };
    for node in fs.list(&dir).unwrap().into_iter().filter(|node| node.kind == NodeKind::File) {
        let at = dir.join(&node.name).unwrap();
        let mut content = fs.read(&at).unwrap().unwrap();
        let from = usize::from(*place) * content.len() / 256;
        let end = (from + rest.len()).min(content.len());
        content[from..end].copy_from_slice(&rest[..end - from]);
        if rest.is_empty() {
            content.truncate(from);
        }
        fs.put(&at, &content);
    }
    assert_eq!(look(&shared), was, "a torn cache changed what was read");
}
