//! Parents, records, slugs and links.

use forklore_core::check::{Code, Remedy, Severity};
use forklore_core::format::names::chat_stem;
use forklore_core::format::record;
use forklore_core::story::lineage::{Kind, Link, ParentNote};

use super::{Checker, count, list};
use crate::merge;
use forklore_vault::ChatIx;

impl Checker<'_> {
    /// What another line's lore and this chat's do not agree on.
    pub(super) fn conflicts(&mut self, c: ChatIx) {
        let Some(learnt) = merge::learnt(self.library.chat(c)) else { return };
        let mut titles: Vec<String> =
            learnt.conflicts.iter().map(|conflict| format!("\"{}\"", conflict.title)).collect();
        let open = count(titles.len(), "question is", "questions are");
        titles.dedup();
        if titles.is_empty() {
            return;
        }
        let message = format!(
            "\"{}\" was brought along, and {open} still open: {}. The lorebook has this chat's own words meanwhile.",
            learnt.file,
            list(&titles, 5)
        );
        let remedy = Remedy::new(
            "Run `forklore resolve CHAT` to see both sides and to answer; nothing waits for it.",
            "Nothing waits for it: this chat's own words hold until somebody answers.",
        );
        self.add(Code::ConflictOpen, Severity::Info, Some(c), None, message, remedy);
    }

    pub(super) fn kinship(&mut self, c: ChatIx) {
        let library = self.library;
        let chat = library.chat(c);
        match &chat.lineage().note {
            Some(ParentNote::Missing(name)) => {
                let message = format!(
                    "It was forked from \"{name}\", which is no longer there or has nothing in common with it any more."
                );
                let remedy = "Nothing is lost in this chat. If the other one was deleted by mistake, look for it in the backups folder.";
                self.add(Code::ParentMissing, Severity::Warning, Some(c), None, message, remedy);
            }
            Some(ParentNote::Renamed(name)) => {
                let now = chat.lineage().parent.map_or("?", |p| self.name(p)).to_owned();
                let sure = chat.lineage().confidence.as_str();
                let message = format!(
                    "It was forked from \"{name}\", which is now called \"{now}\" ({sure}, by its messages)."
                );
                let after = "Forklore follows the messages. SillyTavern's own \"back to parent\" finds it again after";
                let remedy = Remedy::heal(format!("{after} `forklore heal`."), format!("{after} healing."));
                self.add(Code::ParentRenamed, Severity::Info, Some(c), None, message, remedy);
            }
            None => {}
        }
        if record::is_pending(chat.header().metadata()) {
            let message = "The fork was saved without its lorebook, which is still to be made.".to_owned();
            let remedy = Remedy::heal(
                "Run `forklore heal` on this chat before playing on: it gets its lorebook.",
                "Heal this chat before you play on: it gets its lorebook.",
            );
            self.add(Code::PendingFork, Severity::Warning, Some(c), None, message, remedy);
        } else if chat.lineage().is_fork() && chat.record().is_none() {
            let message =
                "The fork was not made by Forklore: nothing records what it started from.".to_owned();
            let remedy = Remedy::heal(
                "`forklore heal` adopts it: what it is and what it has is then recorded.",
                "Healing adopts it: what it is and what it has is then recorded.",
            );
            self.add(Code::UnrecordedFork, Severity::Info, Some(c), None, message, remedy);
        }
    }

    pub(super) fn links(&mut self, c: ChatIx) {
        let library = self.library;
        let chat = library.chat(c);
        let mut gone: Vec<String> = Vec::new();
        for (message, link, name) in chat.facts().links() {
            // Forks inherit their parent's links; the parent's own is the one to mend.
            if chat.lineage().parent.is_some()
                && chat.lineage().fork_message.is_some_and(|fork| message <= fork)
            {
                continue;
            }
            if library.named(chat.story(), &chat_stem(name)).is_none() {
                let what = if link == Link::Bookmark { "checkpoint" } else { "branch" };
                gone.push(format!("{what} \"{name}\" at message {message}"));
            }
        }
        if !gone.is_empty() {
            let message = format!("It links to forks that are not there: {}.", list(&gone, 4));
            let follow = "lets links follow forks that were renamed; replace the others' flag in SillyTavern, or leave it.";
            let remedy = Remedy::heal(
                format!("They were renamed or deleted. `forklore heal` {follow}"),
                format!("They were renamed or deleted. Healing {follow}"),
            );
            self.add(Code::LinkDangling, Severity::Info, Some(c), None, message, remedy);
        }
    }

    pub(super) fn slugs(&mut self, only: Option<ChatIx>) {
        let library = self.library;
        for twins in library.duplicate_slugs() {
            // SillyTavern gave forks their parent's slug before version 1.19. That is how they are, and harms nobody.
            let lineage = |d: ChatIx| library.chat(d).lineage();
            let of_kind = |kind: Kind| twins.iter().copied().filter(move |d| lineage(*d).kind == kind);
            let originals = of_kind(Kind::Copy).filter_map(|copy| lineage(copy).parent);
            let originals = originals.filter(|original| !lineage(*original).is_fork());
            let mut group: Vec<ChatIx> =
                of_kind(Kind::Copy).chain(originals).filter(|d| twins.contains(d)).collect();
            if of_kind(Kind::Main).nth(1).is_some() {
                group.extend(of_kind(Kind::Main));
            }
            group.sort_unstable();
            group.dedup();
            for c in &group {
                if only.is_some_and(|only| only != *c) {
                    continue;
                }
                let others: Vec<String> =
                    group.iter().filter(|d| *d != c).map(|d| format!("\"{}\"", self.name(*d))).collect();
                let message = format!(
                    "It has the same identity as {}: an import, a restored backup or a copy.",
                    list(&others, 3)
                );
                let gives = "gives copies with another chat's lorebook an identity of their own; otherwise keep one of them.";
                let remedy = Remedy::heal(format!("`forklore heal` {gives}"), format!("Healing {gives}"));
                self.add(Code::SlugDuplicate, Severity::Warning, Some(*c), None, message, remedy);
            }
        }
    }
}
