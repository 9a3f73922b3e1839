//! `cargo xtask test`: the whole test command, in the order in which a failure is cheapest. A step that fails does not keep the others
//! from running: [`Suite`] remembers it, and the command fails at its end.

use std::ffi::OsString;
use std::fmt;
use std::io::{Read as _, Seek as _};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::unused::unused;
use xtask::tools::{OLDER, SILLYTAVERN, Tools, folder, of_other_systems};

/// No step takes longer, unless it soaks: what hangs is to be told from what is slow.
const PATIENCE: Duration = Duration::from_secs(40 * 60);
/// Nor does a file of tests in a browser.
const PATIENCE_IN_BROWSER: Duration = Duration::from_secs(8 * 60);

/// So many files of tests in a browser at a time: a browser waits more than it works.
const LANES: usize = 2;

/// The test command gives the same answer twice: its property tests try the same cases every time. New ones are looked for by `soak`.
const SAME_CASES: (&str, &str) = ("PROPTEST_RNG_SEED", "1900");

/// Everything that must pass.
pub(crate) fn test() -> Result<()> {
    let mut suite = Suite::new(false);
    suite.step("format", "cargo", &["fmt", "--all", "--check"], &[]);
    suite.step(
        "lints",
        "cargo",
        &["clippy", "--quiet", "--workspace", "--all-targets", "--", "--deny", "warnings"],
        &[],
    );
    suite.step(
        "docs",
        "cargo",
        &["doc", "--quiet", "--workspace", "--no-deps", "--document-private-items"],
        &[("RUSTDOCFLAGS", "--deny warnings")],
    );
    suite.scripts();
    suite.dependencies();
    // Every third of the command's tests waits for a disk or a process.
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = (cores * 3).div_ceil(2).to_string();
    suite.step(
        "tests",
        "cargo",
        &["test", "--workspace", "--no-fail-fast"],
        &[("INSTA_UPDATE", "no"), ("RUST_TEST_THREADS", &threads), SAME_CASES],
    );
    // The long ones first, so that no lane waits for another in the end.
    let newest = Suite::in_sillytavern(&IN_SILLYTAVERN, &SILLYTAVERN[..1]);
    let older = Suite::in_sillytavern(&["versions", "saves"], &OLDER);
    suite.in_browsers(&[newest, older, Suite::pages()].concat());
    suite.launcher();
    suite.end()
}

/// Files of tests in SillyTavern, in the order in which they are run.
const IN_SILLYTAVERN: [&str; 19] = [
    "requests",
    "doors",
    "forks",
    "story",
    "others",
    "away",
    "life",
    "tabs",
    "notices",
    "undo",
    "bring",
    "renames",
    "copies",
    "saves",
    "page",
    "memory",
    "remembers",
    "patience",
    "launcher",
];

/// The property tests with many more cases, every kill instead of some, and long races.
pub(crate) fn soak() -> Result<()> {
    let mut suite = Suite::new(true);
    of_other_systems();
    let files = [&IN_SILLYTAVERN[..], &["without-plugin"]].concat();
    let older = Suite::in_sillytavern(&["versions", "saves"], &OLDER);
    suite.in_browsers(&[Suite::in_sillytavern(&files, &SILLYTAVERN), older].concat());
    suite.step(
        "kills, errors, races, hostile vaults and other disks, long",
        "cargo",
        &[
            "test",
            "--package",
            "forklore",
            "--test",
            "it",
            "--",
            "kills::",
            "hostile_vaults::",
            "elsewhere::",
            "--nocapture",
        ],
        &[("FORKLORE_SOAK", "1")],
    );
    suite.play(
        "isolation against the model, two million steps",
        "isolation::",
        ("FORKLORE_STEPS", "1000000"),
    );
    suite.play("the truth machine, a million acts", "truth::", ("FORKLORE_STORIES", "800"));
    suite.step("in Wine", "cargo", &["xtask", "test", "--wine"], &[]);
    suite.step("in qemu", "cargo", &["xtask", "test", "--qemu"], &[]);
    suite.step("every rule broken once", "cargo", &["xtask", "mutants"], &[]);
    suite.play(
        "lineages that were played, fifty thousand vaults",
        "lineage::",
        ("FORKLORE_LINEAGES", "50000"),
    );
    suite.step(
        "property tests, long",
        "cargo",
        &["test", "--release", "--workspace", "--", "properties"],
        &[("PROPTEST_CASES", "20000")],
    );
    suite.small_model();
    suite.step(
        "fuzzing, an hour",
        "cargo",
        &["test", "--release", "--package", "forklore-fuzz", "--", "--nocapture"],
        &[("FORKLORE_FUZZ_SECONDS", "300")],
    );
    suite.end()
}

/// What was tried, and what came of it.
struct Suite {
    tools: Tools,
    /// Whether a machine asks that nobody watches: what is missing there would stay missing.
    strict: bool,
    soaking: bool,
    failed: Vec<String>,
    /// What passed only when it was tried again
    second: Vec<String>,
}

impl Suite {
    fn new(soaking: bool) -> Self {
        let strict = std::env::var_os("CI").is_some_and(|value| value == "true");
        Self { tools: Tools::ensure(), strict, soaking, failed: Vec::new(), second: Vec::new() }
    }

    fn note(&mut self, done: &Result<()>) -> bool {
        if let Err(why) = done {
            println!("== FAILED: {why:#}");
            self.failed.push(format!("{why:#}"));
        }
        done.is_ok()
    }

    /// A small model that was learnt is asked: whether it is understood, not whether it is clever.
    fn small_model(&mut self) {
        match xtask::llama::small_model(&folder()) {
            Ok(model) => {
                let model = model.to_string_lossy().into_owned();
                let args = [
                    "test",
                    "--package",
                    "forklore-model",
                    "--test",
                    "it",
                    "--",
                    "a_small_model",
                    "--nocapture",
                ];
                self.step("a small model", "cargo", &args, &[("FORKLORE_SMALL_MODEL", &model)]);
            }
            Err(why) => println!("== MISSING: a small model to ask: {why}"),
        }
    }

    /// One of the engine's tests that play stories, with many more of them than usual.
    fn play(&mut self, what: &str, test: &str, how_many: (&str, &str)) {
        let args = ["test", "--release", "--package", "forklore-engine", "--test", "it", test];
        self.step(what, "cargo", &args, &[how_many]);
    }

    fn step(&mut self, what: &str, program: &str, args: &[&str], env: &[(&str, &str)]) -> bool {
        let done = Work { what, program, args, env, patience: self.patience() }.run(&self.tools);
        self.note(&done)
    }

    fn patience(&self) -> Duration {
        if self.soaking { 20 * PATIENCE } else { PATIENCE }
    }

    /// Mistakes in what runs in browsers and in node, and types that do not fit.
    fn scripts(&mut self) {
        if !self.tools.has("FORKLORE_NODE_MODULES") {
            return;
        }
        let eslint = ".tools/node_modules/eslint/bin/eslint.js";
        let looked = ["sillytavern", "crates/web", "npm", "eslint.config.mjs"];
        self.step("lints of scripts", "node", &[&[eslint, "--max-warnings", "0"], &looked[..]].concat(), &[]);
        for config in ["jsconfig.json", "sillytavern/tests/jsconfig.json"] {
            let tsc = ".tools/node_modules/typescript/bin/tsc";
            self.step(&format!("types, {config}"), "node", &[tsc, "--project", config], &[]);
        }
    }

    /// Licences, sources and known holes of what we depend on, and what we need not depend on.
    fn dependencies(&mut self) {
        println!("== unused dependencies");
        let idle =
            unused().and_then(|found| if found.is_empty() { Ok(()) } else { bail!("{}", found.join("; ")) });
        self.note(&idle);
        if let Some(deny) = self.tools.cargo_deny() {
            let deny = deny.to_string_lossy().into_owned();
            self.step("dependencies", &deny, &["check", "licenses", "bans", "sources"], &[]);
            // The list of known holes is fetched from elsewhere, which not every machine may do.
            let fetch = Work {
                what: "known holes",
                program: &deny,
                args: &["fetch", "db"],
                env: &[],
                patience: self.patience(),
            };
            let known = fetch.run(&self.tools);
            match known {
                Ok(()) => {
                    self.step("known holes", &deny, &["check", "advisories"], &[]);
                }
                Err(_) => println!(
                    "== known holes: NOT LOOKED FOR, the list of advisories cannot be fetched from here"
                ),
            }
        }
    }

    /// `npx forklore`, with the program as the tests above have built it.
    fn launcher(&mut self) {
        if self.tools.has("FORKLORE_SILLYTAVERN") {
            for file in ["launcher", "plain-user"] {
                let file = format!("npm/tests/{file}.test.js");
                self.step("npx forklore", "node", &["--test", &file], &[]);
            }
        }
    }

    /// Forklore's own pages.
    fn pages() -> Vec<InBrowser> {
        let files = std::fs::read_dir("crates/web/tests").into_iter().flatten().flatten();
        let names = files.filter_map(|file| file.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".test.js")).collect();
        names.sort();
        let of = |name: String| InBrowser { file: format!("crates/web/tests/{name}"), version: None };
        names.into_iter().map(of).collect()
    }

    /// The extension on the page of SillyTavern: the files of tests, each on each version.
    fn in_sillytavern(files: &[&str], versions: &[&'static str]) -> Vec<InBrowser> {
        let of = |version: &'static str, file: &str| InBrowser {
            file: format!("sillytavern/tests/{file}.test.js"),
            version: Some(version),
        };
        versions.iter().flat_map(|version| files.iter().map(move |file| of(version, file))).collect()
    }

    /// Files of tests in Chromium, in [`LANES`] beside each other: whichever is free takes the next one.
    fn in_browsers(&mut self, files: &[InBrowser]) {
        let needed = ["FORKLORE_CHROMIUM", "FORKLORE_NODE_MODULES", "FORKLORE_SILLYTAVERN"];
        if !needed.iter().all(|tool| self.tools.has(tool))
            // As the tests above have built it: for itself it would be built anew, with fewer features of what it depends on.
            || !self.step("the program", "cargo", &["test", "--quiet", "--workspace", "--no-run"], &[])
        {
            return;
        }
        let tools = &self.tools;
        let next = AtomicUsize::new(0);
        let run_lane = |lane: usize| -> Vec<(String, Tried)> {
            let take = || files.get(next.fetch_add(1, Ordering::Relaxed));
            std::iter::from_fn(take).map(|test| (test.to_string(), test.run(tools, lane))).collect()
        };
        let outcomes: Vec<(String, Tried)> = std::thread::scope(|scope| {
            let run_lane = &run_lane;
            let lanes: Vec<_> = (0..LANES).map(|lane| scope.spawn(move || run_lane(lane))).collect();
            lanes.into_iter().flat_map(|lane| lane.join().unwrap_or_default()).collect()
        });
        if outcomes.len() < files.len() {
            self.failed.push("browser: a lane went down with what it had tried".to_owned());
        }
        for (what, tried) in outcomes {
            match tried {
                Tried::Passed => {}
                // Who soaks has the time to find out why.
                Tried::Second if self.soaking => self.failed.push(format!("{what} needed a second try")),
                Tried::Second => self.second.push(what),
                Tried::Failed(why) => self.failed.push(why),
            }
        }
    }

    fn end(mut self) -> Result<()> {
        println!();
        for what in &self.second {
            println!("SECOND TRY: {what} failed once and then passed");
        }
        for missing in self.tools.missing.iter().chain(&self.tools.unavailable) {
            println!("MISSING: for want of it some tests were skipped: {missing}");
        }
        if self.strict {
            self.failed.extend(self.tools.missing.iter().map(|missing| format!("missing: {missing}")));
        }
        if self.failed.is_empty() {
            println!("All of it passed.");
            return Ok(());
        }
        bail!("{} of it failed:\n  {}", self.failed.len(), self.failed.join("\n  "))
    }
}

/// A file of tests in a browser, on a version of SillyTavern if it needs one.
#[derive(Clone)]
struct InBrowser {
    file: String,
    version: Option<&'static str>,
}

/// What came of it.
enum Tried {
    Passed,
    /// Only when it was tried again
    Second,
    Failed(String),
}

impl fmt::Display for InBrowser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.version {
            Some(version) => write!(f, "SillyTavern {version}, {}", self.file),
            None => write!(f, "{}", self.file),
        }
    }
}

impl InBrowser {
    /// One that fails is run once more: a browser on a busy machine can miss what is there in a moment, and that is told apart from what
    /// is wrong.
    fn run(&self, tools: &Tools, lane: usize) -> Tried {
        let lane = lane.to_string();
        let version = self.version.map(|version| ("FORKLORE_SILLYTAVERN_VERSION", version));
        // A server of SillyTavern stands in a folder of its own.
        let env: Vec<(&str, &str)> = version.into_iter().chain([("FORKLORE_LANE", lane.as_str())]).collect();
        let what = format!("browser, {self}");
        let args = ["--test", self.file.as_str()];
        let work =
            Work { what: &what, program: "node", args: &args, env: &env, patience: PATIENCE_IN_BROWSER };
        let once = || work.run_aside(tools);
        let Err(first) = once() else { return Tried::Passed };
        println!("== {first:#}. Once more, in case it was the machine");
        match once() {
            Ok(()) => Tried::Second,
            Err(again) => {
                println!("== FAILED: {again:#}");
                Tried::Failed(format!("{again:#}"))
            }
        }
    }
}

/// A program that must end well, in time.
struct Work<'a> {
    what: &'a str,
    program: &'a str,
    args: &'a [&'a str],
    env: &'a [(&'a str, &'a str)],
    patience: Duration,
}

impl Work<'_> {
    fn run(&self, tools: &Tools) -> Result<()> {
        let start = Instant::now();
        println!("{}", self.heading());
        await_end(self.what, self.command(tools), self.patience)?;
        println!("{}", self.ending("ok", start));
        Ok(())
    }

    /// For what runs beside others: what it says comes at its end, in one piece.
    fn run_aside(&self, tools: &Tools) -> Result<()> {
        let start = Instant::now();
        let mut said = tempfile::tempfile()?;
        let mut command = self.command(tools);
        command.stdout(said.try_clone()?).stderr(said.try_clone()?);
        let ended = await_end(self.what, command, self.patience);
        let mut text = Vec::new();
        said.rewind()?;
        said.read_to_end(&mut text)?;
        let ending = self.ending(if ended.is_ok() { "ok" } else { "failed" }, start);
        println!("{}\n{}{ending}", self.heading(), String::from_utf8_lossy(&text));
        ended
    }

    fn heading(&self) -> String {
        format!("== {}: {} {}", self.what, self.program, self.args.join(" "))
    }

    fn ending(&self, end: &str, start: Instant) -> String {
        format!("== {}: {end} after {:.0} s", self.what, start.elapsed().as_secs_f64())
    }

    fn command(&self, tools: &Tools) -> Command {
        let env = self.env.iter().map(|(key, value)| (*key, OsString::from(value)));
        let mut command = Command::new(self.program);
        command.args(self.args).envs(env).envs(tools.env.iter().cloned());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command
    }
}

fn await_end(what: &str, mut command: Command, patience: Duration) -> Result<()> {
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| {
        let program = command.get_program().display();
        format!("{program} could not be started: install Rust with rustfmt and clippy from rustup")
    })?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if start.elapsed() > patience {
            // With everything that it started.
            let group = format!("-{}", child.id());
            let _ended = Command::new("kill").args(["-KILL", "--", &group]).status();
            let _ended = child.kill();
            bail!("{what} has not ended after {} minutes", patience.as_secs() / 60);
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    if !status.success() {
        bail!("{what} failed");
    }
    Ok(())
}
