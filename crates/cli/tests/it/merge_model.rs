//! Random branching stories on a real disk, random verbs that bring branches together, and a simple model of what every chat says and
//! every lorebook knows. `FORKLORE_STORIES` sets how many stories, `FORKLORE_SEED` the first one.

use std::collections::BTreeMap;

use forklore_testkit::TestVault;
use forklore_testkit::random::Random;
use serde_json::{Value, json};

use crate::FORKLORE;
use crate::disk::{ChatFile, book};
use crate::merge::{change, entry, ok, say};

/// What a chat says, what its lorebook knows by title, and the story of changes that led there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Line {
    said: Vec<String>,
    knows: BTreeMap<String, String>,
}

struct Model {
    vault: TestVault,
    chats: BTreeMap<String, Line>,
    /// What two lines knew when one was made from the other
    parted: BTreeMap<(String, String), BTreeMap<String, String>>,
    random: Random,
    made: usize,
    acts: Vec<String>,
}

impl Model {
    fn new(seed: u64) -> Self {
        let said = ["Hello.", "Who is there?", "The rain."];
        let vault =
            TestVault::new().chat("Ana", "Rain", &json!({"integrity": "slug", "world_info": "Lore"}), &said);
        let titles = ["Ned", "The sea", "Tern"];
        let all: serde_json::Map<String, Value> = titles
            .iter()
            .zip(0i64..)
            .map(|(title, uid)| (uid.to_string(), entry(uid, title, &format!("{title} is old."))))
            .collect();
        vault.write("worlds/Lore.json", json!({"entries": all, "name": "Lore"}).to_string().as_bytes());
        let knows = titles.iter().map(|title| ((*title).to_owned(), format!("{title} is old."))).collect();
        let line = Line { said: said.map(str::to_owned).to_vec(), knows };
        let chats = BTreeMap::from([("Rain".to_owned(), line)]);
        Self { vault, chats, parted: BTreeMap::new(), random: Random::new(seed), made: 0, acts: Vec::new() }
    }

    fn any(&mut self) -> String {
        let names: Vec<String> = self.chats.keys().cloned().collect();
        self.random.pick(&names).unwrap().clone()
    }

    fn fresh(&mut self, what: &str) -> String {
        self.made += 1;
        format!("{what} {}", self.made)
    }

    fn book(&self, chat: &str) -> String {
        ChatFile::at(&self.vault, &format!("Ana/{chat}")).book().to_owned()
    }

    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        self.vault.snapshot().into_iter().filter(|(name, _)| !name.starts_with(".forklore")).collect()
    }

    fn step(&mut self) {
        match self.random.below(9) {
            0 | 1 => self.play(),
            2 | 3 => self.write(),
            4 => self.branch(),
            5 => self.learn(),
            6 => self.append(),
            7 => self.pick(),
            _ => self.adopt(),
        }
        self.check();
    }

    /// Every chat and every lorebook is what the model says.
    fn check(&self) {
        for (name, line) in &self.chats {
            let file = ChatFile::at(&self.vault, &format!("Ana/{name}"));
            let said: Vec<String> = file
                .lines
                .iter()
                .filter(|line| !line.is_empty())
                .map(|line| {
                    serde_json::from_slice::<Value>(line).unwrap()["mes"].as_str().unwrap().to_owned()
                })
                .collect();
            assert_eq!(said, line.said, "messages of {name}\n{}", self.acts.join("\n"));
            let held = book(&self.vault, file.book());
            let knows: BTreeMap<String, String> = held["entries"]
                .as_object()
                .unwrap()
                .values()
                .map(|e| {
                    (e["comment"].as_str().unwrap().to_owned(), e["content"].as_str().unwrap().to_owned())
                })
                .collect();
            assert_eq!(knows, line.knows, "lore of {name}\n{}", self.acts.join("\n"));
            let numbers: Vec<&Value> =
                held["entries"].as_object().unwrap().values().map(|e| &e["uid"]).collect();
            assert!(numbers.iter().all(|n| numbers.iter().filter(|m| m == &n).count() == 1), "{numbers:?}");
        }
    }

    fn play(&mut self) {
        let (chat, text) = (self.any(), self.fresh("Message"));
        self.acts.push(format!("play {chat}: {text}"));
        say(&self.vault, &chat, &[&text]);
        self.chats.get_mut(&chat).unwrap().said.push(text);
    }

    /// Somebody writes into a lorebook, a message later than the last one.
    fn write(&mut self) {
        let (chat, text) = (self.any(), self.fresh("Text"));
        let known: Vec<String> = self.chats[&chat].knows.keys().cloned().collect();
        let new = known.is_empty() || self.random.below(2) == 0;
        let title = if new { self.fresh("Thing") } else { self.random.pick(&known).unwrap().clone() };
        self.acts.push(format!("write {chat}: {title} = {text}"));
        change(&self.vault, &self.book(&chat), |all| {
            let all = all.as_object_mut().unwrap();
            if let Some(held) = all.values_mut().find(|e| e["comment"] == title.as_str()) {
                held["content"] = json!(text);
            } else {
                let uid = (0..).find(|uid: &i64| !all.contains_key(&uid.to_string())).unwrap();
                all.insert(uid.to_string(), entry(uid, &title, &text));
            }
        });
        self.chats.get_mut(&chat).unwrap().knows.insert(title, text);
        let more = self.fresh("Message");
        say(&self.vault, &chat, &[&more]);
        self.chats.get_mut(&chat).unwrap().said.push(more);
        ok(&self.vault, &["watch", "--once"]);
    }

    fn branch(&mut self) {
        let (chat, name) = (self.any(), self.fresh("Branch"));
        self.acts.push(format!("branch {chat} as {name}"));
        ok(&self.vault, &["branch", &format!("Ana/{chat}"), "--name", &name]);
        let line = self.chats[&chat].clone();
        self.parted.insert((chat, name.clone()), line.knows.clone());
        self.chats.insert(name.clone(), line);
        for one in [self.any(), name] {
            let text = self.fresh("Message");
            say(&self.vault, &one, &[&text]);
            self.chats.get_mut(&one).unwrap().said.push(text);
        }
        ok(&self.vault, &["watch", "--once"]);
    }

    /// A branch of one that knows what another has learnt. What both wrote about waits, and the first one's words stand.
    fn learn(&mut self) {
        let pairs: Vec<(String, String)> = self.parted.keys().cloned().collect();
        let Some((parent, fork)) = self.random.pick(&pairs).cloned() else { return };
        let (a, b) = if self.random.below(2) == 0 {
            (parent.clone(), fork.clone())
        } else {
            (fork.clone(), parent.clone())
        };
        let base = self.parted[&(parent, fork)].clone();
        let name = self.fresh("Both");
        self.acts.push(format!("learn {a} from {b} as {name}"));
        let before = self.files();
        let (ours, theirs) = (self.chats[&a].clone(), self.chats[&b].clone());
        let report =
            ok(&self.vault, &["learn", &format!("Ana/{a}"), "--from", &format!("Ana/{b}"), "--name", &name]);
        let mut knows = ours.knows.clone();
        let mut asked = Vec::new();
        for (title, text) in &theirs.knows {
            match (base.get(title), ours.knows.get(title)) {
                (_, Some(our)) if our == text => {}
                (Some(was), Some(_)) if was == text => {}
                (Some(was), Some(our)) if was == our => {
                    knows.insert(title.clone(), text.clone());
                }
                (_, Some(_)) => asked.push(title.clone()),
                (_, None) => {
                    knows.insert(title.clone(), text.clone());
                }
            }
        }
        let told: Vec<String> = report["conflicts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|conflict| conflict["title"].as_str().unwrap().to_owned())
            .collect();
        let sorted = |mut all: Vec<String>| {
            all.sort();
            all
        };
        assert_eq!(sorted(told), sorted(asked.clone()), "{report:#}\n{}", self.acts.join("\n"));
        if knows == ours.knows && asked.is_empty() {
            assert!(report["chat"].is_null(), "{report:#}\n{}", self.acts.join("\n"));
            return;
        }
        self.only_links_changed(&before);
        self.chats.insert(name.clone(), Line { said: ours.said, knows });
        let again = ok(&self.vault, &["learn", &format!("Ana/{name}"), "--from", &format!("Ana/{b}")]);
        assert!(again["chat"].is_null(), "{again:#}\n{}", self.acts.join("\n"));
        if asked.is_empty() || self.random.below(2) == 0 {
            self.maybe_undo(&before, &name);
        } else {
            self.resolve(&name, &b, &theirs);
        }
    }

    /// What waits is answered, one question after the other; or not, after all.
    fn resolve(&mut self, chat: &str, other: &str, theirs: &Line) {
        let address = format!("Ana/{chat}");
        let open = ok(&self.vault, &["resolve", &address])["open"].as_array().unwrap().clone();
        for (left, question) in (0..open.len()).rev().zip(&open) {
            let (before, was) = (self.files(), self.chats[chat].clone());
            let title = question["title"].as_str().unwrap().to_owned();
            let text = theirs.knows[&title].clone();
            let side = ["ours", "theirs", "both"][self.random.below(3)];
            self.acts.push(format!("resolve {title} of {chat}: {side}"));
            let id = question["id"].as_str().unwrap();
            let report = ok(&self.vault, &["resolve", &address, id, "--keep", side, "--yes"]);
            assert_eq!(report["open"].as_array().unwrap().len(), left, "{}", self.acts.join("\n"));
            let knows = &mut self.chats.get_mut(chat).unwrap().knows;
            match side {
                "ours" => {}
                "theirs" => drop(knows.insert(title, text)),
                _ => drop(knows.insert(title.clone(), format!("{}\n{text}", was.knows[&title]))),
            }
            self.check();
            if self.random.below(3) == 0 {
                self.acts.push("undo".to_owned());
                ok(&self.vault, &["undo"]);
                assert!(self.files() == before, "undo\n{}", self.acts.join("\n"));
                self.chats.insert(chat.to_owned(), was);
                return;
            }
        }
        assert!(!ok(&self.vault, &["check"]).to_string().contains("CONFLICT_OPEN"));
        let again = ok(&self.vault, &["learn", &address, "--from", &format!("Ana/{other}")]);
        assert!(again["chat"].is_null(), "{again:#}\n{}", self.acts.join("\n"));
    }

    /// What was there is there, but for the links that messages of the parent have now.
    fn only_links_changed(&self, before: &BTreeMap<String, Vec<u8>>) {
        let now = self.files();
        for (name, bytes) in before.iter().filter(|(name, _)| name.starts_with("worlds/")) {
            assert_eq!(now.get(name), Some(bytes), "{name}\n{}", self.acts.join("\n"));
        }
    }

    fn maybe_undo(&mut self, before: &BTreeMap<String, Vec<u8>>, made: &str) {
        if self.random.below(2) == 0 {
            self.acts.push("undo".to_owned());
            ok(&self.vault, &["undo"]);
            assert!(self.files() == *before, "undo\n{}", self.acts.join("\n"));
            self.chats.remove(made);
        }
    }

    /// Messages of one behind those of another, from where they part.
    fn append(&mut self) {
        let (a, b, name) = (self.any(), self.any(), self.fresh("Then"));
        self.acts.push(format!("append {b} to {a} as {name}"));
        let (ours, theirs) = (self.chats[&a].clone(), self.chats[&b].clone());
        let same = ours.said.iter().zip(&theirs.said).take_while(|(x, y)| x == y).count();
        let before = self.files();
        let args = ["append", &format!("Ana/{a}"), "--from", &format!("Ana/{b}"), "--name", &name];
        if same == theirs.said.len() {
            let answer = self.vault.json(FORKLORE, &args);
            assert_eq!(answer["error"]["code"], "NOTHING_NEW", "{answer:#}\n{}", self.acts.join("\n"));
            return;
        }
        ok(&self.vault, &args);
        let said = ours.said.iter().chain(&theirs.said[same..]).cloned().collect();
        self.chats.insert(name.clone(), Line { said, knows: ours.knows });
        self.only_links_changed(&before);
        self.maybe_undo(&before, &name);
    }

    /// One entry of another chat. Nothing else changes.
    fn pick(&mut self) {
        let (a, b) = (self.any(), self.any());
        let known: Vec<String> = self.chats[&b].knows.keys().cloned().collect();
        let Some(title) = self.random.pick(&known).cloned() else { return };
        self.acts.push(format!("pick {title} of {b} into {a}"));
        let text = self.chats[&b].knows[&title].clone();
        let before = self.files();
        let args = ["pick", &format!("Ana/{a}"), "--from", &format!("Ana/{b}"), "--entry", &title, "--yes"];
        let answer = self.vault.json(FORKLORE, &args);
        if self.chats[&a].knows.get(&title) == Some(&text) {
            assert_eq!(answer["error"]["code"], "NOTHING_NEW", "{answer:#}\n{}", self.acts.join("\n"));
            return;
        }
        assert!(answer["error"].is_null(), "{answer:#}\n{}", self.acts.join("\n"));
        let was = self.chats[&a].clone();
        self.chats.get_mut(&a).unwrap().knows.insert(title, text);
        self.check();
        if self.random.below(2) == 0 {
            ok(&self.vault, &["undo"]);
            assert!(self.files() == before, "undo\n{}", self.acts.join("\n"));
            self.chats.insert(a, was);
        } else {
            // What the two had in common when they parted is not what tells them apart any more.
            self.parted.retain(|(parent, fork), _| *parent != a && *fork != a);
        }
    }

    /// One line of the family is the story.
    fn adopt(&mut self) {
        let chat = self.any();
        self.acts.push(format!("adopt {chat}"));
        ok(&self.vault, &["adopt", &format!("Ana/{chat}")]);
        let tree = ok(&self.vault, &["tree"]);
        let all = tree["stories"][0]["chats"].as_array().unwrap();
        let marked: Vec<&str> =
            all.iter().filter(|one| one["story"] == true).filter_map(|one| one["chat"].as_str()).collect();
        assert_eq!(marked, [format!("Ana/{chat}")], "{}", self.acts.join("\n"));
    }
}

#[test]
fn branches_are_brought_together_as_a_simple_model_does_it() {
    let number = |name: &str, or: u64| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(or);
    let first = number("FORKLORE_SEED", 1);
    for seed in first..first + number("FORKLORE_STORIES", 8) {
        let mut model = Model::new(seed);
        model.acts.push(format!("seed {seed}"));
        for _ in 0..14 {
            model.step();
        }
    }
}
