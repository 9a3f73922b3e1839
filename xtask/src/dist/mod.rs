//! `cargo xtask dist`: what people get who build nothing: [`dist`] builds the program for each [`Platform`], and packs archives and
//! npm's packages.
//!
//! The same commit gives the same bytes: `--twice` builds everything a second time, from nothing, and compares.

mod archive;
pub(crate) mod build;
mod extras;
mod npm;
pub(crate) mod platform;
mod sbom;
pub(crate) mod toolchain;

use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use archive::{hash, pack, sums, zip};
use build::sources;
use extras::Extras;
use platform::{ALL, Platform};
use toolchain::Toolchain;

/// In the archive of what could not be run.
const UNTESTED: &str = "\
This program was built for a system that nobody who built it has: it was linked, and never run. Try it on a copy of your stories first.
";

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Builds and packs for these platforms, or for all.
pub(crate) fn dist(args: &[String]) -> Result<()> {
    let profile = if args.iter().any(|arg| arg == "--quick") { "dist-quick" } else { "dist" };
    let twice = args.iter().any(|arg| arg == "--twice");
    let only_launcher = args.iter().any(|arg| arg == "--launcher");
    let names: Vec<&String> = args.iter().filter(|arg| !arg.starts_with("--")).collect();
    let mut platforms = names.iter().map(|name| Platform::named(name)).collect::<Result<Vec<_>>>()?;
    if platforms.is_empty() && !only_launcher {
        platforms = ALL.to_vec();
    }
    let out = sources().join("target/dist");
    let packages = out.join("npm");
    std::fs::create_dir_all(&packages).with_context(|| packages.display().to_string())?;
    let scratch = tempfile::tempdir()?;
    npm::launcher(VERSION, scratch.path(), &packages)?;
    if !platforms.is_empty() {
        let toolchain = Toolchain::ensure()?;
        let runs_here =
            build::build(&toolchain, Platform::named("linux-x64")?, profile, &toolchain.target())?;
        let extras = Extras::ask(&runs_here)?;
        for platform in platforms {
            one(&toolchain, platform, (profile, twice), &extras, scratch.path(), &out)?;
        }
    }
    for dir in [&out, &packages] {
        std::fs::write(dir.join("SHA256SUMS"), sums(dir)?)?;
    }
    println!("{}{}", sums(&out)?, sums(&packages)?);
    println!("All of it is in {}", out.display());
    Ok(())
}

fn one(
    toolchain: &Toolchain,
    platform: Platform,
    (profile, twice): (&str, bool),
    extras: &Extras,
    scratch: &Path,
    out: &Path,
) -> Result<()> {
    let program = build::build(toolchain, platform, profile, &toolchain.target())?;
    if twice {
        let second = tempfile::tempdir_in(toolchain.target())?;
        let again = build::build(toolchain, platform, profile, second.path())?;
        let (first, again) = (hash(&program)?, hash(&again)?);
        ensure!(first == again, "{} differs when it is built twice: {first}, {again}", platform.name);
        println!("== {}: twice the same bytes", platform.name);
    }
    if !platform.tried {
        println!("== {}: linked, and never run: there is no such machine here", platform.name);
    }
    let name = format!("forklore-{VERSION}-{}", platform.name);
    let dir = scratch.join(&name);
    std::fs::create_dir_all(&dir)?;
    std::fs::copy(&program, dir.join(platform.program()))?;
    extras.put(&dir)?;
    if !platform.tried {
        std::fs::write(dir.join("UNTESTED.txt"), UNTESTED)?;
    }
    let bill = sbom::bill(platform)?;
    std::fs::write(dir.join("forklore.cdx.json"), &bill)?;
    std::fs::write(out.join(format!("{name}.cdx.json")), &bill)?;
    if platform.is_windows() {
        zip(scratch, &name, &out.join(format!("{name}.zip")))?;
    } else {
        pack(scratch, &name, &out.join(format!("{name}.tar.gz")))?;
    }
    for system in platform.npm {
        npm::engine(&program, platform, *system, VERSION, scratch, &out.join("npm"))?;
    }
    Ok(())
}
