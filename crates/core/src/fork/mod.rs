//! What a fork is made of: the bytes of the files that it needs. [`book`] is its lorebook.

pub mod book;
