//! The pages of `forklore serve`, on a large vault: what the server needs, how much it sends, when a browser is ready.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use super::binary;
use xtask::tools::Tools;

pub(super) fn bench() -> Result<()> {
    println!(
        "\nPages, on 2,000 chats and a story of 300 chats with 20,000 messages (targets: 50 ms warm, tree below 500 KB):"
    );
    let tools = Tools::ensure();
    if !tools.has("FORKLORE_CHROMIUM") {
        println!("  (not measured: there is no Chromium)");
        return Ok(());
    }
    script("bench.js", &tools)?;
    println!("\n200 readers and a fork a second, on the fixture (target: nothing takes more than a second):");
    script("load.js", &tools)
}

fn script(name: &str, tools: &Tools) -> Result<()> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/web/tests").join(name);
    let mut node = Command::new("node");
    node.arg(script).env("FORKLORE_BIN", binary().canonicalize()?).envs(tools.env.iter().cloned());
    if !node.status()?.success() {
        bail!("the pages could not be measured");
    }
    Ok(())
}
