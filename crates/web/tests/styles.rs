//! Style sheets and pages speak of the same things: who renames a class in one of them has to do it in the other, too.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Everything in the files of a folder, and below it, that end so.
#[allow(clippy::disallowed_methods, reason = "the files are of this crate, not of a vault")]
fn read(folder: &str, end: &str) -> String {
    let mut text = String::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        for file in fs::read_dir(folder).expect("a folder of this crate") {
            let path = file.expect("a file of this crate").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(end) {
                text.push_str(&fs::read_to_string(path).expect("a file of this crate"));
            }
        }
    }
    text
}

fn is_of_a_name(c: char) -> bool {
    c.is_alphanumeric() || c == '-' || c == '_'
}

/// The classes that selectors name: what stands before a block, without comments.
fn classes(sheet: &str) -> BTreeSet<&str> {
    let without =
        sheet.split("/*").flat_map(|part| part.split_once("*/").map_or([part, ""], |(_, rest)| [rest, ""]));
    let selectors =
        without.flat_map(|part| part.split('}')).filter_map(|rule| Some(rule.rsplit_once('{')?.0));
    selectors
        .flat_map(|selector| selector.split('.').skip(1))
        .map(|rest| rest.split(|c| !is_of_a_name(c)).next().unwrap_or_default())
        .filter(|class| class.starts_with(|c: char| c.is_ascii_alphabetic()))
        .collect()
}

#[test]
fn every_class_with_a_style_is_given_by_a_page() {
    let (sheets, sources) = (read("assets", ".css"), read("src", ".rs") + &read("assets", ".js"));
    let given: BTreeSet<&str> = sources.split(|c| !is_of_a_name(c)).collect();
    let found = classes(&sheets);
    assert!(found.contains("card"), "{found:?}");
    // Some are put together from a word and a number, or from two words.
    let is_given = |class: &str| {
        let word = class.trim_end_matches(|c: char| c.is_ascii_digit());
        given.contains(class)
            || (word != class && given.contains(word))
            || class.rfind('-').is_some_and(|at| given.contains(&class[..=at]))
    };
    let lost: Vec<&str> = found.into_iter().filter(|class| !is_given(class)).collect();
    assert!(lost.is_empty(), "no page gives these: {lost:?}");
}
