//! JSON for programs: one document, or one in each line.

use std::io::{self, Write as _};

use serde::Serialize;

/// Prints one JSON document.
pub(crate) fn json<T: Serialize>(document: &T) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    forklore_api::write_document(&mut out, document)?;
    out.flush()
}

/// Prints one JSON document in one line: for programs that go on reading.
pub(crate) fn line<T: Serialize>(document: &T) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(document)?)?;
    out.flush()
}
