//! `export`: a story, or the line of one chat, in one file: chats, books, and what history knows of them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use forklore_archive::{ArchiveError, Manifest, Member, MemberKind, Story, Writer};
use forklore_core::format::names::book_stem;
use forklore_fs::{Identity, OpenFile, PathError, VaultPath};
use forklore_journal::layout;
use forklore_vault::history::HistoryError;
use forklore_vault::history::transfer::{ObservationInTransit, Taken};
use forklore_vault::progress::Progress;
use forklore_vault::read::media::{self, Links};
use forklore_vault::{ChatIx, Library, StoryIx, StoryKind};
use schemars::JsonSchema;
use serde::Serialize;

use crate::warning::{Warning, WarningCode};

/// What a user asks for.
#[derive(Debug, Clone)]
pub struct ExportRequest {
    /// Which chats
    pub chats: Chats,
    /// Whether the character's card goes along
    pub with_card: bool,
    /// Whether history goes along
    pub with_history: bool,
    /// Whether the images and files go along that messages link to
    pub with_media: bool,
}

/// Which chats are exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chats {
    /// All of a story
    Story(StoryIx),
    /// A chat and those that it comes from
    Line(ChatIx),
}

/// What was exported.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ExportReport {
    /// The file; nothing if it was only planned
    pub file: Option<String>,
    /// Its length
    pub bytes: Option<u64>,
    /// The story: its folder, or its group's id
    pub story: String,
    /// The name shown to people
    pub name: String,
    /// Address of the chat whose line it is
    pub line: Option<String>,
    /// Addresses of the chats
    pub chats: Vec<String>,
    /// Names of the lorebooks
    pub books: Vec<String>,
    /// Whether the character's card is in it
    pub card: bool,
    /// Images and files that messages link to
    pub media: LinkedMedia,
    /// Saves of chats and books that history saw
    pub observations: usize,
    /// Bytes before they are compressed
    pub content: u64,
    /// What the user should know
    pub warnings: Vec<Warning>,
}

/// The images and files that exported chats link to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LinkedMedia {
    /// How many are in the vault
    pub linked: usize,
    /// How many of those are in the file
    pub exported: usize,
    /// Bytes of those in the vault
    pub bytes: u64,
    /// How many are linked to and not in the vault
    pub missing: usize,
}

/// Why nothing was exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The story has no chats.
    #[error("There is nothing to export: the story has no chats")]
    Empty,
    /// A chat cannot be read.
    #[error("{chat} cannot be read: {why}")]
    Unreadable {
        /// Its address
        chat: String,
        /// What is wrong
        why: String,
    },
    /// There is no card.
    #[error("There is no card for {0}")]
    NoCard(String),
    /// A file was saved while it was read.
    #[error("{0} was changed while Forklore was working")]
    Changed(VaultPath),
    /// The file cannot be written.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// History cannot be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The system said no.
    #[error(transparent)]
    Path(#[from] PathError),
}

/// An export that is worked out.
pub struct ExportPlan {
    /// What is told of it
    pub report: ExportReport,
    manifest: Manifest,
    /// Where the content of each member is
    sources: Vec<Source>,
    history: Option<Taken>,
}

enum Source {
    File(VaultPath, Identity),
    Objects,
    Observations,
}

/// Works out what belongs together. `now` is in milliseconds since 1970.
pub fn plan(library: &Library, request: &ExportRequest, now: i64) -> Result<ExportPlan, ExportError> {
    let (story, line) = match request.chats {
        Chats::Story(story) => (story, None),
        Chats::Line(chat) => (library.chat(chat).story(), Some(chat)),
    };
    let told = library.story(story);
    let mut warnings = Vec::new();
    let chats = match line {
        None => told.chats().to_vec(),
        Some(chat) => line_of(library, chat, &mut warnings),
    };
    if chats.is_empty() {
        return Err(ExportError::Empty);
    }
    for c in &chats {
        if let Some(why) = library.chat(*c).unreadable() {
            return Err(ExportError::Unreadable {
                chat: library.address(*c).to_string(),
                why: why.to_owned(),
            });
        }
    }
    let kind = match told.kind() {
        StoryKind::Character => "character",
        StoryKind::Group => "group",
    };
    let place =
        Story { kind: kind.to_owned(), folder: told.folder().to_owned(), name: told.name().to_owned() };
    let mut plan = ExportPlan {
        report: ExportReport {
            file: None,
            bytes: None,
            story: told.folder().to_owned(),
            name: told.name().to_owned(),
            line: line.map(|chat| library.address(chat).to_string()),
            chats: chats.iter().map(|c| library.address(*c).to_string()).collect(),
            books: Vec::new(),
            card: false,
            media: LinkedMedia::default(),
            observations: 0,
            content: 0,
            warnings,
        },
        manifest: Manifest::new(place, env!("CARGO_PKG_VERSION"), now),
        sources: Vec::new(),
        history: None,
    };
    plan.manifest.line = line.map(|chat| library.chat(chat).name().to_owned());
    if request.with_history {
        plan.add_history(library, &chats)?;
    }
    plan.add_books(library, &chats)?;
    if let Some(group) = library.groups().get(told.folder()).filter(|_| told.kind() == StoryKind::Group)
        && let Ok(path) = layout::folder(layout::GROUPS).join(&format!("{}.json", group.file))
    {
        plan.add_file(library, MemberKind::Group, &group.id, path)?;
    }
    if request.with_card {
        let card = layout::folder(layout::CHARACTERS).join(&format!("{}.png", told.folder())).ok();
        let card = card
            .filter(|_| told.kind() == StoryKind::Character && library.cards().contains_key(told.folder()));
        let card = card.ok_or_else(|| ExportError::NoCard(told.name().to_owned()))?;
        plan.add_file(library, MemberKind::Card, told.folder(), card)?;
        plan.report.card = true;
    }
    plan.add_media(library, &chats, request.with_media)?;
    for c in &chats {
        let chat = library.chat(*c);
        plan.add_file(library, MemberKind::Chat, chat.name(), chat.path().clone())?;
    }
    plan.report.content = plan.manifest.members.iter().map(|member| member.bytes).sum();
    Ok(plan)
}

/// A chat, those that it comes from, and those that share a book with one of them: nobody could tell without them what in the book is
/// whose.
fn line_of(library: &Library, chat: ChatIx, warnings: &mut Vec<Warning>) -> Vec<ChatIx> {
    let story = library.chat(chat).story();
    let mut chosen: BTreeSet<ChatIx> = BTreeSet::new();
    let mut todo = vec![chat];
    let mut sharing: Vec<&str> = Vec::new();
    while let Some(c) = todo.pop() {
        if !chosen.insert(c) {
            continue;
        }
        let here = library.chat(c);
        todo.extend(here.lineage().parent.filter(|parent| library.chat(*parent).story() == story));
        todo.extend(
            here.book_stem()
                .into_iter()
                .flat_map(|stem| library.users_of(stem))
                .filter(|d| library.chat(**d).story() == story),
        );
    }
    let mut own = BTreeSet::new();
    let mut at = Some(chat);
    while let Some(c) = at.filter(|c| own.insert(*c)) {
        at = library.chat(c).lineage().parent;
    }
    sharing.extend(chosen.difference(&own).map(|c| library.chat(*c).name()));
    if !sharing.is_empty() {
        let message = format!(
            "Not of this line, but they share a lorebook with it and come along: {}",
            sharing.join(", ")
        );
        warnings.push(Warning::new(WarningCode::BookShared, message));
    }
    chosen.into_iter().collect()
}

/// Stems of the books that chats are bound to, or that were made for them.
fn books_of(library: &Library, chats: &[ChatIx]) -> BTreeSet<String> {
    let mut stems: BTreeSet<String> = BTreeSet::new();
    for chat in chats.iter().map(|c| library.chat(*c)) {
        stems.extend(chat.bound().map(str::to_owned));
        stems.extend(chat.record().and_then(|record| record.book.as_deref()).map(book_stem));
    }
    stems
}

impl ExportPlan {
    fn add_file(
        &mut self,
        library: &Library,
        kind: MemberKind,
        name: &str,
        path: VaultPath,
    ) -> Result<(), ExportError> {
        let identity = library.fs().identity(&path)?.ok_or_else(|| ExportError::Changed(path.clone()))?;
        self.manifest.add(Member { kind, name: name.to_owned(), bytes: identity.len });
        self.sources.push(Source::File(path, identity));
        Ok(())
    }

    fn add_books(&mut self, library: &Library, chats: &[ChatIx]) -> Result<(), ExportError> {
        for stem in books_of(library, chats) {
            let Some(path) = library.books().get(&stem) else { continue };
            let strangers = library.users_of(&stem).iter().filter(|user| !chats.contains(user)).count();
            if strangers > 0 {
                let message = format!(
                    "The lorebook \"{stem}\" is also used by {strangers} chats that are not exported: what they wrote into it comes along"
                );
                self.report.warnings.push(Warning::new(WarningCode::BookShared, message));
            }
            self.add_file(library, MemberKind::Book, &stem, path.clone())?;
            self.report.books.push(stem);
        }
        Ok(())
    }

    /// What the chats link to. Without the wish for it, only how much that is.
    fn add_media(&mut self, library: &Library, chats: &[ChatIx], wanted: bool) -> Result<(), ExportError> {
        let mut links = Links::new();
        for c in chats {
            links.extend(media::of_chat(library, *c)?);
        }
        let mut files: BTreeMap<VaultPath, Identity> = BTreeMap::new();
        let mut missing = 0;
        for linked in &links {
            match media::find(&**library.fs(), linked)
                .filter(|found| found.identity.len <= forklore_archive::LONGEST)
            {
                Some(found) => drop(files.insert(found.path, found.identity)),
                None => missing += 1,
            }
        }
        let bytes = files.values().map(|identity| identity.len).sum();
        let exported = if wanted { files.len() } else { 0 };
        self.report.media = LinkedMedia { linked: files.len(), exported, bytes, missing };
        self.report.warnings.extend(self.report.media.warnings(wanted));
        for (path, identity) in files.into_iter().filter(|_| wanted) {
            let member =
                Member { kind: MemberKind::Media, name: path.as_str().to_owned(), bytes: identity.len };
            self.manifest.add(member);
            self.sources.push(Source::File(path, identity));
        }
        Ok(())
    }

    fn add_history(&mut self, library: &Library, chats: &[ChatIx]) -> Result<(), ExportError> {
        let Some(timeline) = library.history()? else { return Ok(()) };
        let books: Vec<String> = books_of(library, chats).into_iter().collect();
        let taken = timeline.take(library, chats, &books)?;
        if taken.observations.is_empty() {
            return Ok(());
        }
        let objects = taken.bytes + 8 * taken.objects.len() as u64;
        let lines: u64 = taken.observations.iter().map(|o| line(o).len() as u64).sum();
        let member = |kind, bytes| Member { kind, name: "history".to_owned(), bytes };
        self.manifest.members.push(member(MemberKind::Objects, objects));
        self.manifest.members.push(member(MemberKind::Observations, lines));
        self.sources.extend([Source::Objects, Source::Observations]);
        self.report.observations = taken.observations.len();
        self.history = Some(taken);
        Ok(())
    }
}

impl LinkedMedia {
    fn warnings(&self, wanted: bool) -> impl Iterator<Item = Warning> {
        let some =
            |n: usize| if n == 1 { "1 image or file".to_owned() } else { format!("{n} images and files") };
        let is = |n: usize| if n == 1 { "is" } else { "are" };
        let left = (!wanted && self.linked > 0).then(|| {
            let (n, is) = (self.linked, is(self.linked));
            let message = format!("{} that messages link to {is} not in it", some(n));
            Warning::new(WarningCode::MediaLeft, message)
        });
        let missing = (wanted && self.missing > 0).then(|| {
            let (n, is) = (self.missing, is(self.missing));
            let message =
                format!("{} that messages link to {is} not in the vault, and so not in it", some(n));
            Warning::new(WarningCode::MediaMissing, message)
        });
        left.into_iter().chain(missing)
    }
}

/// An observation as a line.
fn line(observation: &ObservationInTransit) -> Vec<u8> {
    // Plain data into memory cannot fail.
    let mut line = serde_json::to_vec(observation).unwrap_or_default();
    line.push(b'\n');
    line
}

/// Writes it.
pub fn execute(
    library: &Library,
    plan: ExportPlan,
    out: &mut dyn Write,
    progress: &dyn Progress,
) -> Result<ExportReport, ExportError> {
    progress.start("Exporting", plan.report.content);
    let mut writer = Writer::begin(out, &plan.manifest)?;
    for source in &plan.sources {
        match source {
            Source::File(path, identity) => {
                let file = library.fs().open(path)?;
                writer.add(|out| copy(&*file, path, identity, out, progress))?;
            }
            Source::Objects => {
                let (Some(timeline), Some(taken)) = (library.history()?, &plan.history) else { continue };
                writer.add(|out| -> Result<(), ExportError> {
                    for (id, back) in &taken.objects {
                        let bytes = timeline.store().get(id).map_err(HistoryError::from)?;
                        // No object that travels is longer than a number of 32 bits can say.
                        let len = bytes.len() as u32;
                        out.write_all(&len.to_le_bytes()).map_err(ArchiveError::Io)?;
                        out.write_all(&back.to_le_bytes()).map_err(ArchiveError::Io)?;
                        out.write_all(&bytes).map_err(ArchiveError::Io)?;
                        progress.advance(u64::from(len));
                    }
                    Ok(())
                })?;
            }
            Source::Observations => {
                let observations = plan.history.iter().flat_map(|taken| &taken.observations);
                writer.add(|out| -> Result<(), ExportError> {
                    for observation in observations {
                        out.write_all(&line(observation)).map_err(ArchiveError::Io)?;
                    }
                    Ok(())
                })?;
            }
        }
    }
    writer.finish()?;
    progress.finish();
    Ok(plan.report)
}

/// Copies a file that must stay what it was when it was planned.
fn copy(
    file: &dyn OpenFile,
    path: &VaultPath,
    planned: &Identity,
    out: &mut dyn Write,
    progress: &dyn Progress,
) -> Result<(), ExportError> {
    let fail = |source| PathError { path: path.clone(), doing: "read", source };
    let same = || Ok::<bool, PathError>(file.identity().map_err(fail)?.is_same_content(planned));
    let mut buffer = vec![0; 1 << 20];
    let mut at = 0;
    let mut whole = same()?;
    while whole {
        let got = file.read_at(&mut buffer, at).map_err(fail)?;
        if got == 0 {
            whole = same()?;
            break;
        }
        if at + got as u64 > planned.len {
            whole = false;
            break;
        }
        out.write_all(&buffer[..got]).map_err(ArchiveError::Io)?;
        at += got as u64;
        progress.advance(got as u64);
    }
    if whole { Ok(()) } else { Err(ExportError::Changed(path.clone())) }
}
