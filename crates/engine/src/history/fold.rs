//! Runs of observations that tell the same become one line: twenty saves that each add a message are twenty messages.

use super::report::{Did, Event, Line, Span};

/// What a line is about, as far as lines of a run must agree on it; `None` if it stands alone.
fn shape(line: &Line) -> Option<Vec<String>> {
    let part = |event: &Event| match event {
        Event::Messages { did, .. } => Some(format!("{did:?}")),
        Event::Header { key, did } => Some(format!("{key} {did:?}")),
        Event::Unread { .. } => Some("unread".to_owned()),
        Event::Entry(entry) => Some(format!("{:?} {:?} {:?}", entry.cause, entry.message, entry.elsewhere)),
        Event::FirstSeen { .. }
        | Event::Renamed { .. }
        | Event::Deleted
        | Event::Forked { .. }
        | Event::Bound { .. } => None,
    };
    let mut parts = line.events.iter().map(part).collect::<Option<Vec<_>>>()?;
    parts.sort();
    parts.dedup();
    Some(parts)
}

/// Puts `later` into the line before it, if the two tell the same.
pub(super) fn fold(line: &mut Line, later: &Line) -> bool {
    let alike = line.file == later.file
        && line.chat == later.chat
        && line.book == later.book
        && line.by.kind == later.by.kind
        && line.by.operation == later.by.operation
        && (line.by.kind == "backup" || line.by.name == later.by.name);
    let run = shape(line).is_some_and(|shape| Some(shape) == self::shape(later));
    if !alike || !run {
        return false;
    }
    line.last_observation = later.last_observation;
    line.saves += later.saves;
    line.until.clone_from(&later.until);
    (line.then, line.now) = (later.then, later.now);
    for event in &later.events {
        add(&mut line.events, event);
    }
    true
}

fn add(events: &mut Vec<Event>, event: &Event) {
    for known in events.iter_mut() {
        match (known, event) {
            (
                Event::Messages { did, messages, scenes },
                Event::Messages { did: again, messages: more, scenes: named },
            ) if did == again => {
                more.iter().for_each(|span| join(messages, *span));
                scenes
                    .extend(named.iter().filter(|name| !scenes.contains(name)).cloned().collect::<Vec<_>>());
                return;
            }
            (Event::Unread { to, .. }, Event::Unread { to: later, .. }) => {
                *to = *later;
                return;
            }
            (Event::Header { key, did }, Event::Header { key: again, did: also })
                if key == again && did == also =>
            {
                return;
            }
            (Event::Entry(entry), Event::Entry(again))
                if entry.uid == again.uid && (entry.title == again.title || again.was.is_some()) =>
            {
                entry.did = match (entry.did, again.did) {
                    (Did::Added, Did::Changed) => Did::Added,
                    (Did::Removed, Did::Added) => Did::Changed,
                    (_, did) => did,
                };
                entry.was = entry.was.take().or_else(|| again.was.clone());
                entry.title.clone_from(&again.title);
                let new = again.fields.iter().filter(|field| !entry.fields.contains(field));
                let new: Vec<String> = new.cloned().collect();
                entry.fields.extend(new);
                return;
            }
            _ => {}
        }
    }
    events.push(event.clone());
}

/// Adds a span; one that goes on where the last one ends becomes part of it, one that is there already is not added.
pub(super) fn join(spans: &mut Vec<Span>, span: Span) {
    let last = spans.last_mut();
    match last {
        Some(last) if last.from <= span.from && span.to <= last.to => {}
        Some(last)
            if last.to + 1 == span.from && last.now.map(|now| now + span.from - last.from) == span.now =>
        {
            last.to = span.to;
        }
        _ => spans.push(span),
    }
}

#[cfg(test)]
mod tests {
    use forklore_core::story::Touch;

    use super::super::report::Witness;
    use super::*;

    fn saved(seq: u64, did: Touch, from: usize, to: usize) -> Line {
        let by = Witness { kind: "watch", name: None, operation: None };
        let messages = vec![Span { from, to, now: Some(from) }];
        Line {
            observation: Some(seq),
            last_observation: Some(seq),
            saves: 1,
            at: seq.to_string(),
            until: seq.to_string(),
            file: "chat",
            chat: "Ana/Rain".to_owned(),
            book: None,
            by,
            then: Some(to),
            now: Some(to),
            events: vec![Event::Messages { did, messages, scenes: Vec::new() }],
        }
    }

    #[test]
    fn saves_that_add_messages_are_one_line() {
        let mut line = saved(1, Touch::Added, 4, 5);
        assert!(fold(&mut line, &saved(2, Touch::Added, 6, 7)));
        assert!(fold(&mut line, &saved(5, Touch::Added, 8, 8)));
        let wanted = vec![Span { from: 4, to: 8, now: Some(4) }];
        assert_eq!(
            line.events,
            [Event::Messages { did: Touch::Added, messages: wanted, scenes: Vec::new() }]
        );
        assert_eq!((line.observation, line.last_observation, line.saves), (Some(1), Some(5), 3));
        assert!(!fold(&mut line, &saved(6, Touch::Edited, 3, 3)));
    }
}
