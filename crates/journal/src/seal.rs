//! [`seal`] and [`unseal`]: an operation as bytes that tell whether they are whole, and ours.

use forklore_fs::VaultPath;
use serde::Deserialize;

use crate::layout;
use crate::operation::{Operation, Step};

/// Version of the format that this Forklore writes, and the newest that it reads.
pub const VERSION: u32 = 2;

/// The version of an operation that moves no images or files: an older Forklore can read it.
const PLAIN: u32 = 1;

/// Why the bytes of an operation cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsealed {
    /// The end is missing, or something was changed: it was never finished.
    Torn,
    /// A newer Forklore wrote it.
    Newer(u32),
    /// It is whole, but nothing that Forklore would have written: somebody else made it.
    Foreign,
}

/// The operation as it is written: one JSON document, a line with its hash.
pub fn seal(operation: &Operation) -> Vec<u8> {
    // Plain data into memory cannot fail; and a seal over nothing would be torn, not wrong.
    let mut bytes = serde_json::to_vec_pretty(operation).unwrap_or_default();
    let hash = blake3::hash(&bytes).to_hex();
    bytes.push(b'\n');
    bytes.extend_from_slice(hash.as_bytes());
    bytes.push(b'\n');
    bytes
}

/// Reads what [`seal`] wrote into the file of the operation `id`.
pub fn unseal(bytes: &[u8], id: &str) -> Result<Operation, Unsealed> {
    let rest = bytes.strip_suffix(b"\n").ok_or(Unsealed::Torn)?;
    let newline = memchr::memrchr(b'\n', rest).ok_or(Unsealed::Torn)?;
    let (document, hash) = (&rest[..newline], &rest[newline + 1..]);
    if blake3::hash(document).to_hex().as_bytes() != hash {
        return Err(Unsealed::Torn);
    }
    #[derive(Deserialize)]
    struct Head {
        version: u32,
    }
    let head: Head = serde_json::from_slice(document).map_err(|_| Unsealed::Torn)?;
    if head.version > VERSION {
        return Err(Unsealed::Newer(head.version));
    }
    let operation: Operation = serde_json::from_slice(document).map_err(|_| Unsealed::Foreign)?;
    if operation.id == id && is_ours(&operation) { Ok(operation) } else { Err(Unsealed::Foreign) }
}

/// The version of the format that steps take: an older Forklore must not act upon files that it knows nothing of.
pub(crate) fn version_of(steps: &[Step]) -> u32 {
    if steps.iter().any(|step| layout::is_media(step.target())) { VERSION } else { PLAIN }
}

/// Whether it names only files that operations are about, and temporary files of its own. A vault can come from anywhere, and
/// an operation that is found in it is acted upon.
fn is_ours(operation: &Operation) -> bool {
    let plain = |name: &str| {
        !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'.'))
    };
    let ours = |target: &VaultPath| {
        let top = target.as_str().split('/').next().unwrap_or("");
        let folders =
            [layout::CHATS, layout::GROUP_CHATS, layout::GROUPS, layout::WORLDS, layout::CHARACTERS];
        target.as_str() == layout::SETTINGS || (folders.contains(&top) && target.as_str() != top)
    };
    // Images and files come and go whole; nobody edits them.
    let whole = |target: &VaultPath| ours(target) || (operation.version > PLAIN && layout::is_media(target));
    let fine = |step: &Step| match step {
        Step::Publish(publish) => {
            let own = publish.staged.strip_prefix(&operation.id).is_some_and(|rest| rest.starts_with('.'));
            own && plain(&publish.staged) && whole(&publish.target)
        }
        Step::Retire(retire) => whole(&retire.target),
        Step::Edit(edit) => ours(&edit.target),
    };
    plain(&operation.id) && !operation.id.contains('.') && operation.steps.iter().all(fine)
}
