//! The fork tree of a story: a drawing that can be walked through, and the same as a list.

mod draw;
mod plan;

use forklore_core::check::Health;
use forklore_engine::tree::{StoryTree, TreeChat, TreeReport};
use maud::{Markup, html};

use self::plan::TreeDrawing;
use super::parts::{self, crop};
use crate::names::name_of;
use crate::{Here, Page, link, words};

/// The tree of the first story in a report; `now` is the time in milliseconds since 1970.
pub fn page(report: &TreeReport, now: i64) -> Option<Page> {
    let story = report.stories.first()?;
    let plan = TreeDrawing::of(story);
    let title = crop(&story.name, 100);
    let body = html! {
        (parts::crumbs(&[(&title, None)]))
        (head(story, now))
        @if story.chats.is_empty() {
            p.lead { "There is no chat yet. Write with this character in SillyTavern, then come back." }
        } @else {
            (tools(story))
            (filters(story))
            div.stage {
                div #canvas.canvas tabindex="0" role="application" aria-label={ "Fork tree of " (title) } aria-describedby="keys"
                    data-story=(link::story_name(story.kind, &story.folder)) {
                    (draw::draw(&plan))
                }
                canvas #map.map aria-hidden="true" hidden {}
                div #tip.tip hidden {}
                (rowmenu())
            }
            p #keys.quiet.keys {
                kbd { "←" } " " kbd { "→" } " message, with " kbd { "Shift" } " scene or fork · " kbd { "↑" } " " kbd { "↓" } " line · " kbd { "Enter" } " open · "
                kbd { "+" } " " kbd { "−" } " zoom · " kbd { "F" } " fold · " kbd { "C" } " compare · " kbd { "B" } " bring together · " kbd { "M" } " what to do"
            }
            (legend())
            p #spot.unseen aria-live="polite" {}
            (list(story))
        }
    };
    Some(Page { here: Here::Stories, title, styles: &["tree"], scripts: &["tree"], body })
}

fn head(story: &StoryTree, now: i64) -> Markup {
    let forks = story.chats.iter().filter(|chat| matches!(chat.kind, "branch" | "checkpoint")).count();
    let messages = story.chats.iter().map(|chat| chat.messages).max().unwrap_or(0);
    let worst = story.chats.iter().map(|chat| chat.health).max().unwrap_or(Health::Ok);
    let changed = story.chats.iter().map(|chat| &chat.changed).max();
    html! {
        div.storyhead {
            (parts::picture(story.kind, &story.folder, &story.name))
            div {
                h1 { bdi { (crop(&story.name, 200)) } }
                p.facts {
                    span { (words::count(story.chats.len(), "chat")) }
                    span { (words::count(forks, "fork")) }
                    span { "longest " (words::count(messages, "message")) }
                    @if let Some(changed) = changed { span { "played " (parts::time(changed, now)) } }
                    a href=(link::health_of_story(&link::story_name(story.kind, &story.folder))) { (parts::health(worst)) }
                }
            }
        }
    }
}

fn tools(story: &StoryTree) -> Markup {
    html! {
        form.tools #search role="search" {
            label {
                span.unseen { "Search in messages, entries and names" }
                input type="search" name="text" placeholder="Search messages, entries, names" autocomplete="off" maxlength="200";
            }
            span.buttons {
                button type="button" data-zoom="out" aria-label="Zoom out" { "−" }
                button type="button" data-zoom="fit" { "Fit" }
                button type="button" data-zoom="in" aria-label="Zoom in" { "+" }
                button type="button" #dense aria-pressed="false" title="Rows closer to each other" { "Dense" }
                @if story.chats.len() > 3 { button type="button" #foldall aria-pressed="false" { "Fold all" } }
                @if story.chats.len() > 1 {
                    button type="button" #points aria-pressed="false" { "Compare" }
                    button type="button" #pair aria-pressed="false" { "Bring together" }
                }
                details.menu.save {
                    summary.button { "Save" }
                    ul {
                        li { button type="button" data-save="svg" { "Picture as SVG" } }
                        li { button type="button" data-save="png" { "Picture as PNG" } }
                        li { a href=(link::export(&link::story_name(story.kind, &story.folder))) { "Export …" } }
                    }
                }
            }
        }
        section #results.results aria-label="What was found" hidden {}
        p #pairing.pairing role="status" hidden {}
    }
}

/// Which lines are drawn. Scripts do it; without them there is the list.
fn filters(story: &StoryTree) -> Markup {
    let kinds = [
        ("", "All kinds"),
        ("main", "Main"),
        ("branch", "Branches"),
        ("checkpoint", "Checkpoints"),
        ("copy", "Copies"),
    ];
    let times = [("", "Any time"), ("1", "Today"), ("7", "This week"), ("31", "This month")];
    html! {
        @if story.chats.len() > 7 {
            form #filters.filters hidden {
                label { span.unseen { "Kind" } select name="kind" { @for (value, text) in kinds { option value=(value) { (text) } } } }
                label { span.unseen { "Played" } select name="played" { @for (value, text) in times { option value=(value) { (text) } } } }
                label.pick { input type="checkbox" name="ill"; "needs attention" }
                label.pick { input type="checkbox" name="scenes"; "has scenes" }
                span #filtered.quiet role="status" {}
            }
        }
    }
}

/// What can be done with the line that one stands at: a script says which that is.
fn rowmenu() -> Markup {
    html! {
        div #rowmenu.rowmenu role="menu" aria-label="What to do with this chat" hidden {
            @for (act, text) in [("open", "Open"), ("branch", "Branch"), ("checkpoint", "Checkpoint"), ("compare", "Compare …"), ("bring", "Bring along …"), ("rename", "Rename"), ("history", "History"), ("export", "Export …"), ("health", "Health"), ("delete", "Delete")] {
                a role="menuitem" data-act=(act) { (text) }
            }
            a.in-tavern role="menuitem" data-act="tavern" { "Open in SillyTavern" }
        }
    }
}

fn legend() -> Markup {
    html! {
        details.legend {
            summary { "What the marks mean" }
            ul {
                li { svg width="34" height="14" aria-hidden="true" { path.line d="M2 7H32" {} } "a chat, from its first message to its last" }
                li { svg width="34" height="14" aria-hidden="true" { path.line d="M2 2Q2 9 10 9H32" {} circle.fork cx="2" cy="3" r="2" {} } "a branch, where it parts" }
                li { svg width="34" height="20" aria-hidden="true" { path.pole d="M6 19V3" {} path.cloth d="M6 3h11l-3 3.500 3 3.500h-11z" {} } "a checkpoint that was never played on" }
                li { svg width="34" height="14" aria-hidden="true" { path.scene d="M17 2V12" {} } "a scene ends" }
                li { svg width="34" height="14" aria-hidden="true" { path.noted transform="translate(17 7)" d=(draw::STAR) {} } "a star or a note" }
                li { svg width="34" height="14" aria-hidden="true" { path.copy d="M2 7H32" {} } "a copy" }
                li { svg width="34" height="14" aria-hidden="true" { path.ghost d="M2 7H32" {} } "a chat that is gone" }
            }
        }
    }
}

/// The same for whoever does not see the drawing, or wants words.
fn list(story: &StoryTree) -> Markup {
    html! {
        details.list {
            summary { "The tree as a list" }
            ul { @for chat in &story.chats { (item(chat)) } }
        }
    }
}

fn item(chat: &TreeChat) -> Markup {
    let name = crop(&words::chat_name(name_of(&chat.chat)), 200);
    html! {
        li class={ "depth" (chat.depth.min(8)) } {
            a href=(link::moment(&chat.chat, None)) { bdi { (name) } }
            span.quiet {
                (words::count(chat.messages, "message"))
                @if let Some(at) = chat.fork_message {
                    ", " (chat.kind) " "
                    @match (&chat.parent, &chat.lost_parent) {
                        (Some(parent), _) => { "of " bdi { (crop(name_of(parent), 80)) } },
                        (None, Some(lost)) => { "of " bdi { (crop(lost, 80)) } ", which is gone," },
                        (None, None) => {},
                    }
                    " at message " (at)
                }
                @if let Some(name) = &chat.book.name { ", " (chat.book.state) " book " bdi { (crop(name, 80)) } }
                @if let Some(version) = chat.running_recap.current { ", recap " (version) }
                @for note in &chat.notes { ", " a href=(link::moment(&chat.chat, Some(note.message))) { @if note.text.is_empty() { "star" } @else { "note “" bdi { (crop(&note.text, 60)) } "”" } " at message " (note.message) } }
            }
            @if chat.health != Health::Ok { " " (parts::health(chat.health)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forklore_engine::tree::TreeBook;
    use forklore_engine::tree::TreeRecap;
    use forklore_vault::StoryKind;

    fn chat(name: &str, parent: Option<&str>, fork: Option<usize>, messages: usize) -> TreeChat {
        TreeChat {
            chat: format!("Ana/{name}"),
            kind: if parent.is_some() { "branch" } else { "main" },
            messages,
            parent: parent.map(|parent| format!("Ana/{parent}")),
            fork_message: fork,
            learnt: None,
            appended: None,
            story: false,
            open: false,
            notes: Vec::new(),
            lost_parent: None,
            lineage: "recorded",
            confidence: "certain",
            scenes: vec![2, 5],
            scene_names: vec![Some("<b>One</b>".to_owned()), None],
            running_recap: TreeRecap { current: Some(1), versions: 1 },
            book: TreeBook { name: None, state: "none" },
            changed: "2026-01-01T00:00:00Z".to_owned(),
            health: Health::Ok,
            findings: Vec::new(),
            depth: usize::from(parent.is_some()),
        }
    }

    fn story(chats: Vec<TreeChat>) -> StoryTree {
        StoryTree { name: "Ana".to_owned(), kind: StoryKind::Character, folder: "Ana".to_owned(), chats }
    }

    #[test]
    fn the_fork_that_parted_last_stands_next_to_its_parent() {
        let mut late = chat("Late", Some("Main"), Some(8), 20);
        late.kind = "checkpoint";
        let mut mark = chat("Mark", Some("Main"), Some(4), 5);
        mark.kind = "checkpoint";
        let mut lost = chat("Lost", None, Some(3), 9);
        lost.lost_parent = Some("Gone".to_owned());
        let of = [chat("Main", None, None, 12), chat("Early", Some("Main"), Some(2), 30), late, mark, lost];
        let story = story(of.to_vec());
        let plan = TreeDrawing::of(&story);
        let names: Vec<&str> = plan
            .rows
            .iter()
            .map(|row| match row.line {
                plan::Line::Chat(chat) => name_of(&chat.chat),
                plan::Line::Ghost(name) => name,
            })
            .collect();
        assert_eq!(names, ["Main", "Late", "Early", "Gone", "Lost"]);
        assert_eq!(plan.rows[0].below, 2);
        assert_eq!((plan.flags[0].row, plan.flags[0].at), (0, 4), "never played on: a flag");
        assert_eq!(plan.last, 29);
    }

    #[test]
    fn chats_that_would_be_called_the_same_are_told_apart() {
        let begun = |seconds: &str| format!("Ana - 2026-11-15@01h22m{seconds}s123ms");
        let of = [
            chat(&begun("11"), None, None, 4),
            chat(&begun("16"), None, None, 5),
            chat("Ana - 2026-11-16@05h00m00s000ms", None, None, 2),
        ];
        let story = story(of.to_vec());
        let names: Vec<String> = TreeDrawing::of(&story).rows.iter().map(|row| row.name.clone()).collect();
        assert_eq!(
            names,
            ["15 November 2026, 1:22:11", "15 November 2026, 1:22:16", "16 November 2026, 5:00"]
        );
    }

    #[test]
    fn chats_that_are_each_others_parents_are_drawn_all_the_same() {
        let story = story(vec![chat("A", Some("B"), Some(1), 4), chat("B", Some("A"), Some(1), 4)]);
        assert_eq!(TreeDrawing::of(&story).rows.len(), 2);
    }

    #[test]
    fn a_deep_story_and_hostile_names_are_drawn() {
        let mut chats = vec![chat("0", None, None, 3)];
        for i in 1..3000 {
            chats.push(chat(&i.to_string(), Some(&(i - 1).to_string()), Some(1), 3));
        }
        chats[5].chat = "Ana/<script>alert(1)</script>\u{202e}".to_owned();
        let report = TreeReport { stories: vec![story(chats)] };
        let html = page(&report, 0).unwrap().body.into_string();
        assert!(!html.contains("<script>") && !html.contains("<b>One"));
        // Addresses are attributes, which nobody sees; texts are tamed.
        assert!(!html.contains("\u{202e}<"));
    }

    #[test]
    fn three_hundred_chats_are_less_than_half_a_megabyte() {
        let mut chats = vec![chat("Main", None, None, 2000)];
        for i in 1..300 {
            let mut fork = chat(
                &format!("A chat with a name of usual length {i}"),
                Some("Main"),
                Some(i * 6),
                i * 6 + 60,
            );
            // 20,000 messages in all, and a scene every 10.
            fork.scenes = (0..6).map(|s| i * 6 + 1 + s * 10).collect();
            fork.scene_names = vec![Some("The lantern on the pier".to_owned()); 6];
            fork.book = TreeBook { name: Some("z-AutoLB-Ana".to_owned()), state: "own" };
            chats.push(fork);
        }
        let report = TreeReport { stories: vec![story(chats)] };
        let html = page(&report, 0).unwrap().body.into_string();
        assert!(html.len() < 500_000, "{}", html.len());
    }
}
