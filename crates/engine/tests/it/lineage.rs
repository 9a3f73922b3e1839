//! Lineage against stories that were played: who was forked from whom is what happened, wherever the files still tell it; no parent is
//! ever drawn as the child of its own fork; nothing is reported that is not so.
//!
//! `FORKLORE_LINEAGES` sets how many vaults are played. A failure prints the seed and everything that was done in it, and
//! `FORKLORE_LINEAGE_SEED` plays that one alone.

use std::collections::HashMap;
use std::sync::Arc;

use forklore_core::story::lineage::Kind;
use forklore_engine::check::check;
use forklore_fs::{SimFs, VaultPath};
use forklore_testkit::lineage::{Origin, Truth, World};
use forklore_vault::{ChatIx, Library, NoProgress};

const NOW: i64 = 1_800_000_000_000;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

#[test]
fn lineage_is_what_was_played() {
    let seeds = match number("FORKLORE_LINEAGE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("FORKLORE_LINEAGES").unwrap_or(400),
    };
    let (mut forks, mut told, mut vaults) = (0, 0, 0);
    let (mut failures, mut guesses) = (Vec::new(), 0);
    for seed in seeds {
        // Short stories first: whatever fails there is easy to understand.
        let world = World::play(seed, 3 + usize::try_from(seed % 40).unwrap());
        let truth = world.truth();
        vaults += 1;
        guesses += usize::from(judge(&world, &truth, false).is_err());
        if let Err(why) = judge(&world, &truth, true) {
            failures.push((world.steps.len(), format!("seed {seed}: {why}\n{}", world.steps.join("\n"))));
        }
        forks += truth.iter().filter(|truth| matches!(truth.origin, Origin::Fork(_))).count();
        told += truth.iter().filter(|truth| truth.told).count();
    }
    // The shortest of them is the easiest to understand.
    failures.sort();
    let shown: Vec<&str> = failures.iter().take(8).map(|(_, told)| told.as_str()).collect();
    assert!(shown.is_empty(), "{} failures. The shortest:\n{}", failures.len(), shown.join("\n\n"));
    println!("{guesses} of {vaults} vaults with a guess that is wrong");
    assert!(guesses * 25 <= vaults, "{guesses} of {vaults} vaults with a guess that is wrong");
    println!("{forks} forks, of which the files still tell the parent of {told}");
    assert!(told * 2 > forks, "{told} of {forks}: then nothing much is proved");
}

/// `surely`: only what the files say in so many words, because the parent still has its name; and that nothing is upside down. Where a
/// parent was renamed, the lines usually tell which chat it is, but several may be as near.
fn judge(world: &World, truth: &[Truth], surely: bool) -> Result<(), String> {
    let fs = SimFs::new();
    for (path, bytes) in world.files() {
        fs.put(&VaultPath::new(&path).unwrap(), &bytes);
    }
    let library = Library::load(Arc::new(fs), &NoProgress).unwrap();
    let numbers: HashMap<String, ChatIx> =
        library.chat_ixs().map(|c| (library.address(c).to_string(), c)).collect();
    let by_address: HashMap<&str, &Truth> =
        truth.iter().map(|truth| (truth.address.as_str(), truth)).collect();
    // Once chats are renamed, and among copies, nothing tells a copy from what it is a copy of.
    let above = |ancestor: &Truth, chat: &str| {
        let up = |chat: &&Truth| by_address.get(chat.parent.as_deref()?).copied();
        let mut line = std::iter::successors(by_address.get(chat).copied(), up);
        let as_made = ancestor.origin == Origin::New && !ancestor.renamed;
        let certain = |chat: &&Truth| matches!(chat.origin, Origin::Fork(_)) || as_made;
        let to_there = line.by_ref().take_while(|chat| chat.address != ancestor.address).collect::<Vec<_>>();
        let reached = to_there.last().is_some_and(|last| last.parent.as_deref() == Some(&ancestor.address));
        reached && to_there.iter().all(certain)
    };
    for truth in truth {
        let c = *numbers.get(&truth.address).ok_or_else(|| format!("{} is not there", truth.address))?;
        let lineage = library.chat(c).lineage();
        let found = lineage.parent.map(|p| library.address(p).to_string());
        let tell = |what: &str| {
            Err(format!("{}: {what}, found {lineage:?} ({found:?}), played {truth:?}", truth.address))
        };
        if found.as_deref().is_some_and(|found| above(truth, found)) {
            return tell("drawn as the child of its own fork or copy");
        }
        match truth.origin {
            Origin::Fork(_) if truth.told && (truth.named || !surely) => {
                if found != truth.parent || !lineage.is_fork() {
                    return tell("not under its parent");
                }
                match (truth.fork, lineage.fork_message) {
                    (Some((at, true)), found) if found != Some(at) => return tell("forked elsewhere"),
                    (Some((at, false)), Some(found)) if found > at && truth.dated => {
                        return tell("forked later than it was");
                    }
                    _ => {}
                }
            }
            Origin::New if !truth.copied && lineage.kind != Kind::Main => return tell("forked from nothing"),
            _ => {}
        }
    }
    no_false_findings(&library, truth, surely)
}

fn no_false_findings(library: &Library, truth: &[Truth], surely: bool) -> Result<(), String> {
    let by_address: HashMap<&str, &Truth> =
        truth.iter().map(|truth| (truth.address.as_str(), truth)).collect();
    for finding in check(library, None, NOW).findings {
        let truth = finding.chat.as_deref().and_then(|chat| by_address.get(chat));
        let is_so = match finding.code.as_str() {
            "PARENT_MISSING" => truth.is_some_and(|truth| !truth.told || (surely && !truth.named)),
            "PARENT_RENAMED" => truth.is_some_and(|truth| !truth.named),
            "SLUG_DUPLICATE" => truth.is_some_and(|truth| truth.copied),
            "UNRECORDED_FORK" | "LINK_DANGLING" => true,
            _ => false,
        };
        if !is_so {
            return Err(format!(
                "{} of {:?} is not so: {}",
                finding.code.as_str(),
                finding.chat,
                finding.message
            ));
        }
    }
    Ok(())
}
