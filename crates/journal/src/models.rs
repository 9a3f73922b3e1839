//! [`attributes`]: for whom a new file is. See [`crate::Tx::publish`].

use forklore_fs::{Attributes, NodeKind, PathError, VaultPath, Vfs};

/// Whose a new file is, and who may read it.
pub(crate) fn attributes(
    fs: &dyn Vfs,
    target: &VaultPath,
    models: &[VaultPath],
) -> Result<Attributes, PathError> {
    let mut dir = target.parent();
    let mut closed = false;
    let mut all = |models: &[VaultPath]| {
        let mut found: Option<Attributes> = None;
        for model in models {
            match fs.attributes(model) {
                Ok(Some(is)) => {
                    found = Some(found.take().map_or_else(|| is.clone(), |found| found.and(&is)));
                }
                Ok(None) => {}
                // What cannot be looked at is for nobody else.
                Err(_) => closed = true,
            }
        }
        found
    };
    let mut found = all(models);
    if found.is_none() && !models.is_empty() {
        let beside = fs.list(&dir)?.into_iter().filter(|node| node.kind == NodeKind::File);
        let beside: Vec<VaultPath> = beside.filter_map(|node| dir.join(&node.name).ok()).collect();
        found = all(&beside);
    }
    while found.is_none() {
        found = fs.attributes(&dir)?.map(|is| is.of_new_file());
        if dir == VaultPath::root() {
            break;
        }
        dir = dir.parent();
    }
    let found = found.unwrap_or_default();
    Ok(if closed { found.private() } else { found })
}
