//! The command line itself: help, errors, colours, addresses, exit codes.

use forklore_testkit::TestVault;
use serde_json::json;

use crate::FORKLORE;
use crate::set_up::rain;

fn vault() -> TestVault {
    rain()
        .chat(
            "Ana",
            "Rain - Branch #1",
            &json!({"integrity": "b", "main_chat": "Rain"}),
            &["hello", "one", "two", "else"],
        )
        .chat("Bo", "Rain", &json!({"integrity": "c"}), &["hey", "you"])
        .book("Lore", &[("The sea", "It is cold.")])
}

#[test]
fn help_teaches() {
    let run = vault().run(FORKLORE, &["--help"]);
    insta::assert_snapshot!(run, @r#"
    Fork your story, keep its lore

    Forklore looks at the chats of a SillyTavern user ("the vault") and knows which chat was forked from
    which, at which message, and what the lorebook, the recaps and the queue were at any message. It
    makes forks that carry exactly that state, each with a lorebook of its own.

    Usage: forklore [OPTIONS] <COMMAND>

    Commands:
      stories      List the stories: every character and group with its chats
      tree         Draw the fork tree of a story
      show         Show the state of a chat at a message
      diff         Show what differs between two states of a story
      history      Tell what happened to a chat and its lorebooks, newest last
      blame        Tell which message each part of a lorebook comes from
      check        Look for everything that is wrong in a vault
      checkpoint   Keep the story at a message, to come back to
      branch       Fork the story at a message, to play on from there
      learn        Bring along what happened in another branch
      append       Play another branch's messages after a chat's own
      pick         Take one thing over into a chat, from anywhere
      adopt        Mark the branch that the story goes on with
      memory       Remember the story: scenes, facts and recaps that follow every edit, swipe and fork
      resolve      Answer what two branches do not agree on
      heal         Give every fork what is its own, and repair what `check` found
      restore      Bring the past back, beside the present
      log          List what Forklore has done in the vault, newest first
      undo         Take back what Forklore did
      redo         Do again what was undone last
      delete       Move a chat and its own lorebook to the trash
      rename       Give a chat another name
      trash        List what is in the trash, and bring it back
      gc           Clean up: lorebooks that nothing needs any more, and what is old in the trash
      watch        Record every change of chats and lorebooks while SillyTavern runs
      export       Write a story, or one line of it, into a file that `forklore import` reads
      import       Bring a story in from a file that `forklore export` wrote
      forget       Let old contents of history go, by rule
      prune        Free the space of what was forgotten
      config       Show and change the settings of the vault
      doctor       Look at how Forklore is doing here, and say what to do
      serve        Show the stories in a browser, and answer other programs
      install      Put Forklore into SillyTavern
      uninstall    Take Forklore out of SillyTavern again
      demo         Build a small story to play with, and look around in it
      completions  Print a script that lets a shell complete Forklore's commands
      help         Print this message or the help of the given subcommand(s)

    Options:
          --vault <DIR>
              SillyTavern user folder (the one with "chats" and "worlds"), or the install that holds it
              
              Without it, the folder in the environment variable FORKLORE_VAULT; without that, the vault
              is looked for in the current folder and those above it.

          --json
              Print one JSON document instead of text

          --dry-run
              Show what would be done and do nothing

      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    Start with `forklore demo` if you have no SillyTavern at hand.

    A chat is named FOLDER/CHAT, or group:ID/CHAT; its name alone works where it is
    unique. FOLDER is the character's folder. Messages count from 0.

    Exit status: 0 done; 1 refused, or `check` found an error; 2 wrong usage.
    "#);
    for command in [
        "stories",
        "tree",
        "show",
        "diff",
        "check",
        "checkpoint",
        "branch",
        "heal",
        "log",
        "undo",
        "redo",
        "delete",
        "trash",
        "gc",
        "config",
        "demo",
        "completions",
    ] {
        let help = vault().run(FORKLORE, &[command, "--help"]);
        assert_eq!(help.code, Some(0));
        assert!(help.stdout.contains("Usage: forklore"), "{help}");
    }
}

#[test]
fn tree_for_people() {
    insta::assert_snapshot!(vault().run(FORKLORE, &["tree"]), @"
    Ana  2 chats, 1 fork
    ● Rain                             4 msg                      own book
    └───2─ ◆ … - Branch #1             4 msg                      no book

    Bo  1 chat, 0 forks
    ● Rain                             2 msg                      no book
    ");
}

#[test]
fn show_for_people() {
    insta::assert_snapshot!(vault().run(FORKLORE, &["show", "Ana/Rain", "--at", "2"]), @"
    Ana/Rain
    at message 2, of 0 to 3  moment 31235510897a

    Ana
      two

    Scene  none is finished yet

    Lorebook  Lore
      1 entry, as it is now; nothing tells how it was

       0  The sea  undated
          It is cold.

    Running recap  none yet

    Queue  idle

    ! Nothing tells how the lorebook was at this message: this is the book as it is now.
    ");
}

#[test]
fn errors_are_sentences_with_a_next_step() {
    let vault = vault();
    insta::assert_snapshot!(vault.run(FORKLORE, &["show", "Rain"]), @r#"
    --- stderr
    Error: "Rain" could be 2 chats.
    Say which: "Ana/Rain", "Bo/Rain"
    --- exit 1
    "#);
    insta::assert_snapshot!(vault.run(FORKLORE, &["show", "Ana/Rian"]), @r#"
    --- stderr
    Error: There is no chat "Ana/Rian" in this vault.
    Run `forklore tree` to see the chats and their names.
    --- exit 1
    "#);
    insta::assert_snapshot!(vault.run(FORKLORE, &["show", "branch"]), @r#"
    --- stderr
    Error: There is no chat "branch" in this vault.
    Did you mean "Ana/Rain - Branch #1"?
    --- exit 1
    "#);
    insta::assert_snapshot!(vault.run(FORKLORE, &["show", "Ana/Rain", "--at", "9"]), @r#"
    --- stderr
    Error: Message 9 does not exist: "Rain" has 4 messages, counted from 0.
    The last message is 3.
    --- exit 1
    "#);
    insta::assert_snapshot!(vault.run(FORKLORE, &["tree", "Cid"]), @r#"
    --- stderr
    Error: There is no story "Cid" in this vault.
    There is "Ana", "Bo".
    --- exit 1
    "#);
    insta::assert_snapshot!(vault.run(FORKLORE, &["--vault", "nowhere", "tree"]), @"
    --- stderr
    Error: nowhere holds no SillyTavern chats.
    Name a SillyTavern user folder with --vault DIR or FORKLORE_VAULT, or try `forklore demo`.
    --- exit 1
    ");
}

#[test]
fn errors_are_one_json_document_with_json() {
    let vault = vault();
    for (args, code, exit) in [
        (&["show", "nobody", "--json"][..], "CHAT_NOT_FOUND", 1),
        (&["show", "Rain", "--json"], "CHAT_AMBIGUOUS", 1),
        (&["show", "Ana/Rain", "--at", "9", "--json"], "MESSAGE_NOT_FOUND", 1),
        (&["tree", "Cid", "--json"], "STORY_NOT_FOUND", 1),
        (&["--vault", "nowhere", "tree", "--json"], "NO_VAULT", 1),
        (&["show", "--json"], "USAGE", 2),
        (&["fly", "--json"], "USAGE", 2),
    ] {
        let run = vault.run(FORKLORE, args);
        let document: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(
            (document["error"]["code"].as_str(), run.code),
            (Some(code), Some(exit)),
            "{args:?}\n{run}"
        );
        assert!(document["error"]["message"].as_str().unwrap().ends_with('.'), "{document}");
        assert!(run.stderr.is_empty(), "{run}");
    }
}

#[test]
fn a_name_works_where_it_is_unique() {
    let vault = vault();
    for name in ["Ana/Rain", "Ana/Rain.jsonl", "Rain - Branch #1", "rain - branch #1"] {
        assert_eq!(vault.run(FORKLORE, &["show", name]).code, Some(0), "{name}");
    }
    assert_eq!(vault.json(FORKLORE, &["tree", "Bo"])["stories"].as_array().unwrap().len(), 1);
}

#[test]
fn exit_status_tells_of_errors_only() {
    let vault = vault();
    assert_eq!(vault.run(FORKLORE, &["check"]).code, Some(0));
    let missing = vault.chat("Bo", "bad", &json!({"world_info": "Gone"}), &["hey", "ho"]);
    assert_eq!(missing.run(FORKLORE, &["check"]).code, Some(1));
    assert_eq!(missing.run(FORKLORE, &["check", "Bo/Rain"]).code, Some(0), "asked for a healthy chat");
    assert_eq!(missing.run(FORKLORE, &["tree"]).code, Some(0));
}

#[test]
fn completions_and_version() {
    let vault = vault();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(vault.run(FORKLORE, &["completions", shell]).stdout.contains("forklore"));
    }
    assert!(vault.run(FORKLORE, &["--version"]).stdout.starts_with("forklore "));
}

#[test]
fn a_vault_is_found_from_inside_and_from_an_install() {
    let vault = vault();
    let run = |dir: &str, args: &[&str]| {
        let output = std::process::Command::new(FORKLORE)
            .env_clear()
            .current_dir(vault.root().join(dir))
            .args(args)
            .output();
        output.unwrap().status.code()
    };
    assert_eq!(run("", &["stories"]), Some(0));
    assert_eq!(run("chats/Ana", &["stories"]), Some(0));
    let install = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(install.path().join("data")).unwrap();
    #[cfg(unix)]
    {
        forklore_testkit::unix::symlink(vault.root(), install.path().join("data/default-user")).unwrap();
        assert_eq!(run("", &["--vault", install.path().to_str().unwrap(), "stories"]), Some(0));
    }
}
