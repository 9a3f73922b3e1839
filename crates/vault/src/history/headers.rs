//! The headers that a chat had: at a message, around it, lately.

use std::ops::ControlFlow;

use forklore_fs::VaultPath;
use forklore_json::Raw;
use forklore_store::Id;

use super::HistoryError;
use super::timeline::Timeline;
use crate::{Around, ChatIx, Library};

/// So many different headers are looked at.
const LATELY: usize = 64;

/// So many when something is looked for that was lost.
const FAR_BACK: usize = 512;

impl Timeline {
    /// The header of a chat as it was at a message: the last one saved while the story was there or before. With the message.
    pub fn header_at<T>(
        &self,
        library: &Library,
        chat: ChatIx,
        at: usize,
        read: &dyn Fn(Raw<'_>) -> Option<T>,
    ) -> Result<Option<(usize, T)>, HistoryError> {
        let periods = self.periods(library, chat);
        for (p, period) in periods.iter().enumerate().rev() {
            for i in period.track.iter().rev() {
                let Some(seen) = self.seen[*i].chat() else { continue };
                let head = seen.messages.saturating_sub(1);
                let Some(message) = self.now(&periods, p, *i, head).filter(|message| *message <= at) else {
                    continue;
                };
                if let Some(found) = self.in_header(&seen.header, read)? {
                    return Ok(Some((message, found)));
                }
            }
        }
        Ok(None)
    }

    /// The last of the headers that a chat had lately in which something is found. Looking through all would take longer the longer it has
    /// been recorded, and mostly there is nothing.
    pub fn lately<T>(
        &self,
        file: &VaultPath,
        read: &dyn Fn(Raw<'_>) -> Option<T>,
    ) -> Result<Option<T>, HistoryError> {
        let mut headers: Vec<&Id> =
            self.track(file).iter().rev().filter_map(|i| Some(&self.seen[*i].chat()?.header)).collect();
        headers.dedup();
        for header in headers.into_iter().take(LATELY) {
            if let Some(found) = self.in_header(header, read)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// What is found in the last header with which a chat was seen bound to a book.
    pub fn while_bound<T>(
        &self,
        file: &VaultPath,
        book: &str,
        read: &dyn Fn(Raw<'_>) -> Option<T>,
    ) -> Result<Option<T>, HistoryError> {
        let track = self.life(file, usize::MAX);
        let mut seen = track.iter().rev().filter_map(|i| self.seen[*i].chat());
        let last = seen.find(|chat| chat.book.as_deref() == Some(book));
        last.map_or(Ok(None), |chat| self.in_header(&chat.header, read))
    }

    /// The headers that a chat had on its line before and after a message: the last one that was saved while the story was there or before,
    /// and the next one that was seen after that; each with the message that it stood at.
    pub fn headers_around<T>(
        &self,
        library: &Library,
        chat: ChatIx,
        at: usize,
        read: &dyn Fn(Raw<'_>) -> Option<T>,
    ) -> Result<Around<T>, HistoryError> {
        let periods = self.periods(library, chat);
        let (mut before, mut next) = (None, None);
        'line: for (p, period) in periods.iter().enumerate().rev() {
            for i in period.track.iter().rev() {
                let Some(seen) = self.seen[*i].chat() else { continue };
                let head = seen.messages.saturating_sub(1);
                let Some(message) = self.now(&periods, p, *i, head) else { continue };
                if message > at {
                    next = Some((message, &seen.header));
                } else if let Some(found) = self.in_header(&seen.header, read)? {
                    before = Some((message, found));
                    break 'line;
                }
            }
        }
        let after = match next {
            Some((message, header)) => self.in_header(header, read)?.map(|found| (message, found)),
            None => None,
        };
        Ok(Around { before, after })
    }

    /// Shows the headers that a chat had on its line, the last one first, with the message that each stood at, until `see` has seen
    /// enough. Only the last ones are read: there can be thousands, and large ones.
    pub fn headers_back(
        &self,
        library: &Library,
        chat: ChatIx,
        see: &mut dyn FnMut(usize, Raw<'_>) -> ControlFlow<()>,
    ) -> Result<(), HistoryError> {
        let periods = self.periods(library, chat);
        let mut last: Option<&Id> = None;
        let mut left = FAR_BACK;
        for (p, period) in periods.iter().enumerate().rev() {
            for i in period.track.iter().rev() {
                let Some(seen) = self.seen[*i].chat().filter(|seen| last != Some(&seen.header)) else {
                    continue;
                };
                let head = seen.messages.saturating_sub(1);
                let Some(message) = self.now(&periods, p, *i, head) else { continue };
                last = Some(&seen.header);
                if left == 0 {
                    return Ok(());
                }
                left -= 1;
                let line = self.store.get(&seen.header)?;
                let header = Raw::parse(line.trim_ascii()).unwrap_or(Raw::NULL);
                if see(message, header.get("chat_metadata").unwrap_or(Raw::NULL)).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// What is found in a header.
    pub(super) fn in_header<T>(
        &self,
        header: &Id,
        read: &dyn Fn(Raw<'_>) -> Option<T>,
    ) -> Result<Option<T>, HistoryError> {
        let line = self.store.get(header)?;
        let header = Raw::parse(line.trim_ascii()).unwrap_or(Raw::NULL);
        Ok(read(header.get("chat_metadata").unwrap_or(Raw::NULL)))
    }
}
