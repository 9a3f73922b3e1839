//! What is tried again, and how often: with a model that is nothing but a list of what it says.

use std::cell::Cell;
use std::sync::Mutex;
use std::time::Duration;

use forklore_memory::{Again, Reply, Request};
use forklore_model::{AskError, Model, ModelError, Said, Stop, ask};

use crate::story::Story;

/// Says one after the other. What it was asked is kept.
#[derive(Default)]
struct Listed {
    says: Mutex<Vec<Result<&'static str, ModelError>>>,
    asked: Mutex<Vec<(usize, Option<Again>)>>,
}

impl Listed {
    fn new(says: Vec<Result<&'static str, ModelError>>) -> Self {
        Self { says: Mutex::new(says.into_iter().rev().collect()), ..Self::default() }
    }

    fn asked(&self) -> Vec<(usize, Option<Again>)> {
        self.asked.lock().unwrap().clone()
    }
}

impl Model for Listed {
    fn ask(&self, request: &Request, again: Option<&Again>, _: &Stop) -> Result<Said, ModelError> {
        self.asked.lock().unwrap().push((request.reply_tokens, again.cloned()));
        let text = self.says.lock().unwrap().pop().expect("it is asked too often")?;
        Ok(Said { text: text.to_owned(), model: "listed".to_owned(), tokens_in: 100, tokens_out: 10 })
    }
}

const GOOD: &str =
    r#"{"title":"t","present":[],"happened":["It rained"],"open":[],"resolved":[],"state":[],"learnt":[]}"#;

fn put(model: &Listed) -> Result<(Reply, Said), AskError> {
    let story = Story::new();
    ask(model, &story.question(), &story.line, &story.prompts, &Stop::default(), &|_| {})
}

#[test]
fn every_try_is_on_the_bill() {
    let model = Listed::new(vec![Ok("no"), Err(ModelError::Silent), Ok("{\"title\":"), Ok(GOOD)]);
    let (reply, said) = put(&model).unwrap();
    assert!(matches!(reply, Reply::Facts(_)));
    assert_eq!((said.text.as_str(), said.tokens_in, said.tokens_out), (GOOD, 300, 30));
    let asked = model.asked();
    assert_eq!(asked[0], (3000, None));
    // A silent server is asked the same again.
    assert_eq!(asked[1], asked[2]);
    assert_eq!(asked[1].1.as_ref().unwrap().said, "no");
    assert_eq!(asked[3].0, 6000, "it was cut off: it gets more room");

    let model = Listed::new(vec![Ok("no"), Err(ModelError::Unauthorized)]);
    let failed = AskError::Failed { why: ModelError::Unauthorized, tokens_in: 100, tokens_out: 10 };
    assert_eq!(put(&model).unwrap_err(), failed);
}

#[test]
fn what_nobody_can_wait_away_is_told_at_once() {
    for error in [
        ModelError::Unauthorized,
        ModelError::Refused { status: 404, said: String::new() },
        ModelError::Refused { status: 501, said: String::new() },
        ModelError::Unreadable(String::new()),
        ModelError::BadAddress(String::new()),
        ModelError::Stopped,
    ] {
        let model = Listed::new(vec![Err(error.clone())]);
        assert!(matches!(put(&model).unwrap_err(), AskError::Failed { why, .. } if why == error));
    }
}

#[test]
fn a_cut_reply_that_then_does_not_fit_is_too_long() {
    let model = Listed::new(vec![Ok("{\"title\":"), Err(ModelError::TooLong)]);
    assert_eq!(put(&model).unwrap().0, Reply::TooLong);
}

#[test]
fn pauses_grow_and_end_when_it_is_stopped() {
    let away = || Err(ModelError::Unreachable("away".to_owned()));
    let (story, stop) = (Story::new(), Stop::default());
    let model = Listed::new(vec![away(), away(), away(), away()]);
    let pauses = Mutex::new(Vec::new());
    let wait = |pause: Duration| pauses.lock().unwrap().push(pause);
    assert!(ask(&model, &story.question(), &story.line, &story.prompts, &stop, &wait).is_err());
    let pauses = pauses.into_inner().unwrap();
    assert!(pauses.len() == 3 && pauses.is_sorted() && pauses[0] < pauses[2], "{pauses:?}");

    let model = Listed::new(vec![away()]);
    let waited = Cell::new(0);
    let wait = |_: Duration| {
        waited.set(waited.get() + 1);
        stop.stop();
    };
    let error = ask(&model, &story.question(), &story.line, &story.prompts, &stop, &wait).unwrap_err();
    assert!(matches!(error, AskError::Failed { why: ModelError::Stopped, .. }), "{error}");
    assert_eq!(waited.get(), 1);
}

#[test]
fn errors_are_sentences_with_a_next_step() {
    let errors = [
        ModelError::TooLong,
        ModelError::Busy { wait: Some(Duration::from_secs(3)) },
        ModelError::Busy { wait: None },
        ModelError::Unauthorized,
        ModelError::Refused { status: 404, said: "no such model.".to_owned() },
        ModelError::Unreachable("nobody listens".to_owned()),
        ModelError::Silent,
        ModelError::Unreadable("it says <html>".to_owned()),
        ModelError::Stopped,
        ModelError::BadAddress("it names no host".to_owned()),
    ];
    for error in errors {
        let text = error.to_string();
        assert!(
            text.starts_with(char::is_uppercase) && text.ends_with('.') && !text.contains(".."),
            "{text}"
        );
    }
    assert_eq!(
        ModelError::Busy { wait: Some(Duration::from_secs(3)) }.to_string(),
        "The model's server is busy for another 3 s. Try again later."
    );
}
