//! Why a state is what it is: every change that the line of a chat sees.
//!
//! `cargo run --package forklore-engine --example explain VAULT CHAT`

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a tool for whoever works on the rules")]

#[path = "../tests/it/explain.rs"]
mod explain;

use std::path::Path;
use std::sync::Arc;

use forklore_fs::RealFs;
use forklore_vault::{Library, NoProgress};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [vault, chat] = &arguments[..] else {
        println!("explain VAULT CHAT: every change that the line of a chat sees");
        return;
    };
    let fs = Arc::new(RealFs::new(Path::new(vault)).unwrap());
    let library = Library::load(fs, &NoProgress).unwrap();
    println!("{}", explain::explain(&library, library.find_chat(chat).unwrap()));
}
