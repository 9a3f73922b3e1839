//! What an owner decides: where scenes end, what stays as it is, what may be written, which answer counts, in which words it is asked.

use forklore_engine::memory::Parked;
use forklore_memory::Kind;

use super::*;

fn ends_of(played: &Played) -> Vec<usize> {
    played.remembered("Long road").iter().map(|(last, _)| *last).collect()
}

#[test]
fn a_scene_ends_where_a_person_says_and_the_rest_follows() {
    let played = Played::new(vault(100));
    played.run("Long road");
    let before = ends_of(&played);
    assert!(before.contains(&11) && !before.contains(&14), "{before:?}");
    assert!(played.decide("Long road", &[Choice::Break(14), Choice::Join(11)]) > 0);
    let moved = ends_of(&played);
    assert!(!moved.contains(&11) && moved.contains(&14), "{moved:?}");
    let (marked, remembered) = ends(&played);
    assert_eq!(marked, remembered, "the chat's marks are where the scenes end");
    played.decide("Long road", &[Choice::Join(14)]);
    let again = ends_of(&played);
    assert!(!again.contains(&14) && !again.contains(&11), "11 is still forbidden: {again:?}");
    assert_eq!(played.decide("Long road", &[Choice::Break(11)]), 0, "that was answered before");
    played.look("Long road", |_, found, answers| {
        let beyond = decide(found, answers, &[Choice::Break(100)]);
        assert!(matches!(beyond, Err(MemoryError::NoMessage { at: 100, messages: 100 })));
    });
}

#[test]
fn what_still_holds_after_an_edit_is_kept_and_nothing_is_asked() {
    let played = Played::new(vault(100));
    played.run("Long road");
    let before = played.shown("Long road", 99);
    // The first message of a scene, one in its middle, and one in the look-ahead of the scene before it.
    for (from, to, at) in [
        ("Nothing new. Word w30.", "Nothing at all. Word w30.", 30),
        ("Ilse owes 17 coins.", "Ilse owes 18 coins.", 17),
        ("Nothing new. Word w1.", "Nothing whatever. Word w1.", 1),
    ] {
        played.edit(from, to);
        played.look("Long road", |library, found, answers| {
            let told = status(library, found, answers);
            assert!(told.questions > 0, "message {at} was edited: {told:?}");
            let stale: Vec<_> = told.scenes.iter().filter(|scene| scene.state == "stale").collect();
            assert!(
                matches!(stale[..], [scene] if (scene.first..=scene.last).contains(&at) && scene.title.is_some()),
                "its scene is stale and no other: {told:?}"
            );
        });
        assert_eq!(played.decide("Long road", &[Choice::Keep(at)]), 0, "message {at}");
        assert_eq!(played.shown("Long road", 99), before, "what was made of message {at} is kept");
    }
    played.look("Long road", |_, found, answers| {
        let nothing = decide(found, answers, &[Choice::Keep(50)]);
        assert!(matches!(nothing, Err(MemoryError::NothingToKeep(50))), "nothing is stale there");
    });
}

#[test]
fn what_is_told_at_a_message_is_what_was_known_there_and_where_it_comes_from() {
    let played = Played::new(vault(100));
    played.run("Long road");
    played.look("Long road", |library, found, answers| {
        let report = told(library, found, answers, Some(14));
        let scene = report.scene.unwrap();
        assert_eq!((scene.scene.first, scene.scene.last), (12, 23));
        assert!(scene.learnt.iter().any(|(name, said)| name == "Ilse" && !said.is_empty()), "{scene:?}");
        let titles: Vec<&str> = report.entries.iter().map(|entry| entry.title.as_str()).collect();
        assert_eq!(titles, ["character-Tolan"], "the scene is not over yet");
        let later = told(library, found, answers, Some(23));
        let known: Vec<_> = later.entries.iter().flat_map(|entry| &entry.lines).collect();
        assert!(known.iter().all(|line| line.scenes.iter().all(|scene| scene.last <= 23)), "{known:?}");
        assert!(known.iter().any(|line| line.scenes[0].first == 12), "{known:?}");
        let end = told(library, found, answers, None);
        assert_eq!((end.at, end.entries.len()), (99, end.status.entries));
    });
}

#[test]
fn a_locked_entry_stays_and_a_released_one_goes_on() {
    let played = Played::new(vault(60));
    played.run("Long road");
    let before = played.shown("Long road", 59);
    played.decide("Long road", &[Choice::Lock("tolan".into()), Choice::Delete("character-Bren".into())]);
    assert!(!played.shown("Long road", 59).contains_key("character-Bren"));
    let mut chat = String::from_utf8(played.vault.read(CHAT)).unwrap();
    for i in 60..110 {
        let said = match i {
            60 | 80 => "Later all met".to_owned(),
            62 | 84 => format!("We know that Tolan lives in house {i}"),
            63 => "We know that Bren lives in house 98".to_owned(),
            _ => format!("Nothing new. Word w{i}."),
        };
        let line = json!({"name": "Mara", "is_user": false, "mes": said, "extra": {}, "send_date": "2026-02-01T00:00:00.000Z"});
        chat.push_str(&format!("\n{line}"));
    }
    played.vault.write(CHAT, chat.as_bytes());
    played.run("Long road");
    let shown = played.shown("Long road", 109);
    assert_eq!(shown["character-Tolan"], before["character-Tolan"]);
    assert!(!shown.contains_key("character-Bren"));
    played.decide("Long road", &[Choice::Release("Bren".into())]);
    assert!(played.shown("Long road", 109).contains_key("character-Bren"), "what was known of them is back");
}

#[test]
fn nothing_is_written_before_it_is_approved_and_forks_have_what_was() {
    let ways = Arc::new(Ways { approve: true, ..Ways::default() });
    let played = Played { ways, ..Played::new(vault(60)) };
    played.run("Long road");
    assert!(facts(&played.shown("Long road", 59)).is_empty(), "nothing is approved yet");
    let proposed =
        played.look("Long road", |library, found, answers| status(library, found, answers).proposals);
    assert!(proposed.iter().any(|p| p.title == "character-Tolan" && p.before.is_none()), "{proposed:?}");
    assert_eq!(played.decide("Long road", &[Choice::Approve("Tolan".into())]), 0);
    let shown = facts(&played.shown("Long road", 59));
    assert_eq!(shown.keys().collect::<Vec<_>>(), ["character-Tolan"]);
    assert_eq!(played.decide("Long road", &[Choice::ApproveAll]), 0);
    let all = facts(&played.shown("Long road", 59));
    assert!(all.len() > 2, "{all:?}");
    // A fork has what was approved up to there, and nothing waits that was not there.
    let fork = played.fork(30);
    assert_eq!(played.run(&fork), 0);
    assert!(facts(&played.shown(&fork, 30)).iter().all(|(title, text)| all.get(title) == Some(text)));
    // An entry that says something else by now waits with its new text; the old one stays until then, also in the scenes.
    played.edit("Tolan owes 5 coins.", "Tolan owes 6 coins.");
    played.run("Long road");
    for at in [11, 59] {
        assert_eq!(
            played.shown("Long road", at)["character-Tolan"].contains("owes 5"),
            at == 11 || all["character-Tolan"].contains("owes 5"),
            "at {at}"
        );
        assert!(!played.shown("Long road", at)["character-Tolan"].contains("owes 6"), "at {at}");
    }
    assert_eq!(played.decide("Long road", &[Choice::ApproveAll]), 0);
    assert!(played.shown("Long road", 59)["character-Tolan"].contains("owes 6"));
}

#[test]
fn what_was_there_before_approving_was_asked_for_stays() {
    let mut played = Played::new(vault(60));
    played.run("Long road");
    let before = played.shown("Long road", 59);
    played.ways = Arc::new(Ways { approve: true, ..Ways::default() });
    assert_eq!(played.run("Long road"), 0);
    assert_eq!(played.shown("Long road", 59), before);
}

#[test]
fn another_answer_counts_once_it_is_chosen_and_undo_goes_back() {
    let played = Played::new(vault(60));
    played.run("Long road");
    let before = played.shown("Long road", 59);
    played.look("Long road", |library, found, answers| {
        let question = found.facts_again(answers, 3).unwrap();
        assert_eq!(question.kind(), Kind::Facts);
        let mut answer = answered(found, &question);
        let Reply::Facts(facts) = &mut answer.reply else { panic!("{answer:?}") };
        facts.learnt[0].facts[0].text = "Told otherwise.".to_owned();
        let mut store = AnswerStore::open(&played.fs).unwrap();
        store.add(answer).unwrap();
        assert_eq!(survey(library, found.c, &store, &played.ways).unwrap().memory.missing.len(), 0);
        let record = found.with_newest(&store, 3).unwrap();
        projection::decided(library, found, &record, "took another answer for", played.now()).unwrap();
    });
    played.run("Long road");
    let told = |shown: &BTreeMap<String, String>| shown.values().any(|text| text.contains("Told otherwise."));
    assert!(!told(&before) && told(&played.shown("Long road", 59)));
    for _ in 0..2 {
        let library = played.library();
        let plan = undo::plan(&library, &OpLog::read(&*played.fs).unwrap(), None, false).unwrap();
        undo::execute(&library, plan, played.now()).unwrap();
    }
    assert_eq!(played.shown("Long road", 59), before);
}

#[test]
fn a_recap_as_one_text_is_asked_once_a_scene_and_never_in_a_fork() {
    let ways = Arc::new(Ways { combined: true, ..Ways::default() });
    let played = Played { ways, ..Played::new(vault(60)) };
    played.run("Long road");
    let header: Value =
        serde_json::from_str(String::from_utf8(played.vault.read(CHAT)).unwrap().lines().next().unwrap())
            .unwrap();
    let combined = &header["chat_metadata"]["auto_recap"]["combined_recap"];
    assert_eq!(combined["message_count"], 60, "{combined}");
    assert!(!combined["content"].as_str().unwrap().is_empty());
    assert_eq!(played.run("Long road"), 0);
    let fork = played.fork(30);
    assert_eq!(played.run(&fork), 0, "a fork asks nothing");
}

#[test]
fn other_words_are_another_question_and_bad_ones_are_refused() {
    let played = Played::new(vault(60));
    played.run("Long road");
    let folder = ".forklore/prompts";
    played.fs.make_dir(&crate::path(".forklore")).unwrap();
    played.fs.make_dir(&crate::path(folder)).unwrap();
    let own = forklore_memory::Prompts::built_in(Kind::Facts).replace("---", "Mind the ledger.\n---");
    played.vault.write(&format!("{folder}/facts.md"), own.as_bytes());
    let ways = Ways::of(&*played.fs, &Config::default()).unwrap();
    let library = played.library();
    let answers = AnswerStore::open(&played.fs).unwrap();
    let c = library.find_chat("Long road").unwrap();
    let found = survey(&library, c, &answers, &Arc::new(ways)).unwrap();
    let question = found.missing(&answers).next().unwrap();
    assert_eq!(question.kind(), Kind::Facts);
    let request = question.request(&found.line, &found.ways.prompts);
    assert!(format!("{}{}", request.system, request.user).contains("Mind the ledger."));
    played.vault.write(&format!("{folder}/facts.md"), b"Tell me everything.");
    assert!(matches!(Ways::of(&*played.fs, &Config::default()), Err(MemoryError::Prompt(_))));
}

#[test]
fn what_was_paid_is_on_the_bill_also_where_no_reply_could_be_used() {
    let played = Played::new(vault(45));
    let mut answers = AnswerStore::open(&played.fs).unwrap();
    played.look("Long road", |_, found, _| {
        let question = found.missing(&answers).next().unwrap().clone();
        let spent =
            forklore_engine::memory::Spent { at: 5, story: "Mara".into(), tokens_in: 70, tokens_out: 7 };
        let why = "the reply is not a JSON object".to_owned();
        answers.park(Parked { key: question.key(), why, at: 5, spent }).unwrap();
        let mut answer = answered(found, &question);
        answer.provenance.tokens_in = 30;
        answers.add(answer).unwrap();
    });
    let paid: u64 = AnswerStore::open(&played.fs).unwrap().spent().iter().map(|spent| spent.tokens_in).sum();
    assert_eq!(paid, 100);
}
