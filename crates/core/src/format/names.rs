//! Names as SillyTavern makes and cleans them: [`sanitize`] for files, [`ForkName`] for what a fork's name tells.

/// Cleans a file name as the npm package `sanitize-filename` does, which SillyTavern applies to `name + extension`.
///
/// The result can be empty: for `..`, and for Windows device names such as `CON.json`.
pub fn sanitize(name: &str) -> String {
    let kept: String = name.chars().filter(|c| is_kept(*c)).collect();
    if !kept.is_empty() && kept.chars().all(|c| c == '.') {
        return String::new();
    }
    if is_device(&kept) {
        return String::new();
    }
    let trimmed = kept.trim_end_matches(['.', ' ']);
    let mut end = trimmed.len().min(255);
    while !trimmed.is_char_boundary(end) {
        end -= 1;
    }
    trimmed[..end].to_owned()
}

/// Whether a character may stand in a file name.
pub(crate) fn is_kept(c: char) -> bool {
    !matches!(c, '/' | '?' | '<' | '>' | '\\' | ':' | '*' | '|' | '"')
        && !matches!(u32::from(c), 0..=0x1f | 0x80..=0x9f)
}

/// Windows keeps these names for devices, with any extension.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or("").to_ascii_lowercase();
    let numbered = |base: &str| {
        stem.strip_prefix(base)
            .is_some_and(|rest| rest.len() == 1 && rest.bytes().all(|c| c.is_ascii_digit()))
    };
    matches!(stem.as_str(), "con" | "prn" | "aux" | "nul") || numbered("com") || numbered("lpt")
}

/// The name of a chat's file without the extension, for a name that a user typed or a header holds.
pub fn chat_stem(name: &str) -> String {
    let file = sanitize(&format!("{name}.jsonl"));
    file.strip_suffix(".jsonl").map_or(file.clone(), str::to_owned)
}

/// The name of a book's file without the extension.
pub fn book_stem(name: &str) -> String {
    let file = sanitize(&format!("{name}.json"));
    file.strip_suffix(".json").map_or(file.clone(), str::to_owned)
}

/// What the name of a chat tells of its making.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkName<'a> {
    /// `<base> - Branch #n`, or the older `Branch #n - <base>`
    Branch(&'a str),
    /// `<base> - Checkpoint #n`, or the older `Checkpoint #n - <base>` and `Bookmark #n - <base>`
    Checkpoint(&'a str),
    /// Any other name
    Plain,
}

impl<'a> ForkName<'a> {
    /// Reads a chat's name.
    pub fn read(name: &'a str) -> Self {
        let suffix = |word: &str| {
            let (base, number) = name.rsplit_once(word)?;
            is_number(number).then_some(base)
        };
        let prefix = |word: &str| {
            let (number, base) = name.strip_prefix(word)?.split_once(" - ")?;
            is_number(number).then_some(base)
        };
        if let Some(base) = suffix(" - Branch #").or_else(|| prefix("Branch #")) {
            return Self::Branch(base);
        }
        let checkpoint =
            suffix(" - Checkpoint #").or_else(|| prefix("Checkpoint #")).or_else(|| prefix("Bookmark #"));
        checkpoint.map_or(Self::Plain, Self::Checkpoint)
    }

    /// The message that a chat was forked at, which its name tells if it is `Branch #n - <time>`: older versions named it so.
    pub fn message(name: &str) -> Option<usize> {
        let (number, _) = name.strip_prefix("Branch #")?.split_once(" - ")?;
        number.parse().ok().filter(|_| is_number(number))
    }

    /// The name that this one was derived from.
    pub fn base(self) -> Option<&'a str> {
        match self {
            Self::Branch(base) | Self::Checkpoint(base) => Some(base),
            Self::Plain => None,
        }
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit())
}

/// Whether a file name is what an interrupted save of SillyTavern leaves behind: `name.jsonl.123456`.
pub fn is_save_litter(file: &str) -> bool {
    let Some((stem, digits)) = file.rsplit_once('.') else { return false };
    is_number(digits) && (stem.ends_with(".jsonl") || stem.ends_with(".json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sanitizes_as_the_npm_package_does() {
        assert_eq!(sanitize("My: \"odd\" name/1?.jsonl"), "My odd name1.jsonl");
        assert_eq!(sanitize("CON.json"), "");
        assert_eq!(sanitize("com7"), "");
        assert_eq!(sanitize("COM10.json"), "COM10.json");
        assert_eq!(sanitize(".."), "");
        assert_eq!(sanitize("dots. . "), "dots");
        assert_eq!(sanitize("tab\there\u{85}"), "tabhere");
        assert_eq!(sanitize(&"é".repeat(200)).len(), 254);
        assert_eq!(chat_stem("trailing "), "trailing ");
        assert_eq!(book_stem("z: <book>"), "z book");
    }

    #[test]
    fn reads_names_of_forks_old_and_new() {
        assert_eq!(ForkName::read("Ana - Branch #2"), ForkName::Branch("Ana"));
        assert_eq!(ForkName::read("X - Branch #1 - Checkpoint #3"), ForkName::Checkpoint("X - Branch #1"));
        assert_eq!(
            ForkName::read("Branch #7 - 2025-11-21@20h36m45s"),
            ForkName::Branch("2025-11-21@20h36m45s")
        );
        assert_eq!(ForkName::read("Bookmark #1 - Ana"), ForkName::Checkpoint("Ana"));
        assert_eq!(ForkName::read("Ana - Branch #x"), ForkName::Plain);
    }

    #[test]
    fn knows_the_litter_of_a_killed_save() {
        assert!(is_save_litter("Ana.jsonl.1234567"));
        assert!(is_save_litter("book.json.99"));
        assert!(!is_save_litter("Ana.jsonl"));
        assert!(!is_save_litter("v1.2"));
    }
}
