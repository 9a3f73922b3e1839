//! How a language model is asked.
//!
//! * A [`Model`] answers one request; [`OpenAi`] is the one behind an [`Endpoint`], any server that talks as OpenAI's does: llama.cpp,
//!   KoboldCpp, Ollama, vLLM, OpenRouter.
//! * [`ask()`] puts a question of memory to a model with patience: it waits for a server that is busy, asks again with the reason when a
//!   reply is refused, and gives up in the end with what was said.
//! * [`Stop`] ends it all, in the middle of a word if need be.
//!
//! Nothing here knows files, vaults or clocks. What a reply may say is decided by [`forklore_memory::Reply::read`] alone.

mod address;
mod answer;
mod ask;
mod endpoint;
mod error;
mod exchange;
mod hear;
mod json;
mod model;
mod openai;
mod stop;
mod tokens;

pub use ask::{AskError, ask};
pub use endpoint::Endpoint;
pub use error::ModelError;
pub use model::{Model, Said};
pub use openai::OpenAi;
pub use stop::Stop;
