//! Exports that were tampered with: whatever is in the file, nothing panics, nothing is half imported, and nothing is written that was
//! not asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::Arc;

use forklore_archive::{ArchiveError, Reader, Writer};
use forklore_engine::export::{self, Chats};
use forklore_engine::{check, import, show, undo};
use forklore_fs::{Crash, NodeKind, OpenFile, RealFs, SimFs, VaultPath, Vfs};
use forklore_journal::oplog::OpLog;
use forklore_vault::history::{Timeline, Watch};
use forklore_vault::{Library, NoProgress, settle};

use crate::path;
use crate::random::Random;

const NOW: i64 = 1_800_000_000_000;

struct Vault {
    fs: Arc<dyn Vfs>,
    _dir: tempfile::TempDir,
}

impl Vault {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let fs: Arc<dyn Vfs> = Arc::new(RealFs::new(dir.path()).unwrap());
        for folder in ["chats/Ana", "worlds", "groups", "group chats", "characters"] {
            fs.make_dir(&path(folder)).unwrap();
        }
        fs.create(&path("settings.json"), b"{}").unwrap();
        Self { fs, _dir: dir }
    }

    fn save(&self, file: &str, text: &str) {
        let target = path(file);
        if self.fs.identity(&target).unwrap().is_some() {
            self.fs.unlink(&target).unwrap();
        }
        self.fs.create(&target, text.as_bytes()).unwrap();
    }

    fn library(&self) -> Library {
        Library::load(self.fs.clone(), &NoProgress).unwrap()
    }

    /// Everything that is not Forklore's own.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut todo = vec![VaultPath::root()];
        while let Some(dir) = todo.pop() {
            for node in self.fs.list(&dir).unwrap() {
                let path = dir.join(&node.name).unwrap();
                match node.kind {
                    NodeKind::Dir if node.name == ".forklore" => {}
                    NodeKind::Dir => todo.push(path),
                    _ => drop(found.insert(path.as_str().to_owned(), self.fs.read(&path).unwrap().unwrap())),
                }
            }
        }
        found
    }

    fn bytes_as_file(&self, bytes: &[u8]) -> Box<dyn OpenFile> {
        let file = path("export");
        self.fs.create(&file, bytes).unwrap();
        let open = self.fs.open(&file).unwrap();
        self.fs.unlink(&file).unwrap();
        open
    }
}

/// A small story that was watched, exported.
fn exported() -> Vec<u8> {
    let vault = Vault::new();
    let mut watch = Watch::open(vault.fs.clone()).unwrap();
    let message = |n: usize| {
        format!(
            "{{\"name\":\"Ana\",\"is_user\":false,\"mes\":\"m{n}\",\"send_date\":\"d{n}\",\"extra\":{{\"branches\":[\"side\"]}}}}"
        )
    };
    for n in 1..5 {
        let lines: Vec<String> = (0..n).map(message).collect();
        let header = format!(
            "{{\"chat_metadata\":{{\"integrity\":\"s\",\"world_info\":\"B\",\"variables\":{{\"n\":{n}}}}}}}"
        );
        vault.save("chats/Ana/main.jsonl", &format!("{header}\n{}", lines.join("\n")));
        vault.save("worlds/B.json", &format!("{{\"entries\":{{\"0\":{{\"uid\":0,\"comment\":\"c\",\"content\":\"{n}\",\"STMB_chatId\":\"main\",\"STMB_end\":1}}}}}}"));
        watch.sweep(NOW, &NoProgress).unwrap();
    }
    let library = vault.library();
    let (story, _) = library.stories().next().unwrap();
    let request = export::ExportRequest {
        chats: Chats::Story(story),
        with_card: false,
        with_history: true,
        with_media: false,
    };
    let plan = export::plan(&library, &request, NOW).unwrap();
    let mut out = Vec::new();
    export::execute(&library, plan, &mut out, &NoProgress).unwrap();
    out
}

fn try_import(vault: &Vault, bytes: &[u8]) -> Result<(), import::ImportError> {
    let file = vault.bytes_as_file(bytes);
    let library = vault.library();
    let plan = import::plan(&library, &*file, &import::ImportRequest::default(), &NoProgress)?;
    import::execute(&library, &*file, plan, NOW, &NoProgress).map(drop)
}

#[test]
fn every_byte_counts() {
    let export = exported();
    let vault = Vault::new();
    let before = vault.files();
    for at in 0..export.len() {
        let mut flipped = export.clone();
        flipped[at] ^= 1 << (at % 8);
        assert!(try_import(&vault, &flipped).is_err(), "byte {at} of {}", export.len());
    }
    for part in 0..50 {
        assert!(try_import(&vault, &export[..export.len() * part / 50]).is_err(), "{part}");
    }
    assert_eq!(vault.files(), before);
    assert!(vault.fs.list(&path(".forklore/tx")).unwrap().is_empty());
    try_import(&vault, &export).unwrap();
}

/// The same export with one of its parts changed, and sealed anew.
fn tampered(export: &[u8], random: &mut Random) -> Vec<u8> {
    let mut reader = Reader::open(export, export.len() as u64).unwrap();
    let mut manifest = reader.manifest().clone();
    let mut contents: Vec<Vec<u8>> = Vec::new();
    while reader.next_member().unwrap().is_some() {
        let mut content = Vec::new();
        reader.read_to_end(&mut content).unwrap();
        contents.push(content);
    }
    for _ in 0..=random.below(3) {
        let which = random.below(contents.len());
        let content = &mut contents[which];
        let at = random.below(content.len().max(1));
        match random.below(6) {
            0 => content.truncate(at),
            1 => content.insert(at.min(content.len()), u8::try_from(random.below(256)).unwrap()),
            2 | 3 if at < content.len() => content[at] = u8::try_from(random.below(256)).unwrap(),
            // A digit is another one: lengths, numbers of messages, clocks, shifts.
            _ => {
                let digits: Vec<usize> =
                    (0..content.len()).filter(|i| content[*i].is_ascii_digit()).collect();
                if let Some(at) = digits.get(random.below(digits.len().max(1))) {
                    let many =
                        [b"0".as_slice(), b"9", b"18446744073709551615", b"-1", b"9223372036854775807"];
                    content.splice(at..=at, many[random.below(many.len())].iter().copied());
                }
            }
        }
    }
    for (member, content) in manifest.members.iter_mut().zip(&contents) {
        member.bytes = content.len() as u64;
    }
    let mut writer = Writer::begin(Vec::new(), &manifest).unwrap();
    for content in &contents {
        writer.add(|out| Ok::<(), ArchiveError>(out.write_all(content)?)).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn whatever_is_in_it_nothing_is_half_imported() {
    let export = exported();
    let mut random = Random::new(7);
    let (mut taken, mut refused) = (0, 0);
    for round in 0..300 {
        let vault = Vault::new();
        if round % 2 == 1 {
            vault.save(
                "chats/Ana/main.jsonl",
                "{\"chat_metadata\":{\"integrity\":\"s\"}}\n{\"mes\":\"other\"}",
            );
            vault.save("worlds/B.json", "{\"entries\":{}}");
        }
        let before = vault.files();
        let bytes = tampered(&export, &mut random);
        match try_import(&vault, &bytes) {
            Err(_) => {
                refused += 1;
                assert_eq!(vault.files(), before, "{round}");
            }
            Ok(()) => {
                taken += 1;
                // What came in can be looked at, and be taken away.
                let library = vault.library();
                for (c, chat) in library.chats() {
                    for at in 0..chat.transcript().len() {
                        let _shown = show::show(&library, c, Some(at));
                    }
                }
                let _checked = check::check(&library, None, NOW);
                let log = OpLog::read(&*vault.fs).unwrap();
                let plan = undo::plan(&library, &log, None, false).unwrap();
                undo::execute(&library, plan, NOW).unwrap();
                assert_eq!(vault.files(), before, "{round}");
            }
        }
        assert!(vault.fs.list(&path(".forklore/tx")).unwrap().is_empty(), "{round}");
    }
    assert!(taken > 30 && refused > 30, "{taken} {refused}");
}

/// A vault in memory in which all names of [`exported`] are taken, and the export itself.
fn taken(export: &[u8]) -> SimFs {
    let fs = SimFs::new();
    fs.put(&path("chats/Ana/main.jsonl"), b"{\"chat_metadata\":{\"integrity\":\"s\"}}\n{\"mes\":\"other\"}");
    fs.put(&path("worlds/B.json"), b"{\"entries\":{}}");
    fs.put(&path("settings.json"), b"{}");
    fs.put(&path("story.forklore"), export);
    fs
}

fn import_into(fs: &Arc<dyn Vfs>) -> Result<(), String> {
    let file = fs.open(&path("story.forklore")).map_err(|e| e.to_string())?;
    let library = Library::load(fs.clone(), &NoProgress).map_err(|e| e.to_string())?;
    let plan = import::plan(&library, &*file, &import::ImportRequest::default(), &NoProgress);
    let plan = plan.map_err(|e| e.to_string())?;
    import::execute(&library, &*file, plan, NOW, &NoProgress).map(drop).map_err(|e| e.to_string())
}

/// What came: nothing, or the chat and its book with the state at every message, which only history knows.
fn what_came(fs: &Arc<dyn Vfs>) -> Option<String> {
    let came = ["chats/Ana/main (2).jsonl", "worlds/B (2).json"].map(|file| fs.read(&path(file)).unwrap());
    let [Some(_), Some(book)] = came else {
        assert_eq!(came, [None, None], "half imported");
        return None;
    };
    let library = Library::load(fs.clone(), &NoProgress).unwrap();
    let chat = library.find_chat("Ana/main (2)").unwrap();
    let show = |at| serde_json::to_string(&show::show(&library, chat, Some(at)).unwrap()).unwrap();
    let shown: Vec<String> = (0..4).map(show).collect();
    Some(format!("{}\n{}", String::from_utf8(book).unwrap(), shown.join("\n")))
}

/// Everything that history says can be read.
fn history_is_whole(fs: &Arc<dyn Vfs>) {
    let Some(timeline) = Timeline::load(fs).unwrap() else { return };
    for seen in timeline.seen.iter() {
        if let Some(content) = seen.observation.content() {
            timeline.store().read_document(&content, &mut Vec::new()).unwrap();
        }
        if let Some(notes) = seen.observation.notes() {
            timeline.store().get(&notes).unwrap();
        }
    }
}

#[test]
fn killed_or_cut_off_anywhere_an_import_is_all_or_nothing() {
    let export = exported();
    let undisturbed: Arc<dyn Vfs> = Arc::new(taken(&export));
    import_into(&undisturbed).unwrap();
    let whole = what_came(&undisturbed);
    assert!(whole.as_ref().is_some_and(|whole| whole.contains("\"history\"")), "{whole:?}");
    let own = ["chats/Ana/main.jsonl", "worlds/B.json", "settings.json"];
    let before = own.map(|file| undisturbed.read(&path(file)).unwrap());
    let (mut seen, mut images) = (BTreeSet::new(), 0);
    for n in 0.. {
        let fs = Arc::new(taken(&export));
        fs.stop_before(n);
        let shared: Arc<dyn Vfs> = fs.clone();
        let crashed = import_into(&shared).is_err();
        for how in [Crash::Kill, Crash::PowerCut] {
            for image in fs.after(how, 60) {
                images += 1;
                let image: Arc<dyn Vfs> = Arc::new(image);
                settle::recover(&*image, NOW + 1).unwrap();
                history_is_whole(&image);
                assert_eq!(own.map(|file| image.read(&path(file)).unwrap()), before, "{n} {how:?}");
                let came = what_came(&image);
                seen.insert(came.is_some());
                if came.is_none() {
                    import_into(&image).unwrap();
                    history_is_whole(&image);
                }
                assert_eq!(what_came(&image), whole, "{n} {how:?}");
                let left = image.list(&path(".forklore/tx")).unwrap();
                assert!(left.is_empty(), "{n} {how:?}: {left:?}");
            }
        }
        if !crashed {
            break;
        }
    }
    assert_eq!(seen, BTreeSet::from([false, true]), "{images}");
    assert!(images > 60, "{images}");
}
