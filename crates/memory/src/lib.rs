//! Memory that follows the line: everything a story is remembered by is computed from its messages, like a build.
//!
//! * [`Line`] is what was said; [`Inputs`] is what the owner decided; [`Answers`] is what a model has answered so far. Together they are
//!   the [`Ground`] that memory stands on.
//! * [`Memory::of`] computes from it what is remembered after every scene, and which [`Question`]s are missing. The queue is that set.
//! * A [`Question`] is known by its [`Key`], the hash of all it depends on. Its [`Answer`] is the first accepted reply to that key, so
//!   that a fork, a copy or a swipe that is taken back asks nothing again, and an edit asks exactly what depends on it.
//! * [`Prompts`] are the words in which it is asked; [`Reply::read`] is the gate through which every reply has to come.
//!
//! Nothing here knows files, clocks or models: the same line, inputs and answers always give the same memory.

mod answer;
mod boundary;
mod entity;
mod facts;
mod fold;
mod ground;
mod identity;
mod inputs;
mod key;
mod kind;
mod line;
mod memory;
mod prompt;
mod question;
mod recap;
mod reply;
mod schema;

pub use answer::{Answer, Answers, KnownAnswers, Provenance};
pub use boundary::{Ended, Scene};
pub use entity::{Entity, EntityId, Fact, Hold, Source};
pub use facts::{Brought, Digest, Facts, Learnt, Said};
pub use ground::Ground;
pub use inputs::{Decision, Inputs, Settings};
pub use key::{BadKey, Key};
pub use kind::Kind;
pub use line::{Line, Utterance};
pub use memory::{Memory, Standing};
pub use prompt::{PromptError, Prompts};
pub use question::{Question, Request};
pub use reply::{Refusal, Reply};
