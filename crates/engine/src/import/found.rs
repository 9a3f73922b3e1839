//! [`Found`]: what is in a file, as far as names and places depend on it. All of the file is read once, and nothing of it believed before.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::Read;

use forklore_archive::{ArchiveError, Manifest, MemberKind, Reader};
use forklore_core::adapter::bindings::Bindings;
use forklore_core::format::card::Card;
use forklore_core::format::chat::Header;
use forklore_core::format::names::book_stem;
use forklore_fs::VaultPath;
use forklore_journal::layout;
use forklore_journal::operation::ObjectId;
use forklore_json::Raw;
use forklore_vault::history::transfer::ObservationInTransit;
use forklore_vault::history::watch::is_watched;
use forklore_vault::history::{Observation, Observed};
use forklore_vault::progress::Progress;
use forklore_vault::read::lines::Lines;

use super::ImportError;

/// Books, cards and groups are looked at as a whole; a larger one is none.
const LARGEST: u64 = 256 << 20;

/// What was found in a file.
#[derive(Default)]
pub(super) struct Found {
    /// Slugs that chats have
    pub(super) own: Vec<String>,
    /// Slugs that chats have, or had
    pub(super) slugs: BTreeSet<String>,
    /// Stems of the books that chats are bound to
    pub(super) bound: BTreeSet<String>,
    /// Files that history tells of
    pub(super) seen: BTreeSet<VaultPath>,
    pub(super) observations: usize,
    /// What images and files are, by number
    pub(super) media: HashMap<usize, ObjectId>,
    /// Whether the card is one
    pub(super) card: bool,
    /// Whether the group is one
    pub(super) group: bool,
}

impl Found {
    pub(super) fn read<R: Read>(
        reader: &mut Reader<R>,
        manifest: &Manifest,
        progress: &dyn Progress,
    ) -> Result<Self, ImportError> {
        let mut found = Self::default();
        let mut names: HashSet<(MemberKind, &str)> = HashSet::new();
        while let Some(n) = reader.next_member()? {
            let member = &manifest.members[n];
            if !names.insert((member.kind, &member.name)) {
                return Err(ImportError::damaged("two of its files have one name"));
            }
            let whole = matches!(member.kind, MemberKind::Book | MemberKind::Card | MemberKind::Group);
            if whole && member.bytes > LARGEST {
                return Err(ArchiveError::Bomb(format!("{} bytes in one file", member.bytes)).into());
            }
            match member.kind {
                MemberKind::Book | MemberKind::Objects => {}
                MemberKind::Card => found.card = Card::parse(&content(reader)?).is_some(),
                MemberKind::Group => {
                    let group = content(reader)?;
                    found.group =
                        Raw::parse(&group).is_ok_and(|raw| raw.kind() == forklore_json::Kind::Object);
                }
                MemberKind::Media => drop(found.media.insert(n, hash(reader)?)),
                MemberKind::Chat => {
                    let mut lines = Lines::new(&mut *reader);
                    if let Some(line) = lines.next_line().map_err(ArchiveError::from)? {
                        found.chat(line.bytes);
                    }
                }
                MemberKind::Observations => {
                    let mut lines = Lines::new(&mut *reader);
                    while let Some(line) = lines.next_line().map_err(ArchiveError::from)? {
                        if !line.whole {
                            return Err(ImportError::damaged("a line of its history is too long"));
                        }
                        let seen = ObservationInTransit::read(line.bytes).map_err(ImportError::of_arrival)?;
                        found.observation(&seen.observation)?;
                    }
                }
            }
            progress.advance(member.bytes);
        }
        Ok(found)
    }

    fn chat(&mut self, line: &[u8]) {
        let Ok(raw) = Raw::parse(line) else { return };
        let header = Header::new(raw);
        self.own.extend(header.slug().map(std::borrow::Cow::into_owned));
        self.slugs.extend(self.own.last().cloned());
        self.bound.extend(Bindings::of(header).all().map(book_stem));
        let record = header.metadata().at(&["forklore", "book", "name"]).and_then(Raw::as_text);
        self.bound.extend(record.map(|name| book_stem(&name)));
    }

    fn observation(&mut self, observation: &Observation) -> Result<(), ImportError> {
        let mut file = |file: &VaultPath| {
            let told = is_watched(file);
            self.seen.insert(file.clone());
            if told { Ok(()) } else { Err(ImportError::damaged("its history tells of other files")) }
        };
        file(&observation.file)?;
        match &observation.what {
            Observed::Chat(chat) => {
                chat.was.iter().try_for_each(&mut file)?;
                if let Some(book) = &chat.book {
                    file(
                        &layout::book(book).map_err(|_| ImportError::damaged("its history names no book"))?,
                    )?;
                }
                self.slugs.extend(chat.slug.clone());
            }
            Observed::Book(_) | Observed::Gone => {}
            Observed::Forget { .. } => return Err(ImportError::damaged("its history forgets")),
        }
        self.observations += 1;
        Ok(())
    }
}

/// What a member is, however large.
fn hash<R: Read>(reader: &mut Reader<R>) -> Result<ObjectId, ArchiveError> {
    let mut hasher = blake3::Hasher::new();
    std::io::copy(reader, &mut hasher)?;
    Ok(hasher.finalize().into())
}

/// All of a member that is not large.
pub(super) fn content<R: Read>(reader: &mut Reader<R>) -> Result<Vec<u8>, ArchiveError> {
    let mut content = Vec::new();
    reader.take(LARGEST).read_to_end(&mut content)?;
    Ok(content)
}
