//! [`build`]: the program for a platform, the same bytes wherever and whenever it is built from the same commit. [`cargo`] does other things
//! for it, such as testing.
//!
//! What would tell builds apart is taken out: the folders of this machine, and the time that the linker for Windows writes into the file.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::platform::Platform;
use super::toolchain::{Toolchain, run};

/// Builds the program into this folder, and says where it is.
pub(crate) fn build(
    toolchain: &Toolchain,
    platform: Platform,
    profile: &str,
    target: &Path,
) -> Result<PathBuf> {
    println!("== {}: building {}", platform.name, platform.triple);
    let mut cargo = cargo(toolchain, platform, "rustc", target)?;
    cargo.args(["--package", "forklore", "--bin", "forklore", "--profile", profile]);
    if platform.is_darwin() {
        // Where the linker finds something to debug in what is written in C, it names its file. Left out while it links: what strips later
        // breaks the signature.
        cargo.args(["--", "-Clink-arg=-Wl,-s"]);
    }
    run(&mut cargo).with_context(|| format!("{} was not built", platform.name))?;
    let program = target.join(platform.triple).join(profile).join(platform.program());
    let bytes = std::fs::read(&program).with_context(|| program.display().to_string())?;
    for folder in [toolchain.home(), &sources(), &cargo_home()?, target] {
        ensure!(!names(&bytes, folder), "{} names {}", program.display(), folder.display());
    }
    Ok(program)
}

/// Whether a program names something in a folder of this machine: it would be another one wherever it is built elsewhere.
fn names(program: &[u8], folder: &Path) -> bool {
    let folder = format!("{}/", folder.display());
    memchr::memmem::find(program, folder.as_bytes()).is_some()
}

/// cargo, to do something for a platform in this folder.
pub(crate) fn cargo(toolchain: &Toolchain, platform: Platform, verb: &str, target: &Path) -> Result<Command> {
    let programs = toolchain.programs();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([programs.clone()].into_iter().chain(std::env::split_paths(&path)))?;
    // rustup's own toolchain is told to its children by variables that would name the wrong compiler.
    let mut cargo = if platform.is_windows() {
        let mut cargo = Command::new("cargo");
        let linker = format!("target.{}.linker=\"x86_64-w64-mingw32-gcc\"", platform.triple);
        cargo.args([verb, "--config", &linker]);
        cargo
    } else {
        let mut zigbuild = Command::new(programs.join("cargo-zigbuild"));
        zigbuild.arg(verb).env("CARGO_ZIGBUILD_ZIG_PATH", programs.join("zig"));
        zigbuild
    };
    cargo
        .args(["--locked", "-Zbuild-std=std,panic_unwind", "--target", platform.triple])
        .env("RUSTC", toolchain.rustc())
        .env("RUSTDOC", toolchain.rustdoc())
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_ENCODED_RUSTFLAGS", flags(toolchain, platform, target)?.join("\x1f"))
        .env("PATH", path)
        .current_dir(sources());
    if platform.is_darwin() {
        // zig signs the file, and Macs with Apple's processors run nothing whose signature is broken.
        cargo.env("CARGO_PROFILE_DIST_STRIP", "none").env("CARGO_PROFILE_DIST_QUICK_STRIP", "none");
        // zig alone would ask for a macOS that few have. This one is the first for Apple's processors, and the oldest for Node 20.
        cargo.env("MACOSX_DEPLOYMENT_TARGET", "11.0");
    }
    Ok(cargo)
}

fn flags(toolchain: &Toolchain, platform: Platform, target: &Path) -> Result<Vec<String>> {
    let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    // The last one that fits counts, and what follows may be below what stands before it.
    let mut flags = vec![
        remap(&cargo_home()?, "/cargo"),
        remap(&sources(), "/forklore"),
        remap(&toolchain.library(), "/rust"),
        remap(target, "/target"),
    ];
    if platform.is_windows() {
        flags.push("-Clink-arg=-Wl,--no-insert-timestamp".to_owned());
    } else if !platform.is_darwin() {
        // zig brings its own start files for musl; rustc's are not there.
        flags.push("-Clink-self-contained=no".to_owned());
    }
    Ok(flags)
}

fn cargo_home() -> Result<PathBuf> {
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo"));
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from).or(home);
    cargo.context("neither HOME nor CARGO_HOME is set")
}

/// The repository.
pub(crate) fn sources() -> PathBuf {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    above.unwrap_or(Path::new(".")).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_names_a_folder_of_this_machine_is_found_out() {
        let library = b"panicked at /home/me/tools/rw/library/core/src/fmt.rs\0";
        assert!(names(library, Path::new("/home/me/tools")));
        assert!(!names(library, Path::new("/home/me/too")));
        assert!(!names(b"panicked at /rust/library/core/src/fmt.rs\0", Path::new("/home/me/tools")));
    }
}
