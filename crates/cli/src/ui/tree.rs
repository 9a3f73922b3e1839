//! The fork tree, and the list of stories.

use std::io::{self, Write as _};

use anstyle::Style;
use forklore_core::check::Health;
use forklore_engine::stories::StoriesReport;
use forklore_engine::tree::{self, StoryTree, TreeChat, TreeReport};
use unicode_width::UnicodeWidthStr;

use super::parts::headline;
use super::style::{BAD, BOLD, BRANCH, DIM, GOOD, NOTE, WARN, cut_middle, pad, tame, width};
use super::words::{count, size};

/// Prints the stories as a table.
pub(crate) fn stories(report: &StoriesReport) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    if report.stories.is_empty() {
        return writeln!(out, "There are no stories here yet.");
    }
    let widest = report.stories.iter().map(|s| tame(&s.name).width()).max().unwrap_or(0).min(40);
    for story in &report.stories {
        let (mark, style) = health_mark(story.health);
        let name = pad(&cut_middle(&story.name, widest), widest);
        let kind = if story.kind == forklore_vault::StoryKind::Group { "group" } else { "" };
        let numbers = format!(
            "{:>5} {:<6} {:>4} {:<6} {:>6} messages at most  {:>9}",
            story.chats,
            if story.chats == 1 { "chat" } else { "chats" },
            story.forks,
            if story.forks == 1 { "fork" } else { "forks" },
            story.longest,
            size(story.bytes)
        );
        writeln!(out, "{style}{mark}{style:#} {BOLD}{name}{BOLD:#} {numbers}  {DIM}{kind}{DIM:#}")?;
    }
    Ok(())
}

/// Prints the fork trees.
pub(crate) fn tree(report: &TreeReport) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let mut first = true;
    for story in &report.stories {
        if !first {
            writeln!(out)?;
        }
        first = false;
        draw_story(&mut out, story)?;
    }
    if report.stories.is_empty() {
        writeln!(out, "There are no stories here yet.")?;
    }
    Ok(())
}

/// One row of the drawing, before it is laid out.
struct Row<'a> {
    lines: String,
    /// What goes on beside further lines about the same chat: forks of its parents that are still to come, and its own.
    guide: String,
    /// `None` for a parent that is gone.
    chat: Option<&'a TreeChat>,
    name: String,
}

fn draw_story(out: &mut impl io::Write, story: &StoryTree) -> io::Result<()> {
    let forks = story.chats.iter().filter(|c| c.kind == "branch" || c.kind == "checkpoint").count();
    let summary = format!("{}, {}", count(story.chats.len(), "chat"), count(forks, "fork"));
    writeln!(out, "{}  {DIM}{summary}{DIM:#}", headline(&tame(&story.name)))?;
    let rows = rows(story);
    // The names take what they need and no more than the badges leave.
    let badges = 46;
    let widest = rows.iter().map(|r| r.lines.width() + 2 + r.name.width()).max().unwrap_or(0);
    let deepest = rows.iter().map(|r| r.lines.width()).max().unwrap_or(0);
    // However deep a fork stands, some of its name is shown.
    let column = widest.min(width().saturating_sub(badges + 2)).max(30).max(deepest + 16);
    for row in &rows {
        draw_row(out, row, column)?;
    }
    if story.chats.iter().any(|chat| chat.health != Health::Ok) {
        writeln!(out, "{DIM}  ✗ error, ! warning: `forklore check` explains{DIM:#}")?;
    }
    Ok(())
}

fn draw_row(out: &mut impl io::Write, row: &Row<'_>, column: usize) -> io::Result<()> {
    let Some(chat) = row.chat else {
        let name = cut_middle(&row.name, column);
        return writeln!(out, "{DIM}{}○ {name}  (gone){DIM:#}", row.lines);
    };
    let (glyph, style) = kind_mark(chat.kind);
    let room = column.saturating_sub(row.lines.width() + 2);
    let name = pad(&cut_middle(&row.name, room), room);
    let messages = format!("{:>6}", chat.messages);
    let scenes = match chat.scenes.len() {
        0 => String::new(),
        n => count(n, "scene"),
    };
    let recap = chat.running_recap.current.map(|v| format!("recap {v}")).unwrap_or_default();
    let (book, book_style) = match chat.book.state {
        "own" => ("own book", GOOD),
        "shared" => ("shared book", BAD),
        "missing" => ("book missing", BAD),
        _ => ("no book", DIM),
    };
    let (mark, mark_style) = health_mark(chat.health);
    writeln!(
        out,
        "{DIM}{}{DIM:#}{style}{glyph}{style:#} {name}{messages} {DIM}msg{DIM:#}  {}{}{book_style}{}{book_style:#}{mark_style}{}{mark_style:#}",
        row.lines,
        pad(&scenes, 10),
        pad(&recap, 10),
        if mark == " " { book.to_owned() } else { pad(book, 13) },
        mark.trim(),
    )?;
    let guide = pad(&row.guide, row.lines.width() + 2);
    let room = width().saturating_sub(row.lines.width() + 40).max(16);
    if chat.story {
        writeln!(out, "{DIM}{guide}{DIM:#}{GOOD}★ the story goes on here{GOOD:#}")?;
    }
    if let Some(appended) = &chat.appended {
        let from = appended.chat.as_deref().map_or(appended.name.as_str(), base_name);
        let gone = if appended.chat.is_none() { ", which is gone" } else { "" };
        let (from, first, last) = (cut_middle(from, room), appended.first, appended.message);
        writeln!(out, "{DIM}{guide}⤷ goes on with messages {first} to {last} of {from}{gone}{DIM:#}")?;
    }
    let Some(learnt) = &chat.learnt else { return Ok(()) };
    let from = learnt.chat.as_deref().map_or(learnt.name.as_str(), base_name);
    let gone = if learnt.chat.is_none() { ", which is gone" } else { "" };
    let open = match learnt.conflicts {
        0 => String::new(),
        n => format!("; {} open", count(n, "question")),
    };
    let from = cut_middle(from, room);
    writeln!(out, "{DIM}{guide}⤷ knows what happened in {from} until {}{gone}{open}{DIM:#}", learnt.message)
}

/// Lays the chats out with lines from parents to forks. Chats whose parent is gone stand under its ghost.
fn rows(story: &StoryTree) -> Vec<Row<'_>> {
    let ghost = |chat: &TreeChat| if chat.depth == 0 { chat.lost_parent.clone() } else { None };
    // A ghost pushes what is below it one level in.
    let mut levels: Vec<(usize, bool)> = Vec::with_capacity(story.chats.len());
    let mut below_ghost = false;
    for chat in &story.chats {
        if chat.depth == 0 {
            below_ghost = chat.lost_parent.is_some();
        }
        levels.push((chat.depth + usize::from(below_ghost), below_ghost));
    }
    let mut rows = Vec::new();
    let mut last_ghost: Option<String> = None;
    let mut names: Vec<String> = Vec::new();
    for (i, chat) in story.chats.iter().enumerate() {
        if let Some(lost) = ghost(chat).filter(|lost| last_ghost.as_ref() != Some(lost)) {
            rows.push(Row { lines: String::new(), guide: String::new(), chat: None, name: tame(&lost) });
            names = vec![lost.clone()];
            last_ghost = Some(lost);
        }
        let (depth, _) = levels[i];
        if depth == 0 {
            names.clear();
        }
        names.truncate(depth);
        // Whether a level still has forks to come decides between a line and a blank.
        let more = |level: usize| {
            let later = (i + 1..story.chats.len()).take_while(|j| levels[*j].0 >= level);
            let ends_at_ghost = |j: &usize| {
                level == 1 && ghost(&story.chats[*j]).is_some_and(|g| Some(&g) != last_ghost.as_ref())
            };
            later.take_while(|j| !ends_at_ghost(j)).any(|j| levels[j].0 == level)
        };
        let beside = |levels: std::ops::Range<usize>| -> String {
            levels.map(|level| if more(level) { "│     " } else { "      " }).collect()
        };
        let mut lines = beside(1..depth);
        let has_forks = levels.get(i + 1).is_some_and(|(next, _)| *next > depth);
        let guide = format!("{}{}", beside(1..depth + 1), if has_forks { "│" } else { "" });
        if depth > 0 {
            let fork = match (chat.fork_message, chat.kind) {
                (Some(message), _) => message.to_string(),
                (None, "copy") => "=".to_owned(),
                (None, _) => "?".to_owned(),
            };
            lines.push_str(&format!("{}─{fork:─>3}─ ", if more(depth) { "├" } else { "└" }));
        }
        let name = base_name(&chat.chat);
        let ancestors: Vec<&str> = names.iter().map(String::as_str).collect();
        rows.push(Row {
            lines,
            guide,
            chat: Some(chat),
            name: tame(&tree::short_name(name, "", &ancestors)),
        });
        names.push(name.to_owned());
    }
    rows
}

/// A chat's name without its folder.
fn base_name(address: &str) -> &str {
    address.split_once('/').map_or(address, |(_, name)| name)
}

fn kind_mark(kind: &str) -> (&'static str, Style) {
    match kind {
        "branch" => ("◆", BRANCH),
        "checkpoint" => ("⚑", NOTE),
        "copy" => ("≡", WARN),
        _ => ("●", BOLD),
    }
}

fn health_mark(health: Health) -> (&'static str, Style) {
    match health {
        Health::Ok => (" ", GOOD),
        Health::Warning => ("!", WARN),
        Health::Error => ("✗", BAD),
    }
}
