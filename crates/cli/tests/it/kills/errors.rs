//! The system says no: at one call, from one call on, for one file, or because a real disk is full. The vault is judged as after
//! a kill; and what the command says must be true.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;

use forklore_testkit::{Run, TestVault};
use serde_json::Value;

use super::scenario::{IMPORT, Outcome, Picture, Reference, SCENARIOS, Scenario};
use super::strace::{Call, Strace, skipped, soaking};
use crate::FORKLORE;

/// What can go wrong with a call.
fn errors(call: &Call) -> &'static [&'static str] {
    match &*call.name {
        "write" | "copy_file_range" | "mkdir" | "mkdirat" => &["ENOSPC", "EIO"],
        "openat" if call.changes() => &["ENOSPC", "EMFILE", "EACCES"],
        "openat" | "openat2" => &["EMFILE", "EACCES"],
        "fsync" | "fchmod" | "getdents64" => &["EIO"],
        "rename" | "renameat2" => &["EIO", "ENOSPC"],
        "unlink" | "unlinkat" => &["EIO", "EACCES"],
        _ => &[],
    }
}

/// What is wrong with what a command did, after something went wrong for it. `told` is whether it could say so.
fn fault(
    scenario: &Scenario,
    reference: &Reference,
    vault: &TestVault,
    before: &Picture,
    run: &Run,
    told: bool,
) -> Result<Outcome, String> {
    if run.code.is_none() || run.stderr.contains("panicked") {
        return Err(format!("it broke down: {run}"));
    }
    let document: Value = match serde_json::from_str(&run.stdout) {
        Ok(document) => document,
        Err(_) if !told => Value::Null,
        Err(e) => return Err(format!("not one JSON document ({e}): {run}")),
    };
    let error = &document["error"];
    let text = |key: &str| error[key].as_str().unwrap_or_default();
    if run.code != Some(0) && told && !(text("message").ends_with('.') && text("hint").len() > 15) {
        return Err(format!("nobody would understand this: {run}"));
    }
    let unchanged = Picture::of(vault).same_files(before);
    if text("hint").contains("othing was changed") && !unchanged {
        return Err(format!("it lied: {run}"));
    }
    let outcome = scenario.judge(vault, before, reference).map_err(|why| format!("{why}\nafter {run}"))?;
    let promised = match run.code {
        Some(0) => Some(Outcome::All),
        _ if text("code") == "UNFINISHED_OPERATION" => Some(Outcome::All),
        _ if told => Some(Outcome::Nothing),
        _ => None,
    };
    match promised {
        Some(promised) if promised != outcome => Err(format!("{outcome:?}, although it said: {run}")),
        _ => Ok(outcome),
    }
}

/// Healing and deleting do less where they cannot read everything, and say so. What they did is one operation all the same, and can
/// be taken back.
fn less(scenario: &Scenario, vault: &TestVault, before: &Picture, run: &Run) -> Option<Outcome> {
    let document: Value = serde_json::from_str(&run.stdout).ok()?;
    let told = document["kept"].to_string() + &document["left"].to_string();
    let said =
        ["cannot be read", "could not be read", "BOOK_ORPHANED"].iter().any(|word| told.contains(word));
    if !["heal", "delete"].contains(&scenario.name) || run.code != Some(0) || !said {
        return None;
    }
    if document["operation"].is_null() {
        return Picture::of(vault).same_files(before).then_some(Outcome::Nothing);
    }
    let undone = vault.run(FORKLORE, &["undo"]);
    (undone.code == Some(0) && Picture::of(vault).same_files(before)).then_some(Outcome::All)
}

/// Counts, and says at the end.
#[derive(Default)]
struct Tried {
    points: usize,
    failed: usize,
    nothing: usize,
    all: usize,
    wrong: Vec<String>,
}

impl Tried {
    fn count(&mut self, at: &str, run: &Run, judged: Result<Outcome, String>) {
        self.points += 1;
        self.failed += usize::from(run.code != Some(0));
        match judged {
            Ok(Outcome::Nothing) => self.nothing += 1,
            Ok(Outcome::All) => self.all += 1,
            Err(why) => self.wrong.push(format!("{at}: {why}")),
        }
    }

    fn must_be_fine(&self, what: &str, at_least: usize) {
        let Self { points, failed, nothing, all, wrong } = self;
        let told = format!("{what}: {points} times, {failed} failures told; {nothing} nothing, {all} all");
        println!("{told}");
        assert!(wrong.is_empty(), "{told}\n{} violations:\n{}", wrong.len(), wrong.join("\n"));
        assert!(*points >= at_least && *failed > 0 && *nothing > 0 && *all > 0, "{told}");
    }
}

fn with_json(scenario: &Scenario) -> Vec<&'static str> {
    [scenario.args, &["--json"]].concat()
}

fn fail_everywhere(scenario: &Scenario) {
    let Some(strace) = Strace::find("errors of the system") else { return };
    let reference = scenario.reference();
    let args = with_json(scenario);
    let calls = strace.census(&scenario.vault(), &[], &args);
    let mut tried = Tried::default();
    let mut quiet = 0;
    for call in calls.iter().filter(|call| call.in_vault || call.name == "write") {
        quiet += usize::from(!call.changes());
        if !soaking() && !call.changes() && quiet % 8 != 0 {
            continue;
        }
        let ways = errors(call).iter().flat_map(|error| ["", "+"].map(|lasting| (*error, lasting)));
        let ways: Vec<_> = ways.collect();
        let chosen = if soaking() || ways.is_empty() {
            &ways[..]
        } else {
            std::slice::from_ref(&ways[call.nth % ways.len()])
        };
        for (error, lasting) in chosen {
            let inject = format!("inject={}:error={error}:when={}{lasting}", call.name, call.nth);
            let vault = scenario.vault();
            let before = Picture::of(&vault);
            let run = strace.run(&vault, &["-e", &inject], &args);
            // If it cannot write any more, it cannot say so.
            let told = call.name != "write" || (call.in_vault && lasting.is_empty());
            let judged = fault(scenario, &reference, &vault, &before, &run, told);
            let judged = judged.or_else(|why| less(scenario, &vault, &before, &run).ok_or(why));
            tried.count(&inject, &run, judged);
        }
    }
    tried.must_be_fine(scenario.name, 25);
}

macro_rules! failing {
    ($($test:ident: $n:literal;)*) => {$(
        #[test]
        fn $test() {
            fail_everywhere(&SCENARIOS[$n]);
        }
    )*};
}

failing! {
    errors_in_a_checkpoint: 0;
    errors_in_a_checkpoint_of_a_group: 1;
    errors_in_healing: 2;
    errors_in_a_deletion: 3;
    errors_in_an_undo: 4;
}

#[test]
fn errors_in_an_import() {
    fail_everywhere(&IMPORT);
}

/// A file that is there and cannot be opened is not a file that is not there. All threads.
#[test]
fn files_that_cannot_be_opened() {
    let Some(strace) = Strace::find("files_that_cannot_be_opened") else { return };
    let mut tried = Tried::default();
    for scenario in &SCENARIOS {
        let reference = scenario.reference();
        let args = with_json(scenario);
        let names: Vec<String> = scenario.vault().snapshot().into_iter().map(|(name, _)| name).collect();
        for (n, name) in names.iter().enumerate() {
            for error in ["EACCES", "EMFILE", "EIO"]
                .iter()
                .skip(if soaking() { 0 } else { n % 3 })
                .step_by(if soaking() { 1 } else { 3 })
            {
                let vault = scenario.vault();
                let before = Picture::of(&vault);
                // Files are opened below the handle of the vault, by the rest of their path.
                let inject = format!("inject=openat2:error={error}:when=1+");
                let run =
                    strace.run(&vault, &["-f", "-P", name, "-e", "trace=openat2", "-e", &inject], &args);
                let at = format!("{} with {error} for {name}", scenario.name);
                let judged = fault(scenario, &reference, &vault, &before, &run, true);
                let judged = judged.or_else(|why| less(scenario, &vault, &before, &run).ok_or(why));
                tried.count(&at, &run, judged);
            }
        }
    }
    tried.must_be_fine("files that cannot be opened", 15);
}

/// A small disk of its own, gone when dropped.
struct Disk {
    at: tempfile::TempDir,
}

impl Disk {
    fn mount(kind: &str) -> Result<Self, String> {
        let at = tempfile::tempdir().unwrap();
        let run = |program: &str, args: &[&str]| match Command::new(program).args(args).output() {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Err(e) => Err(format!("{program}: {e}")),
        };
        let folder = at.path().join("disk");
        fs::create_dir(&folder).unwrap();
        let folder = folder.to_string_lossy().into_owned();
        if kind == "tmpfs" {
            run("mount", &["-t", "tmpfs", "-o", "size=1m", "tmpfs", &folder])?;
        } else {
            let image = at.path().join("image");
            File::create(&image).unwrap().set_len(4 << 20).unwrap();
            let image = image.to_string_lossy().into_owned();
            run("mkfs.ext4", &["-q", "-m", "0", &image])?;
            run("mount", &["-o", "loop", &image, &folder])?;
        }
        Ok(Self { at })
    }

    fn path(&self) -> std::path::PathBuf {
        self.at.path().join("disk")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let gone = Command::new("umount").arg("-l").arg(self.path()).status();
        assert!(gone.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

/// Fills a disk but for so many bytes.
fn fill(filler: &Path, but: u64) {
    let mut file = File::create(filler).unwrap();
    let block = vec![b'x'; 1024];
    let mut len = 0;
    while file.write_all(&block).and_then(|()| file.sync_data()).is_ok() {
        len += 1024;
    }
    file.set_len(len & !4095).unwrap();
    file.set_len((len & !4095).saturating_sub(but)).unwrap();
    // Best effort: on a disk that is full even this may fail.
    let _full = file.sync_all();
}

#[test]
fn a_disk_that_is_really_full() {
    for kind in ["tmpfs", "ext4"] {
        let disk = match Disk::mount(kind) {
            Ok(disk) => disk,
            Err(why) => {
                skipped("a_disk_that_is_really_full", &format!("no {kind} can be mounted here: {why}"));
                continue;
            }
        };
        let mut tried = Tried::default();
        for scenario in &SCENARIOS {
            let reference = scenario.reference();
            let args = with_json(scenario);
            let mut fine = 0;
            for pages in (0..).step_by(if soaking() { 1 } else { 3 }) {
                let vault = scenario.vault_in(TestVault::within(&disk.path()));
                let before = Picture::of(&vault);
                let filler = disk.path().join("filler");
                fill(&filler, pages * 4096);
                let run = vault.run(FORKLORE, &args);
                let tree = vault.run(FORKLORE, &["tree"]);
                fs::remove_file(&filler).unwrap();
                let at = format!("{} with {pages} pages left on {kind}", scenario.name);
                let mut judged = fault(scenario, &reference, &vault, &before, &run, true);
                if tree.code != Some(0) || tree.stderr.contains("panicked") {
                    judged = Err(format!("tree on a full disk: {tree}"));
                }
                tried.count(&at, &run, judged);
                fine += usize::from(run.code == Some(0));
                assert!(pages < 120, "{at}: a disk with room is full: {run}");
                if fine == 2 {
                    break;
                }
            }
        }
        tried.must_be_fine(&format!("a full {kind}"), 10);
    }
}
