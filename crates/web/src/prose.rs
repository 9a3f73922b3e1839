//! [`said`]: what somebody says in a story, as SillyTavern shows it: emphasis, quotes and code. Nothing else is a mark, and everything is
//! escaped.

use maud::{Markup, html};

/// A text with its marks turned into elements. A mark that is never closed is a letter like others.
pub(crate) fn said(text: &str) -> Markup {
    html! { @for (i, line) in text.split('\n').enumerate() { @if i > 0 { "\n" } (inline(line)) } }
}

/// A mark: what opens it, what closes it, what it becomes.
#[derive(Clone, Copy)]
enum Kind {
    Code,
    Both,
    Strong,
    Em,
    Quote,
}

const MARKS: [(&str, &str, Kind); 9] = [
    ("`", "`", Kind::Code),
    ("***", "***", Kind::Both),
    ("**", "**", Kind::Strong),
    ("*", "*", Kind::Em),
    ("_", "_", Kind::Em),
    ("\"", "\"", Kind::Quote),
    ("“", "”", Kind::Quote),
    ("«", "»", Kind::Quote),
    ("「", "」", Kind::Quote),
];

/// So far, in bytes, and at so many places it is looked for what closes a mark.
const LONGEST: usize = 4000;
const TRIES: usize = 8;
/// So deep marks stand in each other.
const DEEPEST: usize = 4;

fn inline(line: &str) -> Markup {
    within(line, DEEPEST)
}

fn within(text: &str, deep: usize) -> Markup {
    let mut pieces: Vec<Markup> = Vec::new();
    let (mut plain, mut at) = (0, 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let Some((kind, inner, end)) = (deep > 0).then(|| opened(text, at)).flatten() else {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        };
        pieces.push(html! { (text[plain..at]) });
        let whole = &text[at..end];
        pieces.push(match kind {
            Kind::Code => html! { code { (inner) } },
            Kind::Both => html! { strong { em { (within(inner, deep - 1)) } } },
            Kind::Strong => html! { strong { (within(inner, deep - 1)) } },
            Kind::Em => html! { em { (within(inner, deep - 1)) } },
            // The marks of a quote are part of what is read.
            Kind::Quote => {
                let open = whole.len() - whole.trim_start_matches(['"', '“', '«', '「']).len();
                let close = whole.len() - open - inner.len();
                html! { span.quote { (whole[..open]) (within(inner, deep - 1)) (whole[whole.len() - close..]) } }
            }
        });
        (at, plain) = (end, end);
    }
    pieces.push(html! { (text[plain..]) });
    html! { @for piece in pieces { (piece) } }
}

/// The mark that opens here, what stands in it, and where it ends.
fn opened(text: &str, at: usize) -> Option<(Kind, &str, usize)> {
    let rest = &text[at..];
    let (open, close, kind) = *MARKS.iter().find(|(open, ..)| rest.starts_with(open))?;
    let inner = &rest[open.len()..];
    let word = |c: char| c.is_alphanumeric();
    // snake_case is no emphasis.
    if open == "_" && text[..at].chars().next_back().is_some_and(word) {
        return None;
    }
    let inner = &inner[..inner.floor_char_boundary(LONGEST)];
    let spaced = inner.starts_with(char::is_whitespace);
    let mut from = 0;
    for _ in 0..TRIES {
        let found = from + inner[from..].find(close)?;
        let (before, after) = (&inner[..found], &inner[found + close.len()..]);
        let emphasis = matches!(kind, Kind::Em | Kind::Strong | Kind::Both);
        let fits = !before.trim().is_empty()
            && !(emphasis && (spaced || before.ends_with(char::is_whitespace)))
            && !(open == "_" && after.starts_with(word))
            && !(open == "*" && (after.starts_with('*') || before.ends_with('*')));
        if fits {
            return Some((kind, before, at + open.len() + found + close.len()));
        }
        if spaced && emphasis {
            return None;
        }
        from = found + close.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_elements_and_everything_else_stays_text() {
        let of = |text: &str| said(text).into_string();
        assert_eq!(
            of("*He nods.* \"Yes, **now**.\""),
            "<em>He nods.</em> <span class=\"quote\">&quot;Yes, <strong>now</strong>.&quot;</span>"
        );
        assert_eq!(
            of("“Run!” ***Now.***"),
            "<span class=\"quote\">“Run!”</span> <strong><em>Now.</em></strong>"
        );
        assert_eq!(
            of("2 * 3 * 4, snake_case_name, a *lone star"),
            "2 * 3 * 4, snake_case_name, a *lone star"
        );
        assert_eq!(of("`a <b> *c*` _x_"), "<code>a &lt;b&gt; *c*</code> <em>x</em>");
        assert_eq!(of("<img src=x> *<script>*"), "&lt;img src=x&gt; <em>&lt;script&gt;</em>");
        assert_eq!(of("a *b\nc* d"), "a *b\nc* d", "a mark ends with its line");
        assert_eq!(of("**燈** \"\" **"), "<strong>燈</strong> &quot;&quot; **");
    }

    #[test]
    fn a_million_marks_are_read_in_no_time() {
        said(&"*".repeat(20_000));
        said(&"\"*_`".repeat(5_000));
    }
}
