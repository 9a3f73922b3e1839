//! The pure heart of Forklore. No I/O, no clock: bytes and facts in, answers out.
//!
//! * [`mod@format`]: SillyTavern's files as they are: [`format::chat`] lines, [`format::book`], group, card and settings fields,
//!   file names. Read by spans, never re-written whole.
//! * [`story`]: what those files mean together: [`story::Moment`]s and lines, [`story::lineage`] (which chat was forked from
//!   which, and where).
//! * [`adapter`]: what knows one memory extension each, and the words for what they all tell.
//! * [`state`]: the state at message N by the one rule: every known change of an entry has a clock order and a story position.
//! * [`fork`]: making a fork: its names, its book, its header.
//! * [`diff`]: what differs between two states, and where two lines part.
//! * [`merge`]: bringing two lines of a story together.
//! * [`check`]: findings: what is wrong, where, and what to do.

pub mod adapter;
pub mod check;
pub mod diff;
pub mod fork;
pub mod format;
pub mod merge;
pub mod state;
pub mod story;
