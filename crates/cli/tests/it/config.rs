//! `forklore config`: the settings of a vault.

use forklore_testkit::TestVault;
use serde_json::json;

use crate::FORKLORE;

const FILE: &str = ".forklore/config.toml";

/// A vault whose settings somebody wrote by hand.
fn vault(settings: &str) -> TestVault {
    TestVault::new().file(FILE, settings.as_bytes())
}

fn file(vault: &TestVault) -> String {
    String::from_utf8(vault.read(FILE)).unwrap()
}

/// Nothing but the settings may be left behind.
fn left_behind(vault: &TestVault) -> Vec<String> {
    let entries = std::fs::read_dir(vault.root().join(".forklore"));
    let names = entries.into_iter().flatten().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[test]
fn the_list_says_what_is_set_and_what_it_means() {
    let vault = vault("[fork]\nstrict = true\n[checkpoint]\nname_template = \"Scene {scene_number}\"\n");
    insta::assert_snapshot!(vault.run(FORKLORE, &["config"]), @r#"
    Settings of this vault  .forklore/config.toml

    checkpoint.auto_name            true                    default
        Make a name for a checkpoint when none is given; false: a name must be given
    checkpoint.name_template        "Scene {scene_number}"  set (default: "")
        Pattern of made names, such as "Scene {scene_number} - {scene_name}"; empty: SillyTavern's own
    checkpoint.require_scene_break  false                   default
        Make checkpoints and branches only where a scene ends
    checkpoint.show_warnings        true                    default
        Say what is missing or inexact when a checkpoint is made
    checkpoint.at_scene_break       false                   default
        Make a checkpoint whenever a scene ends, without being asked (for the SillyTavern extension)

    fork.strict                     true                    set (default: false)
        Refuse to fork where something is missing or inexact; false: fork and warn
    fork.undated                    "carry"                 default
        Lorebook entries that nothing dates: carry them into the fork, or leave them out
    fork.link_parent                true                    default
        Put a link to the fork into the message it was forked from

    books.shared                    []                      default
        Lorebooks that forks go on sharing instead of getting their own

    trash.days                      30                      default
        Age in days at which `gc` removes what is in the trash; 0: never

    history.operations              true                    default
        Record in history what every operation of Forklore touched, also without `forklore watch`
    history.media                   false                   default
        Keep the images and files that messages link to in history, so that they come back with a chat

    memory.price_in                 "0"                     default
        What a million tokens cost that your model reads, in your currency
    memory.price_out                "0"                     default
        What a million tokens cost that your model writes
    memory.daily_tokens             0                       default
        Tokens that memory may use on a day, read and written together; 0: any number
    memory.approve                  false                   default
        Memory writes an entry into the lorebook only after you have approved it
    memory.combined                 false                   default
        Memory keeps one text of the recap and of what was said since: a question more a scene
    memory.language                 ""                      default
        Language that memory is written in, such as "Japanese"; empty: the story's own

    Yours alone  $TMP/.config/forklore/config.toml

    history.dir   ""         default
        Folder that history is kept in, as a full path; empty: .forklore/history in the vault

    memory.url    ""         default
        Address of the server that `memory run` asks, one that talks as OpenAI's does
    memory.model  "default"  default
        The model that `memory run` asks, where the server has several
    "#);
    assert_eq!(left_behind(&vault), ["config.toml"], "looking writes nothing");
}

#[test]
fn the_list_for_programs() {
    let shown = vault("[trash]\ndays = 7\n").json(FORKLORE, &["config"]);
    assert_eq!(shown["file"], FILE);
    let settings = shown["settings"].as_array().unwrap();
    assert_eq!(settings.len(), 18);
    assert_eq!(shown["owners"]["settings"][0]["key"], "history.dir");
    assert_eq!(
        settings[9],
        json!({
            "key": "trash.days", "value": 7, "default": 30, "is_default": false,
            "meaning": "Age in days at which `gc` removes what is in the trash; 0: never"
        })
    );
    assert_eq!((&settings[8]["value"], &settings[8]["is_default"]), (&json!([]), &json!(true)));
    assert_eq!(settings[6]["value"], "carry");
}

#[test]
fn set_get_and_unset_leave_the_rest_byte_for_byte() {
    let before = "# My settings\r\n\r\n[fork]   # how I fork\r\n# undated = \"leave\"\r\nstrict=false # not yet\r\n\r\n# the end";
    let vault = vault(before);
    insta::assert_snapshot!(vault.run(FORKLORE, &["config", "fork.strict", "true"]), @"✓ fork.strict is now true");
    assert_eq!(file(&vault), before.replace("strict=false", "strict=true"));
    insta::assert_snapshot!(vault.run(FORKLORE, &["config", "fork.strict"]), @"true");
    insta::assert_snapshot!(vault.run(FORKLORE, &["config", "fork.strict", "true"]), @"fork.strict is true already");
    insta::assert_snapshot!(vault.run(FORKLORE, &["config", "fork.strict", "--unset"]), @"✓ fork.strict is now false, the default");
    assert_eq!(file(&vault), before.replace("strict=false ", ""));
    let set = vault.json(FORKLORE, &["config", "fork.undated", "leave"]);
    assert_eq!((&set["key"], &set["value"]), (&json!("fork.undated"), &json!("leave")));
    assert_eq!(vault.json(FORKLORE, &["config", "fork.undated"]), set);
    assert_eq!(left_behind(&vault), ["config.toml"]);
}

#[test]
fn a_vault_without_settings_gets_a_file() {
    let vault = TestVault::new();
    let before = vault.snapshot();
    assert_eq!(vault.run(FORKLORE, &["config", "trash.days", "0"]).code, Some(0));
    assert_eq!(file(&vault), "[trash]\ndays = 0\n");
    assert_eq!(left_behind(&vault), ["config.toml"]);
    assert_eq!(vault.snapshot(), before, "nothing of SillyTavern's changes");
}

#[test]
fn unknown_settings_are_refused_with_the_closest_one() {
    let vault = vault("# mine\n");
    insta::assert_snapshot!(vault.run(FORKLORE, &["config", "fork.strct", "true"]), @r#"
    --- stderr
    Error: There is no setting "fork.strct".
    Did you mean "fork.strict"?
    --- exit 1
    "#);
    insta::assert_snapshot!(vault.run(FORKLORE, &["config", "weather"]), @r#"
    --- stderr
    Error: There is no setting "weather".
    Run `forklore config` to see all settings.
    --- exit 1
    "#);
    let error = &vault.json(FORKLORE, &["config", "strict", "--unset"])["error"];
    assert_eq!(
        (&error["code"], &error["details"]["like"]),
        (&json!("CONFIG_UNKNOWN_KEY"), &json!("fork.strict"))
    );
    assert_eq!(file(&vault), "# mine\n");
}

#[test]
fn bad_values_say_what_is_allowed() {
    let vault = vault("# mine\n");
    insta::assert_snapshot!(vault.run(FORKLORE, &["config", "fork.strict", "yes"]), @r#"
    --- stderr
    Error: The setting fork.strict cannot be "yes".
    It can be true or false.
    --- exit 1
    "#);
    insta::assert_snapshot!(vault.run(FORKLORE, &["config", "fork.undated", "drop"]), @r#"
    --- stderr
    Error: The setting fork.undated cannot be "drop".
    It can be "carry" or "leave".
    --- exit 1
    "#);
    insta::assert_snapshot!(vault.run(FORKLORE, &["config", "trash.days", "-1"]), @r#"
    --- stderr
    Error: The setting trash.days cannot be "-1".
    It can be a whole number from 0 to 36500.
    --- exit 1
    "#);
    insta::assert_snapshot!(vault.run(FORKLORE, &["config", "checkpoint.name_template", "{scene}"]), @r#"
    --- stderr
    Error: The setting checkpoint.name_template cannot be "{scene}".
    It can be a text, with {scene_number} or {scene_name} in it; no other braces.
    --- exit 1
    "#);
    insta::assert_snapshot!(vault.run(FORKLORE, &["config", "trash.days", "--add", "1"]), @"
    --- stderr
    Error: The setting trash.days is not a list: nothing can be added to it or removed from it.
    It can be a whole number from 0 to 36500.
    --- exit 1
    ");
    insta::assert_snapshot!(vault.run(FORKLORE, &["config", "books.shared", "--add", " "]), @r#"
    --- stderr
    Error: The setting books.shared cannot be " ".
    It can be a list of names, none of them blank.
    --- exit 1
    "#);
    insta::assert_snapshot!(vault.run(FORKLORE, &["config", "books.shared", "--remove", "Ash"]), @r#"
    --- stderr
    Error: The setting books.shared does not hold "Ash".
    The list is empty.
    --- exit 1
    "#);
    assert_eq!(vault.json(FORKLORE, &["config", "trash.days", "many"])["error"]["code"], "CONFIG_BAD_VALUE");
    assert_eq!(file(&vault), "# mine\n");
}

#[test]
fn a_broken_file_is_named_with_its_line_and_left_alone() {
    for text in ["[fork]\nstrict = \n", "[fork]\nstirct = true\n", "[fork]\nstrict = \"yes\"\n"] {
        let vault = vault(text);
        let error = &vault.json(FORKLORE, &["config"])["error"];
        assert_eq!(
            (&error["code"], &error["details"]["line"]),
            (&json!("CONFIG_INVALID"), &json!(2)),
            "{error}"
        );
        assert_eq!(vault.run(FORKLORE, &["config", "trash.days", "3"]).code, Some(1));
        assert_eq!(file(&vault), text);
    }
    insta::assert_snapshot!(vault("[fork]\nstrict = \n").run(FORKLORE, &["config"]), @"
    --- stderr
    Error: Line 2 of .forklore/config.toml cannot be read: string values must be quoted, expected literal string.
    Mend the line in a text editor, or move the file away: then every setting is at its default.
    --- exit 1
    ");
    insta::assert_snapshot!(vault("[fork]\nstirct = true\n").run(FORKLORE, &["config"]), @r#"
    --- stderr
    Error: Line 2 of .forklore/config.toml sets "fork.stirct", and there is no such setting.
    Did you mean "fork.strict"? Mend the line in a text editor, or move the file away: then every
    setting is at its default.
    --- exit 1
    "#);
    let mended = vault("[fork]\nstrict = \"yes\" # please\n");
    insta::assert_snapshot!(mended.run(FORKLORE, &["config", "fork.strict"]), @r#"
    --- stderr
    Error: Line 2 of .forklore/config.toml sets fork.strict to "yes"; it can be true or false.
    Put it right: forklore config fork.strict VALUE, or forklore config fork.strict --unset
    --- exit 1
    "#);
    assert_eq!(mended.run(FORKLORE, &["config", "fork.strict", "true"]).code, Some(0));
    assert_eq!(file(&mended), "[fork]\nstrict = true # please\n");
    assert_eq!(
        vault("[fork]\nstrict = \n").run(FORKLORE, &["tree"]).code,
        Some(0),
        "who only looks needs no settings"
    );
}

#[test]
fn a_dry_run_writes_nothing() {
    let vault = TestVault::new();
    insta::assert_snapshot!(vault.run(FORKLORE, &["config", "trash.days", "90", "--dry-run"]), @"Would set trash.days to 90.");
    insta::assert_snapshot!(vault.run(FORKLORE, &["config", "trash.days", "30", "--dry-run"]), @"Would set trash.days to 30, the default.");
    let would = vault.json(FORKLORE, &["config", "books.shared", "--add", "Ash", "--dry-run"]);
    assert_eq!((&would["value"], &would["is_default"]), (&json!(["Ash"]), &json!(false)));
    assert_eq!(vault.run(FORKLORE, &["config", "trash.days", "x", "--dry-run"]).code, Some(1));
    assert!(!vault.root().join(".forklore").exists());
}

#[test]
fn books_with_odd_names() {
    let vault = vault("[books]\n# the world\nshared = [\n  'World of Ash', # everyone's\n]\n");
    let odd =
        ["Ash, Ember & \"Co\"", "it's #1 = [best]", "灰の世界 🌋", "C:\\lore", "tab\there", "--add", "{x}"];
    for name in odd {
        let run = vault.run(FORKLORE, &["config", "books.shared", &format!("--add={name}")]);
        assert_eq!(run.code, Some(0), "{run}");
    }
    insta::assert_snapshot!(file(&vault), @r#"
    [books]
    # the world
    shared = [
      'World of Ash', # everyone's
      'Ash, Ember & "Co"',
      "it's #1 = [best]",
      "灰の世界 🌋",
      'C:\lore',
      "tab\there",
      "--add",
      "{x}",
    ]
    "#);
    let listed = vault.json(FORKLORE, &["config", "books.shared"]);
    assert_eq!(listed["value"], json!([&["World of Ash"][..], &odd[..]].concat()));
    insta::assert_snapshot!(vault.run(FORKLORE, &["config", "books.shared"]), @r#"
    World of Ash
    Ash, Ember & "Co"
    it's #1 = [best]
    灰の世界 🌋
    C:\lore
    tab here
    --add
    {x}
    "#);
    for name in odd {
        let run = vault.run(FORKLORE, &["config", "books.shared", &format!("--remove={name}")]);
        assert_eq!(run.code, Some(0), "{run}");
    }
    insta::assert_snapshot!(file(&vault), @"
    [books]
    # the world
    shared = [
      'World of Ash', # everyone's
    ]
    ");
    insta::assert_snapshot!(vault.run(FORKLORE, &["config", "books.shared", "Ash , Ember,,Ash"]), @r#"✓ books.shared is now ["Ash", "Ember"]"#);
    insta::assert_snapshot!(vault.run(FORKLORE, &["config", "books.shared", "--remove", "World of Ash"]), @r#"
    --- stderr
    Error: The setting books.shared does not hold "World of Ash".
    There is "Ash", "Ember".
    --- exit 1
    "#);
}

#[test]
fn calls_that_make_no_sense() {
    let vault = TestVault::new();
    for args in [
        &["config", "--unset"][..],
        &["config", "--add", "A"],
        &["config", "fork.strict", "true", "--unset"],
        &["config", "books.shared", "A", "--add", "B"],
        &["config", "books.shared", "--add", "B", "--unset"],
    ] {
        assert_eq!(vault.run(FORKLORE, args).code, Some(2), "{args:?}");
        assert_eq!(vault.json(FORKLORE, args)["error"]["code"], "USAGE");
    }
}
