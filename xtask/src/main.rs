//! Forklore's chores: `cargo xtask test`, `cargo xtask bench`, `cargo xtask mutants`, `cargo xtask dist`,
//! `cargo xtask soak`.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a chore talks to the disk and to the terminal"
)]

mod dist;
mod elsewhere;
mod mutants;
mod test;
mod unused;

use std::process::Command;

use anyhow::{Result, bail, ensure};

const HELP: &str = "\
Forklore's chores

  cargo xtask test    format, lints, docs and all tests; says what is missing on this machine
                      [--wine: those of disks and commands as programs for Windows, and SillyTavern with the plugin, in Wine;
                      --qemu: the same as programs for Linux on arm64. Both with names of tests, only those]
  cargo xtask tools   installs what the tests need, and nothing else
  cargo xtask bench   speed, as ratios to what the disk can do
                      [--quick: 20 MB instead of 200 MB; --reading: reading alone; --forks: forks alone; --learn: bringing a branch along alone; --memory: memory alone;
                      --history: history alone;
                      --plugin: the plugin alone; --web: the pages alone; --no-sillytavern: without SillyTavern's server]
  cargo xtask mutants breaks one rule of the state after the other, and lets the truth machine find it
                      [WORDS: only the rules that say so]
  cargo xtask dist    the program for other systems, archives and npm's packages, into target/dist
                      [PLATFORMS: windows-x64, linux-x64, linux-arm64, darwin-x64, darwin-arm64; all if none is named]
                      [--twice: builds a second time from nothing, and compares the bytes; --launcher: npm's launcher alone;
                      --quick: without optimisation, to try it]
  cargo xtask soak    the long form: the extension on all versions of SillyTavern, properties, every kill and every error, a minute of racing SillyTavern's saves
";

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("test") => match args.get(1).map(String::as_str) {
            Some("--wine") => elsewhere::on_windows(&args[2..]),
            Some("--qemu") => elsewhere::on_arm64(&args[2..]),
            Some(other) => bail!("cargo xtask test knows --wine and --qemu, and no {other:?}"),
            None => test::test(),
        },
        Some("tools") => {
            let tools = xtask::tools::Tools::ensure();
            ensure!(tools.missing.is_empty(), "something is missing: see above");
            Ok(())
        }
        // A program of its own: it needs nearly everything that Forklore is made of, and the other chores need nothing of it.
        Some("bench") => {
            let mut bench = Command::new("cargo");
            bench.args(["run", "--quiet", "--package", "forklore-bench", "--"]).args(&args[1..]);
            ensure!(bench.status()?.success(), "the benchmarks did not get to their end");
            Ok(())
        }
        Some("mutants") => mutants::mutants(args.get(1).map(String::as_str)),
        Some("dist") => dist::dist(&args[1..]),
        Some("soak") => test::soak(),
        Some("help" | "--help" | "-h") | None => {
            print!("{HELP}");
            Ok(())
        }
        Some(other) => bail!("there is no chore {other:?}\n\n{HELP}"),
    }
}
