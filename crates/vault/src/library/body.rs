//! [`Body`]: the bulk of a chat, which is its header line, its rows and what its scenes have kept; and [`Later`]: a body that is read when
//! somebody asks for it. Of a vault of thousands of chats a command needs the bodies of few.

use std::ops::{Deref, Range};
use std::sync::{Arc, OnceLock};

use forklore_core::format::chat::Header;
use forklore_core::story::{Row, RowSource, Transcript};
use forklore_json::Raw;

use crate::read::scan::Scan;
use crate::read::snapshots::Snapshots;

/// The bulk of a chat.
#[derive(Debug, Default)]
pub(crate) struct Body {
    /// The header line; empty if there is none
    header: Vec<u8>,
    /// Where in it `chat_metadata` is, if it is there
    metadata: Option<Range<usize>>,
    transcript: Transcript,
    snapshots: Snapshots,
}

impl Body {
    pub(crate) fn new(header: Vec<u8>, transcript: Transcript, snapshots: Snapshots) -> Self {
        let metadata = (!header.is_empty())
            .then(|| Header::new(Raw::trust(&header)).metadata().range_in(&header))
            .flatten();
        Self { header, metadata, transcript, snapshots }
    }

    pub(crate) fn of(scan: Scan) -> Self {
        Self::new(scan.header.unwrap_or_default(), scan.transcript, scan.snapshots)
    }

    /// The header line; empty if there is none.
    pub(crate) fn line(&self) -> &[u8] {
        &self.header
    }

    pub(crate) fn header(&self) -> Header<'_> {
        // The scan took the header out of a line that it had parsed.
        if self.header.is_empty() {
            return Header::NONE;
        }
        let metadata = self.metadata.clone().and_then(|range| self.header.get(range));
        Header::with_metadata(Raw::trust(&self.header), metadata.map_or(Raw::NULL, Raw::trust))
    }
}

/// A body that is read when somebody asks for it.
pub(crate) struct Later {
    body: OnceLock<Body>,
    read: Option<Box<dyn Fn() -> Body + Send + Sync>>,
}

impl Later {
    /// One that is here already.
    pub(crate) fn here(body: Body) -> Arc<Self> {
        Arc::new(Self { body: OnceLock::from(body), read: None })
    }

    /// One that `read` finds.
    pub(crate) fn new(read: impl Fn() -> Body + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { body: OnceLock::new(), read: Some(Box::new(read)) })
    }

    /// The same behind another header line.
    pub(crate) fn behind(self: &Arc<Self>, line: Vec<u8>) -> Arc<Self> {
        let rest = self.clone();
        Self::new(move || {
            let Body { transcript, snapshots, .. } = rest.get();
            Body::new(line.clone(), transcript.clone(), snapshots.clone())
        })
    }

    pub(crate) fn get(&self) -> &Body {
        self.body.get_or_init(|| self.read.as_ref().map(|read| read()).unwrap_or_default())
    }

    /// The rows, of which it is known that there are so many.
    pub(crate) fn transcript(self: &Arc<Self>, rows: usize) -> Transcript {
        match self.body.get() {
            Some(body) => body.transcript.clone(),
            None => Transcript::elsewhere(Arc::new(LaterRows { body: self.clone(), rows })),
        }
    }
}

impl std::fmt::Debug for Later {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.body.get().fmt(f)
    }
}

/// The rows of a body that is read when one of them is asked for.
#[derive(Debug)]
struct LaterRows {
    body: Arc<Later>,
    rows: usize,
}

impl RowSource for LaterRows {
    fn count(&self) -> usize {
        self.rows
    }

    fn row(&self, n: usize) -> Row {
        self.body.get().transcript.row(n).unwrap_or_default()
    }
}

/// What the scenes of a chat have kept, read when somebody asks for it.
#[derive(Debug, Clone)]
pub(crate) struct LaterSnapshots(pub(crate) Arc<Later>);

impl Deref for LaterSnapshots {
    type Target = Snapshots;

    fn deref(&self) -> &Snapshots {
        &self.0.get().snapshots
    }
}
