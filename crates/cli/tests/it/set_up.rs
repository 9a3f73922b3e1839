//! What many tests begin with: [`small`], a vault, and [`did`], a command that must work.

use forklore_testkit::TestVault;
use serde_json::{Value, json};

use crate::FORKLORE;

/// A chat of four messages, bound to a book that is not there.
pub(crate) fn rain() -> TestVault {
    let header = json!({"integrity": "a", "world_info": "Lore"});
    TestVault::new().chat("Ana", "Rain", &header, &["hello", "one", "two", "three"])
}

/// The same with the book, which is kept by hand.
pub(crate) fn small() -> TestVault {
    rain().book("Lore", &[("The sea", "It is cold."), ("The cat", "It is wet.")])
}

/// Runs a command that must work; its JSON.
pub(crate) fn did(vault: &TestVault, args: &[&str]) -> Value {
    let answer = vault.json(FORKLORE, args);
    assert!(answer["error"].is_null(), "{args:?}: {answer:#}");
    answer
}
