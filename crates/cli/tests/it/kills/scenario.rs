//! What is run and cut off: [`SCENARIOS`], and how a vault is judged afterwards: [`Scenario::judge`].
//!
//! There are two ways for a vault to look: byte for byte as before, or as an undisturbed run leaves it. The latter is compared with
//! such a run byte for byte, too, once everything that is made up anew each time (slugs, ids of operations, times) is numbered.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use forklore_testkit::TestVault;
use forklore_testkit::story::Story;
use serde_json::{Value, json};

use crate::FORKLORE;
use crate::disk::{ChatFile, book, entries};

/// One command on one vault.
#[derive(Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    /// Fills an empty vault.
    build: fn(&TestVault),
    /// What is done before, undisturbed.
    before: &'static [&'static [&'static str]],
    /// What is cut off.
    pub(crate) args: &'static [&'static str],
    /// What must be true of a vault in which it was done.
    sane: fn(&TestVault),
}

pub(crate) const SOLO: Scenario = Scenario {
    name: "checkpoint",
    build: solo,
    before: &[],
    args: &["checkpoint", "Ana/main", "--at", "5", "--name", "Fork"],
    sane: |vault| sane_fork(vault, "Ana/Fork", "Ana/main"),
};

pub(crate) const GROUP: Scenario = Scenario {
    name: "checkpoint of a group",
    build: group,
    before: &[],
    args: &["checkpoint", "group:1/100", "--at", "5", "--name", "Fork"],
    sane: |vault| {
        sane_fork(vault, "group:1/Fork", "group:1/100");
        let group: Value = serde_json::from_slice(&vault.read("groups/1.json")).unwrap();
        assert_eq!(group["chats"], json!(["100", "Fork"]));
    },
};

const HEAL: Scenario = Scenario {
    name: "heal",
    build: broken,
    before: &[],
    args: &["heal", "--choose", "rebuild"],
    sane: |vault| {
        let chats = ["main", "main - Branch #1", "main - Branch #2", "main - Branch #3"];
        let books: BTreeSet<String> =
            chats.iter().map(|chat| ChatFile::at(vault, &format!("Ana/{chat}")).book().to_owned()).collect();
        assert_eq!(books.len(), chats.len(), "{books:?}");
        assert!(!vault.root().join("worlds/z-AutoLB-Ana-late.json").exists());
        assert!(books.iter().all(|name| !entries(&book(vault, name)).is_empty()), "{books:?}");
    },
};

const DELETE: Scenario = Scenario {
    name: "delete",
    build: solo,
    before: &[SOLO.args],
    args: &["delete", "Ana/Fork"],
    sane: sane_without_fork,
};

pub(crate) const UNDO: Scenario =
    Scenario { name: "undo", build: solo, before: &[SOLO.args], args: &["undo"], sane: sane_without_fork };

/// Where all names are taken.
pub(crate) const IMPORT: Scenario = Scenario {
    name: "import",
    build: solo,
    before: &[&["watch", "--once"], &["export", "Ana", "-o", "ana.forklore"]],
    args: &["import", "ana.forklore"],
    sane: |vault| {
        let (came, own) = (ChatFile::at(vault, "Ana/main (2)"), ChatFile::at(vault, "Ana/main"));
        assert_eq!(came.lines.len(), own.lines.len());
        assert_eq!(came.book(), format!("{} (2)", own.book()));
        assert_eq!(entries(&book(vault, came.book())), entries(&book(vault, own.book())));
        for n in ["3", "7"] {
            let shown =
                |chat: &str| vault.json(FORKLORE, &["show", chat, "--at", n]).to_string().replace(" (2)", "");
            assert_eq!(shown("Ana/main (2)"), shown("Ana/main"), "{n}");
        }
    },
};

/// What brings branches together: a branch that has ended earlier, and the chat that it was forked from.
pub(crate) const MERGES: [Scenario; 5] = [
    Scenario {
        name: "learn",
        build: solo,
        before: &[EARLY],
        args: &["learn", "Ana/Fork", "--from", "Ana/main", "--name", "Both"],
        sane: |vault| {
            assert_eq!(ChatFile::at(vault, "Ana/Both").lines.len(), 4);
            assert!(has_harbour(vault, "Ana/Both"));
        },
    },
    Scenario {
        name: "append",
        build: solo,
        before: &[EARLY],
        args: &["append", "Ana/Fork", "--from", "Ana/main", "--name", "Both"],
        sane: |vault| {
            let all = ["Ana/Both", "Ana/main"].map(|chat| ChatFile::at(vault, chat).lines.len());
            assert_eq!(all[0], all[1]);
        },
    },
    Scenario {
        name: "pick",
        build: solo,
        before: &[EARLY],
        args: &["pick", "Ana/Fork", "--from", "Ana/main", "--entry", "location-Harbour", "--yes"],
        sane: |vault| assert!(has_harbour(vault, "Ana/Fork")),
    },
    Scenario {
        name: "adopt",
        build: solo,
        before: &[EARLY, &["adopt", "Ana/main"]],
        args: &["adopt", "Ana/Fork"],
        sane: |vault| {
            let marked = |chat: &str| ChatFile::at(vault, chat).header.to_string().contains("forklore_story");
            assert!(marked("Ana/Fork") && !marked("Ana/main"));
        },
    },
    Scenario {
        name: "resolve",
        build: strangers,
        before: &[&["learn", "Ana/main", "--from", "Ana/Other", "--name", "Both"]],
        args: &["resolve", "Ana/Both", "--keep", "theirs", "--yes"],
        sane: |vault| {
            let both = ChatFile::at(vault, "Ana/Both");
            assert!(book(vault, both.book()).to_string().contains("It was never built."));
            assert_eq!(both.header["chat_metadata"]["forklore"]["learnt"]["conflicts"], json!([]));
        },
    },
];

/// A branch from before the second scene.
const EARLY: &[&str] = &["branch", "Ana/main", "--at", "3", "--name", "Fork"];

fn has_harbour(vault: &TestVault, chat: &str) -> bool {
    book(vault, ChatFile::at(vault, chat).book()).to_string().contains("It smells of tar.")
}

pub(crate) const SCENARIOS: [Scenario; 5] = [SOLO, GROUP, HEAL, DELETE, UNDO];

/// A chat that was played with Auto-Recap for two scenes.
fn story(folder: &str, name: &str) -> Story {
    let mut story = Story::new(folder, name);
    story.until(3).learn(10, "character-Ana", "A girl with a boat.").scene("The harbour");
    story.until(6).learn(11, "location-Harbour", "It smells of tar.").scene("The boat");
    story.until(8).learn(12, "item-Oar", "One is broken.");
    story
}

fn solo(vault: &TestVault) {
    story("Ana", "main").save(vault);
    vault.write("worlds/By hand.json", br#"{"entries":{"0":{"uid":0,"comment":"Sea","content":"Wide"}}}"#);
}

/// Beside the story another one, which knows the same place and tells something else of it.
fn strangers(vault: &TestVault) {
    solo(vault);
    let header = json!({"chat_metadata": {"integrity": "slug of Other", "world_info": "Other"}});
    let message = json!({"name": "Ana", "is_user": false, "mes": "Elsewhere.", "send_date": "2025-11-20T10:00:00.000Z"});
    vault.write("chats/Ana/Other.jsonl", format!("{header}\n{message}").as_bytes());
    let harbour = json!({"uid": 0, "comment": "location-Harbour", "content": "It was never built.", "key": ["harbour"]});
    vault.write("worlds/Other.json", json!({"entries": {"0": harbour}}).to_string().as_bytes());
}

fn group(vault: &TestVault) {
    let story = story("Band", "100");
    let mut group = json!({"id": "1", "name": "Band", "members": ["Ana.png", "Ben.png"], "chat_id": "100"});
    group["chats"] = json!(["100"]);
    vault.write("groups/1.json", serde_json::to_string_pretty(&group).unwrap().as_bytes());
    let lines = std::iter::once(&story.header).chain(&story.messages).map(Value::to_string);
    vault.write("group chats/100.jsonl", lines.collect::<Vec<_>>().join("\n").as_bytes());
    story.save_book(vault);
}

/// Three branches as SillyTavern makes them: one goes on with the book of its parent, one with a book that is gone, one with a copy
/// that somebody made too late.
fn broken(vault: &TestVault) {
    let mut main = story("Ana", "main");
    main.scene("The oar").save(vault);
    for (n, book) in
        [(1, main.book_name()), (2, "z-AutoLB-Ana-gone".to_owned()), (3, "z-AutoLB-Ana-late".to_owned())]
    {
        let mut branch = main.clone();
        branch.name = format!("main - Branch #{n}");
        branch.messages.truncate(6);
        branch.metadata_mut()["main_chat"] = json!("main");
        branch.metadata_mut()["integrity"] = json!(format!("slug of branch {n}"));
        branch.metadata_mut()["world_info"] = json!(book);
        branch.until(7);
        branch.save_chat(vault);
        if n == 3 {
            branch.save_book(vault);
        }
    }
}

fn sane_fork(vault: &TestVault, fork: &str, parent: &str) {
    let (fork, parent) = (ChatFile::at(vault, fork), ChatFile::at(vault, parent));
    assert_eq!(fork.lines.len(), 6);
    assert_eq!(fork.lines[..5], parent.lines[..5]);
    assert_ne!(fork.book(), parent.book());
    let known = entries(&book(vault, fork.book()));
    for title in ["character-Ana", "location-Harbour", "_registry_character"] {
        assert!(known.contains_key(title), "{known:?}");
    }
    let link: Value = serde_json::from_slice(&parent.lines[5]).unwrap();
    assert_eq!(link["extra"]["bookmark_link"], "Fork");
}

fn sane_without_fork(vault: &TestVault) {
    assert!(!vault.root().join("chats/Ana/Fork.jsonl").exists());
    assert_eq!(fs::read_dir(vault.root().join("worlds")).unwrap().count(), 2);
    assert!(!String::from_utf8(vault.read("chats/Ana/main.jsonl")).unwrap().contains("bookmark_link"));
    assert_eq!(fs::read_dir(vault.root().join(".forklore/objects")).unwrap().count(), 2);
}

/// How a vault came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    Nothing,
    All,
}

/// Everything about a vault that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Picture {
    files: Vec<(String, Vec<u8>)>,
    objects: Vec<Vec<u8>>,
    log: usize,
}

impl Picture {
    pub(crate) fn of(vault: &TestVault) -> Self {
        let own = vault.root().join(".forklore");
        let list = |folder: &str| -> Vec<_> {
            fs::read_dir(own.join(folder)).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
        };
        let mut objects: Vec<_> = list("objects").into_iter().map(|path| fs::read(path).unwrap()).collect();
        objects.sort();
        Self { files: vault.snapshot(), objects, log: list("ops").len() }
    }

    /// Whether nothing is different that SillyTavern could see.
    pub(crate) fn same_files(&self, other: &Self) -> bool {
        self.files == other.files
    }

    /// With everything that is made up anew each time numbered.
    fn masked(&self) -> Self {
        let mut mask = Mask::default();
        let mut hide = |bytes: &[u8]| mask.hide(&String::from_utf8_lossy(bytes)).into_bytes();
        let files = self.files.iter().map(|(name, bytes)| (name.clone(), hide(bytes))).collect();
        // Objects have no names that could be sorted by, but the content apart from what is made up.
        let mut objects: Vec<_> = self
            .objects
            .iter()
            .map(|b| Mask::default().hide(&String::from_utf8_lossy(b)).into_bytes())
            .collect();
        objects.sort();
        Self { files, objects, log: self.log }
    }

    /// Where two pictures differ, for people.
    fn difference(&self, other: &Self) -> String {
        let mut told = Vec::new();
        let (ours, theirs): (BTreeMap<_, _>, BTreeMap<_, _>) =
            (self.files.iter().cloned().collect(), other.files.iter().cloned().collect());
        for name in ours.keys().chain(theirs.keys().filter(|name| !ours.contains_key(*name))) {
            match (ours.get(name), theirs.get(name)) {
                (Some(a), Some(b)) if a == b => {}
                (Some(a), Some(b)) => {
                    let at = a.iter().zip(b).take_while(|(a, b)| a == b).count();
                    let part = |bytes: &[u8]| {
                        let part = &bytes[at.saturating_sub(60)..(at + 60).min(bytes.len())];
                        String::from_utf8_lossy(part).into_owned()
                    };
                    told.push(format!("{name} differs at {at}: …{}… not …{}…", part(a), part(b)));
                }
                (Some(_), None) => told.push(format!("{name} is there")),
                _ => told.push(format!("{name} is missing")),
            }
        }
        if self.objects != other.objects {
            told.push(format!("{} objects, not the {} wanted", self.objects.len(), other.objects.len()));
        }
        if self.log != other.log {
            told.push(format!("{} operations in the log, not {}", self.log, other.log));
        }
        told.join("; ")
    }
}

/// Hides times, and gives slugs and ids of operations numbers, in the order in which they turn up.
#[derive(Default)]
struct Mask(Vec<String>);

impl Mask {
    /// `h` stands for a hexadecimal digit, `d` for a decimal one.
    const NAMES: [&str; 2] = ["hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh", "dddddddd-dddddd-ddd-hhhh"];
    const TIMES: [&str; 3] = ["dddd-dd-ddTdd:dd:dd.dddZ", "dddd-dd-ddTdd:dd:ddZ", "ddddddddddddd"];

    fn hide(&mut self, text: &str) -> String {
        let mut hidden = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let find = |shapes: &[&str]| {
                shapes.iter().find_map(|shape| rest.get(..shape.len()).filter(|text| is(text, shape)))
            };
            // The stories take place in November of 2025, so that what happened in them stays.
            let time =
                find(&Self::TIMES).filter(|time| !["2025-", "17636"].iter().any(|t| time.starts_with(t)));
            let (word, len) = if let Some(name) = find(&Self::NAMES) {
                let n = self.0.iter().position(|known| known == name).unwrap_or_else(|| {
                    self.0.push(name.to_owned());
                    self.0.len() - 1
                });
                (format!("<{n}>"), name.len())
            } else if let Some(time) = time {
                ("<time>".to_owned(), time.len())
            } else {
                (first.to_string(), first.len_utf8())
            };
            hidden.push_str(&word);
            rest = &rest[len..];
        }
        hidden
    }
}

fn is(text: &str, shape: &str) -> bool {
    text.bytes().zip(shape.bytes()).all(|(c, wanted)| match wanted {
        b'h' => c.is_ascii_digit() || (b'a'..=b'f').contains(&c),
        b'd' => c.is_ascii_digit(),
        wanted => c == wanted,
    })
}

/// What an undisturbed run leaves, and what `check` says before and after it.
pub(crate) struct Reference {
    finished: Picture,
    complaints: BTreeMap<Outcome, String>,
}

impl Scenario {
    /// A vault on which it can be run.
    pub(crate) fn vault(&self) -> TestVault {
        self.vault_in(TestVault::new())
    }

    pub(crate) fn vault_in(&self, vault: TestVault) -> TestVault {
        (self.build)(&vault);
        for args in self.before {
            let run = vault.run(FORKLORE, args);
            assert_eq!(run.code, Some(0), "{}: {run}", self.name);
        }
        vault
    }

    /// Runs it undisturbed, and makes sure that this is what it should be.
    pub(crate) fn reference(&self) -> Reference {
        let vault = self.vault();
        let before = Picture::of(&vault);
        let mut said = BTreeMap::from([(Outcome::Nothing, complaints(&vault))]);
        let run = vault.run(FORKLORE, self.args);
        assert_eq!(run.code, Some(0), "{}: {run}", self.name);
        (self.sane)(&vault);
        said.insert(Outcome::All, complaints(&vault));
        let finished = Picture::of(&vault).masked();
        assert_ne!(before.masked(), finished, "{} does nothing", self.name);
        Reference { finished, complaints: said }
    }

    /// Lets a harmless command put in order what was cut off, and judges what is there then.
    pub(crate) fn judge(
        &self,
        vault: &TestVault,
        before: &Picture,
        reference: &Reference,
    ) -> Result<Outcome, String> {
        let tree = vault.run(FORKLORE, &["tree"]);
        if tree.code != Some(0) {
            return Err(format!("tree failed: {tree}"));
        }
        for folder in ["tx", "lost"] {
            let left = fs::read_dir(vault.root().join(".forklore").join(folder));
            let left: Vec<_> = left.into_iter().flatten().map(|entry| entry.unwrap().file_name()).collect();
            if !left.is_empty() {
                return Err(format!("left in {folder}: {left:?}, and tree said {tree}"));
            }
        }
        let now = Picture::of(vault);
        let outcome = if now == *before {
            Outcome::Nothing
        } else if now.masked() == reference.finished {
            (self.sane)(vault);
            Outcome::All
        } else {
            return Err(format!(
                "half done. From before: {}\nFrom a finished one: {}",
                now.difference(before),
                now.masked().difference(&reference.finished)
            ));
        };
        let said = complaints(vault);
        if said != reference.complaints[&outcome] {
            return Err(format!("{outcome:?}: check says {said}\nnot {}", reference.complaints[&outcome]));
        }
        Ok(outcome)
    }

    /// Does it undisturbed where it came to nothing: nothing that was left may stand in its way.
    pub(crate) fn again(&self, vault: &TestVault, reference: &Reference) -> Result<Outcome, String> {
        let run = vault.run(FORKLORE, self.args);
        let now = Picture::of(vault).masked();
        if run.code != Some(0) || now != reference.finished {
            return Err(format!(
                "not the same a second time: {run}; {}",
                now.difference(&reference.finished)
            ));
        }
        (self.sane)(vault);
        let said = complaints(vault);
        if said != reference.complaints[&Outcome::All] {
            return Err(format!("a second time: check says {said}"));
        }
        Ok(Outcome::Nothing)
    }
}

/// What `check` finds, in history too, apart from what is made up anew each time.
fn complaints(vault: &TestVault) -> String {
    let report = vault.json(FORKLORE, &["check", "--deep"]);
    let findings = report["findings"].as_array().unwrap_or_else(|| panic!("{report:#}"));
    Mask::default().hide(&serde_json::to_string_pretty(findings).unwrap())
}
