//! [`unused`]: dependencies that no line of the package refers to. They cost time to build and are a door that nobody watches.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

/// Every dependency in the workspace that nothing uses, as a sentence each.
pub(crate) fn unused() -> Result<Vec<String>> {
    let metadata = Command::new("cargo").args(["metadata", "--no-deps", "--format-version", "1"]).output()?;
    let metadata: Value =
        serde_json::from_slice(&metadata.stdout).context("cargo metadata did not answer")?;
    let root = metadata["workspace_root"].as_str().unwrap_or_default();
    let mut found = Vec::new();
    let mut used_at_all = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
        let sources = sources(manifest.parent().unwrap_or(manifest))?;
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let name = dependency["rename"].as_str().or(dependency["name"].as_str()).unwrap_or_default();
            used_at_all.push(name.to_owned());
            // What only tests use belongs to the tests.
            let tests_too = dependency["kind"] == "dev";
            let mut texts = sources.iter().filter(|(tests, _)| tests_too || !tests).map(|(_, text)| text);
            if !texts.any(|text| refers(text, name)) {
                found.push(format!("{} does not use {name}", package["name"].as_str().unwrap_or_default()));
            }
        }
    }
    let workspace = std::fs::read_to_string(Path::new(root).join("Cargo.toml"))?;
    let idle = declared(&workspace).into_iter().filter(|name| !used_at_all.contains(name));
    found.extend(idle.map(|name| format!("nobody in the workspace uses {name}")));
    Ok(found)
}

/// The files of a package, and whether each is only for its tests.
fn sources(dir: &Path) -> Result<Vec<(bool, String)>> {
    let mut todo: Vec<PathBuf> = vec![dir.to_owned()];
    let mut sources = Vec::new();
    while let Some(folder) = todo.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() && path.file_name().is_none_or(|name| name != "target") {
                todo.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let below = path.strip_prefix(dir).unwrap_or(&path);
                let tests = ["tests", "benches", "examples"].iter().any(|name| below.starts_with(name));
                sources.push((tests, std::fs::read_to_string(&path)?));
            }
        }
    }
    Ok(sources)
}

/// Whether a text uses a crate: `name::`, `name!` or `use name`, as a word.
fn refers(text: &str, name: &str) -> bool {
    let name = name.replace('-', "_");
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(&name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        let begins = !before.ends_with(is_word);
        let imported = before.ends_with("use ") && !after.starts_with(is_word);
        begins && (after.starts_with("::") || after.starts_with('!') || imported)
    })
}

/// The names below `[workspace.dependencies]`.
fn declared(manifest: &str) -> Vec<String> {
    let lines = manifest.lines().skip_while(|line| *line != "[workspace.dependencies]").skip(1);
    let lines = lines.take_while(|line| !line.starts_with('['));
    let names = lines.filter_map(|line| line.split_once('=')).map(|(name, _)| name.trim());
    names.filter(|name| !name.starts_with('#')).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_in_passing_is_no_use() {
        assert!(refers("use serde_json::Value;", "serde-json"));
        assert!(refers("insta::assert_snapshot!(x)", "insta"));
        assert!(refers("use anyhow;", "anyhow"));
        assert!(refers("x = wide::u8x16::new()", "wide"));
        assert!(!refers("// a wide river; use wider::river", "wide"));
        assert!(!refers("my_wide::x", "wide"));
        assert_eq!(
            declared("[x]\na = 1\n[workspace.dependencies]\nb = 2\n# c = 3\n\nd = 4\n[y]\ne = 5"),
            ["b", "d"]
        );
    }
}
