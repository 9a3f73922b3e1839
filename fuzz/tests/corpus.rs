//! Every target over its corpus, and over what chance makes of it: the same input every time, unless `FORKLORE_FUZZ_SECONDS` says for
//! how long each target is to look for new.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test that cannot go on should stop"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use forklore_fuzz::mutate::Mutator;
use forklore_fuzz::{ALL, corpus, folder};

/// How many inputs are made of the corpus in a test that is to be quick.
const QUICK: usize = 400;

fn run(name: &str) {
    let (name, target) = ALL.into_iter().find(|(known, _)| *known == name).unwrap();
    let corpus = corpus(name);
    assert!(!corpus.is_empty(), "{name} has no corpus");
    for (file, bytes) in &corpus {
        catch_unwind(|| target(bytes)).unwrap_or_else(|_| panic!("{name}: corpus/{name}/{file}"));
    }
    let seconds = std::env::var("FORKLORE_FUZZ_SECONDS").ok().map(|text| text.parse().unwrap());
    let seed = seconds.map_or(1900, |_: u64| {
        u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() % (1 << 60)).unwrap()
    });
    let start = Instant::now();
    let mut chance = Mutator::new(seed);
    let mut tried = 0;
    while seconds.map_or(tried < QUICK, |seconds| start.elapsed() < Duration::from_secs(seconds)) {
        let bytes = chance.next(&corpus);
        if catch_unwind(AssertUnwindSafe(|| target(&bytes))).is_err() {
            let found = folder(name).join(format!("found-{seed:x}-{tried}"));
            std::fs::write(&found, &bytes).unwrap();
            panic!("{name}: kept as {}: {:?}", found.display(), String::from_utf8_lossy(&bytes));
        }
        tried += 1;
    }
    println!("{name}: {} of the corpus, {tried} made of it (seed {seed})", corpus.len());
}

macro_rules! targets {
    ($($name:ident),*) => {
        $(#[test]
        fn $name() {
            run(stringify!($name));
        })*

        #[test]
        fn every_target_is_run() {
            let run = [$(stringify!($name)),*];
            assert_eq!(run.to_vec(), ALL.map(|(name, _)| name));
        }
    };
}

targets!(json, splice, chat, book, header, registry, archive, store, config, operation, cache);
