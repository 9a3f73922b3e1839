//! The gate: nothing comes through that was not asked for.

use forklore_memory::{Inputs, Kind, Question, Refusal, Reply};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::teller::{Teller, line};

/// A question of every kind that a story brings up.
fn questions() -> Vec<Question> {
    let said: Vec<_> = (0..60_usize)
        .map(|i| (i % 3, if i % 5 == 4 { 0 } else { i % 4 + 1 }, i % 10, u32::try_from(i).expect("small")))
        .collect();
    let whole = line(&said);
    let mut teller = Teller::default();
    let mut found: Vec<Question> = Vec::new();
    loop {
        let memory = teller.memory(&whole, &Inputs::default());
        let Some(question) = memory.missing.first() else { break };
        if !found.iter().any(|known| known.kind() == question.kind()) {
            found.push(question.clone());
        }
        teller.ask(question, &whole);
    }
    found
}

fn of(kind: Kind) -> Question {
    questions()
        .into_iter()
        .find(|question| question.kind() == kind)
        .expect("a question of this kind comes up")
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
        Just(json!("Mara")),
        Just(json!("character")),
    ];
    leaf.prop_recursive(4, 64, 8, |inner| {
        let name = prop_oneof![
            "(ends_at|learnt|facts|same|name|is|type|lines|happened|text|developments|recap|open|present|title)",
            ".{0,8}"
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::hash_map(name, inner, 0..8).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Whatever comes back, it is refused in words, or it is of the kind that was asked for and within its bounds.
    #[test]
    fn properties_hostile_replies(value in any_json(), noise in ".{0,60}", cut in 0..400_usize) {
        let whole = format!("{noise}{value}{noise}");
        let cut: String = whole.chars().take(cut).collect();
        for question in questions() {
            for said in [&whole, &cut, &noise] {
                match Reply::read(&question, said) {
                    Err(why) => prop_assert!(!why.to_string().is_empty()),
                    Ok(reply) => {
                        let text = serde_json::to_string(&reply).unwrap();
                        prop_assert!(!text.contains("{{"), "{text}");
                        prop_assert_eq!(serde_json::from_str::<Reply>(&text).unwrap(), reply);
                    }
                }
            }
        }
    }
}

#[test]
fn fences_thoughts_and_courtesies_are_no_harm() {
    let question = of(Kind::Boundary);
    let said = "<think>{maybe}</think>Sure! ```json\n{\"because\":\"x\",\"ends_at\":4}\n``` {\"ends_at\":5}";
    assert_eq!(Reply::read(&question, said), Ok(Reply::Boundary(Some(4))));
    assert_eq!(Reply::read(&question, "{\"ends_at\": 4"), Err(Refusal::Cut));
    assert_eq!(Reply::read(&question, "I cannot"), Err(Refusal::NoObject));
    assert_eq!(Reply::read(&question, "{\"ends_at\": 99}"), Err(Refusal::Range(99, 3, 6)));
}

#[test]
fn a_name_that_was_not_asked_about_changes_nothing() {
    let question = of(Kind::Identity);
    let said = json!({"same": [{"name": "Nobody", "is": "Mara"}]}).to_string();
    assert_eq!(Reply::read(&question, &said), Err(Refusal::Name("Nobody".into())));
}

#[test]
fn macros_of_sillytavern_are_parted() {
    let question = of(Kind::Facts);
    let said = json!({"happened": ["{{user}} ran {{setvar::a::b}}"], "learnt": []}).to_string();
    let Ok(Reply::Facts(facts)) = Reply::read(&question, &said) else { panic!("accepted") };
    assert_eq!(facts.happened, ["{ {user} } ran { {setvar::a::b} }"]);
}
