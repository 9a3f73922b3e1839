//! `export`, `import`: a story goes to another vault. The files themselves are the caller's: [`Ready`] writes to whatever it is given,
//! and [`import()`] reads what was opened.

use std::io::Write;

use forklore_engine::export::{self, Chats, ExportReport};
use forklore_engine::import::{self, ImportReport};
use forklore_fs::OpenFile;
use forklore_vault::{AddressError, Library};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{Failure, OpenVault, now};

/// What is to be exported.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Leaving {
    /// A story, or address of a chat of it
    pub what: String,
    /// Only this chat and those that it was forked from
    #[serde(default)]
    pub line: bool,
    /// The character's card goes along
    #[serde(default)]
    pub with_card: bool,
    /// What history has seen stays behind
    #[serde(default)]
    pub no_history: bool,
    /// Images and files that messages link to go along
    #[serde(default)]
    pub media: bool,
}

/// How something is to be imported.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arriving {
    /// The story that the chats are to join; the one that they come from, or a new one, if left out
    pub into: Option<String>,
    /// Change nothing
    #[serde(default)]
    pub dry_run: bool,
}

/// An export that is worked out and only has to be written.
pub struct Ready {
    library: Library,
    plan: export::ExportPlan,
}

/// Works out what belongs together.
pub fn export(open: &OpenVault<'_>, leaving: &Leaving) -> Result<Ready, Failure> {
    let library = open.library()?;
    let request = export::ExportRequest {
        chats: chats(&library, leaving)?,
        with_card: leaving.with_card,
        with_history: !leaving.no_history,
        with_media: leaving.media,
    };
    let plan = export::plan(&library, &request, now())?;
    Ok(Ready { library, plan })
}

impl Ready {
    /// What would be in the file.
    pub fn report(&self) -> &ExportReport {
        &self.plan.report
    }

    /// Writes it. It is whole only if this returns without an error.
    pub fn write(self, open: &OpenVault<'_>, out: &mut dyn Write) -> Result<ExportReport, Failure> {
        Ok(export::execute(&self.library, self.plan, out, open.progress)?)
    }
}

/// Brings a story in.
pub fn import(
    open: &OpenVault<'_>,
    arriving: &Arriving,
    file: &dyn OpenFile,
) -> Result<ImportReport, Failure> {
    let request = import::ImportRequest { into: arriving.into.clone() };
    let library = open.library_to_change(arriving.dry_run)?;
    let plan = import::plan(&library, file, &request, open.progress)?;
    if arriving.dry_run {
        return Ok(plan.report);
    }
    Ok(import::execute(&library, file, plan, now(), open.progress)?)
}

fn chats(library: &Library, leaving: &Leaving) -> Result<Chats, Failure> {
    if leaving.line {
        return Ok(Chats::Line(library.find_chat(&leaving.what)?));
    }
    match library.find_story(&leaving.what) {
        Ok(story) => Ok(Chats::Story(story)),
        Err(no_story) => match library.find_chat(&leaving.what) {
            Ok(chat) => Ok(Chats::Story(library.chat(chat).story())),
            Err(e @ AddressError::Ambiguous { .. }) => Err(e.into()),
            Err(_) => Err(no_story.into()),
        },
    }
}
