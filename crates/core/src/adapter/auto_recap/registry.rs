//! Registries: entries `_registry_<type>` whose text lists other entries by uid, in three generations of syntax.

use forklore_json::Raw;

/// How the title of a registry starts.
pub const PREFIX: &str = "_registry_";

/// One line of a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryLine {
    /// The entry it refers to; `None` in the first generation, which had ids of its own.
    pub uid: Option<i64>,
    /// The entry's name, as the registry has it.
    pub name: String,
    /// Other names of it.
    pub aliases: Vec<String>,
    /// What it is, in a few words; may be empty.
    pub synopsis: String,
    /// The line as it stands.
    pub text: String,
}

/// The type that a registry lists, from its first line `[Registry: type]`.
pub fn kind_of(content: &str) -> Option<&str> {
    content.lines().next()?.trim().strip_prefix("[Registry:")?.strip_suffix(']').map(str::trim)
}

/// The text of a registry that lists nothing.
pub fn empty(kind: &str) -> String {
    format!("[Registry: {kind}]")
}

/// The lines of a registry. What is no line of any known syntax is skipped.
pub fn lines(content: &str) -> Vec<RegistryLine> {
    content.lines().filter_map(line).collect()
}

/// One line: `- UID=9 | name: …`, `- uid: 9 | name: …`, `- id: 9 | name: …` or `- id: char_0001 | name: …`.
pub fn line(text: &str) -> Option<RegistryLine> {
    let item = text.trim().strip_prefix('-')?.trim();
    let (id, rest) = item.split_once(SEPARATOR).unwrap_or((item, ""));
    let id = ["UID=", "uid:", "id:"].iter().find_map(|label| strip_label(id, label))?;
    let (rest, synopsis) = split_synopsis(rest);
    let part = |label| rest.split(SEPARATOR).find_map(|part| strip_label(part, label)).unwrap_or("");
    let aliases = unless_dash(part("aliases:")).split(';').map(str::trim).filter(|alias| !alias.is_empty());
    Some(RegistryLine {
        uid: id.parse().ok(),
        name: part("name:").to_owned(),
        aliases: aliases.map(str::to_owned).collect(),
        synopsis: unless_dash(synopsis).to_owned(),
        text: text.to_owned(),
    })
}

/// The old registry text with the new text's line for one uid, in the new text's order.
pub fn with_line_of(old: &str, new: &str, uid: i64) -> String {
    let old_lines: Vec<&str> = old.lines().collect();
    let mut lines: Vec<&str> = new
        .lines()
        .filter(|line| old_lines.contains(line) || self::line(line).is_some_and(|l| l.uid == Some(uid)))
        .collect();
    lines.extend(old_lines.iter().filter(|line| !new.lines().any(|l| l == **line)));
    lines.join("\n")
}

/// What stands between the parts of a line.
const SEPARATOR: &str = " | ";

/// Cuts the synopsis off the end of a line. It is free text, so a separator inside it belongs to it.
fn split_synopsis(rest: &str) -> (&str, &str) {
    let starts = std::iter::once((0, 0)).chain(rest.match_indices(SEPARATOR).map(|(i, s)| (i, i + s.len())));
    let mut found = starts.filter_map(|(end, start)| {
        let synopsis = strip_label(rest.get(start..)?, "synopsis:")?;
        Some((rest.get(..end)?, synopsis))
    });
    found.next().unwrap_or((rest, ""))
}

/// A part that the extension left empty has a dash.
fn unless_dash(part: &str) -> &str {
    if part == "\u{2014}" { "" } else { part }
}

fn strip_label<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    let text = text.trim();
    let (head, rest) = text.split_at_checked(label.len())?;
    head.eq_ignore_ascii_case(label).then(|| rest.trim())
}

/// One record of `auto_lorebooks.registry.index`, which the extension works from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexRecord {
    /// The entry it refers to.
    pub uid: i64,
    /// The entry's name.
    pub name: String,
}

/// The working index in `chat_metadata`.
pub fn index(metadata: Raw<'_>) -> Vec<IndexRecord> {
    let records = metadata.at(&["auto_lorebooks", "registry", "index"]).unwrap_or(Raw::NULL).members();
    let read = |(key, record): (Raw<'_>, Raw<'_>)| {
        let uid = record.get("uid").and_then(Raw::as_i64).or_else(|| key.as_text()?.parse().ok())?;
        let name = record.get("name").or_else(|| record.get("comment")).and_then(Raw::as_text);
        Some(IndexRecord { uid, name: name.unwrap_or_default().into_owned() })
    };
    records.filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_all_generations() {
        let text = "[Registry: character]\n\
            - UID=9 | name: character-Mara | aliases: mara; captain | synopsis: a | b\n\
            - uid: 10 | name: character-Tolan | aliases: — | synopsis: —\n\
            - id: 11 | name: character-Ana\n\
            - id: char_0001 | name: character-Old\n\
            chatter";
        assert_eq!(kind_of(text), Some("character"));
        let found: Vec<_> = lines(text).into_iter().map(|l| (l.uid, l.name)).collect();
        let expected = [
            (Some(9), "character-Mara"),
            (Some(10), "character-Tolan"),
            (Some(11), "character-Ana"),
            (None, "character-Old"),
        ];
        assert_eq!(found, expected.map(|(uid, name)| (uid, name.to_owned())));
        assert_eq!(kind_of("nothing"), None);
        let found: Vec<_> = lines(text).into_iter().map(|l| (l.aliases.join("+"), l.synopsis)).collect();
        let expected = [("mara+captain", "a | b"), ("", ""), ("", ""), ("", "")];
        assert_eq!(found, expected.map(|(aliases, synopsis)| (aliases.to_owned(), synopsis.to_owned())));
        assert_eq!(lines(&empty("item")), []);
    }
}
