use forklore_fs::{Crash, SimFs};
use proptest::prelude::*;

use super::*;

/// A disk with this file of settings.
fn disk(text: &str) -> SimFs {
    let fs = SimFs::new();
    fs.put(&path(), text.as_bytes());
    fs
}

fn text(fs: &SimFs) -> String {
    text_of(fs).unwrap()
}

/// The file after a change.
fn changed(before: &str, key: &str, change: &SettingChange) -> String {
    let fs = disk(before);
    let plan = Config::plan(&fs, key, change).unwrap();
    assert_eq!(text(&fs), before, "a plan writes nothing");
    let config = plan.save(&fs).unwrap();
    assert_eq!(config, Config::load(&fs).unwrap());
    text(&fs)
}

fn set(before: &str, key: &str, typed: &str) -> String {
    changed(before, key, &SettingChange::Set(typed.to_owned()))
}

fn unset(before: &str, key: &str) -> String {
    changed(before, key, &SettingChange::Unset)
}

fn add(before: &str, name: &str) -> String {
    changed(before, "books.shared", &SettingChange::List { add: vec![name.to_owned()], remove: Vec::new() })
}

fn remove(before: &str, name: &str) -> String {
    changed(before, "books.shared", &SettingChange::List { add: Vec::new(), remove: vec![name.to_owned()] })
}

#[test]
fn no_file_is_the_defaults() {
    assert_eq!(Config::load(&SimFs::new()).unwrap(), Config::default());
    assert_eq!(Config::load(&disk("# nothing\n[fork]\n")).unwrap(), Config::default());
}

#[test]
fn every_setting_can_be_set_to_its_default_and_read_back() {
    for setting in Config::KEYS.iter().filter(|setting| !setting.owners) {
        let fs = SimFs::new();
        let value = setting.default();
        let (group, name) = setting.key.split_once('.').unwrap();
        fs.put(&path(), format!("{group} = {{ {name} = {value} }}").as_bytes());
        assert_eq!(Config::load(&fs).unwrap(), Config::default(), "{}", setting.key);
        assert!(!setting.meaning.ends_with('.') && !setting.allowed().is_empty(), "{}", setting.key);
    }
}

#[test]
fn a_value_is_replaced_and_nothing_else() {
    let before = "# mine\r\n\r\n[fork]  # forks\r\n  strict=false   # for now\r\n\r\n[trash]\r\ndays = 7";
    assert_eq!(set(before, "fork.strict", "true"), before.replace("strict=false", "strict=true"));
    assert_eq!(set(before, "trash.days", "0"), before.replace("= 7", "= 0"));
    assert_eq!(
        set("fork = { strict = false, } # x\n", "fork.strict", "true"),
        "fork = { strict = true, } # x\n"
    );
    assert_eq!(set("fork.strict = false # x\n", "fork.strict", "true"), "fork.strict = true # x\n");
    assert_eq!(set("\u{feff}fork.strict = false\n", "fork.strict", "true"), "\u{feff}fork.strict = true\n");
}

#[test]
fn a_new_setting_stands_with_its_group() {
    assert_eq!(set("", "fork.strict", "true"), "[fork]\nstrict = true\n");
    assert_eq!(
        set("# fork.strict = true", "fork.strict", "true"),
        "# fork.strict = true\n\n[fork]\nstrict = true\n"
    );
    assert_eq!(
        set("[fork]\nundated = \"leave\" # x\n# y\n\n[trash]\n", "fork.strict", "true"),
        "[fork]\nundated = \"leave\" # x\nstrict = true\n# y\n\n[trash]\n"
    );
    assert_eq!(set("[fork] # x", "fork.strict", "true"), "[fork] # x\nstrict = true\n");
    assert_eq!(
        set("fork.undated = \"carry\"\r\n[trash]\r\n", "fork.strict", "true"),
        "fork.undated = \"carry\"\r\nfork.strict = true\r\n[trash]\r\n"
    );
    assert_eq!(
        set("fork = { undated = \"carry\" } # x\n", "fork.strict", "true"),
        "fork = { undated = \"carry\", strict = true } # x\n"
    );
}

#[test]
fn unsetting_leaves_every_comment() {
    let before = "# top\n[fork]\n# undated = \"leave\"\nstrict = true # why\nlink_parent = false\n# end\n";
    let after = "# top\n[fork]\n# undated = \"leave\"\n# why\nlink_parent = false\n# end\n";
    assert_eq!(unset(before, "fork.strict"), after);
    assert_eq!(unset(after, "fork.link_parent"), "# top\n[fork]\n# undated = \"leave\"\n# why\n# end\n");
    assert_eq!(unset(before, "trash.days"), before, "it was not set");
    assert_eq!(unset("[trash]\r\ndays = 3", "trash.days"), "[trash]\r\n");
    assert_eq!(unset("# x\ntrash . days = 3\n", "trash.days"), "# x\n");
    assert_eq!(unset("fork = { strict = true } # x\n", "fork.strict"), "fork = {} # x\n");
    assert_eq!(
        unset("fork = { strict = true, undated = \"leave\" }", "fork.strict"),
        "fork = { undated = \"leave\" }"
    );
}

#[test]
fn a_list_keeps_its_layout() {
    assert_eq!(add("", "Ash, or \"Ember\""), "[books]\nshared = ['Ash, or \"Ember\"']\n");
    assert_eq!(add("books.shared = []", "A"), "books.shared = [\"A\"]");
    assert_eq!(add("books.shared = [ 'A' ] # x", "B"), "books.shared = [ 'A', \"B\" ] # x");
    assert_eq!(add("books.shared = ['A']", "A"), "books.shared = ['A']", "it is there already");
    let long = "[books]\nshared = [\n    'A', # a\n    # about B\n    'B', # b\n]\n";
    assert_eq!(add(long, "C"), long.replace("# b\n", "# b\n    \"C\",\n"));
    assert_eq!(add("books.shared = [\n  'A' # a\n]", "B"), "books.shared = [\n  'A', # a\n  \"B\"\n]");
    assert_eq!(add("books.shared = [\n  # none\n]", "B"), "books.shared = [\n  # none\n  \"B\"\n]");
    assert_eq!(remove("books.shared = [ 'A', 'B', 'C' ]", "A"), "books.shared = [ 'B', 'C' ]");
    assert_eq!(remove("books.shared = ['A', 'B']", "B"), "books.shared = ['A']");
    let without = remove(long, "B");
    for comment in ["# a\n", "# about B\n", "# b\n"] {
        assert!(without.contains(comment), "{without}");
    }
    assert_eq!(set(long, "books.shared", "B, A"), "[books]\nshared = [\"B\", \"A\"]\n", "another order");
}

#[test]
fn a_broken_file_says_where() {
    for (text, said) in [
        ("[fork]\nstrict = yes\n", "line 2 of .forklore/config.toml cannot be read: "),
        ("[fork]\nstrict = true\nstrict = true", "line 3 of .forklore/config.toml cannot be read: "),
        (
            "[fork]\n\nstrict = 'yes'\n",
            "line 3 of .forklore/config.toml sets fork.strict to 'yes'; it can be true or false",
        ),
        (
            "[trash]\ndays = -1",
            "line 2 of .forklore/config.toml sets trash.days to -1; it can be a whole number from 0 to 36500",
        ),
        ("[trash]\ndays = 1e1", "line 2 of .forklore/config.toml sets trash.days to 1e1; "),
        (
            "fork.undated = 'drop'",
            "line 1 of .forklore/config.toml sets fork.undated to 'drop'; it can be \"carry\" or \"leave\"",
        ),
        ("books.shared = ['A', 1]", "line 1 of .forklore/config.toml sets books.shared to ['A', 1]; "),
        ("books.shared = [' ']", "line 1 of .forklore/config.toml sets books.shared to [' ']; "),
        (
            "checkpoint.name_template = '{scene}'",
            "line 1 of .forklore/config.toml sets checkpoint.name_template to ",
        ),
        (
            "# x\n[fork]\nstirct = true",
            "line 3 of .forklore/config.toml sets \"fork.stirct\", and there is no such setting",
        ),
        ("[frok]\nstrict = true", "line 2 of .forklore/config.toml sets \"frok.strict\", and "),
        ("\n[frok]", "line 2 of .forklore/config.toml sets \"frok\", and "),
        ("fork = 3", "line 1 of .forklore/config.toml sets \"fork\", and "),
        ("[[books]]\nshared = []", "line 1 of .forklore/config.toml sets \"books\", and "),
    ] {
        let error = Config::load(&disk(text)).unwrap_err().to_string();
        assert!(error.starts_with(said), "{error}");
    }
    let fs = SimFs::new();
    fs.put(&path(), b"# caf\xc3\xa9\n# caf\xe9\n");
    let error = Config::load(&fs).unwrap_err().to_string();
    assert_eq!(error, "line 2 of .forklore/config.toml cannot be read: it is not UTF-8 text");
}

#[test]
fn a_bad_value_can_be_put_right_and_other_faults_are_left_alone() {
    assert_eq!(set("[fork]\nstrict = 'yes' # x\n", "fork.strict", "true"), "[fork]\nstrict = true # x\n");
    assert_eq!(unset("[fork]\nstrict = 'yes'\n", "fork.strict"), "[fork]\n");
    for text in ["[fork]\nstirct = true\n", "fork = 3\n", "[fork]\nstrict = \n", "[[fork]]\nstrict = true\n"]
    {
        let fs = disk(text);
        assert!(Config::set(&fs, "fork.strict", "true").is_err(), "{text}");
        assert_eq!(text_of(&fs).unwrap(), text);
    }
}

#[test]
fn the_closest_setting_is_named() {
    for (wanted, like) in [
        ("fork.strct", Some("fork.strict")),
        ("strict", Some("fork.strict")),
        ("trash", Some("trash.days")),
        ("checkpoint.autoname", Some("checkpoint.auto_name")),
        ("Checkpoint.Auto-Name", Some("checkpoint.auto_name")),
        ("chekpoint.auto_name", Some("checkpoint.auto_name")),
        ("", None),
        ("weather", None),
        ("checkpoint.sunshine", None),
    ] {
        assert_eq!(setting::closest(wanted), like, "{wanted}");
    }
}

#[test]
fn a_crash_leaves_the_old_file_or_the_new_one() {
    let (old, new) = ("[trash]\ndays = 1 # x\n", "[trash]\ndays = 2 # x\n");
    // From nothing at all, and over what an earlier crash left behind.
    for start in [None, Some(old)] {
        let begin = || {
            let fs = SimFs::new();
            if let Some(text) = start {
                fs.put(&path(), text.as_bytes());
                fs.put(&layout::folder(".forklore/config.toml.new"), b"[trash]\nda");
            }
            fs
        };
        let fresh = if start.is_some() { new } else { "[trash]\ndays = 2\n" };
        let whole = begin();
        Config::set(&whole, "trash.days", "2").unwrap();
        for n in 0..=whole.operations() {
            let fs = begin();
            fs.stop_before(n);
            let done = Config::set(&fs, "trash.days", "2").is_ok();
            for crash in [Crash::Kill, Crash::PowerCut] {
                for image in fs.after(crash, 1000) {
                    let found = text(&image);
                    assert!(
                        found == fresh || (!done && found == start.unwrap_or("")),
                        "{crash:?} before {n}: {found:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn every_sync_is_needed() {
    for ignored in 0..2 {
        let fs = disk("[trash]\ndays = 1\n");
        fs.ignore_sync(ignored);
        Config::set(&fs, "trash.days", "2").unwrap();
        let images = fs.after(Crash::PowerCut, 1000);
        assert!(images.iter().any(|image| text(image) != "[trash]\ndays = 2\n"), "sync {ignored}");
    }
}

/// Files as people write them: every style of group, with comments wherever one can be.
const STYLES: [&str; 6] = [
    "",
    "# only a comment",
    "# c1\n[fork] # c2\n# c3\nstrict = true # c4\n# c5\n\n[books]\nshared = [ # c6\n 'A', # c7\n # c8\n 'B' # c9\n] # c10\n# c11",
    "# c1\r\nfork.strict = true # c2\r\n# c3\r\ntrash.days = 3\r\nbooks.shared = ['A']\r\n",
    "fork = { strict = true, undated = 'leave' } # c1\nbooks = { shared = ['A', 'B',] }\ntrash = {}\n",
    "[trash]\n[books]\nshared = ['''\nA''', \"B\\n\", 'C']\n[checkpoint]\n\n\n# c1\n\n[fork]\n",
];

fn any_change() -> impl Strategy<Value = (&'static str, SettingChange)> {
    let text = |options: &'static [&'static str]| {
        prop::sample::select(options).prop_map(|typed| SettingChange::Set(typed.to_owned()))
    };
    let names = || prop::collection::vec(prop_oneof!["[ABC]", "\\PC{0,3}x"], 0..3);
    prop_oneof![
        (Just("fork.strict"), text(&["true", "false"])),
        (Just("fork.undated"), text(&["carry", "leave"])),
        (Just("trash.days"), text(&["0", "30", "36500"])),
        (Just("checkpoint.name_template"), text(&["", "S {scene_number}", "\"#\u{1b}\n'''"])),
        (Just("books.shared"), text(&["", "A", "B, A", "C,D"])),
        (Just("books.shared"), names().prop_map(|add| SettingChange::List { add, remove: Vec::new() })),
        (
            prop::sample::select(&["fork.strict", "books.shared", "trash.days"][..]),
            Just(SettingChange::Unset)
        ),
    ]
}

proptest! {
    /// Whatever is done, the setting is as asked, the others are as before, and the comments outside of what was replaced stay.
    #[test]
    fn changes_do_what_they_say(style in prop::sample::select(&STYLES[..]), changes in prop::collection::vec(any_change(), 1..8)) {
        let fs = disk(style);
        for (key, change) in changes {
            let before = Config::load(&fs).unwrap();
            let setting = Config::setting(key).unwrap();
            let wanted = match &change {
                SettingChange::Set(typed) => setting.typed(typed).unwrap(),
                SettingChange::Value(value) => value.clone(),
                SettingChange::Unset => setting.default(),
                SettingChange::List { add, remove } => setting.relisted(setting.value(&before), add, remove).unwrap(),
            };
            let mut expected = before;
            prop_assert!(setting.put(&mut expected, wanted));
            let after = Config::plan(&fs, key, &change).unwrap().save(&fs).unwrap();
            prop_assert_eq!(&after, &expected);
            prop_assert_eq!(&Config::load(&fs).unwrap(), &expected);
        }
        let after = text(&fs);
        // What stands inside a list that is replaced as a whole, or unset, goes with it.
        for n in (1..=11).filter(|n| !(6..=9).contains(n)) {
            let comment = format!("# c{n}");
            prop_assert_eq!(after.matches(&comment).count(), style.matches(&comment).count(), "{}", after);
        }
    }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "the documentation is no vault")]
fn the_documentation_lists_every_setting() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/files.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `") && line.contains('.')).collect();
    for setting in &Config::KEYS {
        let row = rows.iter().find(|row| row.starts_with(&format!("| `{}` |", setting.key)));
        let end = format!("| `{}` | {} |", setting.default(), setting.meaning);
        assert!(row.is_some_and(|row| row.ends_with(&end)), "{}: no row that ends with {end}", setting.key);
    }
}
