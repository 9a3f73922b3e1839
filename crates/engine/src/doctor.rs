//! `doctor`: whether Forklore can do its work in a vault. [`recorded`] tells what history has of it and what it has not; [`grounds`]
//! tells what the folders and the file system allow.
//!
//! Nobody can ask another process whether it records. What can be known is better: which files have been saved since they were last
//! recorded, long enough ago that whoever records would have done so.

use std::io;

use forklore_fs::{Identity, NodeKind, OpenFile, PathError, VaultPath, Vfs};
use forklore_journal::{TxError, folders, layout};
use forklore_vault::Library;
use forklore_vault::history::{self, HistoryError, Observed, Timeline, watch};

/// Whoever records has done so by then, in milliseconds after a save.
const SOON: i64 = 30_000;

/// What history has of a vault.
#[derive(Debug, Clone, Default)]
pub struct Recorded {
    /// How many saves it has seen
    pub saves: usize,
    /// Of how many files
    pub files: usize,
    /// How large it is, in bytes
    pub bytes: u64,
    /// When the newest save was made that it has, in milliseconds since 1970
    pub last: Option<i64>,
    /// Files that were saved since, and are not recorded as they are
    pub behind: Vec<VaultPath>,
    /// The folder that it is in, if that is outside of the vault
    pub outside: Option<String>,
    /// Whether nothing can be added to it, because its folder cannot be written
    pub closed: bool,
}

/// What history has of a vault, and what it has not.
pub fn recorded(library: &Library, now: i64) -> Result<Recorded, HistoryError> {
    let fs = library.fs();
    let place = history::place(fs)?;
    let closed = !can_write(&*place.fs, place.dir.clone())?;
    let mut found = Recorded { outside: place.outside, closed, ..Recorded::default() };
    let timeline = Timeline::load(fs)?;
    if let Some(timeline) = &timeline {
        found.saves = timeline.seen.len();
        found.files = timeline.files().count();
        found.bytes = timeline.store().size();
        found.last = timeline.seen.iter().map(|seen| seen.observation.clock).max();
    }
    for (file, identity) in watch::files(&**fs)?.there {
        let saved = identity.modified / 1_000_000;
        if now - saved > SOON && !has(timeline.as_ref(), &**fs, &file, identity) {
            found.behind.push(file);
        }
    }
    Ok(found)
}

/// Whether history has a file as it is.
fn has(timeline: Option<&Timeline>, fs: &dyn Vfs, file: &VaultPath, identity: Identity) -> bool {
    let last = timeline.and_then(|timeline| {
        let last = timeline.track(file).last()?;
        Some((timeline, &timeline.seen[*last].observation))
    });
    let Some((timeline, last)) = last.filter(|(_, last)| last.what != Observed::Gone) else {
        return false;
    };
    // A save that was recorded is never later than what was recorded of it. One that is may have brought the same bytes again.
    if identity.modified / 1_000_000 <= last.clock {
        return true;
    }
    let Some(content) = last.content() else { return true };
    let open = match fs.open(file) {
        Ok(open) => open,
        Err(e) if e.is_missing() => return true,
        // It was saved since, and whoever records cannot read it either.
        Err(_) => return false,
    };
    let mut same = Same { file: &*open, at: 0 };
    let read = timeline.store().read_document(&content, &mut same);
    read.is_ok() && same.at == identity.len
}

/// Takes bytes for as long as they are those of a file.
struct Same<'a> {
    file: &'a dyn OpenFile,
    at: u64,
}

impl io::Write for Same<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut there = vec![0; bytes.len()];
        if self.file.read_at(&mut there, self.at)? < bytes.len() || there != bytes {
            return Err(io::Error::other("the file is another"));
        }
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What the folders and the file system allow.
#[derive(Debug, Clone, Default)]
pub struct Grounds {
    /// Folders that Forklore would write into, and may not
    pub closed: Vec<VaultPath>,
    /// Whether others on this machine can look into Forklore's own folder
    pub open: bool,
    /// Whether a file can take the place of another without the risk of losing a save; nothing if that was not tried
    pub exchange: Option<bool>,
    /// What can be relied on here, by what the disk promises, in a sentence
    pub guarantee: String,
    /// Files that nobody could place, and that are kept
    pub lost: usize,
}

/// Looks at the folders, and tries the file system where Forklore has a folder of its own already.
pub fn grounds(library: &Library, now: i64) -> Result<Grounds, TxError> {
    let fs = library.fs();
    let own = layout::folder(layout::FORKLORE);
    let mut found = Grounds { guarantee: fs.guarantee().sentence(), ..Grounds::default() };
    let places = [layout::CHATS, layout::GROUP_CHATS, layout::WORLDS, layout::FORKLORE].map(layout::folder);
    let stories = fs.list(&places[0])?.into_iter().filter(|node| node.kind == NodeKind::Dir);
    let stories = stories.filter_map(|node| places[0].join(&node.name).ok());
    for folder in places.clone().into_iter().chain(stories) {
        if !can_write(&**fs, folder.clone())? {
            found.closed.push(folder);
        }
    }
    if let Some(attributes) = fs.attributes(&own)? {
        found.open = attributes.mode & 0o077 != 0;
        found.lost = fs.list(&folders::lost())?.len();
        found.exchange = match library.begin(now) {
            Ok(tx) => Some(tx.can_edit()?),
            // Who is busy changing the vault can do so.
            Err(TxError::Busy | TxError::Path(_)) => None,
            Err(e) => return Err(e),
        };
    }
    Ok(found)
}

/// Whether a folder can be written, or made where it is not there.
fn can_write(fs: &dyn Vfs, mut dir: VaultPath) -> Result<bool, PathError> {
    loop {
        match fs.can_write(&dir) {
            Err(e) if e.is_missing() && dir != VaultPath::root() => dir = dir.parent(),
            other => return other,
        }
    }
}
