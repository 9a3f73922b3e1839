//! [`recall`] and [`remember`]: the lineage of all chats of a large vault, kept in `.forklore/cache` for as long as no chat is another one.
//!
//! Disposable, as everything there: a file that is missing, torn, or about other chats is as good as none.

use forklore_core::story::lineage::Lineage;
use forklore_fs::Vfs;

use crate::cache;
use crate::library::Chat;

/// In smaller vaults lineage is found as quickly as remembered.
const MANY_CHATS: usize = 200;
const MANY_MESSAGES: usize = 5_000;

/// Whether the lineage of these chats is worth remembering.
pub(crate) fn is_worthwhile(chats: &[Chat]) -> bool {
    let messages = || chats.iter().map(|chat| chat.transcript.len()).sum::<usize>();
    chats.len() >= MANY_CHATS || (chats.len() > 1 && messages() >= MANY_MESSAGES)
}

/// Raised whenever lineage is found in another way.
const VERSION: u32 = 3;

/// Everything that lineage is found from.
pub(crate) struct Key(blake3::Hash);

impl Key {
    /// Of these chats. `None` if one could not be read: nothing tells whether it is the same the next time.
    pub(crate) fn of(chats: &[Chat]) -> Option<Self> {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&VERSION.to_le_bytes());
        for chat in chats {
            let id = chat.identity?;
            hasher.update(chat.path.as_str().as_bytes()).update(&[0]);
            let numbers = [
                id.file,
                id.len,
                id.modified.cast_unsigned(),
                id.changed.cast_unsigned(),
                chat.story.place() as u64,
            ];
            for number in numbers {
                hasher.update(&number.to_le_bytes());
            }
            // What is kept elsewhere does not show in the chat's own file.
            if let Some((_, kept)) = &chat.kept {
                let metadata = kept.metadata.as_deref();
                hasher.update(&metadata.map_or(0, |bytes| bytes.len() as u64 + 1).to_le_bytes());
                hasher.update(metadata.unwrap_or_default());
            }
        }
        Some(Self(hasher.finalize()))
    }
}

/// What was found out about these chats.
pub(crate) fn recall(fs: &dyn Vfs, name: &str, key: &Key, chats: usize) -> Option<Vec<Lineage>> {
    let bytes = cache::kept(fs, name)?;
    let (of, found) = bytes.split_first_chunk::<32>()?;
    let found: Vec<Lineage> = (of == key.0.as_bytes()).then(|| postcard::from_bytes(found).ok())??;
    let whole = |lineage: &Lineage| lineage.above().is_none_or(|parent| parent.place() < chats);
    (found.len() == chats && found.iter().all(whole)).then_some(found)
}

/// Keeps what was found out.
pub(crate) fn remember(fs: &dyn Vfs, name: &str, key: &Key, found: &[Lineage]) {
    if let Ok(bytes) = postcard::to_extend(found, key.0.as_bytes().to_vec()) {
        cache::keep(fs, name, &bytes);
    }
}
