//! Registries: entries `_registry_<type>` whose text lists other entries by uid, in three generations of syntax.

use crate::adapter::registry::RegistryLine;

/// How the title of a registry starts.
pub(super) const PREFIX: &str = "_registry_";

/// The type that a registry lists, from its first line `[Registry: type]`.
pub(super) fn kind_of(content: &str) -> Option<&str> {
    content.lines().next()?.trim().strip_prefix("[Registry:")?.strip_suffix(']').map(str::trim)
}

/// One line: `- UID=9 | name: …`, `- uid: 9 | name: …`, `- id: 9 | name: …` or `- id: char_0001 | name: …`.
pub(super) fn line(text: &str) -> Option<RegistryLine> {
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

/// The same line with another number; `None` if it has none.
pub(super) fn renumber(text: &str, uid: i64) -> Option<String> {
    let old = line(text)?.uid?.to_string();
    let id = text.find(SEPARATOR).unwrap_or(text.len());
    let start = text[..id].rfind(&old)?;
    Some([&text[..start], &uid.to_string(), &text[start + old.len()..]].concat())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::registry::lines;

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
        let renumbered = text.lines().filter_map(|line| renumber(line, 40)).collect::<Vec<_>>();
        let expected = [
            "- UID=40 | name: character-Mara | aliases: mara; captain | synopsis: a | b",
            "- uid: 40 | name: character-Tolan | aliases: — | synopsis: —",
            "- id: 40 | name: character-Ana",
        ];
        assert_eq!(renumbered, expected);
        assert_eq!(kind_of("nothing"), None);
        let found: Vec<_> = lines(text).into_iter().map(|l| (l.aliases.join("+"), l.synopsis)).collect();
        let expected = [("mara+captain", "a | b"), ("", ""), ("", ""), ("", "")];
        assert_eq!(found, expected.map(|(aliases, synopsis)| (aliases.to_owned(), synopsis.to_owned())));
        assert_eq!(lines("[Registry: item]"), []);
    }
}
