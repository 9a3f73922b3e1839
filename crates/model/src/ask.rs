//! [`ask`]: a question of memory, put to a model with patience.

use std::time::Duration;

use forklore_memory::{Again, Line, Prompts, Question, Refusal, Reply, Request};

use crate::error::ModelError;
use crate::model::{Model, Said};
use crate::stop::Stop;

/// Pauses between tries, where a server is busy or away.
const PAUSES: [Duration; 3] = [Duration::from_secs(2), Duration::from_secs(8), Duration::from_secs(30)];
/// Who asks to be left alone for longer is told to the owner.
const LONGEST_PAUSE: Duration = Duration::from_secs(10 * 60);
/// So often a reply that is refused is asked for again.
const AGAIN: usize = 2;

/// Why there is no answer to a question.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// The model was asked again and again, and none of its replies could be used.
    #[error(
        "The model was asked three times, and its last reply cannot be used: {why}. Look at the reply, ask again, or choose another model."
    )]
    Parked {
        /// Why the last one could not
        why: String,
        /// The last one, with the tokens of all
        said: Said,
    },
    /// The model gave no reply.
    #[error("{why}")]
    Failed {
        /// Why
        #[source]
        why: ModelError,
        /// Tokens that were read for replies that could not be used
        tokens_in: u64,
        /// Tokens that were written for them
        tokens_out: u64,
    },
}

/// Asks until there is a reply that can be used, or until that is hopeless. `wait` sleeps, and wakes up early when it is stopped.
///
/// The tokens are those of all tries. A question that is too long for the model is answered with [`Reply::TooLong`].
pub fn ask(
    model: &dyn Model,
    question: &Question,
    line: &Line,
    prompts: &Prompts,
    stop: &Stop,
    wait: &dyn Fn(Duration),
) -> Result<(Reply, Said), AskError> {
    let mut request = question.request(line, prompts);
    let mut all = Said::default();
    let mut again: Option<Again> = None;
    let mut refused: Option<Refusal> = None;
    for _ in 0..=AGAIN {
        match patiently(model, &request, again.as_ref(), stop, wait) {
            Ok(said) => {
                all.text = said.text;
                all.model = said.model;
                all.tokens_in += said.tokens_in;
                all.tokens_out += said.tokens_out;
            }
            // The question alone has fitted: it was too long with the reply that was refused.
            Err(ModelError::TooLong) if refused.as_ref().is_some_and(|refusal| *refusal != Refusal::Cut) => {
                again = None;
                continue;
            }
            Err(ModelError::TooLong) => return Ok((Reply::TooLong, all)),
            Err(why) => {
                return Err(AskError::Failed { why, tokens_in: all.tokens_in, tokens_out: all.tokens_out });
            }
        }
        match Reply::read(question, &all.text) {
            Ok(reply) => return Ok((reply, all)),
            Err(refusal) => {
                // A model that thinks may have come to the end before it said a word.
                let silent = all.text.trim().is_empty();
                let refusal = if silent { Refusal::Cut } else { refusal };
                if refusal == Refusal::Cut {
                    request.reply_tokens *= 2;
                }
                again = Again::new(&all.text, refusal.to_string());
                refused = Some(refusal);
            }
        }
    }
    let why = refused.map(|refusal| refusal.to_string()).unwrap_or_default();
    Err(AskError::Parked { why, said: all })
}

/// Asks once, and again where that may help.
fn patiently(
    model: &dyn Model,
    request: &Request,
    again: Option<&Again>,
    stop: &Stop,
    wait: &dyn Fn(Duration),
) -> Result<Said, ModelError> {
    let mut pauses = PAUSES.into_iter();
    loop {
        if stop.is_stopped() {
            return Err(ModelError::Stopped);
        }
        let error = match model.ask(request, again, stop) {
            Ok(said) => return Ok(said),
            Err(error) => error,
        };
        let Some(pause) = pauses.next().filter(|_| error.may_pass()) else { return Err(error) };
        let asked = if let ModelError::Busy { wait: Some(wait) } = error { wait } else { Duration::ZERO };
        if asked > LONGEST_PAUSE {
            return Err(error);
        }
        wait(pause.max(asked));
    }
}
