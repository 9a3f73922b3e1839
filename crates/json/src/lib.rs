//! Lossless JSON: read by spans, edit by splices.
//!
//! * [`Raw`] is one syntactically valid JSON value as the bytes that stand in the file. Looking inside gives more `Raw`s:
//!   slices of the same bytes. Nothing is decoded until somebody asks for a text or a number.
//! * [`Splice`] is a replacement of a byte range. [`set`], [`remove`], [`push`] and [`insert`] work out the splice for an edit at a path;
//!   every byte outside it stays as it was: key order, number text, escapes, lone surrogates, white space, unknown fields.
//! * [`quote`] writes a text the way JavaScript's `JSON.stringify` does.
//!
//! Why not a tree of values: SillyTavern writes files that `serde_json::Value` cannot even read (a text cut in the middle of
//! an emoji), and no tree keeps `1e400` or 300-digit numbers. What we did not author is moved as raw bytes.
//!
//! What counts as valid is what `JSON.parse` accepts, with one widening: bytes that are not UTF-8 are allowed inside strings,
//! because SillyTavern reads files with replacement characters and so accepts such lines. Nesting has no limit.
//!
//! ```
//! use forklore_json::{Raw, set, PathPart};
//!
//! let doc = Raw::parse(br#"{"id": 9007199254740993, "name": "Ana"}"#)?;
//! let splice = set(doc, &[PathPart::key("name")], br#""Bo""#)?;
//! assert_eq!(splice.apply(doc.bytes()), br#"{"id": 9007199254740993, "name": "Bo"}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod raw;
mod scan;
mod splice;
mod text;
mod write;

pub use raw::{Elements, Kind, Members, Raw};
pub use scan::SyntaxError;
pub use splice::{EditError, PathPart, Splice, apply_all, insert, push, remove, set, set_before};
pub use text::{into_text, quote, quote_wtf8};
pub use write::{compact, list, object, pretty};
