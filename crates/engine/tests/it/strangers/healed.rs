//! What `heal` must not make wrong: the lorebook that it takes away is evidence still.

use forklore_config::Config;
use forklore_engine::heal;
use forklore_testkit::TestVault;
use forklore_vault::history::{self, Watch};
use forklore_vault::state::at::Wanted;
use forklore_vault::{Library, NoProgress};
use serde_json::{Value, json};

use super::{BOOK, DAY, Scene, at, book, chat, entry, fs};

const NOW: i64 = DAY + 86_400_000;

fn heal_all(vault: &TestVault) {
    let library = Library::load(fs(vault), &NoProgress).unwrap();
    let decide = |_: &heal::Question| Some(heal::Choice::Rebuild);
    let plan = heal::plan(&library, None, &Config::default(), &decide, NOW, &NoProgress).unwrap();
    assert!(!plan.is_empty());
    history::before(&fs(vault), &plan.files(&library), NOW).unwrap();
    heal::execute(&library, plan, NOW).unwrap();
}

/// The titles at each message of a chat that are not marked as undated.
fn certain(vault: &TestVault, chat: &str, messages: usize) -> Vec<Vec<String>> {
    let at = |message| at(vault, chat, message).into_iter().filter(|(_, undated)| !undated);
    (0..messages).map(|message| at(message).map(|(title, _)| title).collect()).collect()
}

/// A note that was written by hand before the first scene, changed later, and is in what a fork's own scene shows, because both still wrote
/// into one lorebook. The fork had left before that lorebook was made, as the header tells; healed, everybody's header tells of another one.
#[test]
fn regression_a_healed_book_is_as_old_as_it_was() {
    let note = |lines: &str| {
        let mut note = entry(1, "note");
        note["content"] = json!(lines);
        note
    };
    let first = [note("By hand."), entry(2, "character-Mara")];
    let second =
        [note("By hand.\nAnd more by hand."), entry(2, "character-Mara"), entry(3, "character-Orrin")];
    let header = |slug: &str, parent: Option<&str>| {
        let mut header = json!({"integrity": slug, "world_info": BOOK,
            "auto_lorebooks": {"lorebookName": BOOK, "attachedAt": DAY + 8 * 60_000, "registry": {"index": {}}}});
        if let Some(parent) = parent {
            header["main_chat"] = json!(parent);
        }
        header
    };
    let made = |message, time, made, tells, seen| Scene { message, time, made, tells, seen };
    let vault = TestVault::new();
    let here = made(10, 13 * 60, &[2], &["Mara"], &first as &[Value]);
    chat(&vault, "Main", &header("m", None), (usize::MAX, 25), &[here]);
    let there = made(7, 26 * 60, &[3], &["Orrin"], &second);
    chat(&vault, "Early", &header("e", Some("Main")), (6, 16), &[there]);
    vault.write(&format!("worlds/{BOOK}.json"), &book(&[&second[..], &[super::registry()]].concat()));
    let before = certain(&vault, "Early", 16);
    assert_eq!(before[8], ["character-Orrin"]);
    heal_all(&vault);
    assert_eq!(certain(&vault, "Early", 16), before);
}

/// An old checkpoint still shares the lorebook of its parent, and is healed. That looks at the checkpoint and at the lorebook, and not at the
/// parent: what was written there lately is no older for that. The parent was never seen, or when it was shorter.
#[test]
fn regression_healing_a_checkpoint_makes_no_note_of_its_parent_older() {
    for seen in [false, true] {
        let scene = [entry(2, "character-Mara")];
        let header =
            |slug: &str, parent: &str| json!({"integrity": slug, "main_chat": parent, "world_info": BOOK});
        let main = |vault: &TestVault, messages: usize| {
            let scene = Scene { message: 10, time: 13 * 60, made: &[2], tells: &["Mara"], seen: &scene };
            chat(
                vault,
                "Main",
                &json!({"integrity": "m", "world_info": BOOK}),
                (usize::MAX, messages),
                &[scene],
            );
        };
        let vault = TestVault::new();
        main(&vault, 15);
        let write = |entries: &[Value]| {
            vault.write(&format!("worlds/{BOOK}.json"), &book(&[entries, &[super::registry()]].concat()));
        };
        write(&scene);
        chat(&vault, "Early", &header("e", "Main"), (6, 6), &[]);
        if seen {
            Watch::open(fs(&vault)).unwrap().sweep(DAY + 15 * 60_000, &NoProgress).unwrap();
        }
        main(&vault, 25);
        write(&[&scene[..], &[entry(1, "note")]].concat());
        let before = certain(&vault, "Main", 25);
        assert_eq!(before[15], ["character-Mara"]);
        assert_eq!(before[24], ["character-Mara", "note"]);
        heal_all(&vault);
        assert_eq!(certain(&vault, "Main", 25), before, "seen before: {seen}");
    }
}

/// Another line wrote into an entry of the lorebook that both shared, and the parent's last scene shows it. Healed, the parent has a lorebook
/// without that; what its scene shows besides is not its own for that.
#[test]
fn regression_a_healed_book_was_not_built_from_the_last_scene() {
    let mara = |lines: &str| {
        let mut mara = entry(2, "character-Mara");
        mara["content"] = json!(lines);
        mara
    };
    let first = [mara("A ferrywoman.")];
    let second = [mara("A ferrywoman.\nShe knows Early.")];
    let third = [mara("A ferrywoman.\nShe knows Early."), entry(3, "character-Orrin")];
    let vault = TestVault::new();
    let begun = Scene { message: 10, time: 13 * 60, made: &[2], tells: &["Mara"], seen: &first };
    let then = Scene { message: 20, time: 27 * 60, made: &[3], tells: &["Orrin"], seen: &third };
    chat(&vault, "Main", &json!({"integrity": "m", "world_info": BOOK}), (usize::MAX, 25), &[begun, then]);
    let there = Scene { message: 14, time: 20 * 60, made: &[], tells: &["Mara"], seen: &second };
    let header = json!({"integrity": "e", "main_chat": "Main", "world_info": BOOK});
    chat(&vault, "Early", &header, (12, 18), &[there]);
    vault.write(&format!("worlds/{BOOK}.json"), &book(&[&third[..], &[super::registry()]].concat()));
    let texts = || -> Vec<Vec<(String, String)>> {
        let library = Library::load(fs(&vault), &NoProgress).unwrap();
        let c = library.find_chat("Main").unwrap();
        let at = |message| library.book_at(c, message, Wanted::default()).unwrap().entries;
        let told = |message| {
            at(message).into_iter().map(|e| (e.image.comment.to_string(), e.image.content().into_owned()))
        };
        (0..24)
            .map(|message| told(message).filter(|(title, _)| title.starts_with("character-")).collect())
            .collect()
    };
    let before = texts();
    assert_eq!(before[22][0].1, "A ferrywoman.");
    heal_all(&vault);
    assert_eq!(texts(), before);
}
