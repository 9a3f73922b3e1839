//! The demo: what a newcomer sees first.

use forklore_testkit::TestVault;

use crate::FORKLORE;
use crate::ops::redacted;

#[test]
fn the_demo_builds_and_shows_itself() {
    let vault = TestVault::new();
    let run = vault.run(FORKLORE, &["demo"]);
    insta::assert_snapshot!(redacted(&run), @r#"
    ✓ A story was made for you in forklore-demo

    Heard Once
      An insurance assessor climbs to a rainy quarry town where slate remembers what it overheard, and
      repeats it exactly once. Four slates lay beside a dead man, somebody would like them used up, and
      every one you choose to hear is one that nobody can ever hear again.

    Made the checkpoint Ottilie Crake/The tally book is found
      from      Ottilie Crake/Heard Once at message 20
      lorebook  z-AutoLB-Ottilie Crake-The tally book is found
                19 entries; as of message 20; 8 entries left out
      recap     running recap v1 (2 versions, 2 scenes, 2 left to the parent)
      Take it back with: forklore undo [id]

    Ottilie Crake  7 chats, 6 forks
    ● Heard Once                         43 msg  4 scenes  recap 3   own book     ✗
    ├───6─ ⚑ Before the first telling     7 msg                      own book
    ├──16─ ◆ … - Branch #3               23 msg  1 scene   recap 0   own book
    ├──20─ ⚑ The tally book is found     21 msg  2 scenes  recap 1   own book
    ├──22─ ◆ … - Branch #1               35 msg  3 scenes  recap 2   own book
    │     └──32─ ◆ … - Branch #2         39 msg  3 scenes  recap 2   own book
    └──30─ ◆ … - Branch #4               41 msg  4 scenes  recap 4   shared book  ✗
      ✗ error, ! warning: `forklore check` explains

    What to look at
      forklore --vault forklore-demo show "Ottilie Crake/Heard Once" --at 20
          The lorebook as it was at message 20. Nobody there knows yet who is deaf, who is dead and who
          is not: see "Left out".
      forklore --vault forklore-demo show "Ottilie Crake/Heard Once - Branch #3"
          A branch from another answer to message 16. It never heard of anything that the main line
          learnt later.
      forklore --vault forklore-demo show "Ottilie Crake/Heard Once - Branch #4"
          A fork as SillyTavern makes them: it shares its parent's lorebook. Forklore still knows what
          its own line has earned.
      forklore --vault forklore-demo check
          What that did to both of them: the branch knows how the main line ends, and the main line's
          book holds a bargain that was never struck there.
      forklore --vault forklore-demo heal --yes
          Both get a lorebook with what their own line has earned, and no more. Then look at the tree
          again; `undo` takes it back.
      forklore --vault forklore-demo branch "Ottilie Crake/Heard Once" --at 30
          Your own branch, right before the main line finds out. It knows nothing of what comes.

    Then try it on your own: forklore --vault .../SillyTavern/data/default-user tree
    "#);
    let again = vault.run(FORKLORE, &["demo"]);
    assert!(again.stdout.starts_with("✓ The demo is already there"), "{again}");
    let tree = |run: &forklore_testkit::Run| {
        run.stdout
            .lines()
            .skip_while(|line| !line.starts_with("Ottilie"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(tree(&run), tree(&again));
}

#[test]
fn the_demo_never_touches_what_is_there() {
    let vault = TestVault::new().file("precious/diary.txt", b"mine");
    let precious = vault.root().join("precious");
    let run = vault.run(FORKLORE, &["demo", precious.to_str().unwrap()]);
    insta::assert_snapshot!(run, @"
    --- stderr
    Error: The folder is not empty and is no Forklore demo.
    Name another folder: forklore demo DIR
    --- exit 1
    ");
    assert_eq!(vault.read("precious/diary.txt"), b"mine");
}

#[test]
fn a_moment_before_the_secret_holds_no_secret() {
    let demo = TestVault::demo();
    let whole = demo.json(FORKLORE, &["show", "Heard Once"]);
    let early = demo.json(FORKLORE, &["show", "Heard Once", "--at", "20"]);
    let text = |shown: &serde_json::Value| shown["book"]["entries"].to_string();
    assert!(text(&whole).contains("He is alive"));
    assert!(!text(&early).contains("He is alive") && !text(&early).contains("Lost Hearing"));
}

#[test]
fn isolated_forks_are_healthy_and_the_legacy_fork_is_not() {
    let demo = TestVault::demo();
    let tree = demo.json(FORKLORE, &["tree"]);
    let chats = tree["stories"][0]["chats"].as_array().unwrap();
    let bad: Vec<&str> =
        chats.iter().filter(|c| c["health"] == "error").map(|c| c["chat"].as_str().unwrap()).collect();
    assert_eq!(bad, ["Ottilie Crake/Heard Once", "Ottilie Crake/Heard Once - Branch #4"]);
    let report = demo.json(FORKLORE, &["check"]);
    let codes: Vec<&str> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|f| f["severity"] == "error")
        .map(|f| f["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes, ["BOOK_SHARED", "ENTRY_FROM_FUTURE", "ENTRY_FOREIGN"]);
}
