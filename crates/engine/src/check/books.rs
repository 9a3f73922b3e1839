//! Books: shared, missing, foreign, damaged, orphaned; and their registries.

use forklore_vault::ChatIx;
use std::collections::{HashMap, HashSet};

use forklore_core::adapter::{self, EntryRole, entry_role, registry};
use forklore_core::check::{Code, Remedy, Severity};
use forklore_core::format::book::Book;
use forklore_core::format::names::book_stem;
use forklore_fs::{PathError, VaultPath};
use forklore_vault::state::at::Wanted;

use super::{Checker, MAY_READ, OfBook, and_more, count, list};

impl Checker<'_> {
    /// The book that a chat is bound to.
    pub(super) fn bound_book(&mut self, c: ChatIx) -> Result<(), PathError> {
        let library = self.library;
        let chat = library.chat(c);
        let Some((name, stem)) = chat.book() else { return Ok(()) };
        if let Some(own) = chat.record().and_then(|r| r.book.as_deref()).filter(|own| book_stem(own) != *stem)
        {
            let message = format!("The book made for it is \"{own}\", but it is bound to \"{name}\".");
            // Another chat's memory is an error; one that was renamed, or bound on purpose, is not.
            let claims = |other: &ChatIx| {
                let book = library.chat(*other).record().and_then(|record| record.book.as_deref());
                *other != c && book.is_some_and(|book| book_stem(book) == *stem)
            };
            let machine_kept = library.is_machine_kept(stem)?;
            let anothers = library.users_of(stem).len() > 1 || library.chat_ixs().any(|d| claims(&d));
            if machine_kept && anothers {
                let remedy = Remedy::heal(
                    "Run `forklore heal` on this chat before playing on: it is bound to its own lorebook again.",
                    "Heal this chat before you play on: it is bound to its own lorebook again.",
                );
                self.add(Code::BookForeign, Severity::Error, Some(c), Some(name), message, remedy);
            } else {
                let remedy = "If you renamed the lorebook or bound another one on purpose, all is well.";
                self.add(Code::BookForeign, Severity::Info, Some(c), Some(name), message, remedy);
            }
        }
        self.also_active(c, name, stem);
        let Some(book) = library.book(name)? else {
            let message = format!("Its lorebook \"{name}\" is not there.");
            let wanted = Wanted { head: false, fill: true, ..Wanted::default() };
            let told = library.book_at(c, chat.head(), wanted).is_ok_and(|found| !found.entries.is_empty());
            let remedy = if told {
                Remedy::heal(
                    "Do not play on: SillyTavern would go on without the lore. Run `forklore heal` on this chat: it can rebuild the book from what the scenes tell.",
                    "Do not play on: SillyTavern would go on without the lore. Healing can rebuild the book from what the scenes tell.",
                )
            } else {
                Remedy::new(
                    "Nothing tells what was in it, so `forklore heal` leaves the chat as it is. Put the file back into the folder worlds and all is well; or choose: `forklore heal CHAT --choose empty`, or `detach`.",
                    "Nothing tells what was in it. Put the file back into the folder worlds and all is well; or choose an empty lorebook, or none.",
                )
            };
            self.add(Code::BookMissing, Severity::Error, Some(c), Some(name), message, remedy);
            return Ok(());
        };
        let Ok(parsed) = book.parse() else { return Ok(()) };
        let users = library.users_of(stem);
        if users.len() > 1 && library.is_machine_kept(stem)? {
            self.shared(c, name, stem, users);
        }
        self.registries(c, name, &parsed);
        Ok(())
    }

    fn shared(&mut self, c: ChatIx, name: &str, stem: &str, users: &[ChatIx]) {
        let library = self.library;
        let owner = library.owner_of(stem);
        if owner == Some(c) {
            return;
        }
        let others = || users.iter().copied().filter(|d| *d != c);
        let kin = || library.relatives_among(c, users).filter(|d| *d != c);
        let (severity, with): (_, Vec<ChatIx>) = if kin().next().is_none() {
            (Severity::Warning, others().collect())
        } else {
            (Severity::Error, kin().collect())
        };
        // The one it was made for first.
        let first = owner.filter(|owner| with.contains(owner));
        let in_order = first.into_iter().chain(with.iter().copied().filter(|d| Some(*d) != first));
        let names: Vec<String> = in_order.take(3).map(|d| format!("\"{}\"", self.name(d))).collect();
        let message = format!(
            "Its lorebook is also written by {}: what happens there shows up here, and the other way round.",
            and_more(&names, with.len())
        );
        let remedy = match severity {
            Severity::Error => Remedy::heal(
                "Run `forklore heal` before playing on: this chat gets a lorebook of its own, with what its own line has earned.",
                "Heal it before you play on: this chat gets a lorebook of its own, with what its own line has earned.",
            ),
            _ => Remedy::new(
                "Run `forklore heal CHAT --choose copy`: this chat gets a copy of the lorebook for itself.",
                "Give this chat its own copy: the others keep theirs.",
            ),
        };
        self.add(Code::BookShared, severity, Some(c), Some(name), message, remedy);
    }

    fn also_active(&mut self, c: ChatIx, name: &str, stem: &str) {
        let by = self.library.also_active(c, stem);
        if !by.is_empty() {
            let message = format!(
                "Its lorebook is also active {}: a fork with a copy of it would have both at once.",
                by.join(" and ")
            );
            let remedy = "Unbind it there in SillyTavern's World Info panel if it holds this story's memory.";
            self.add(Code::BookAlsoGlobal, Severity::Warning, Some(c), Some(name), message, remedy);
        }
    }

    /// Registries against the entries, and against the extension's working index.
    fn registries(&mut self, c: ChatIx, name: &str, book: &Book<'_>) {
        let library = self.library;
        let titles: HashMap<i64, String> =
            book.entries().iter().filter_map(|e| Some((e.uid()?, e.comment().into_owned()))).collect();
        let mut listed: HashSet<i64> = HashSet::new();
        let (mut dangling, mut renamed) = (Vec::new(), Vec::new());
        for entry in book.entries().iter().filter(|e| entry_role(&e.comment()) == EntryRole::Registry) {
            for line in registry::lines(&entry.content()) {
                let Some(uid) = line.uid else { continue };
                listed.insert(uid);
                match titles.get(&uid) {
                    None => dangling.push(format!("{} (uid {uid})", line.name)),
                    Some(title) if *title != line.name => {
                        renamed.push(format!("{} is now {title}", line.name));
                    }
                    Some(_) => {}
                }
            }
        }
        // A shared book is looked at once, for the chat it was made for.
        let stem = library.chat(c).book_stem().unwrap_or_default();
        let first = library.owner_of(stem).or(library.users_of(stem).first().copied());
        if first == Some(c) && !dangling.is_empty() {
            let message = format!("Registries list entries that are not there: {}.", list(&dangling, 4));
            let remedy = "The extension may merge new facts into nothing. Remove the lines from the registry entry, or restore the entries.";
            self.add(Code::RegistryDangling, Severity::Warning, Some(c), Some(name), message, remedy);
        }
        if first == Some(c) && !renamed.is_empty() {
            let message = format!("Registries list entries by old names: {}.", list(&renamed, 4));
            let remedy = "Harmless for reading; correct the names in the registry entry if the extension makes duplicates.";
            self.add(Code::RegistryDangling, Severity::Info, Some(c), Some(name), message, remedy);
        }
        let index = registry::index(library.chat(c).header().metadata());
        let stale: Vec<String> =
            index.iter().filter(|r| !listed.contains(&r.uid)).map(|r| r.name.clone()).collect();
        if !stale.is_empty() {
            let message = format!(
                "The extension's index knows {} that this book's registries do not: {}.",
                count(stale.len(), "entry", "entries"),
                list(&stale, 4)
            );
            let why =
                "It was inherited from another chat: entities from there would be offered as merge targets.";
            let remedy = Remedy::heal(
                format!("{why} Run `forklore heal` on this chat to make the index anew."),
                format!("{why} Healing this chat makes the index anew."),
            );
            self.add(Code::RegistryIndexStale, Severity::Warning, Some(c), Some(name), message, remedy);
        }
    }

    /// What was found in every book of the vault on its own, and those that nothing is bound to.
    pub(super) fn books(&mut self, books: Vec<OfBook>) {
        let library = self.library;
        let mut referred: HashSet<String> =
            library.chats().flat_map(|(_, chat)| chat.bound()).map(str::to_owned).collect();
        let settings = library.settings();
        let bound = settings
            .global_books
            .iter()
            .chain(&settings.persona_books)
            .chain(&settings.extension_books)
            .chain(library.cards().values().filter_map(|card| card.book.as_ref()));
        referred.extend(bound.map(|book| book_stem(book)));
        referred.extend(settings.character_books.iter().map(|(_, book)| book_stem(book)));
        // As long as something that may name it cannot be read, nobody is told to throw a book away.
        let known = library.may_refer().next().is_none();
        for OfBook { stem, findings, keeper } in books {
            self.findings.extend(findings);
            let coming = |path: &VaultPath| library.under_way().contains(path);
            if let Some(keeper) = keeper
                && known
                && !referred.contains(&stem)
                && !library.books().get(&stem).is_some_and(coming)
            {
                let message = format!(
                    "Nothing is bound to this lorebook, which {keeper} kept: its chat was probably deleted."
                );
                let remedy = Remedy::new(
                    "`forklore gc --orphans` moves it to the trash, from where it can come back.",
                    "If no chat misses it, delete it in SillyTavern's World Info.",
                );
                self.add(Code::BookOrphaned, Severity::Warning, None, Some(&stem), message, remedy);
            }
        }
    }

    /// One book on its own. Returns the name of the extension that keeps it.
    pub(super) fn book(&mut self, stem: &str) -> Result<Option<&'static str>, PathError> {
        let library = self.library;
        let users = library.users_of(stem);
        let Some(book) = library.book(stem)? else { return Ok(None) };
        let parsed = match book.parse() {
            Ok(parsed) => parsed,
            Err(e) => {
                let message = format!("The lorebook cannot be read: {e}.");
                let remedy = if book.is_closed() {
                    MAY_READ
                } else {
                    "Mend it in a text editor or put a copy in its place; SillyTavern shows it as empty and would overwrite it."
                };
                self.add(
                    Code::BookDamaged,
                    Severity::Error,
                    users.first().copied(),
                    Some(stem),
                    message,
                    remedy,
                );
                return Ok(None);
            }
        };
        self.odd_book(stem, &parsed, users);
        let keeper = book.keeper();
        if users.len() > 1 && !self.library.is_machine_kept(stem)? {
            let names: Vec<String> = users.iter().take(3).map(|c| format!("\"{}\"", self.name(*c))).collect();
            let message = format!("It is bound to {} chats: {}.", users.len(), and_more(&names, users.len()));
            let remedy = "Nothing to do: a lorebook kept by hand may be shared.";
            self.add(Code::BookSharedByChoice, Severity::Info, None, Some(stem), message, remedy);
        }
        Ok(keeper.map(adapter::Adapter::name))
    }

    fn odd_book(&mut self, stem: &str, book: &Book<'_>, users: &[ChatIx]) {
        let mut odd: Vec<String> = Vec::new();
        if book.is_list() {
            odd.push("its entries are a list, which SillyTavern cannot edit".to_owned());
        }
        let mut seen: HashSet<i64> = HashSet::new();
        let (mut twice, mut elsewhere, mut without) = (0, 0, 0);
        for entry in book.entries() {
            let Some(uid) = entry.uid() else {
                without += 1;
                continue;
            };
            twice += usize::from(!seen.insert(uid));
            let key = entry.key.and_then(forklore_json::Raw::as_text);
            elsewhere += usize::from(key.is_some_and(|key| key != uid.to_string()));
        }
        for (n, what) in [
            (twice, "with a uid that another has"),
            (elsewhere, "under a key that is not its uid"),
            (without, "without a uid"),
        ] {
            if n > 0 {
                odd.push(format!("{} {what}", count(n, "entry", "entries")));
            }
        }
        if !odd.is_empty() {
            let message = format!("The lorebook is odd: {}.", odd.join("; "));
            let remedy = "Forklore carries it as it is. Open and save it in SillyTavern's World Info panel if you want it regular.";
            self.add(
                Code::BookDamaged,
                Severity::Warning,
                users.first().copied(),
                Some(stem),
                message,
                remedy,
            );
        }
    }
}
