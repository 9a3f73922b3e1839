//! Where images and files of an import go.

use std::collections::HashSet;

use forklore_archive::MemberKind;
use forklore_core::format::media::place as media_place;
use forklore_fs::{VaultPath, Vfs};
use forklore_journal as journal;
use forklore_journal::operation::ObjectId;
use forklore_vault::Library;
use forklore_vault::read::media::{can_hold, is_free};

use super::found::Found;
use super::plan::ImportPlan;
use super::{ImportError, ImportedMedia};
use crate::warning::{Warning, WarningCode};

impl ImportPlan {
    /// Images and files go where they were. What is there is never written over: if it is the same, it is taken for what arrives; if it
    /// is another one, what arrives gets a name beside it, and its chats link to that.
    pub(super) fn place_media(&mut self, library: &Library, found: &Found) -> Result<(), ImportError> {
        let fs = &**library.fs();
        let mut given: HashSet<String> = HashSet::new();
        let mut renamed = 0;
        for (n, member) in self.members(MemberKind::Media) {
            let place = media_place(&member.name).filter(|place| *place == member.name);
            let path = place.and_then(|place| VaultPath::new(&place).ok());
            let path =
                path.ok_or_else(|| ImportError::damaged("it has an image or a file for another place"))?;
            let arriving = found.media.get(&n);
            if !can_hold(fs, &path) && !is_same(fs, &path, member.bytes, arriving) {
                self.left(&member.name, "its folder cannot be written, or is not where the vault is");
                continue;
            }
            if is_free(fs, &path) && given.insert(path.as_str().to_lowercase()) {
                self.report.media.push(ImportedMedia { from: member.name, path: path.as_str().to_owned() });
                self.place(n, path);
                continue;
            }
            if is_same(fs, &path, member.bytes, arriving) {
                self.report.media_here += 1;
                continue;
            }
            let Some(beside) = beside(fs, &path, &given, &|path| is_same(fs, path, member.bytes, arriving))
            else {
                self.left(&member.name, "nothing can be put there");
                continue;
            };
            renamed += 1;
            self.landing.renames.media.insert(member.name.clone(), beside.as_str().to_owned());
            if !is_free(fs, &beside) {
                self.report.media_here += 1;
                continue;
            }
            given.insert(beside.as_str().to_lowercase());
            self.report.media.push(ImportedMedia { from: member.name, path: beside.as_str().to_owned() });
            self.place(n, beside);
        }
        if renamed > 0 {
            let message = format!(
                "Here already, with other content: {renamed} of the images and files. Theirs are beside them, and the imported chats link to those"
            );
            self.report.warnings.push(Warning::new(WarningCode::MediaRenamed, message));
        }
        Ok(())
    }
}

/// Whether the file of this name is what arrives, `bytes` long.
fn is_same(fs: &dyn Vfs, path: &VaultPath, bytes: u64, arriving: Option<&ObjectId>) -> bool {
    let same_length = matches!(fs.identity(path), Ok(Some(there)) if there.len == bytes);
    same_length && journal::hash(fs, path).is_ok_and(|(there, _)| Some(&there) == arriving)
}

/// The first of `name (2)`, `name (3)` that is free and given to nobody, or has the same content.
fn beside(
    fs: &dyn Vfs,
    path: &VaultPath,
    given: &HashSet<String>,
    same: &dyn Fn(&VaultPath) -> bool,
) -> Option<VaultPath> {
    let dir = path.parent();
    let used: HashSet<String> = fs.list(&dir).ok()?.iter().map(|node| node.name.to_lowercase()).collect();
    let (stem, extension) = match path.name().rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => (stem, format!(".{extension}")),
        _ => (path.name(), String::new()),
    };
    let fits = |path: &VaultPath| {
        let taken = used.contains(&path.name().to_lowercase());
        let given = given.contains(&path.as_str().to_lowercase());
        if taken { same(path) } else { !given && is_free(fs, path) }
    };
    // No folder has more files than that.
    let mut names = (2..100_000).map(|n| format!("{stem} ({n}){extension}"));
    names.find_map(|name| dir.join(&name).ok().filter(fits))
}
