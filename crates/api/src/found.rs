//! [`Found`]: what `check` found, kept in `.forklore/cache` for as long as the vault's [`Stamp`] is the same.

use std::sync::Arc;

use forklore_core::check::Finding;
use forklore_engine::check::CheckReport;
use forklore_fs::{Identity, Node, NodeKind, VaultPath, Vfs};
use forklore_journal::layout;
use forklore_vault::{Library, cache, history};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::now;

/// Folders, and how deep they are looked into. History may be elsewhere.
const FOLDERS: [(&str, usize); 7] = [
    (layout::CHATS, 1),
    (layout::GROUP_CHATS, 0),
    (layout::GROUPS, 0),
    (layout::WORLDS, 0),
    (layout::CHARACTERS, 0),
    (layout::BACKUPS, 0),
    (".forklore/tx", 1),
];

/// Where what `check` found is kept, for whoever keeps no library.
const FINDINGS: &str = "findings";

/// What `check` found, and in how many chats.
#[derive(Serialize, Deserialize)]
pub(crate) struct Found {
    /// The version that found it: another one may know better
    version: String,
    pub(crate) chats: usize,
    findings: Vec<Finding>,
    /// What can be relied on, by what the disk promises
    guarantee: Option<String>,
}

impl Found {
    /// What was found in files with this stamp.
    pub(crate) fn recall(fs: &dyn Vfs, stamp: &Stamp) -> Option<Self> {
        let bytes = cache::kept(fs, FINDINGS)?;
        let (of, found) = bytes.split_first_chunk::<32>()?;
        let found: Self = (of == stamp.hash.as_bytes()).then(|| serde_json::from_slice(found).ok())??;
        (found.version == env!("CARGO_PKG_VERSION")).then_some(found)
    }

    /// Keeps what was found, if it does not depend on the time.
    pub(crate) fn remember(fs: &dyn Vfs, stamp: &Stamp, report: &CheckReport, chats: usize) {
        if report.timed || !stamp.settled {
            return;
        }
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let (findings, guarantee) = (report.findings.clone(), report.guarantee.clone());
        let bytes = serde_json::to_vec(&Self { version, chats, findings, guarantee }).unwrap_or_default();
        cache::keep(fs, FINDINGS, &[&stamp.hash.as_bytes()[..], &bytes].concat());
    }

    /// Whether looking again would take longer than remembering.
    pub(crate) fn is_worthwhile(library: &Library) -> bool {
        let bytes = || library.chats().map(|(_, chat)| chat.bytes()).sum::<u64>();
        library.chats().len() >= MANY_CHATS || bytes() >= MANY_BYTES
    }

    /// As a report.
    pub(crate) fn report(self) -> CheckReport {
        CheckReport { guarantee: self.guarantee, ..CheckReport::of(self.findings) }
    }
}

const MANY_CHATS: usize = 20;
const MANY_BYTES: u64 = 1 << 20;

/// What was changed so short a time ago can be changed again without getting another time; in nanoseconds.
const MOMENT: i64 = 100_000_000;

/// A hash over the identities of all files that a library is read from.
#[derive(Debug, Clone)]
pub(crate) struct Stamp {
    hash: blake3::Hash,
    /// Whether the last change was some time ago
    settled: bool,
}

impl PartialEq for Stamp {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
    }
}

impl Stamp {
    /// Of a vault as it is now.
    pub(crate) fn of(fs: &Arc<dyn Vfs>) -> Self {
        let mut files = Files::default();
        for file in [layout::SETTINGS, layout::CONFIG] {
            let file = layout::folder(file);
            files.add(&file, fs.identity(&file).ok().flatten());
        }
        let mut folders = Vec::new();
        for (folder, depth) in FOLDERS {
            list(&**fs, layout::folder(folder), depth, &mut folders);
        }
        let identities = |(dir, nodes): &Folder| {
            let names: Vec<&str> = nodes.iter().filter(|n| is_file(n)).map(|node| &*node.name).collect();
            // What cannot be looked at is no file that a library could have been read from.
            fs.identities(dir, &names)
        };
        let identities: Vec<Vec<Option<Identity>>> = folders.par_iter().map(identities).collect();
        for ((dir, nodes), identities) in folders.iter().zip(identities) {
            let mut identities = identities.into_iter();
            for node in nodes {
                let identity = is_file(node).then(|| identities.next().flatten());
                // A name that no path can have is none of ours.
                let Ok(path) = dir.join(&node.name) else { continue };
                match identity {
                    Some(identity) => files.add(&path, identity),
                    None => drop(files.hasher.update(path.as_str().as_bytes())),
                }
            }
        }
        for (file, identity) in history::files(fs) {
            files.add(&file, identity);
        }
        let settled = now().saturating_mul(1_000_000).saturating_sub(files.changed) > MOMENT;
        Self { hash: files.hasher.finalize(), settled }
    }
}

/// A folder, and some of what is in it.
type Folder = (VaultPath, Vec<Node>);

fn is_file(node: &Node) -> bool {
    node.kind == NodeKind::File
}

/// So many files are asked for their identities at once.
const AT_ONCE: usize = 512;

/// What is in a folder, and in those in it.
fn list(fs: &dyn Vfs, dir: VaultPath, depth: usize, found: &mut Vec<Folder>) {
    let Ok(nodes) = fs.list(&dir) else {
        // A folder that is closed to us is not one that nothing is in: the stamp is another one once it is open.
        found.push((dir, vec![Node { name: ".closed-to-us".to_owned(), kind: NodeKind::Other }]));
        return;
    };
    let (folders, mut nodes): (Vec<Node>, Vec<Node>) =
        nodes.into_iter().partition(|node| depth > 0 && node.kind == NodeKind::Dir);
    for folder in folders {
        if let Ok(path) = dir.join(&folder.name) {
            list(fs, path, depth - 1, found);
        }
    }
    while nodes.len() > AT_ONCE {
        let rest = nodes.split_off(AT_ONCE);
        found.push((dir.clone(), std::mem::replace(&mut nodes, rest)));
    }
    found.push((dir, nodes));
}

#[derive(Default)]
struct Files {
    hasher: blake3::Hasher,
    changed: i64,
}

impl Files {
    fn add(&mut self, path: &VaultPath, identity: Option<Identity>) {
        self.hasher.update(path.as_str().as_bytes()).update(&[0]);
        if let Some(id) = identity {
            for number in [id.file, id.len, id.modified.cast_unsigned(), id.changed.cast_unsigned()] {
                self.hasher.update(&number.to_le_bytes());
            }
            self.changed = self.changed.max(id.changed);
        }
    }
}
