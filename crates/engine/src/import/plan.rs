//! [`plan()`]: all of a file is read and verified, and everything in it gets its place.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use forklore_archive::{Manifest, Member, MemberKind, Seal};
use forklore_core::fork::names;
use forklore_core::format::names::{chat_stem, sanitize};
use forklore_fs::{OpenFile, PathError, VaultPath};
use forklore_journal::layout;
use forklore_vault::history::transfer::Landing;
use forklore_vault::progress::Progress;
use forklore_vault::{Library, StoryKind};

use super::found::Found;
use super::source::open;
use super::{ImportError, ImportReport, ImportRequest, Imported, Left};
use crate::warning::{Warning, WarningCode};

/// An import that is worked out.
pub struct ImportPlan {
    /// What is told of it
    pub report: ImportReport,
    pub(super) manifest: Manifest,
    /// The file of each member; none for those that stay where they are
    pub(super) targets: Vec<Option<VaultPath>>,
    pub(super) landing: Landing,
    /// The group that the chats join
    pub(super) group: Option<Joined>,
    /// What was read
    pub(super) seal: Seal,
}

/// A group that chats join.
pub(super) enum Joined {
    /// It is there, in this file.
    Known(VaultPath),
    /// It arrives, and has this id.
    New(String),
}

/// Works out what becomes of everything in a file. Reads all of it, and believes nothing before it is verified.
pub fn plan(
    library: &Library,
    file: &dyn OpenFile,
    request: &ImportRequest,
    progress: &dyn Progress,
) -> Result<ImportPlan, ImportError> {
    let mut reader = open(file)?;
    let manifest = reader.manifest().clone();
    progress.start("Verifying", manifest.members.iter().map(|member| member.bytes).sum());
    let found = Found::read(&mut reader, &manifest, progress)?;
    let seal = reader.finish()?;
    progress.finish();

    let place = Place::find(library, &manifest, request)?;
    let mut plan = ImportPlan {
        report: ImportReport {
            operation: None,
            story: place.folder.clone(),
            new_story: place.new,
            exported: manifest.exported,
            chats: Vec::new(),
            books: Vec::new(),
            media: Vec::new(),
            media_here: 0,
            card: None,
            observations: found.observations,
            bytes: 0,
            left: Vec::new(),
            warnings: Vec::new(),
        },
        targets: vec![None; manifest.members.len()],
        landing: Landing::default(),
        group: None,
        seal,
        manifest,
    };
    plan.name_books(library, &found)?;
    plan.name_chats(library, &place, &found)?;
    plan.place_card(library, &place, &found)?;
    plan.place_media(library, &found)?;
    plan.join_group(library, &place, &found)?;
    plan.name_slugs(library, &found);
    plan.place_named(&found)?;
    Ok(plan)
}

/// Where chats go.
struct Place {
    kind: StoryKind,
    folder: String,
    /// Where its chats are
    dir: VaultPath,
    /// Whether there is no such story yet
    new: bool,
    /// Whether somebody said so
    chosen: bool,
}

impl Place {
    fn find(library: &Library, manifest: &Manifest, request: &ImportRequest) -> Result<Self, ImportError> {
        let story = &manifest.story;
        let kind = match story.kind.as_str() {
            "character" => StoryKind::Character,
            "group" => StoryKind::Group,
            _ => return Err(ImportError::damaged("it is of no character and of no group")),
        };
        let known = match &request.into {
            Some(into) => Some(library.story(library.find_story(into)?)),
            None => library.stories().map(|(_, other)| other).find(|other| {
                other.kind() == kind && other.folder().to_lowercase() == story.folder.to_lowercase()
            }),
        };
        if let Some(known) = known {
            if known.kind() != kind {
                return Err(ImportError::OtherKind { from: word(kind), to: word(known.kind()) });
            }
            return Self::at(kind, known.folder().to_owned(), false, request.into.is_some());
        }
        let folder = match kind {
            StoryKind::Character => sanitize(&story.folder),
            StoryKind::Group => {
                sanitize(&format!("{}.json", story.folder)).trim_end_matches(".json").to_owned()
            }
        };
        let folder = if folder.trim_matches(['.', ' ']).is_empty() { "Imported".to_owned() } else { folder };
        // A folder without a chat, or a card, is no story yet.
        let new = !(kind == StoryKind::Character && library.cards().contains_key(&folder));
        Self::at(kind, folder, new, false)
    }

    fn at(kind: StoryKind, folder: String, new: bool, chosen: bool) -> Result<Self, ImportError> {
        let dir = match kind {
            StoryKind::Character => layout::folder(layout::CHATS).join(&folder),
            StoryKind::Group => Ok(layout::folder(layout::GROUP_CHATS)),
        };
        let dir = dir.map_err(|_| ImportError::damaged("its story has no name"))?;
        Ok(Self { kind, folder, dir, new, chosen })
    }
}

fn word(kind: StoryKind) -> &'static str {
    match kind {
        StoryKind::Character => "character",
        StoryKind::Group => "group",
    }
}

/// Names that are given, without regard to case.
struct Names(HashSet<String>);

impl Names {
    fn give(&mut self, wanted: &str, fallback: &str) -> String {
        let name = names::elsewhere(wanted, fallback, &|name| self.0.contains(&name.to_lowercase()));
        self.0.insert(name.to_lowercase());
        name
    }
}

/// The stems of files in a folder.
fn stems(library: &Library, dir: &VaultPath, extension: &str) -> Result<HashSet<String>, PathError> {
    let nodes = library.fs().list(dir)?;
    let stem = |name: &str| name.to_lowercase().strip_suffix(extension).map(str::to_owned);
    Ok(nodes.iter().filter_map(|node| stem(&node.name)).collect())
}

impl ImportPlan {
    pub(super) fn members(&self, kind: MemberKind) -> Vec<(usize, Member)> {
        let members = self.manifest.members.iter().enumerate().filter(|(_, member)| member.kind == kind);
        members.map(|(n, member)| (n, member.clone())).collect()
    }

    pub(super) fn place(&mut self, n: usize, target: VaultPath) {
        self.report.bytes += self.manifest.members[n].bytes;
        self.targets[n] = Some(target);
    }

    pub(super) fn left(&mut self, what: &str, why: &str) {
        self.report.left.push(Left { what: what.to_owned(), why: why.to_owned() });
    }

    /// Every book gets a name of its own, those that are missing and only named, too: a book of that name that is here is another one.
    fn name_books(&mut self, library: &Library, found: &Found) -> Result<(), ImportError> {
        let mut used = stems(library, &layout::folder(layout::WORLDS), ".json")?;
        // An open page may still write a book that is gone.
        used.extend(library.chats().flat_map(|(_, chat)| chat.bound()).map(str::to_lowercase));
        let mut given = Names(used);
        let mut books: BTreeMap<String, String> = BTreeMap::new();
        for (n, member) in self.members(MemberKind::Book) {
            let name = given.give(&member.name, "book");
            let target = layout::book(&name).map_err(|_| ImportError::damaged("a lorebook has no name"))?;
            let (from, path) = (member.name.clone(), target.as_str().to_owned());
            self.report.books.push(Imported { from, path, name: name.clone() });
            self.place(n, target);
            books.insert(member.name, name);
        }
        let worlds = layout::folder(layout::WORLDS);
        let seen = found.seen.iter().filter(|file| file.parent() == worlds);
        let seen = seen.filter_map(|file| file.name().strip_suffix(".json")).map(str::to_owned);
        let missing: BTreeSet<String> = found.bound.iter().cloned().chain(seen).collect();
        for stem in missing.into_iter().filter(|stem| !stem.is_empty()) {
            if let Entry::Vacant(free) = books.entry(stem) {
                let name = given.give(free.key(), "book");
                free.insert(name);
            }
        }
        for (old, new) in &books {
            if let (Ok(from), Ok(to)) = (worlds.join(&format!("{old}.json")), layout::book(new)) {
                self.landing.files.insert(from, to);
            }
        }
        books.retain(|old, new| old != new);
        self.landing.renames.books = books;
        Ok(())
    }

    fn name_chats(&mut self, library: &Library, place: &Place, found: &Found) -> Result<(), ImportError> {
        let mut used = stems(library, &place.dir, ".jsonl")?;
        for (_, chat) in library.chats().filter(|(_, chat)| chat.path().parent() == place.dir) {
            // Others say that they come from a chat of this name: they would get a new parent.
            used.extend(chat.main_chat().map(str::to_lowercase));
            used.extend(chat.record().map(|record| record.parent_file.to_lowercase()));
        }
        let listed = library.groups().values().flat_map(|group| &group.chats);
        if place.kind == StoryKind::Group {
            used.extend(listed.map(|name| chat_stem(name).to_lowercase()));
        }
        let mut given = Names(used);
        let old_dir = match place.kind {
            StoryKind::Character => layout::folder(layout::CHATS).join(&self.manifest.story.folder).ok(),
            StoryKind::Group => Some(place.dir.clone()),
        };
        let mut chats: BTreeMap<String, String> = BTreeMap::new();
        let prefix = if place.kind == StoryKind::Group { "group:" } else { "" };
        for (n, member) in self.members(MemberKind::Chat) {
            let name = given.give(&member.name, "chat");
            let target = place.dir.join(&format!("{name}.jsonl"));
            let target = target.map_err(|_| ImportError::damaged("a chat has no name"))?;
            let old = old_dir.as_ref().and_then(|dir| dir.join(&format!("{}.jsonl", member.name)).ok());
            if let Some(old) = old {
                self.landing.files.insert(old, target.clone());
            }
            let address = format!("{prefix}{}/{name}", place.folder);
            let (from, path) = (member.name.clone(), target.as_str().to_owned());
            self.report.chats.push(Imported { from, path, name: address });
            self.place(n, target);
            if name != member.name {
                chats.insert(member.name, name);
            }
        }
        // Chats that history only names get names that no file will have had.
        for file in found.seen.iter().filter(|file| file.name().ends_with(".jsonl")) {
            if !self.landing.files.contains_key(file) {
                let old = file.name().strip_suffix(".jsonl").unwrap_or_default();
                let name = given.give(old, "chat");
                if let Ok(target) = place.dir.join(&format!("{name}.jsonl")) {
                    self.landing.named.insert(file.clone(), target);
                }
                // One that is gone can still be a parent.
                if Some(file.parent()) == old_dir && old != name {
                    chats.insert(old.to_owned(), name);
                }
            }
        }
        self.landing.renames.chats = chats;
        Ok(())
    }

    fn place_card(&mut self, library: &Library, place: &Place, found: &Found) -> Result<(), ImportError> {
        for (n, _) in self.members(MemberKind::Card) {
            let target = layout::folder(layout::CHARACTERS).join(&format!("{}.png", place.folder)).ok();
            let Some(target) = target.filter(|_| found.card && place.kind == StoryKind::Character) else {
                self.left("the card", "it is no card of a character");
                continue;
            };
            if place.chosen || library.fs().identity(&target)?.is_some() {
                self.left("the card", &format!("there is a character {:?} already", place.folder));
                continue;
            }
            self.report.card = Some(target.as_str().to_owned());
            self.place(n, target);
        }
        let alone = place.kind == StoryKind::Character && place.new && self.report.card.is_none();
        if alone {
            let message = format!(
                "There is no character for the chats yet: SillyTavern shows them once there is a card characters/{}.png",
                place.folder
            );
            self.report.warnings.push(Warning::new(WarningCode::NoCard, message));
        }
        Ok(())
    }

    fn join_group(&mut self, library: &Library, place: &Place, found: &Found) -> Result<(), ImportError> {
        if place.kind != StoryKind::Group {
            return Ok(());
        }
        let groups = layout::folder(layout::GROUPS);
        let arriving = self.members(MemberKind::Group).first().map(|(n, _)| *n).filter(|_| found.group);
        if let Some(known) = library.groups().get(&place.folder) {
            if arriving.is_some() {
                self.left("the group", "it is here already, and the chats join it");
            }
            self.group = groups.join(&format!("{}.json", known.file)).ok().map(Joined::Known);
            return Ok(());
        }
        let target = groups.join(&format!("{}.json", place.folder)).ok();
        match (arriving, target) {
            (Some(n), Some(target)) if library.fs().identity(&target)?.is_none() => {
                self.report.card = Some(target.as_str().to_owned());
                self.group = Some(Joined::New(place.folder.clone()));
                self.place(n, target);
            }
            _ => {
                let message = "There is no group for the chats: SillyTavern does not show them".to_owned();
                self.report.warnings.push(Warning::new(WarningCode::NoGroup, message));
            }
        }
        Ok(())
    }

    /// A slug that a chat of this vault has is not given to another: it is what SillyTavern tells chats apart by.
    fn name_slugs(&mut self, library: &Library, found: &Found) {
        let slug = |chat: &forklore_vault::Chat| chat.header().slug().map(std::borrow::Cow::into_owned);
        let used: HashSet<String> = library.chats().map(|(_, chat)| chat).filter_map(slug).collect();
        // What cannot be read may have any of them.
        let unknown =
            !library.not_read().is_empty() || library.chats().any(|(_, chat)| chat.unreadable().is_some());
        let taken = found.slugs.iter().filter(|slug| unknown || used.contains(*slug));
        self.landing.renames.slugs = taken.map(|slug| (slug.clone(), crate::fresh_slug())).collect();
        let here = found.own.iter().filter(|slug| used.contains(*slug)).count();
        if here > 0 {
            let message = format!(
                "Here already, by the mark that SillyTavern gives every chat: {here} of {}. They come in once more, beside the others",
                self.report.chats.len()
            );
            self.report.warnings.push(Warning::new(WarningCode::AlreadyHere, message));
        }
    }

    /// Nothing that history tells of may be without a place.
    fn place_named(&self, found: &Found) -> Result<(), ImportError> {
        let Landing { files, named, .. } = &self.landing;
        let placed = |file: &VaultPath| files.contains_key(file) || named.contains_key(file);
        let targets: HashSet<&VaultPath> = files.values().chain(named.values()).collect();
        if !found.seen.iter().all(placed) || targets.len() != files.len() + named.len() {
            return Err(ImportError::damaged("its history tells of other files"));
        }
        Ok(())
    }

    /// Names of the chats by the names that they had.
    pub(super) fn chat_names(&self) -> HashMap<String, String> {
        let stem = |chat: &Imported| {
            let file = chat.path.rsplit('/').next().unwrap_or_default();
            file.strip_suffix(".jsonl").unwrap_or(file).to_owned()
        };
        self.report.chats.iter().map(|chat| (chat.from.clone(), stem(chat))).collect()
    }
}
