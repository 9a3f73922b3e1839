//! What a vault calls itself: a random name in `.forklore/id`, made when history is first kept. A store of history is bound to it, so that no
//! vault ever reads or writes another one's.

use forklore_fs::{PathError, Vfs};
use forklore_journal::layout;

/// The vault's name for itself. One that is torn is none.
pub fn of(fs: &dyn Vfs) -> Result<Option<String>, PathError> {
    let bytes = fs.read(&layout::folder(layout::ID))?;
    Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()).map(|text| text.trim().to_owned()).filter(is_id))
}

/// The same, made now if there is none; `like` is the name that it had, if somebody else still knows it.
pub fn make(fs: &dyn Vfs, like: Option<String>) -> Result<String, PathError> {
    if let Some(id) = of(fs)? {
        return Ok(id);
    }
    let id = like.unwrap_or_else(|| uuid::Uuid::new_v4().simple().to_string());
    let (dir, file) = (layout::folder(layout::FORKLORE), layout::folder(layout::ID));
    let new = layout::folder(&format!("{}.{id}", layout::ID));
    fs.make_private_dir(&dir)?;
    fs.create(&new, format!("{id}\n").as_bytes())?;
    fs.sync_file(&new)?;
    let id = match fs.rename_noreplace(&new, &file) {
        Ok(()) => id,
        Err(e) if e.is_taken() => match of(fs)? {
            // Another Forklore was quicker.
            Some(other) => {
                fs.unlink(&new)?;
                other
            }
            // It is torn.
            None => {
                fs.replace(&new, &file)?;
                id
            }
        },
        Err(e) => return Err(e),
    };
    fs.sync_dir(&dir)?;
    Ok(id)
}

/// Whether it is one that we made.
#[allow(clippy::ptr_arg, reason = "for `Option<String>::filter`")]
fn is_id(text: &String) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
