//! `forklore serve`

use std::io::{BufRead as _, IsTerminal as _};
use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;

use forklore_api::{ErrorCode, Failure};
use forklore_server::{First, Options, Server, Setup};
use forklore_vault::NoProgress;
use serde::Deserialize;
use serde_json::json;

use crate::{find, ui};

use crate::context::Context;

/// Show the stories in a browser, and answer other programs
///
/// Open the address that is printed: it shows the stories, their trees and everything in them. The same server answers SillyTavern's
/// plugin and other programs over HTTP, with the same JSON as the command line. Without a vault the page asks for one. Only this machine is
/// answered unless you say otherwise. The address lets one browser in, once; press Enter for another. Other programs use the token that
/// --json prints.
///
/// Ends with Ctrl-C.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore serve
  forklore serve --port 9000
  forklore serve --vault ~/SillyTavern/data/default-user")]
pub(crate) struct Args {
    /// Port to listen on; 0 takes any that is free
    #[arg(long, value_name = "N", default_value_t = 8377)]
    port: u16,

    /// Address to listen on. Anything but this machine's own lets others in who have the token
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1")]
    listen: IpAddr,

    /// Another name that requests may use for this server, such as the one of a proxy in front of it; can be given more than once
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,

    /// Path that everything is below, where a proxy passes it on
    #[arg(long, value_name = "PATH", default_value = "")]
    prefix: String,

    /// For a program that starts the server: read a key from standard input, open no vault, and end when standard input ends
    #[arg(long)]
    managed: bool,
}

/// What a program that starts the server tells it.
#[derive(Deserialize)]
struct Given {
    key: String,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, Failure> {
    let (key, setup) = match (args.managed, context.vault()) {
        (true, _) => (Some(told()?.key), None),
        (false, Ok(_)) => (None, None),
        // Somebody who starts without knowing where the vault is, is asked on the page. A folder that was named must be right.
        (false, Err(failure)) if context.vault.is_none() && failure.code == ErrorCode::NoVault => {
            (Some(forklore_server::secret()), Some(first_visit()?))
        }
        (false, Err(failure)) => return Err(failure),
    };
    // What goes wrong while nobody waits for an answer is told here; SillyTavern's plugin passes it on to its console.
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_target(false).with_ansi(false).init();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(serve(context, args, key, setup))?;
    // Whoever is still connected, or reading a large chat, is not waited for.
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}

/// The first line of standard input.
fn told() -> Result<Given, Failure> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    let told: Option<Given> = serde_json::from_str(&line).ok();
    told.filter(|told| told.key.len() >= 16).ok_or_else(|| {
        let message = "A managed server is told a key on standard input";
        Failure::new(ErrorCode::Usage, message, "Send one line: {\"key\": \"at least 16 characters\"}")
    })
}

/// How a vault is found by somebody who has none open.
fn first_visit() -> Result<Setup, Failure> {
    let demo = std::path::absolute("forklore-demo")?;
    let home = std::env::home_dir().unwrap_or_default();
    let usual =
        ["SillyTavern", "SillyTavern-Launcher/SillyTavern", "Documents/SillyTavern", "Desktop/SillyTavern"];
    let places = usual.iter().map(|place| home.join(place)).chain(["/opt/SillyTavern".into()]);
    let folders = places.filter_map(|place| find::open(Some(&place)).ok()).map(|fs| fs.root().to_owned());
    let made = demo.clone();
    let choose = move |first: First| match first {
        First::Folder(path) => Ok(find::open(Some(&path))?.root().to_owned()),
        First::Demo => {
            super::demo::make(&made, &NoProgress)?;
            Ok(made.clone())
        }
    };
    Ok(Setup { folders: folders.collect(), demo, choose: Box::new(choose) })
}

async fn serve(
    context: &Context,
    args: &Args,
    key: Option<String>,
    setup: Option<Setup>,
) -> Result<(), Failure> {
    let listen = SocketAddr::new(args.listen, args.port);
    let first = key.clone().filter(|_| setup.is_some());
    let options = Options { listen, hosts: args.host.clone(), prefix: args.prefix.clone(), key, setup };
    let server = Server::bind(options).await.map_err(|e| cannot_listen(listen, &e))?;
    let url = server.url();
    if args.managed {
        ui::line(&json!({"url": url, "version": env!("CARGO_PKG_VERSION")}))?;
        // The thread reads until whoever started the server is gone.
        let (end, ended) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            let _read = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
            let _ended = end.send(());
        });
        server.run(async { drop(ended.await) }).await?;
        return Ok(());
    }
    if let Some(key) = first {
        let codes = server.codes();
        let code = codes.code_to_choose();
        if context.json {
            ui::line(&json!({"url": url, "version": env!("CARGO_PKG_VERSION"), "key": key, "code": code}))?;
        } else {
            ui::first_visit(&url, &code)?;
            on_enter(move || ui::first_visit(&url, &codes.code_to_choose()));
        }
        server.run(async { drop(tokio::signal::ctrl_c().await) }).await?;
        return Ok(());
    }
    let token = server.open(context.vault()?.root())?;
    let codes = server.codes();
    let code = codes.code(&token).unwrap_or_default();
    if context.json {
        ui::line(&json!({"url": url, "version": env!("CARGO_PKG_VERSION"), "token": token, "code": code}))?;
    } else {
        ui::serving(&url, &code)?;
        on_enter(move || ui::serving(&url, &codes.code(&token).unwrap_or_default()));
    }
    server.run(async { drop(tokio::signal::ctrl_c().await) }).await?;
    Ok(())
}

/// Tells again whenever somebody at the terminal presses Enter: an address works once, and there may be another browser.
fn on_enter(tell: impl Fn() -> std::io::Result<()> + Send + 'static) {
    if !std::io::stdin().is_terminal() {
        return;
    }
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            if line.is_err() || tell().is_err() {
                return;
            }
        }
    });
}

fn cannot_listen(listen: SocketAddr, e: &std::io::Error) -> Failure {
    let hint = match e.kind() {
        std::io::ErrorKind::AddrInUse => "Another program listens there. Choose another port: --port 0",
        std::io::ErrorKind::PermissionDenied => "Choose a port above 1023: --port 8377",
        _ => "Choose an address of this machine: --listen 127.0.0.1",
    };
    Failure::typed(ErrorCode::CannotListen, format!("Cannot listen on {listen}: {e}"), hint)
}
