//! Writes down every file below `sillytavern/`, so that a new one is embedded without anybody having to list it.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a build script talks to the disk and to cargo"
)]

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../sillytavern").canonicalize()?;
    let mut code = String::new();
    for part in ["plugin", "extension"] {
        let base = root.join(part);
        let mut files = Vec::new();
        list(&base, &mut files)?;
        files.sort();
        writeln!(code, "/// The files of the {part}: name and content.")?;
        writeln!(code, "pub(crate) const {}: &[(&str, &[u8])] = &[", part.to_uppercase())?;
        for file in files {
            let name = file.strip_prefix(&base)?.to_string_lossy().replace('\\', "/");
            writeln!(code, "    ({name:?}, include_bytes!({:?})),", file.to_string_lossy())?;
        }
        writeln!(code, "];")?;
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("embedded.rs"), code)?;
    Ok(())
}

fn list(dir: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    // A folder changes when a file comes or goes; what is in the files, `include_bytes` watches.
    println!("cargo:rerun-if-changed={}", dir.display());
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
