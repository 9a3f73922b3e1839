//! The documents are true: tables of crates and modules list what there is, pictures are there and shown, links lead somewhere, what is
//! named is there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap()
}

/// The names in backticks of a text.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The first column of the rows below a line that begins like this.
fn column(text: &str, heading: &str) -> Vec<String> {
    let start = text.find(heading).unwrap_or_else(|| panic!("there is no table {heading:?}"));
    let rows = text[start..].lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.split('|').nth(1).unwrap().to_owned()).collect()
}

/// What is in a folder, by name without an ending.
fn entries(folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect()
}

#[test]
fn the_table_of_crates_lists_all_of_them_and_dependencies_point_up_in_it() {
    let text = read("CONTRIBUTING.md");
    let column = column(&text, "| folder | holds |");
    let listed: Vec<&str> = column.iter().flat_map(|cell| quoted(cell)).collect();
    let crates = listed.iter().filter_map(|folder| folder.strip_prefix("crates/"));
    let order: Vec<&str> = crates.collect();
    assert_eq!(order.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>(), entries("crates"));
    for (i, name) in order.iter().enumerate() {
        let manifest = read(&format!("crates/{name}/Cargo.toml"));
        let real = manifest.split("[dev-dependencies]").next().unwrap();
        for below in real.lines().filter_map(|line| line.strip_prefix("forklore-")?.split('.').next()) {
            let at = order.iter().position(|other| other == &below).unwrap();
            assert!(at < i, "{name} stands above {below}, on which it depends");
        }
    }
}

#[test]
fn the_tables_of_modules_list_all_of_them() {
    let text = read("CONTRIBUTING.md");
    for name in ["core", "journal", "vault", "engine"] {
        let column = column(&text, &format!("| in `crates/{name}/src` |"));
        let listed: BTreeSet<String> =
            column.iter().flat_map(|cell| quoted(cell)).map(str::to_owned).collect();
        let mut there = entries(&format!("crates/{name}/src"));
        there.remove("lib");
        assert_eq!(listed, there, "modules of crates/{name}");
    }
}

/// Every document that people read.
fn documents() -> Vec<String> {
    let formats = entries("docs/formats").into_iter().map(|name| format!("docs/formats/{name}.md"));
    let others = ["README.md", "CONTRIBUTING.md", "docs/guide.md", "docs/design.md", "docs/security.md"];
    formats.chain(others.map(str::to_owned)).chain(designs()).collect()
}

/// What stands next to the rooms about why they are so.
fn designs() -> impl Iterator<Item = String> {
    let rooms = entries("crates").into_iter().map(|name| format!("crates/{name}"));
    let files = rooms.chain(["sillytavern".to_owned()]).map(|room| format!("{room}/DESIGN.md"));
    files.filter(|file| root().join(file).exists())
}

#[test]
fn every_picture_is_there_and_shown() {
    let shown: BTreeSet<String> = documents()
        .iter()
        .flat_map(|file| {
            let text = read(file);
            let names = text.split("images/").skip(1);
            names.filter_map(|rest| Some(rest.split_once(".png")?.0.to_owned())).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(shown, entries("docs/images"));
}

/// The anchors of a document's headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings =
        text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
    let anchor =
        |heading: &str| heading.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-");
    headings.map(anchor).collect()
}

#[test]
fn links_from_one_document_to_another_lead_somewhere() {
    for file in documents() {
        let text = read(&file);
        let folder = Path::new(&file).parent().unwrap().to_owned();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") {
                continue;
            }
            let (path, anchor) =
                link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
            let target = if path.is_empty() { root().join(&file) } else { root().join(&folder).join(path) };
            assert!(target.exists(), "{file} links to {link}, which is not there");
            if let Some(anchor) = anchor {
                let there = anchors(&fs::read_to_string(target).unwrap());
                assert!(there.contains(anchor), "{file} links to {link}, and there is no such heading");
            }
        }
    }
}

#[test]
fn the_overview_lists_every_room_that_says_why_it_is_so() {
    let text = read("docs/design.md");
    let column = column(&text, "| room | why it is so |");
    let listed: BTreeSet<String> =
        column.iter().flat_map(|cell| quoted(cell)).map(|room| format!("{room}/DESIGN.md")).collect();
    assert_eq!(listed, designs().collect());
    for file in designs() {
        for heading in read(&file).lines().filter_map(|line| line.strip_prefix("## ")) {
            assert!(
                text.contains(&format!("[{heading}](../{file}#")),
                "{heading} of {file} is not in the overview"
            );
        }
    }
}

/// Every source file below a folder: its path, without the `src` that no document writes.
fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "node_modules" && name != "target" {
            sources(&path, found);
        } else if path
            .extension()
            .is_some_and(|ending| ["rs", "js", "mjs", "md"].iter().any(|e| ending == *e))
        {
            let parts: Vec<_> =
                path.iter().filter(|part| *part != "src").map(|part| part.to_string_lossy()).collect();
            found.push((parts.join("/"), fs::read_to_string(&path).unwrap()));
        }
    }
}

/// Who reads why a thing is so finds the thing: its types and files have the names that they are called by.
#[test]
fn what_the_designs_name_is_there() {
    let mut found = Vec::new();
    ["crates", "sillytavern", "bench", "xtask"]
        .iter()
        .for_each(|folder| sources(&root().join(folder), &mut found));
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let code = found.iter().filter(|(path, _)| !path.ends_with(".md"));
    let words: BTreeSet<&str> = code.flat_map(|(_, text)| text.split(|c| !is_word(c))).collect();
    let is_type = |name: &str| {
        name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase) && name.chars().all(is_word)
    };
    for file in designs().chain(["docs/design.md".to_owned()]) {
        let text = read(&file);
        for name in quoted(&text) {
            let path = name.replace("/src/", "/");
            if [".rs", ".js"].iter().any(|ending| name.ends_with(ending)) && !name.contains(['*', '{', ' ']) {
                let there = found.iter().any(|(known, _)| known.ends_with(&format!("/{path}")));
                assert!(there, "{file} speaks of {name}, and there is no such file");
            } else if (name.contains("::") && name.chars().all(|c| is_word(c) || c == ':')) || is_type(name) {
                let there = name.split("::").filter(|part| !part.is_empty()).all(|part| words.contains(part));
                assert!(there, "{file} speaks of {name}, and there is no such thing");
            }
        }
    }
}
