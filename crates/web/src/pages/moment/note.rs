//! A star and a note at the moment that one is at.

use forklore_engine::line::Line;
use forklore_engine::notes::{LETTERS, Note};
use maud::{Markup, html};

use crate::pages::parts::crop;

/// How much of an earlier note is shown.
const CROPPED: usize = 60;

/// What is noted here, and where to note something. `notes` are all of the line, `earlier` what was noted here before.
pub(super) fn note(line: &Line, at: usize, notes: &[Note], earlier: &[Note]) -> Markup {
    let note = notes.iter().find(|note| note.message == at);
    let star = note.is_some_and(|note| note.star);
    let text = note.map_or("", |note| &note.text);
    html! {
        form.noting method="post" action="act" data-stay {
            input type="hidden" name="kind" value="note";
            input type="hidden" name="chat" value=(line.chat);
            input type="hidden" name="at" value=(at);
            input type="hidden" name="starred" value=(star);
            button.star name="star" value=(!star) aria-pressed=(star) {
                span aria-hidden="true" { (if star { "★" } else { "☆" }) } span.unseen { "Star on message " (at) }
            }
            @if !text.is_empty() { p.jotting dir="auto" { (text) } }
            details.write {
                summary { (if text.is_empty() { "Note" } else { "Change" }) }
                label { span.unseen { "Note at message " (at) } textarea name="text" rows="2" maxlength=(LETTERS) { (text) } }
                button { "Save" }
            }
        }
        @if let Some(was) = earlier.iter().find(|was| was.text != text) {
            form.noting.earlier method="post" action="act" data-stay { (again(&line.chat, was, star)) }
        }
    }
}

/// What brings back a note that was changed or taken away: writing it again. `star`: there is one by now.
pub(in crate::pages) fn again(chat: &str, was: &Note, star: bool) -> Markup {
    html! {
        input type="hidden" name="kind" value="note";
        input type="hidden" name="chat" value=(chat);
        input type="hidden" name="at" value=(was.message);
        input type="hidden" name="starred" value=(was.star || star);
        input type="hidden" name="text" value=(was.text);
        button { "Bring back “" bdi { (crop(&was.text, CROPPED)) } "”" }
    }
}
