//! Eight Forklores at once on one vault, each killed at random, while SillyTavern saves: no save is lost, and no fork is half made.

use std::fs;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::race::{must_be_whole, package, sillytavern, stop, told};
use super::scenario::SOLO;
use super::strace::soaking;
use crate::FORKLORE;

const WORKERS: usize = 8;

/// What happened, all workers together.
#[derive(Debug, Default)]
struct Count {
    done: usize,
    refused: usize,
    killed: usize,
    forks: usize,
}

/// Numbers that look random, the same for each worker every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

#[test]
fn a_crowd_that_is_killed_at_random_loses_nothing() {
    let Some(package) = package("a_crowd_that_is_killed_at_random_loses_nothing") else { return };
    let vault = SOLO.vault();
    // A worker that is killed in an exchange leaves the save aside until the next one comes: on a busy machine that takes a while.
    let mut other = sillytavern(&package, &vault, 120_000);
    let count = Mutex::new(Count::default());
    let over = AtomicBool::new(false);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            let (vault, count, over) = (&vault, &count, &over);
            scope.spawn(move || {
                let mut dice = Dice(worker as u64 + 1);
                for n in 0.. {
                    if over.load(Ordering::Relaxed) {
                        return;
                    }
                    let name = format!("Fork {worker}-{n}");
                    let args: &[&str] = match dice.roll(10) {
                        0..=3 => &["checkpoint", "Ana/main", "--at", "5", "--name", &name],
                        4..=6 => &["undo"],
                        7 => &["heal", "--yes"],
                        8 => &["watch", "--once"],
                        _ => &["check"],
                    };
                    let mut command = vault.command(FORKLORE);
                    command.args(args).arg("--json").stdout(Stdio::piped()).stderr(Stdio::piped());
                    let mut child = command.spawn().unwrap();
                    // A part of them lives to see the end.
                    if dice.roll(3) > 0 {
                        std::thread::sleep(Duration::from_micros(dice.roll(60_000)));
                        let _too_late = child.kill();
                    }
                    let output = child.wait_with_output().unwrap();
                    let stderr = String::from_utf8_lossy(&output.stderr);
                    assert!(!stderr.contains("panicked"), "{args:?}: {stderr}");
                    let mut count = count.lock().unwrap();
                    match output.status.code() {
                        None => count.killed += 1,
                        Some(0) => {
                            count.done += 1;
                            count.forks += usize::from(args[0] == "checkpoint");
                        }
                        Some(1) => count.refused += 1,
                        Some(code) => panic!("{args:?} ended with {code}: {stderr}"),
                    }
                }
            });
        }
        loop {
            std::thread::sleep(Duration::from_millis(50));
            let enough = {
                let count = count.lock().unwrap();
                count.forks > 5 && count.killed > 50 && count.done > 50
            };
            let minutes = if soaking() { 5 * 60 } else { 0 };
            let lost = other.try_wait().unwrap().is_some();
            if lost || (enough && start.elapsed().as_secs() >= minutes) || start.elapsed().as_secs() > 15 * 60
            {
                break;
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    // The last ones may have been killed in the middle of something: the next command puts it in order.
    let tree = vault.run(FORKLORE, &["tree"]);
    assert_eq!(tree.code, Some(0), "{tree}");
    fs::write(stop(&vault), "").unwrap();
    let told: Value = told(other);
    println!("SillyTavern: {told}\n{WORKERS} Forklores: {:?}", count.lock().unwrap());
    assert_eq!((&told["lost"], &told["torn"]), (&0.into(), &0.into()), "{told}");
    let tree = vault.run(FORKLORE, &["tree"]);
    assert_eq!(tree.code, Some(0), "{tree}");
    let left =
        |folder: &str| fs::read_dir(vault.root().join(".forklore").join(folder)).map_or(0, Iterator::count);
    assert_eq!((left("tx"), left("lost")), (0, 0));
    must_be_whole(&vault, &told);
}
