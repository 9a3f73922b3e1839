//! [`TextMerge`]: two versions of a text brought together, against the text that both come from.
//!
//! Line by line, and sentence by sentence where both changed the same lines. Never word by word: "trusts Ned and Ada", "trusts Ned" and "never
//! trusts Ned and Ada" would become "never trusts Ned", which nobody wrote. Where both say something else, it is A's that stands, and asked.

use unicode_segmentation::UnicodeSegmentation as _;

use crate::diff::{Effort, pairs};

/// Two versions of a text brought together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextMerge {
    pieces: Vec<Piece>,
}

/// A part of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    /// What both, or the only one that changed it, say
    Settled(String),
    /// What each says
    Asked { a: String, b: String },
}

/// Which of two versions stands where both say something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preferred {
    /// A's
    A,
    /// B's
    B,
    /// A's, then B's
    Both,
}

impl TextMerge {
    /// Brings two versions of a text together. Without a text that both come from, whatever they do not agree on is asked.
    pub fn of(base: Option<&str>, a: &str, b: &str, effort: &mut Effort) -> Self {
        let mut merge = Self::default();
        match base {
            _ if a == b => merge.settle(a),
            Some(base) if base == b => merge.settle(a),
            Some(base) if base == a => merge.settle(b),
            Some(base) => merge.by_lines(base, a, b, effort),
            None => merge.ask(a, b),
        }
        merge
    }

    /// Whether something is asked.
    pub fn is_asked(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Asked { .. }))
    }

    /// The text, with one of the versions where both say something else.
    pub fn text(&self, preferred: Preferred) -> String {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Settled(settled) => text.push_str(settled),
                Piece::Asked { a, b } => match preferred {
                    Preferred::A => text.push_str(a),
                    Preferred::B => text.push_str(b),
                    Preferred::Both => text.push_str(&both(a, b)),
                },
            }
        }
        text
    }

    fn settle(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(Piece::Settled(last)) => last.push_str(text),
            _ => self.pieces.push(Piece::Settled(text.to_owned())),
        }
    }

    fn ask(&mut self, a: &str, b: &str) {
        self.pieces.push(Piece::Asked { a: a.to_owned(), b: b.to_owned() });
    }

    fn by_lines(&mut self, base: &str, a: &str, b: &str, effort: &mut Effort) {
        // The last line has no newline; while they are compared, it has one, so that a line is a line wherever it stands.
        let [base, a, b] = [base, a, b].map(|text| format!("{text}\n"));
        let lines = |text: &str| text.split_inclusive('\n').map(str::to_owned).collect::<Vec<_>>();
        let [base, a, b] = [&base, &a, &b].map(|text| lines(text));
        for region in regions(&base, &a, &b, effort) {
            let [base, a, b] = region;
            match settled(base, a, b) {
                Some(text) => self.settle(&text.concat()),
                None if is_list(a) && is_list(b) && base.is_empty() => {
                    self.settle(&both(&a.concat(), &b.concat()));
                }
                None => self.by_sentences(&base.concat(), &a.concat(), &b.concat(), effort),
            }
        }
        self.drop_newline();
    }

    fn by_sentences(&mut self, base: &str, a: &str, b: &str, effort: &mut Effort) {
        let sentences = |text: &str| text.split_sentence_bounds().map(str::to_owned).collect::<Vec<_>>();
        let [old, ours, theirs] = [base, a, b].map(sentences);
        let regions = regions(&old, &ours, &theirs, effort);
        // What is asked is read: where only crumbs are settled, the lines are asked as they stand.
        let asked = regions.iter().filter(|[base, a, b]| settled(base, a, b).is_none()).count();
        if asked > 1 {
            self.ask(a, b);
            return;
        }
        for [base, a, b] in regions {
            match settled(base, a, b) {
                Some(text) => self.settle(&text.concat()),
                None => self.ask(&a.concat(), &b.concat()),
            }
        }
    }

    /// Takes off what was put behind the last line.
    fn drop_newline(&mut self) {
        let Some(last) = self.pieces.last_mut() else { return };
        let texts = match last {
            Piece::Settled(text) => vec![text],
            Piece::Asked { a, b } => vec![a, b],
        };
        for text in texts {
            if text.ends_with('\n') {
                text.pop();
            }
        }
    }
}

/// The same part of the three texts.
type Region<'a, T> = [&'a [T]; 3];

/// The parts between elements that all three have.
fn regions<'a>(
    base: &'a [String],
    a: &'a [String],
    b: &'a [String],
    effort: &mut Effort,
) -> Vec<Region<'a, String>> {
    let (ours, theirs) = (pairs(base, a, effort), pairs(base, b, effort));
    let mut theirs = theirs.into_iter().peekable();
    let mut regions: Vec<Region<'a, String>> = Vec::new();
    let mut from = [0, 0, 0];
    for (i, j) in ours {
        while theirs.next_if(|(other, _)| *other < i).is_some() {}
        let Some((_, k)) = theirs.next_if(|(other, _)| *other == i) else { continue };
        regions.push([&base[from[0]..i], &a[from[1]..j], &b[from[2]..k]]);
        regions.push([&base[i..=i], &a[j..=j], &b[k..=k]]);
        from = [i + 1, j + 1, k + 1];
    }
    regions.push([&base[from[0]..], &a[from[1]..], &b[from[2]..]]);
    regions.retain(|[base, a, b]| !(base.is_empty() && a.is_empty() && b.is_empty()));
    regions
}

/// What a part becomes where not both changed it, or both in the same way.
fn settled<'a>(base: &[String], a: &'a [String], b: &'a [String]) -> Option<&'a [String]> {
    if a == b || b == base {
        Some(a)
    } else if a == base {
        Some(b)
    } else {
        None
    }
}

/// Whether lines are items of a list: extensions and people keep one fact a line there, and the order says nothing.
fn is_list(lines: &[String]) -> bool {
    let is_item = |line: &String| {
        let text = line.trim_start();
        let number = text.trim_start_matches(|c: char| c.is_ascii_digit());
        let numbered = number.len() < text.len() && number.starts_with(['.', ')']);
        text.is_empty() || text.starts_with(['-', '*', '•', '–', '+']) || numbered
    };
    !lines.is_empty() && lines.iter().all(is_item)
}

/// A's text and then what B's has besides.
fn both(a: &str, b: &str) -> String {
    let known: Vec<&str> = a.lines().collect();
    let more: Vec<&str> =
        b.split_inclusive('\n').filter(|line| !known.contains(&line.trim_end_matches('\n'))).collect();
    let gap = if a.is_empty() || more.is_empty() || a.ends_with(char::is_whitespace) { "" } else { "\n" };
    [a, gap, &more.concat()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(base: &str, a: &str, b: &str) -> (String, bool) {
        let merge = TextMerge::of(Some(base), a, b, &mut Effort::default());
        (merge.text(Preferred::A), merge.is_asked())
    }

    #[test]
    fn never_by_words() {
        let (base, a, b) = ("She trusts Ned and Ada.", "She trusts Ned.", "She never trusts Ned and Ada.");
        assert_eq!(merged(base, a, b), (a.to_owned(), true));
        let merge = TextMerge::of(Some(base), a, b, &mut Effort::default());
        assert_eq!(merge.text(Preferred::B), b);
        assert_eq!(merge.text(Preferred::Both), format!("{a}\n{b}"));
    }

    #[test]
    fn lines_and_sentences_that_only_one_changed_are_taken() {
        let base = "Ana is a smith.\nShe is tall.\nShe lives in Tern.";
        let a = "Ana is a baker.\nShe is tall.\nShe lives in Tern.";
        let b = "Ana is a smith.\nShe is tall.\nShe lives in Orr.\n- owes Ned";
        assert_eq!(
            merged(base, a, b),
            ("Ana is a baker.\nShe is tall.\nShe lives in Orr.\n- owes Ned".to_owned(), false)
        );
        let base = "One is here. Two is here. Three is here.";
        let a = "One is gone. Two is here. Three is here.";
        let b = "One is here. Two is here. Three is lost.";
        assert_eq!(merged(base, a, b), ("One is gone. Two is here. Three is lost.".to_owned(), false));
    }

    #[test]
    fn both_added_to_a_list() {
        let (base, a, b) = ("Facts:\n- one", "Facts:\n- one\n- two", "Facts:\n- one\n- three\n- two");
        assert_eq!(merged(base, a, b), ("Facts:\n- one\n- two\n- three".to_owned(), false));
        // Prose has an order, and may contradict itself.
        let (base, a, b) = ("One.", "One.\nShe left.", "One.\nShe stayed.");
        assert_eq!(merged(base, a, b), (a.to_owned(), true));
    }
}
