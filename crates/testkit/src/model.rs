//! [`reply`]: a model that says the same to the same question, always, from nothing but what it is shown. It is no clever one: names are
//! words in capitals, facts are sentences with a name, a scene ends before a message that begins with "Later". What memory is made of its
//! answers can therefore be told beforehand.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// What it says when it is shown `user` and is to reply in the shape of `schema`, by which it knows what is wanted.
pub fn reply(schema: &Value, user: &str) -> Value {
    let has = |name: &str| schema.get("properties").is_some_and(|fields| fields.get(name).is_some());
    if has("ends_at") {
        boundary(user)
    } else if has("learnt") {
        facts(user)
    } else if has("same") {
        identity(user)
    } else if has("developments") {
        recap(user)
    } else if has("lines") {
        let lines: Vec<&str> = user.lines().filter_map(|line| line.strip_prefix("- ")).collect();
        json!({"lines": &lines[..lines.len().div_ceil(2)]})
    } else {
        let words: Vec<&str> = user.split_whitespace().take(40).collect();
        json!({"recap": format!("So far: {}", words.join(" "))})
    }
}

/// The messages in a prompt: the number of each, who said it, and what.
fn messages(user: &str) -> Vec<(usize, &str, String)> {
    let mut messages: Vec<(usize, &str, String)> = Vec::new();
    for line in user.split("\n---\n").next().unwrap_or_default().lines() {
        let begins = line.strip_prefix('#').and_then(|rest| {
            let (number, name) = rest.split_once(' ')?;
            Some((number.parse().ok()?, name.strip_suffix(':')?))
        });
        match (begins, messages.last_mut()) {
            (Some((number, name)), _) => messages.push((number, name, String::new())),
            (None, Some((_, _, text))) => {
                text.push_str(line);
                text.push(' ');
            }
            (None, None) => {}
        }
    }
    messages
}

fn boundary(user: &str) -> Value {
    let asked = user.rsplit_once("Which message from #").map_or("", |(_, asked)| asked);
    let mut numbers = asked.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse::<usize>().ok());
    let (from, to) = (numbers.next().unwrap_or(1), numbers.next().unwrap_or(1));
    let forced = asked.contains("must be chosen");
    let ends = messages(user).into_iter().find_map(|(number, _, text)| {
        let last = number.checked_sub(1)?;
        (text.starts_with("Later") && (from..=to).contains(&last)).then_some(last)
    });
    json!({"because": "time passes", "ends_at": ends.unwrap_or(if forced { to } else { 0 })})
}

fn facts(user: &str) -> Value {
    let messages = messages(user);
    let mut learnt: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut present: Vec<&str> = messages.iter().map(|(_, name, _)| *name).collect();
    present.sort_unstable();
    present.dedup();
    for sentence in messages.iter().flat_map(|(_, _, text)| sentences(text)) {
        for name in names(sentence) {
            let about = if sentence.contains(" lives in ") { "home" } else { "" };
            let said = learnt.entry(name).or_default();
            if said.len() < 4 {
                said.push(json!({"text": sentence, "about": about, "known_to": []}));
            }
        }
    }
    let learnt: Vec<Value> = learnt
        .into_iter()
        .take(20)
        .map(|(name, facts)| json!({"type": "character", "name": name, "aliases": [], "facts": facts}))
        .collect();
    let happened: Vec<&str> =
        messages.iter().filter_map(|(_, _, text)| sentences(text).next()).take(3).collect();
    json!({
        "title": happened.first().copied().unwrap_or("Nothing").split_whitespace().take(3).collect::<Vec<_>>().join(" "),
        "present": present,
        "happened": if happened.is_empty() { vec!["Nothing happened"] } else { happened },
        "open": [],
        "resolved": [],
        "state": messages.last().map(|(_, name, _)| format!("{name} spoke last")).into_iter().collect::<Vec<_>>(),
        "learnt": learnt,
    })
}

fn identity(user: &str) -> Value {
    let lists = user.rsplit_once("New names:\n").map_or("", |(_, lists)| lists);
    let (new, known) = lists.split_once("Known names:\n").unwrap_or_default();
    let names = |list: &str| -> Vec<String> {
        let names = list
            .lines()
            .filter_map(|line| line.strip_prefix("- ")?.rsplit_once(" (").map(|(name, _)| name.to_owned()));
        names.collect()
    };
    let known = names(known);
    // "Captain Mara" is "Mara", and the other way round.
    let same = names(new).into_iter().map(|name| {
        let is = known.iter().find(|known| name.ends_with(known.as_str()) || known.ends_with(&name));
        json!({"name": name, "is": is.cloned().unwrap_or_default()})
    });
    json!({"same": same.collect::<Vec<_>>()})
}

fn recap(user: &str) -> Value {
    let firsts = user
        .split("## Part")
        .skip(1)
        .filter_map(|part| part.lines().find_map(|line| line.strip_prefix("- ")));
    json!({"developments": firsts.collect::<Vec<_>>(), "open": [], "resolved": [], "state": []})
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split(['.', '!', '?']).map(str::trim).filter(|sentence| sentence.len() > 3 && sentence.len() < 300)
}

/// Words in capitals that do not begin the sentence, those that follow each other as one name.
fn names(sentence: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut open = false;
    for word in sentence.split_whitespace().skip(1) {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let name = bare.chars().next().is_some_and(char::is_uppercase) && bare.chars().count() > 2;
        match names.last_mut() {
            Some(last) if name && open => {
                last.push(' ');
                last.push_str(bare);
            }
            _ if name => names.push(bare.to_owned()),
            _ => {}
        }
        open = name && word.ends_with(char::is_alphanumeric);
    }
    names.dedup();
    names
}
