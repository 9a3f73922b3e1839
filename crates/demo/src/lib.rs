//! A small original story, built as a complete SillyTavern vault, to try Forklore on.
//!
//! `story` reads `story/story.toml`; `chronicle` plays it through as SillyTavern with Auto-Recap would have, scene by scene in
//! the order in which they were processed; `files` lays the result out as the files those programs write; `portrait` paints
//! the card. Everything is the same on every run.

mod chronicle;
mod files;
mod portrait;
mod story;

use std::path::Path;

use forklore_fs::{PathError, RealFs, VaultPath, Vfs};

pub use story::Checkpoint;
use story::Story;

/// The file that marks a folder as a demo of ours.
const MARK: &str = ".forklore/demo";

/// Why the demo could not be built.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// There is something else in the folder.
    #[error("the folder is not empty and is no Forklore demo")]
    Taken,
    /// The built-in story is wrong. A test makes sure that it is not.
    #[error("the built-in story cannot be read: {0}")]
    Story(String),
    /// The system said no.
    #[error("{0}")]
    Path(String),
}

impl From<PathError> for DemoError {
    fn from(e: PathError) -> Self {
        Self::Path(e.to_string())
    }
}

/// What there is to look at.
#[derive(Debug, Clone)]
pub struct Demo {
    /// Whether the folder was made just now.
    pub created: bool,
    /// The story's title.
    pub title: String,
    /// Two sentences about it.
    pub blurb: String,
    /// The character's folder.
    pub folder: String,
    /// A checkpoint that is left to be made.
    pub checkpoint: Checkpoint,
}

/// Builds the demo in a folder of its own, or finds it there from last time.
pub fn build(dir: &Path) -> Result<Demo, DemoError> {
    let story = Story::built_in()?;
    let fs = RealFs::make(dir).map_err(|e| DemoError::Path(e.to_string()))?;
    let mark = VaultPath::new(MARK).unwrap_or_default();
    let created = fs.read(&mark)?.is_none();
    if created {
        if !fs.list(&VaultPath::root())?.is_empty() {
            return Err(DemoError::Taken);
        }
        build_into(&fs, &story)?;
        fs.make_dir(&mark.parent())?;
        fs.create(&mark, b"This folder was made by `forklore demo`. Delete it whenever you like.\n")?;
    }
    let Story { title, blurb, character: folder, checkpoint, .. } = story;
    Ok(Demo { created, title, blurb, folder, checkpoint })
}

/// Writes the demo vault into any file system.
pub fn build_vault(fs: &dyn Vfs) -> Result<(), DemoError> {
    build_into(fs, &Story::built_in()?)
}

fn build_into(fs: &dyn Vfs, story: &Story) -> Result<(), DemoError> {
    for (path, bytes) in files::lay_out(story, &chronicle::play(story))? {
        let path = VaultPath::new(&path).map_err(|e| DemoError::Path(e.to_string()))?;
        fs.make_dir(&path.parent())?;
        fs.create(&path, &bytes)?;
    }
    Ok(())
}
