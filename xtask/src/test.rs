//! `cargo xtask test`: the whole test command, in the order in which a failure is cheapest. A step that fails does not keep the others
//! from running: [`Suite`] remembers it, and the command fails at its end.

use std::ffi::OsString;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::tools::{OLDER, SILLYTAVERN, Tools};
use crate::unused::unused;

/// No step takes longer, unless it soaks: what hangs is to be told from what is slow.
const PATIENCE: Duration = Duration::from_secs(30 * 60);
/// Nor does a file of tests in a browser.
const PATIENCE_IN_BROWSER: Duration = Duration::from_secs(8 * 60);

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
    suite.step(
        "tests",
        "cargo",
        &["test", "--workspace", "--no-fail-fast"],
        &[("INSTA_UPDATE", "no"), SAME_CASES],
    );
    suite.web();
    suite.browser(
        &[
            "requests", "doors", "forks", "story", "others", "away", "life", "notices", "renames", "copies",
            "page",
        ],
        &SILLYTAVERN[..1],
    );
    suite.browser(&["versions"], &OLDER);
    suite.end()
}

/// The property tests with many more cases, every kill instead of some, and long races.
pub(crate) fn soak() -> Result<()> {
    let mut suite = Suite::new(true);
    let files = [
        "requests",
        "doors",
        "forks",
        "story",
        "others",
        "away",
        "life",
        "notices",
        "renames",
        "copies",
        "page",
        "without-plugin",
    ];
    suite.browser(&files, &SILLYTAVERN);
    suite.browser(&["versions"], &OLDER);
    suite.step(
        "kills, errors, races and hostile vaults, long",
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
            "--nocapture",
        ],
        &[("FORKLORE_SOAK", "1")],
    );
    suite.step(
        "isolation against the model, two million steps",
        "cargo",
        &["test", "--release", "--package", "forklore-engine", "--test", "it", "isolation::"],
        &[("FORKLORE_STEPS", "1000000")],
    );
    suite.step(
        "the truth machine, a million acts",
        "cargo",
        &["test", "--release", "--package", "forklore-engine", "--test", "it", "truth::"],
        &[("FORKLORE_STORIES", "800")],
    );
    suite.step("every rule broken once", "cargo", &["xtask", "mutants"], &[]);
    suite.step(
        "lineages that were played, fifty thousand vaults",
        "cargo",
        &["test", "--release", "--package", "forklore-engine", "--test", "it", "lineage::"],
        &[("FORKLORE_LINEAGES", "50000")],
    );
    suite.step(
        "property tests, long",
        "cargo",
        &["test", "--release", "--workspace", "--", "properties"],
        &[("PROPTEST_CASES", "20000")],
    );
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

    fn step(&mut self, what: &str, program: &str, args: &[&str], env: &[(&str, &str)]) -> bool {
        let done = run(what, program, args, env, &self.tools, self.patience());
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
        let looked = ["sillytavern", "crates/web", "eslint.config.mjs"];
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
            let known = run("known holes", &deny, &["fetch", "db"], &[], &self.tools, self.patience());
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

    /// Forklore's own pages in Chromium.
    fn web(&mut self) {
        if !self.tools.has("FORKLORE_CHROMIUM") || !self.tools.has("FORKLORE_NODE_MODULES") {
            return;
        }
        if !self.step("the program", "cargo", &["build", "--package", "forklore"], &[]) {
            return;
        }
        let files = std::fs::read_dir("crates/web/tests").into_iter().flatten().flatten();
        let names = files.filter_map(|file| file.file_name().into_string().ok());
        let mut files: Vec<String> = names
            .filter(|name| name.ends_with(".test.js"))
            .map(|name| format!("crates/web/tests/{name}"))
            .collect();
        files.sort();
        // One after the other: each has a browser of its own, and machines have few cores.
        for file in files {
            self.in_browser(&format!("web, {file}"), &file, &[]);
        }
    }

    /// The extension in Chromium, on the page of SillyTavern: the files of tests, each on each version.
    fn browser(&mut self, files: &[&str], versions: &[&str]) {
        if !self.tools.has("FORKLORE_CHROMIUM") || !self.tools.has("FORKLORE_SILLYTAVERN") {
            return;
        }
        if !self.step("the program", "cargo", &["build", "--package", "forklore"], &[]) {
            return;
        }
        for version in versions {
            for file in files {
                let path = format!("sillytavern/tests/{file}.test.js");
                let what = format!("browser, SillyTavern {version}, {file}");
                self.in_browser(&what, &path, &[("FORKLORE_SILLYTAVERN_VERSION", *version)]);
            }
        }
    }

    /// A file of tests in a browser. One that fails is run once more: a browser on a busy machine can miss what is there in a moment,
    /// and that is told apart from what is wrong. Who soaks has the time to find out why, so there it counts as a failure.
    fn in_browser(&mut self, what: &str, file: &str, env: &[(&str, &str)]) {
        let once = || run(what, "node", &["--test", file], env, &self.tools, PATIENCE_IN_BROWSER);
        let Err(first) = once() else { return };
        println!("== {first}. Once more, in case it was the machine");
        match once() {
            Ok(()) if self.soaking => self.failed.push(format!("{what} needed a second try")),
            Ok(()) => self.second.push(what.to_owned()),
            Err(again) => {
                self.note(&Err(again));
            }
        }
    }

    fn end(mut self) -> Result<()> {
        println!();
        for what in &self.second {
            println!("SECOND TRY: {what} failed once and then passed");
        }
        for missing in &self.tools.missing {
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

fn run(
    what: &str,
    program: &str,
    args: &[&str],
    env: &[(&str, &str)],
    tools: &Tools,
    patience: Duration,
) -> Result<()> {
    println!("== {what}: {program} {}", args.join(" "));
    let start = Instant::now();
    let env = env.iter().map(|(key, value)| (*key, OsString::from(value)));
    let mut command = Command::new(program);
    command.args(args).envs(env).envs(tools.env.iter().cloned());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().with_context(|| {
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
    println!("== {what}: ok after {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}
