//! [`Asset`]: style sheets and scripts, as they are in the program.
//!
//! They are served below the [`edition`], a hash over all of them: a browser keeps them for ever, and asks for the new ones after an
//! update. Modules import each other by relative names and so stay within one edition.

use std::sync::LazyLock;

/// A file that pages need.
#[derive(Debug, Clone, Copy)]
pub struct Asset {
    /// Its name
    pub name: &'static str,
    /// Its media type
    pub media: &'static str,
    /// Its content
    pub bytes: &'static [u8],
}

macro_rules! assets {
    ($($media:literal: $($name:literal)+;)+) => {
        &[$($(Asset { name: $name, media: $media, bytes: include_bytes!(concat!("../assets/", $name)) },)+)+]
    };
}

/// All of them. A page's own files bear the name of its module.
const ASSETS: &[Asset] = assets! {
    "text/css; charset=utf-8": "base.css" "stories.css" "tree.css" "moment.css" "compare.css" "health.css" "log.css" "act.css" "retention.css" "welcome.css" "bring.css" "memory.css" "past.css" "settings.css";
    "text/javascript; charset=utf-8":
        "app.js" "api.js" "address.js" "dom.js" "focus.js" "live.js" "events.js" "note.js" "progress.js" "morph.js" "act.js" "menu.js" "find.js" "theme.js" "theme-switch.js"
        "enter.js" "stories.js" "moment.js" "moment-lore.js" "moment-memory.js" "moment-pin.js" "moment-play.js" "moment-step.js" "moment-tabs.js" "compare.js" "bring.js" "import.js" "waiting.js"
        "tree.js" "tree-drawing.js" "tree-row.js" "tree-zoom.js" "tree-fold.js" "tree-cursor.js" "tree-tip.js" "tree-pointer.js" "tree-keys.js" "tree-search.js"
        "tree-cluster.js" "tree-trunk.js" "tree-filter.js" "tree-map.js" "tree-menu.js" "tree-pair.js" "tree-save.js";
    "image/svg+xml": "icon.svg";
};

static EDITION: LazyLock<String> = LazyLock::new(|| {
    let mut hasher = blake3::Hasher::new();
    for asset in ASSETS {
        hasher.update(asset.name.as_bytes()).update(&[0]).update(asset.bytes).update(&[0]);
    }
    hasher.finalize().to_hex().chars().take(16).collect()
});

/// What all of them together are called.
pub fn edition() -> &'static str {
    &EDITION
}

/// The file of this name.
pub fn find(name: &str) -> Option<Asset> {
    ASSETS.iter().find(|asset| asset.name == name).copied()
}

/// The address of a file, from any page.
pub fn address(name: &str) -> String {
    debug_assert!(find(name).is_some(), "{name}");
    format!("assets/{}/{name}", edition())
}
