#![allow(clippy::disallowed_methods, reason = "a test plays the user, who edits files")]

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::switch::{Former, turn_back, turn_on};
use super::*;

/// A folder that looks like an install.
fn install(config: Option<&str>) -> (TempDir, Tavern) {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("package.json", r#"{"name": "sillytavern", "version": "1.19.0"}"#);
    write("server.js", "");
    write("plugins/package.json", r#"{"type": "commonjs"}"#);
    write("default/config.yaml", "# default\nenableServerPlugins: false\n");
    config.into_iter().for_each(|text| write("config.yaml", text));
    let tavern = Tavern::open(dir.path()).unwrap();
    (dir, tavern)
}

fn text(dir: &TempDir, name: &str) -> Option<String> {
    fs::read_to_string(dir.path().join(name)).ok()
}

fn put_in(tavern: &Tavern) -> Report {
    plan(tavern, "/opt/forklore").unwrap().execute(tavern).unwrap()
}

fn take_out(tavern: &Tavern) -> Report {
    plan_removal(tavern).unwrap().execute(tavern).unwrap()
}

#[test]
fn the_switch_is_turned_in_its_place() {
    let cases = [
        ("a: 1\nenableServerPlugins: false # why\nb: 2\n", "a: 1\nenableServerPlugins: true # why\nb: 2\n"),
        ("enableServerPlugins:   no\r\nb: 2\r\n", "enableServerPlugins:   true\r\nb: 2\r\n"),
        ("\"enableServerPlugins\" : 'false'\n", "\"enableServerPlugins\" : true\n"),
        ("enableServerPlugins:\n", "enableServerPlugins: true\n"),
        ("\u{feff}enableServerPlugins: off", "\u{feff}enableServerPlugins: true"),
        ("a: 1", "a: 1\nenableServerPlugins: true\n"),
        ("a: 1\r\n", "a: 1\r\nenableServerPlugins: true\r\n"),
        ("", "enableServerPlugins: true\n"),
        // Neither a comment, nor a longer name, nor somebody else's key.
        (
            "# enableServerPlugins: true\nenableServerPluginsAutoUpdate: true\nx:\n  enableServerPlugins: true\n",
            "# enableServerPlugins: true\nenableServerPluginsAutoUpdate: true\nx:\n  enableServerPlugins: true\nenableServerPlugins: true\n",
        ),
    ];
    for (before, after) in cases {
        let (on, former) = turn_on(before).unwrap().unwrap();
        assert_eq!(on, after, "{before:?}");
        assert_eq!(turn_on(after), Ok(None), "{after:?}");
        assert_eq!(turn_back(after, &former).unwrap().as_deref(), Some(before), "{after:?}");
    }
    let off = Former::Value("no".to_owned());
    assert_eq!(turn_back("enableServerPlugins: false\n", &off), Ok(None));
    let added = Former::Absent("enableServerPlugins: true\n".to_owned());
    assert_eq!(
        turn_back("enableServerPlugins: true # mine now\n", &added).unwrap().unwrap(),
        "enableServerPlugins: false # mine now\n"
    );
    for odd in [
        "{enableServerPlugins: false}",
        "enableServerPlugins: *x\n",
        "enableServerPlugins: no\nenableServerPlugins: no\n",
    ] {
        assert!(turn_on(odd).is_err(), "{odd:?}");
    }
}

#[test]
fn what_is_installed_can_be_installed_again_and_removed() {
    let config = "# mine\nport: 8000\nenableServerPlugins: false # off\nlast: 1\n";
    let (dir, tavern) = install(Some(config));
    let planned = plan(&tavern, "/opt/forklore").unwrap().report;
    assert!(planned.dry_run && text(&dir, "plugins/forklore/index.js").is_none(), "a plan does nothing");
    let report = put_in(&tavern);
    assert_eq!(report.written, planned.written);
    assert_eq!(text(&dir, "config.yaml").unwrap(), config.replace("false # off", "true # off"));
    assert!(text(&dir, "plugins/forklore/engine.json").unwrap().contains("/opt/forklore"));
    let manifest = "public/scripts/extensions/third-party/forklore/manifest.json";
    assert!(text(&dir, manifest).unwrap().contains("Forklore"));

    let again = put_in(&tavern);
    assert!(again.written.is_empty() && again.removed.is_empty(), "{again:?}");

    let gone = take_out(&tavern);
    assert!(gone.removed.contains(&manifest.to_owned()));
    assert_eq!(text(&dir, "config.yaml").unwrap(), config, "as it was");
    assert!(!dir.path().join("plugins/forklore").exists());
    assert!(!dir.path().join("public/scripts/extensions/third-party/forklore").exists());
    assert!(dir.path().join("plugins/package.json").exists());
    assert!(take_out(&tavern).removed.is_empty(), "nothing is left to remove");
}

#[test]
fn regression_uninstall_leaves_the_settings_as_they_were_written() {
    let written = [
        "port: 8000",
        "port: 8000\r\n",
        "enableServerPlugins: \"false\" # off\n",
        "enableServerPlugins: no\n",
    ];
    for config in written {
        let (dir, tavern) = install(Some(config));
        put_in(&tavern);
        // Also after another installation over the first, and with what SillyTavern or its owner has written since.
        put_in(&tavern);
        let on = text(&dir, "config.yaml").unwrap();
        fs::write(dir.path().join("config.yaml"), format!("# mine\n{on}")).unwrap();
        take_out(&tavern);
        assert_eq!(text(&dir, "config.yaml").unwrap(), format!("# mine\n{config}"));
    }
    let (dir, tavern) = install(None);
    put_in(&tavern);
    take_out(&tavern);
    assert_eq!(text(&dir, "config.yaml"), None, "before the first start there are no settings");
}

#[test]
fn another_version_clears_up_and_others_files_stay() {
    let (dir, tavern) = install(None);
    put_in(&tavern);
    assert_eq!(text(&dir, "config.yaml").unwrap(), "# default\nenableServerPlugins: true\n");
    // As an older version would have left it: a file more, and a path that leads elsewhere.
    let note = text(&dir, "plugins/forklore/engine.json").unwrap();
    let old = "\"files\": [\n    \"plugins/forklore/old.js\",\n    \"server.js\",\n    \"plugins/forklore/../../package.json\",";
    fs::write(dir.path().join("plugins/forklore/engine.json"), note.replace("\"files\": [", old)).unwrap();
    fs::write(dir.path().join("plugins/forklore/old.js"), "").unwrap();
    fs::write(dir.path().join("plugins/forklore/mine.txt"), "mine").unwrap();
    let report = put_in(&tavern);
    assert_eq!(report.removed, ["plugins/forklore/old.js"]);
    assert!(dir.path().join("server.js").exists() && dir.path().join("package.json").exists());
    fs::write(dir.path().join("plugins/other.js"), "").unwrap();
    let gone = take_out(&tavern);
    assert_eq!(gone.config, None, "another plugin needs the switch");
    assert_eq!(text(&dir, "plugins/forklore/mine.txt").unwrap(), "mine");
}

#[test]
fn regression_an_install_of_npm_gets_its_switch_where_its_launcher_reads_it() {
    let (dir, _) = install(None);
    let home = tempfile::tempdir().unwrap();
    let npm = home.path().join("node_modules/sillytavern");
    fs::create_dir_all(npm.parent().unwrap()).unwrap();
    fs::rename(dir.path(), &npm).unwrap();
    let data = home.path().join("share");
    let config = data.join(tavern::LAUNCHER_CONFIG);
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    let written = "port: 8123\nenableServerPlugins: no\n";
    fs::write(&config, written).unwrap();
    let tavern = Tavern::open_beside(&npm, Some(&data)).unwrap();
    assert_eq!(tavern.port(), 8123, "doctor asks there");
    let report = put_in(&tavern);
    assert!(report.written.contains(&config.display().to_string()), "{report:?}");
    assert_eq!(fs::read_to_string(&config).unwrap(), written.replace("no\n", "true\n"));
    assert_eq!(installed(&tavern).unwrap().unwrap().on, Some(true));
    fs::write(&config, written).unwrap();
    assert_eq!(installed(&tavern).unwrap().unwrap().on, Some(false), "the launcher would not load it");
    put_in(&tavern);
    take_out(&tavern);
    assert_eq!(fs::read_to_string(&config).unwrap(), written);

    // Before its first start there are none: it begins with them.
    fs::remove_file(&config).unwrap();
    put_in(&tavern);
    assert_eq!(fs::read_to_string(&config).unwrap(), "# default\nenableServerPlugins: true\n");
    // Where nobody's launcher starts it, nothing outside of the install is touched.
    let (_dir, plain) = install(None);
    assert!(plain.launcher.is_none());
}

#[test]
fn regression_a_sillytavern_that_is_too_old_is_refused_in_a_sentence() {
    let (dir, _) = install(Some("port: 1\n"));
    for (version, fits) in
        [("1.13.4", false), ("1.9.12", false), ("1.13.5", true), ("1.16.0", true), ("2.0.0-rc1", true)]
    {
        let package = format!(r#"{{"name": "sillytavern", "version": "{version}"}}"#);
        fs::write(dir.path().join("package.json"), package).unwrap();
        let planned = plan(&Tavern::open(dir.path()).unwrap(), "/opt/forklore");
        match planned {
            Ok(_) => assert!(fits, "{version}"),
            Err(e) => {
                assert!(!fits && e.to_string().contains("works with 1.13.5 and newer"), "{version}: {e}");
            }
        }
    }
}

#[test]
fn an_install_is_found_from_near() {
    let (dir, _) = install(None);
    let inside = dir.path().join("data/default-user");
    fs::create_dir_all(&inside).unwrap();
    let found = Tavern::find(None, &inside, None).unwrap();
    assert_eq!(found.root(), forklore_fs::canonical(dir.path()).unwrap());
    let elsewhere = tempfile::tempdir().unwrap();
    assert!(Tavern::find(None, elsewhere.path(), None).is_err());
    assert!(Tavern::find(Some(elsewhere.path()), dir.path(), None).is_err(), "the named one counts");
    fs::rename(dir.path(), elsewhere.path().join("SillyTavern")).unwrap();
    assert!(Tavern::find(None, Path::new("/"), Some(elsewhere.path())).is_ok());
}

/// In SillyTavern's Docker image the settings are a link into a folder that outlives the container.
#[cfg(unix)]
#[test]
fn settings_that_are_a_link_are_changed_where_they_are() {
    let (dir, tavern) = install(None);
    fs::create_dir(dir.path().join("config")).unwrap();
    fs::write(dir.path().join("config/config.yaml"), "enableServerPlugins: false # why\n").unwrap();
    forklore_testkit::unix::symlink("./config/config.yaml", dir.path().join("config.yaml")).unwrap();
    let written = put_in(&tavern).written;
    assert!(written.contains(&"config/config.yaml".to_owned()), "{written:?}");
    assert_eq!(text(&dir, "config/config.yaml").unwrap(), "enableServerPlugins: true # why\n");
    assert!(dir.path().join("config.yaml").is_symlink());
    take_out(&tavern);
    assert_eq!(text(&dir, "config/config.yaml").unwrap(), "enableServerPlugins: false # why\n");
    assert!(dir.path().join("config.yaml").is_symlink());
}
