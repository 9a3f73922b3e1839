//! A real llama.cpp server. Its model knows nothing, so that no reply means anything; its shape, its length and its end are real.

use std::thread;

use forklore_memory::{Reply, Request};
use forklore_model::{Endpoint, Model, ModelError, OpenAi, Stop};
use forklore_testkit::llama::Llama;
use serde_json::{Value, json};

use crate::story::{Story, endpoint, open};

fn request(story: &Story) -> Request {
    story.question().request(&story.line, &story.prompts)
}

#[test]
fn replies_have_the_shape_that_was_asked_for() {
    let Some(llama) = Llama::start("llama: shapes", 8192) else { return };
    let (story, model) = (Story::new(), open(llama.url()));
    let mut whole = 0;
    for i in 0..5 {
        // Other words, so that it says something else each time.
        let mut request = request(&story);
        request.user.push_str(&format!("\n\n({i})"));
        let said = model.ask(&request, None, &Stop::default()).unwrap();
        assert!(said.tokens_in > 100 && said.tokens_out > 10, "{said:?}");
        // What was not cut is of the shape.
        let Ok(value) = serde_json::from_str::<Value>(&said.text) else {
            assert!(said.tokens_out >= 3000, "{said:?}");
            continue;
        };
        whole += 1;
        for list in ["present", "happened", "open", "resolved", "state", "learnt"] {
            assert!(value[list].is_array(), "{list} in {value}");
        }
        assert!(value["title"].is_string() && value.as_object().unwrap().len() == 7, "{value}");
    }
    assert!(whole > 0);
}

#[test]
fn a_reply_is_cut_where_it_may_not_be_longer() {
    let Some(llama) = Llama::start("llama: cut", 8192) else { return };
    let (story, model) = (Story::new(), open(llama.url()));
    let short = Request { reply_tokens: 8, ..request(&story) };
    let said = model.ask(&short, None, &Stop::default()).unwrap();
    assert_eq!(said.tokens_out, 8);
    let refused = Reply::read(&story.question(), &said.text).unwrap_err();
    assert!(refused.to_string().contains("cut off"), "{refused}: {}", said.text);
}

#[test]
fn what_does_not_fit_is_too_long() {
    let Some(llama) = Llama::start("llama: too long", 512) else { return };
    let (story, model) = (Story::new(), open(llama.url()));
    assert_eq!(story.ask(&model).unwrap().0, Reply::TooLong);
    // The question fits, and the reply does not any more.
    let schema = json!({"type": "object", "properties": {"numbers": {"type": "array", "minItems": 400,
        "items": {"type": "integer"}}}, "required": ["numbers"], "additionalProperties": false});
    let request = Request {
        system: "Count.".to_owned(),
        user: "From 1 to 400.".to_owned(),
        schema,
        reply_tokens: 3000,
    };
    assert_eq!(model.ask(&request, None, &Stop::default()), Err(ModelError::TooLong));
}

#[test]
fn stopping_frees_the_server() {
    let Some(llama) = Llama::start("llama: stop", 32768) else { return };
    let (story, model, stop) = (Story::new(), open(llama.url()), Stop::default());
    let schema = json!({"type": "object", "properties": {"numbers": {"type": "array", "minItems": 2000,
        "items": {"type": "integer"}}}, "required": ["numbers"], "additionalProperties": false});
    let endless = Request { schema, reply_tokens: 30_000, ..request(&story) };
    thread::scope(|scope| {
        let asking = scope.spawn(|| model.ask(&endless, None, &stop));
        llama.await_log("processing task");
        stop.stop();
        assert_eq!(asking.join().unwrap(), Err(ModelError::Stopped));
    });
    // It has one place only: the next question would wait for the one that was stopped.
    let next = Request { reply_tokens: 8, ..request(&story) };
    assert_eq!(model.ask(&next, None, &Stop::default()).unwrap().tokens_out, 8);
    llama.await_log("cancel task");
}

#[test]
fn a_name_and_a_key_that_it_does_not_need_do_no_harm() {
    let Some(llama) = Llama::start("llama: names", 8192) else { return };
    let named =
        Endpoint { model: "whatever".into(), key: Some("sk-1".into()), ..endpoint(llama.url() + "/v1/") };
    let request = Request { reply_tokens: 8, ..request(&Story::new()) };
    let said = OpenAi::new(named).unwrap().ask(&request, None, &Stop::default()).unwrap();
    assert!(!said.model.is_empty());
}

/// In `cargo xtask soak` alone: it takes minutes. What so small a model says is not looked at, only that it is an answer, or parked.
#[test]
fn a_small_model_answers_in_words() {
    let Some(file) = std::env::var_os("FORKLORE_SMALL_MODEL") else { return };
    let Some(llama) = Llama::start_with("llama: small", 4096, Some(file.as_ref())) else { return };
    let (story, model) = (Story::new(), open(llama.url()));
    match story.ask(&model) {
        Ok((Reply::Facts(facts), said)) => {
            assert!(!facts.happened.is_empty() && said.tokens_out > 0, "{facts:?}");
        }
        Ok(other) => panic!("{other:?}"),
        Err(forklore_model::AskError::Parked { why, said }) => assert!(said.tokens_out > 0, "{why}"),
        Err(failed) => panic!("{failed}"),
    }
}
