//! [`Scene`]: where scenes end. The window since the last one is looked at once it is long enough, not at every new message.

use std::ops::Range;

use crate::ground::Ground;
use crate::key::Key;
use crate::line::Utterance;
use crate::question::{Ask, Question};
use crate::reply::Reply;

/// Why a scene ends where it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// A model said so
    Answered(Key),
    /// A model said so for another line that was played on, which this one shares the scene with: this line is not long enough to ask
    Provisional(Key),
    /// A person said so
    ByHand,
    /// No end was found and it was long enough
    TooLong,
}

/// A part of the line that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scene {
    /// Its messages
    pub messages: Range<usize>,
    /// Why it ends there
    pub ended: Ended,
}

impl Scene {
    /// Its last message.
    pub fn last(&self) -> usize {
        self.messages.end.saturating_sub(1)
    }
}

/// The scenes of a line, and the question about the next one if it is missing.
pub(crate) fn scenes(ground: Ground<'_>) -> (Vec<Scene>, Option<Question>) {
    let mut scenes: Vec<Scene> = Vec::new();
    loop {
        let start = scenes.last().map_or(0, |scene| scene.messages.end);
        match (Finder { ground, start }).next() {
            Next::Scene(end, ended) if end > start => scenes.push(Scene { messages: start..end, ended }),
            Next::Ask(question) => return (scenes, Some(question)),
            Next::Scene(..) | Next::Open => return (scenes, None),
        }
    }
}

enum Next {
    /// The scene ends before this message.
    Scene(usize, Ended),
    Ask(Question),
    /// There is not enough to tell.
    Open,
}

struct Finder<'a> {
    ground: Ground<'a>,
    start: usize,
}

impl Finder<'_> {
    fn next(&self) -> Next {
        let sizes = self.sizes();
        let by_hand = self
            .ground
            .inputs
            .breaks
            .range(self.start..)
            .next()
            .copied()
            .filter(|at| *at < self.ground.line.len());
        for (i, size) in sizes.iter().enumerate() {
            let end = self.start + size;
            if let Some(at) = by_hand.filter(|at| *at < end) {
                return Next::Scene(at + 1, Ended::ByHand);
            }
            // Whether the scene is as long as can be shows only in the message after it.
            let window = self.start..end + self.ground.settings.look_ahead.max(1);
            if window.end > self.ground.line.len() {
                return self.provisional();
            }
            let forced = i + 1 == sizes.len();
            let from = self.ground.settings.shortest.clamp(1, *size);
            let ask = Ask::Boundary { window, from, to: *size, forced };
            let question = self.ground.question(ask);
            let Some(answer) = self.ground.answer(&question) else { return Next::Ask(question) };
            match answer.reply {
                Reply::Boundary(Some(at)) if at <= *size && self.allowed(at) => {
                    return Next::Scene(self.start + at, Ended::Answered(answer.key));
                }
                // None there, or a person said no: a longer look, and the longest there is ends it.
                _ if forced => return Next::Scene(end, Ended::TooLong),
                _ => {}
            }
        }
        Next::Open
    }

    /// Whether no person said that the `at`-th message of the window does not end a scene.
    fn allowed(&self, at: usize) -> bool {
        !self.ground.inputs.no_breaks.contains(&(self.start + at - 1))
    }

    /// How many messages may belong to the scene, at the first look, the second and the third. No more than fit a prompt.
    fn sizes(&self) -> Vec<usize> {
        let mut bytes = 0;
        let longest = self.ground.settings.window.max(1) * 4;
        let messages = self.ground.line.part(self.start..self.start + longest);
        let fit = messages.iter().take_while(|message| {
            bytes += message.text.len() + message.name.len();
            self.ground.settings.tokens(bytes) <= self.ground.settings.scene_tokens
        });
        let fit = match fit.count() {
            all if all == messages.len() => longest,
            some => some.max(1),
        };
        let mut sizes: Vec<usize> =
            [1, 2, 4].iter().map(|n| (self.ground.settings.window.max(1) * n).min(fit)).collect();
        sizes.dedup();
        sizes
    }

    /// The end that was found for a line that was played on beyond this one. A fork inside the look-ahead knows it, marked.
    fn provisional(&self) -> Next {
        let rest = self.ground.line.part(self.start..self.ground.line.len());
        let Some(first) = rest.first() else { return Next::Open };
        let found = self.ground.answers.boundaries(&first.key()).into_iter().find_map(|answer| {
            let Reply::Boundary(Some(at)) = answer.reply else { return None };
            let seen = &answer.provenance.messages;
            let same = seen.len() > rest.len()
                && rest.iter().map(Utterance::key).eq(seen.iter().take(rest.len()).copied());
            (same && at <= rest.len() && self.allowed(at)).then_some((at, answer.key))
        });
        found.map_or(Next::Open, |(at, key)| Next::Scene(self.start + at, Ended::Provisional(key)))
    }
}
