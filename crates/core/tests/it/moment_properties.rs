//! Moments: equal exactly when the shown prefixes are, whatever else is written into the lines.

use forklore_core::story::{align, common_prefix};
use forklore_json::quote;
use proptest::prelude::*;

use crate::transcript;

/// One message of the story, and how its line happens to be written.
#[derive(Debug, Clone)]
struct Told {
    user: bool,
    text: String,
    date: u8,
    writing: Writing,
}

#[derive(Debug, Clone)]
struct Writing {
    name: String,
    hidden: u8,
    extra: String,
    escaped: bool,
    swipes: Vec<String>,
    key_order: bool,
}

impl Told {
    fn line(&self) -> String {
        let w = &self.writing;
        let quoted = |text: &str| {
            if w.escaped {
                // Another writer of JSON: every unit as \uXXXX. The text is the same.
                let units: String = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
                format!("\"{units}\"")
            } else {
                String::from_utf8(quote(text)).unwrap()
            }
        };
        let hidden = ["false", "true", "\"\"", "null"][usize::from(w.hidden % 4)];
        let swipes: Vec<String> = w.swipes.iter().map(|s| quoted(s)).collect();
        let name = String::from_utf8(quote(&w.name)).unwrap();
        let extra = String::from_utf8(quote(&w.extra)).unwrap();
        let [a, b] = [
            format!("\"name\":{name},\"is_system\":{hidden},\"extra\":{{\"x\":{extra}}}"),
            format!(
                "\"is_user\":{},\"mes\": {},\"send_date\":\"{}\",\"swipes\":[{}]",
                self.user,
                quoted(&self.text),
                self.date,
                swipes.join(",")
            ),
        ];
        if w.key_order { format!("{{{a},{b}}}") } else { format!("{{{b}, {a}}}") }
    }
}

fn writing() -> impl Strategy<Value = Writing> {
    let swipes = prop::collection::vec("[ab]{0,2}", 0..3);
    ("[A-C]", any::<u8>(), any::<String>(), any::<bool>(), swipes, any::<bool>()).prop_map(
        |(name, hidden, extra, escaped, swipes, key_order)| Writing {
            name,
            hidden,
            extra,
            escaped,
            swipes,
            key_order,
        },
    )
}

fn story() -> impl Strategy<Value = Vec<Told>> {
    let text = prop_oneof![Just("a".to_owned()), Just("b".to_owned()), Just("Zoë 🐉\n\"".to_owned())];
    let told = (any::<bool>(), text, 0..3u8, writing()).prop_map(|(user, text, date, writing)| Told {
        user,
        text,
        date,
        writing,
    });
    prop::collection::vec(told, 0..8)
}

fn lines(story: &[Told]) -> Vec<String> {
    story.iter().map(Told::line).collect()
}

proptest! {
    #[test]
    fn moments_are_equal_exactly_when_the_shown_prefixes_are(a in story(), b in story()) {
        let (lines_a, lines_b) = (lines(&a), lines(&b));
        let ours = transcript(lines_a.iter().map(String::as_str));
        let theirs = transcript(lines_b.iter().map(String::as_str));
        let same = a.iter().zip(&b).take_while(|(x, y)| x.user == y.user && x.text == y.text).count();
        for i in 0..a.len().min(b.len()) {
            prop_assert_eq!(ours.moment(i) == theirs.moment(i), i < same, "message {}", i);
        }
        prop_assert_eq!(common_prefix(&ours, &theirs), same);
    }

    #[test]
    fn how_a_line_is_written_changes_no_moment(a in story(), writings in prop::collection::vec(writing(), 8)) {
        let rewritten: Vec<Told> =
            a.iter().zip(&writings).map(|(told, w)| Told { writing: w.clone(), ..told.clone() }).collect();
        let (before, after) = (lines(&a), lines(&rewritten));
        let (before, after) = (transcript(before.iter().map(String::as_str)), transcript(after.iter().map(String::as_str)));
        for i in 0..a.len() {
            prop_assert_eq!(before.moment(i), after.moment(i));
            prop_assert_eq!(before.row(i).unwrap().id, after.row(i).unwrap().id);
        }
    }

    #[test]
    fn another_text_or_speaker_changes_every_later_moment(a in story(), at in any::<prop::sample::Index>(), who in any::<bool>()) {
        prop_assume!(!a.is_empty());
        let at = at.index(a.len());
        let mut b = a.clone();
        if who { b[at].user = !b[at].user } else { b[at].text.push('!') }
        let (ours, theirs) = (lines(&a), lines(&b));
        let (ours, theirs) = (transcript(ours.iter().map(String::as_str)), transcript(theirs.iter().map(String::as_str)));
        for i in 0..a.len() {
            prop_assert_eq!(ours.moment(i) == theirs.moment(i), i < at);
        }
    }

    #[test]
    fn thinning_a_transcript_keeps_the_rest_aligned(gone in prop::collection::btree_set(0..40usize, 0..10)) {
        let all: Vec<String> = (0..40).map(|i| format!(r#"{{"is_user":false,"mes":"m{i}","send_date":"{i}"}}"#)).collect();
        let kept: Vec<usize> = (0..40).filter(|i| !gone.contains(i)).collect();
        let whole = transcript(all.iter().map(String::as_str));
        let thin = transcript(kept.iter().map(|i| all[*i].as_str()));
        let pairs: Vec<(usize, usize)> = kept.iter().copied().enumerate().collect();
        prop_assert_eq!(align(&thin, &whole, common_prefix(&thin, &whole)).pairs, pairs);
    }
}
