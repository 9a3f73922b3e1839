//! Every fault that a server can have, over a real connection.

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use forklore_memory::Reply;
use forklore_model::{AskError, Endpoint, Model, ModelError, OpenAi, Stop, ask};
use forklore_testkit::model_server::{Fault, Faults, ModelServer};
use serde_json::{Value, json};

use crate::story::{Story, endpoint, open};

/// The story's question, put to a server with these faults: the server, and what came of it.
fn asked(faults: Faults) -> (ModelServer, Result<(Reply, forklore_model::Said), AskError>) {
    let server = ModelServer::start(faults);
    let outcome = Story::new().ask(&open(server.url()));
    (server, outcome)
}

fn failed(outcome: Result<(Reply, forklore_model::Said), AskError>) -> ModelError {
    match outcome {
        Err(AskError::Failed { why, .. }) => why,
        other => panic!("it did not fail: {other:?}"),
    }
}

#[track_caller]
fn tolan_is_known(outcome: Result<(Reply, forklore_model::Said), AskError>) -> forklore_model::Said {
    let (Reply::Facts(facts), said) = outcome.unwrap() else { panic!("no facts") };
    assert!(facts.learnt.iter().any(|learnt| learnt.name.contains("Tolan")), "{facts:?}");
    said
}

#[test]
fn a_question_is_answered_and_paid_for() {
    let (server, outcome) = asked(Faults::none());
    let said = tolan_is_known(outcome);
    assert_eq!(said.model, "tale");
    assert!(said.tokens_in > 0 && said.tokens_out > 0);
    let asked = server.asked();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].target.starts_with("POST /v1/chat/completions "), "{}", asked[0].target);
    let body = &asked[0].body;
    assert_eq!(body.pointer("/response_format/json_schema/strict"), Some(&json!(true)));
    assert!(body.pointer("/response_format/json_schema/schema/properties/learnt").is_some());
    assert_eq!(asked[0].header("authorization"), None);
}

#[test]
fn a_slow_server_is_waited_for_as_long_as_it_speaks() {
    let server = ModelServer::start(Faults::none().always(Fault::Slow(Duration::from_millis(60))));
    let model = OpenAi::new(Endpoint { timeout: Duration::from_secs(4), ..endpoint(server.url()) }).unwrap();
    tolan_is_known(Story::new().ask(&model));
    assert_eq!(server.calls(), 1);
}

#[test]
fn a_server_that_says_nothing_is_given_up() {
    for fault in [Fault::Silent, Fault::Stuck(3)] {
        let server = ModelServer::start(Faults::none().always(fault));
        let model =
            OpenAi::new(Endpoint { timeout: Duration::from_millis(200), ..endpoint(server.url()) }).unwrap();
        assert_eq!(failed(Story::new().ask(&model)), ModelError::Silent);
        // A busy machine may read the last one later than we gave it up.
        server.await_calls(4);
        assert_eq!(server.calls(), 4);
    }
}

#[test]
fn a_reply_that_is_cut_by_the_connection_is_asked_for_again() {
    let (server, outcome) = asked(Faults::none().then(Fault::Cut(4)).then(Fault::Cut(0)));
    tolan_is_known(outcome);
    assert_eq!(server.calls(), 3);
    // It is no bad reply: the model is not told about it.
    assert!(
        server
            .asked()
            .iter()
            .all(|asked| asked.body["messages"].as_array().is_some_and(|all| all.len() == 2))
    );
}

#[test]
fn a_busy_server_is_left_alone_as_long_as_it_says() {
    let server = ModelServer::start(Faults::none().then(Fault::Busy(Some(17))).then(Fault::Busy(None)));
    let story = Story::new();
    let pauses = Mutex::new(Vec::new());
    let wait = |pause: Duration| pauses.lock().unwrap().push(pause);
    let outcome =
        ask(&open(server.url()), &story.question(), &story.line, &story.prompts, &Stop::default(), &wait);
    tolan_is_known(outcome);
    let pauses = pauses.into_inner().unwrap();
    assert_eq!(pauses[0], Duration::from_secs(17));
    assert!(pauses.len() == 2 && pauses[1] > Duration::ZERO, "{pauses:?}");
}

#[test]
fn who_asks_for_hours_is_told_at_once() {
    let (server, outcome) = asked(Faults::none().always(Fault::Busy(Some(7200))));
    assert_eq!(failed(outcome), ModelError::Busy { wait: Some(Duration::from_secs(7200)) });
    assert_eq!(server.calls(), 1);
}

#[test]
fn a_server_that_breaks_now_and_then_is_asked_again_and_a_broken_one_is_told() {
    let (server, outcome) = asked(Faults::none().then(Fault::Broken).then(Fault::Broken).then(Fault::Broken));
    tolan_is_known(outcome);
    assert_eq!(server.calls(), 4);
    let (server, outcome) = asked(Faults::none().always(Fault::Broken));
    assert_eq!(failed(outcome), ModelError::Refused { status: 500, said: "out of order".to_owned() });
    assert_eq!(server.calls(), 4);
}

#[test]
fn a_reply_of_another_shape_is_asked_for_again_with_the_reason_and_then_parked() {
    let (server, outcome) = asked(Faults::none().then(Fault::WrongShape));
    let said = tolan_is_known(outcome);
    let asked_twice = server.asked();
    assert_eq!(asked_twice.len(), 2);
    let messages = asked_twice[1].body["messages"].as_array().unwrap();
    assert_eq!(messages[2]["content"], "{\"hello\":\"world\"}");
    assert!(messages[3]["content"].as_str().unwrap().contains("happened"), "{messages:?}");
    let once = tolan_is_known(asked(Faults::none()).1);
    assert!(said.tokens_in > once.tokens_in, "both tries are on the bill");

    let (server, outcome) = asked(Faults::none().always(Fault::WrongShape));
    let Err(AskError::Parked { why, said }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(server.calls(), 3);
    assert!(why.contains("happened"), "{why}");
    assert_eq!(said.text, "{\"hello\":\"world\"}");
    assert_eq!(said.tokens_in, 3 * once.tokens_in);
}

#[test]
fn courtesies_and_fences_do_no_harm() {
    let (server, outcome) = asked(Faults::none().always(Fault::Chatter));
    tolan_is_known(outcome);
    assert_eq!(server.calls(), 1);
}

#[test]
fn bytes_that_are_no_text_do_no_harm() {
    for more in [Faults::none(), Faults::none().always(Fault::NoStream)] {
        let (server, outcome) = asked(more.always(Fault::BadUtf8));
        tolan_is_known(outcome);
        assert_eq!(server.calls(), 1);
    }
}

#[test]
fn an_error_under_status_200_is_an_error() {
    let (_server, outcome) = asked(Faults::none().always(Fault::Hidden(json!({"message": "Bad Request"}))));
    assert_eq!(failed(outcome), ModelError::Refused { status: 200, said: "Bad Request".to_owned() });
    let busy = json!({"code": 429, "message": "later"});
    let (server, outcome) = asked(Faults::none().then(Fault::Hidden(busy)));
    tolan_is_known(outcome);
    assert_eq!(server.calls(), 2);
    let long = json!({"message": "maximum context length is 4096 tokens"});
    let (_server, outcome) = asked(Faults::none().always(Fault::Hidden(long)));
    assert_eq!(outcome.unwrap().0, Reply::TooLong);
}

#[test]
fn a_question_that_is_too_long_is_answered_with_that() {
    let (server, outcome) = asked(Faults::none().always(Fault::TooLongAbove(100)));
    assert_eq!(outcome.unwrap().0, Reply::TooLong);
    assert_eq!(server.calls(), 1);
}

/// Some servers cut what is too long without a word.
#[test]
fn what_cannot_fit_is_not_even_sent() {
    let server = ModelServer::start(Faults::none());
    let model = OpenAi::new(Endpoint { context: 1024, ..endpoint(server.url()) }).unwrap();
    assert_eq!(Story::new().ask(&model).unwrap().0, Reply::TooLong);
    assert_eq!(server.calls(), 0);
}

/// The question alone has fitted, so it is not asked in parts because of what a bad reply adds to it.
#[test]
fn a_bad_reply_makes_no_question_too_long() {
    let server = ModelServer::start(Faults::none());
    drop(Story::new().ask(&open(server.url())));
    let length = server.asked()[0].body.to_string().len();
    let (server, outcome) =
        asked(Faults::none().then(Fault::WrongShape).always(Fault::TooLongAbove(length + 20)));
    tolan_is_known(outcome);
    assert_eq!(server.calls(), 3);
}

#[test]
fn what_a_server_does_not_know_is_left_out_from_then_on() {
    let server = ModelServer::start(
        Faults::none().always(Fault::NoSchema).always(Fault::NoFormat).always(Fault::NoStreamOptions),
    );
    let (story, model) = (Story::new(), open(server.url()));
    tolan_is_known(story.ask(&model));
    let formats: Vec<Value> =
        server.asked().iter().map(|asked| asked.body["response_format"]["type"].clone()).collect();
    assert_eq!(formats[0], "json_schema");
    assert!(formats.contains(&json!("json_object")), "{formats:?}");
    let last = server.asked().pop().unwrap().body;
    assert!(last.get("response_format").is_none() && last.get("stream_options").is_none(), "{last}");
    let calls = server.calls();
    tolan_is_known(story.ask(&model));
    assert_eq!(server.calls(), calls + 1, "it is remembered");
}

#[test]
fn a_model_that_thinks_long_is_given_more_room() {
    let (server, outcome) = asked(Faults::none().always(Fault::Thinks(9000)));
    tolan_is_known(outcome);
    let rooms: Vec<u64> =
        server.asked().iter().filter_map(|asked| asked.body["max_tokens"].as_u64()).collect();
    assert_eq!(rooms, [3000, 6000, 12000]);
    let (_server, outcome) = asked(Faults::none().always(Fault::Thinks(90_000)));
    assert!(matches!(outcome, Err(AskError::Parked { why, .. }) if why.contains("cut off")));
}

#[test]
fn a_server_that_does_not_stream_or_count_is_understood() {
    let (_server, outcome) = asked(Faults::none().always(Fault::NoStream));
    tolan_is_known(outcome);
    let (_server, outcome) = asked(Faults::none().always(Fault::NoUsage));
    let said = tolan_is_known(outcome);
    assert!(said.tokens_in > 100 && said.tokens_out > 10, "estimated: {said:?}");
}

#[test]
fn stopping_closes_the_connection_wherever_it_is() {
    for fault in [Fault::Slow(Duration::from_secs(30)), Fault::Silent, Fault::Stuck(2)] {
        let server = ModelServer::start(Faults::none().always(fault));
        let (story, model, stop) = (Story::new(), open(server.url()), Stop::default());
        let outcome = thread::scope(|scope| {
            let asking =
                scope.spawn(|| ask(&model, &story.question(), &story.line, &story.prompts, &stop, &|_| {}));
            server.await_calls(1);
            stop.stop();
            server.await_hang_up();
            asking.join().unwrap()
        });
        assert_eq!(failed(outcome), ModelError::Stopped);
        assert_eq!(server.calls(), 1);
    }
}

#[test]
fn nothing_is_asked_once_it_is_stopped() {
    let server = ModelServer::start(Faults::none());
    let (story, stop) = (Story::new(), Stop::default());
    stop.stop();
    let request = story.question().request(&story.line, &story.prompts);
    assert_eq!(open(server.url()).ask(&request, None, &stop), Err(ModelError::Stopped));
    assert_eq!(server.calls(), 0);
}

#[test]
fn nobody_is_there() {
    let gone = ModelServer::start(Faults::none()).url();
    assert!(matches!(failed(Story::new().ask(&open(gone))), ModelError::Unreachable(_)));
}

/// It knows TLS, and does not go on without it.
#[test]
fn who_is_asked_over_https_has_to_speak_it() {
    let server = ModelServer::start(Faults::none());
    let secure = server.url().replace("http:", "https:");
    let error = failed(Story::new().ask(&open(secure)));
    assert!(matches!(&error, ModelError::Unreachable(why) if !why.is_empty()), "{error}");
    assert_eq!(server.calls(), 0);
}

/// Whoever reads errors, logs and what is printed never finds the key there, also where a server repeats it.
#[test]
fn the_key_is_sent_and_never_shown() {
    const KEY: &str = "sk-very-secret-1234";
    let said = |text: &str| Fault::Status(403, format!("{KEY}: {text}"));
    let faults = [
        Fault::Status(401, KEY.to_owned()),
        said("not you"),
        Fault::Hidden(json!({"message": format!("bad key {KEY}")})),
        Fault::SentOn(format!("http://127.0.0.2:9/{KEY}")),
        Fault::Broken,
    ];
    for fault in faults {
        let server = ModelServer::start(Faults::none().always(fault));
        let with_key = Endpoint { key: Some(format!(" {KEY}\n")), ..endpoint(server.url()) };
        assert!(!format!("{with_key:?}").contains(KEY));
        let model = OpenAi::new(with_key).unwrap();
        let error = Story::new().ask(&model).unwrap_err();
        let shown = format!("{model:?} {error} {error:?} {:?}", failed(Err(error.clone())));
        assert!(!shown.contains(KEY), "{shown}");
        assert_eq!(server.asked()[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    }
    for key in ["sk-1\r\nx: y", "sk 1", "schlüssel"] {
        let refused =
            OpenAi::new(Endpoint { key: Some(key.to_owned()), ..endpoint("http://127.0.0.1:1".into()) });
        assert!(!refused.unwrap_err().to_string().contains(key));
    }
}

#[test]
fn a_story_is_not_sent_on_to_another_server() {
    let other = ModelServer::start(Faults::none());
    let to = other.url();
    let server =
        ModelServer::start(Faults::none().always(Fault::SentOn(format!("{to}/v1/chat/completions"))));
    let model = OpenAi::new(Endpoint { key: Some("sk-1".into()), ..endpoint(server.url()) }).unwrap();
    let error = failed(Story::new().ask(&model));
    assert!(matches!(&error, ModelError::BadAddress(why) if why.contains(&to)), "{error}");
    assert_eq!((server.calls(), other.calls()), (1, 0));

    // To itself, it may send us on.
    let server = ModelServer::start(Faults::none().then(Fault::SentOn("/v1/here".to_owned())));
    tolan_is_known(Story::new().ask(&open(server.url())));
    assert!(server.asked()[1].target.starts_with("POST /v1/here "));
    let circle = ModelServer::start(Faults::none().always(Fault::SentOn("/v1/here".to_owned())));
    assert!(matches!(failed(Story::new().ask(&open(circle.url()))), ModelError::BadAddress(_)));
}
