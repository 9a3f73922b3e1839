//! Where things are in a vault (one SillyTavern user folder), and how to find a vault from here.

use forklore_core::format::{media, names};
use forklore_fs::{BadPath, VaultPath};

/// Folder with one sub-folder of chats a character.
pub const CHATS: &str = "chats";
/// Folder with the chats of all groups.
pub const GROUP_CHATS: &str = "group chats";
/// Folder with one file a group.
pub const GROUPS: &str = "groups";
/// Folder with the lorebooks.
pub const WORLDS: &str = "worlds";
/// Folder with the cards.
pub const CHARACTERS: &str = "characters";
/// Folder with SillyTavern's own copies of chats.
pub const BACKUPS: &str = "backups";
/// The user's settings.
pub const SETTINGS: &str = "settings.json";
/// Forklore's own folder in the vault. SillyTavern ignores it.
pub const FORKLORE: &str = ".forklore";
/// What was seen of chats and books.
pub const HISTORY: &str = ".forklore/history";
/// The settings of this vault.
pub const CONFIG: &str = ".forklore/config.toml";
/// Words in which memory's questions are asked here, where they are not Forklore's own.
pub const PROMPTS: &str = ".forklore/prompts";

/// What a vault calls itself.
pub const ID: &str = ".forklore/id";

/// The folder of a name that is known to be a good one.
pub fn folder(name: &str) -> VaultPath {
    // The constants above are good names; a bad one would be the root, where nothing of ours is looked for.
    VaultPath::new(name).unwrap_or_default()
}

/// The file of a book, as SillyTavern would look for it.
pub fn book(name: &str) -> Result<VaultPath, BadPath> {
    folder(WORLDS).join(&format!("{}.json", names::book_stem(name)))
}

/// Whether a file is where books are.
pub fn is_book(path: &VaultPath) -> bool {
    path.parent() == folder(WORLDS)
}

/// Whether a file is an image or a file that chats link to.
pub fn is_media(path: &VaultPath) -> bool {
    media::place(path.as_str()).is_some()
}

/// Whether a folder with these entries looks like a vault.
pub fn is_vault(entries: &[&str]) -> bool {
    let has = |name: &str| entries.contains(&name);
    (has(CHATS) || has(GROUP_CHATS)) && (has(WORLDS) || has(CHARACTERS) || has(SETTINGS))
}

/// Folders below a SillyTavern install, or beside it, in which a single user's vault can be.
pub const CANDIDATES: [&str; 4] = ["", "default-user", "data/default-user", "SillyTavern/data/default-user"];

/// How all backups of chats begin.
pub const BACKUP_PREFIX: &str = "chat_";

/// How the backups of a chat folder or group chat begin: lower case, everything else an underscore. More can follow before the
/// time (a hash where the name is not ASCII, another chat's name): whose backup it is, its messages tell.
pub fn backup_prefix(key: &str) -> String {
    let clean: String = names::sanitize(key)
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    format!("{BACKUP_PREFIX}{clean}")
}
