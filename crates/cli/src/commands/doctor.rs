//! `forklore doctor`

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use forklore_api::doctor::{self, About, Point};
use forklore_api::{ErrorCode, Failure};
use forklore_core::check::Health;
use forklore_install::{Installed, Tavern, installed};
use serde::Serialize;

use crate::context::Context;
use crate::ui;

/// Look at how Forklore is doing here, and say what to do
///
/// Which vault there is, what Forklore may do in it and what the file system allows, what was left behind, whether history is being
/// recorded, which SillyTavern there is and whether its plugin fits this program and answers. No chat and no lorebook is changed.
///
/// `forklore check` looks at the stories themselves.
///
/// Exits with 1 if something does not work, with 0 if there are only things worth doing or nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore doctor
  forklore doctor --sillytavern ~/SillyTavern
  forklore doctor --json | jq -r '.points[] | select(.health != \"ok\") | .remedy'")]
pub(crate) struct Args {
    /// Folder of the SillyTavern install; looked for around the vault, around here and at home if left out
    #[arg(long, value_name = "DIR")]
    sillytavern: Option<PathBuf>,

    /// Port that SillyTavern listens on, if it is not the one in its config.yaml
    #[arg(long)]
    port: Option<u16>,
}

/// How Forklore is doing.
#[derive(Serialize)]
struct DoctorReport {
    /// Version of this program
    version: &'static str,
    /// Whether everything works
    ok: bool,
    /// What was looked at
    points: Vec<Point>,
}

/// With less room than this a fork of a long story may not fit.
const LITTLE_ROOM: u64 = 500_000_000;

/// SillyTavern is on this machine: it answers at once or never.
const PATIENCE: Duration = Duration::from_secs(3);

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, Failure> {
    let version = env!("CARGO_PKG_VERSION");
    let program = std::env::current_exe()?;
    let mut points = vec![Point::well(About::Program, format!("Forklore {version}, {}.", program.display()))];
    let root = match context.vault() {
        Ok(real) => {
            let mut found = context.ask_in(&real, |open| Ok(doctor::doctor(open)))?;
            if let Some(vault) = found.iter_mut().find(|point| point.about == About::Vault) {
                vault.message = format!("{}: {}", real.root().display(), vault.message);
            }
            points.append(&mut found);
            points.extend(real.room().map(disk));
            Some(real.root().to_owned())
        }
        Err(failure) => {
            points.push(Point::failed(About::Vault, failure));
            None
        }
    };
    match find(args.sillytavern.as_deref(), root.as_deref()) {
        Ok(tavern) => points.extend(around(&tavern, args.port.unwrap_or_else(|| tavern.port()), version)),
        Err(point) => points.push(point),
    }
    let ok = points.iter().all(|point| point.health != Health::Error);
    let report = DoctorReport { version, ok, points };
    if context.json {
        ui::json(&report)?;
    } else {
        ui::doctor(&report.points)?;
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn disk(room: u64) -> Point {
    let message = format!("Room for {} more.", ui::size(room));
    if room < LITTLE_ROOM {
        return Point::wants(
            About::Disk,
            message,
            "Make room: `forklore gc` and `forklore prune` free what Forklore keeps, as far as you let them.",
        );
    }
    Point::well(About::Disk, message)
}

fn find(named: Option<&Path>, vault: Option<&Path>) -> Result<Tavern, Point> {
    let nowhere = |e: &dyn std::fmt::Display| {
        let remedy =
            "Name the folder that has SillyTavern's server.js in it: forklore doctor --sillytavern DIR";
        Point::wants(About::Sillytavern, format!("{e}."), remedy)
    };
    let home = std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE")).map(PathBuf::from);
    let here = forklore_fs::canonical(Path::new(".")).map_err(|e| nowhere(&e))?;
    let around_vault =
        vault.filter(|_| named.is_none()).and_then(|vault| Tavern::find(None, vault, None).ok());
    around_vault.map_or_else(|| Tavern::find(named, &here, home.as_deref()).map_err(|e| nowhere(&e)), Ok)
}

/// The install, and what there is of Forklore in it.
fn around(tavern: &Tavern, port: u16, version: &str) -> Vec<Point> {
    let place = tavern.root().display();
    let named = tavern.version().map_or_else(|| "SillyTavern".to_owned(), |v| format!("SillyTavern {v}"));
    let mut points = vec![Point::well(About::Sillytavern, format!("{named}, {place}."))];
    let again = format!("forklore install --sillytavern \"{place}\", and restart SillyTavern");
    points.push(match installed(tavern) {
        Err(e) => Point::fails(About::Plugin, format!("{e}."), "Look at the rights of SillyTavern's folder."),
        Ok(None) => Point::wants(
            About::Plugin,
            "Forklore is not installed in it: its own buttons make forks that share a lorebook.",
            again,
        ),
        Ok(Some(found)) => plugin(&found, version, &again).unwrap_or_else(|| answers(port, &found)),
    });
    points
}

/// What is wrong with the plugin as it is installed.
fn plugin(found: &Installed, version: &str, again: &str) -> Option<Point> {
    let Installed { version: theirs, engine, there, on, differ } = found;
    let fails = |message: String| Some(Point::fails(About::Plugin, message, again));
    if theirs != version {
        return fails(format!(
            "Version {theirs} is installed, and this is {version}: a plugin works with no other."
        ));
    }
    if !there {
        return fails(format!("The program that it starts is gone: {engine}."));
    }
    if *differ > 0 {
        return fails(format!(
            "{} missing or changed.",
            doctor::count((*differ, "of its files is", "of its files are"))
        ));
    }
    match on {
        Some(true) => None,
        Some(false) => fails(
            "SillyTavern does not load plugins: enableServerPlugins is false in its config.yaml.".to_owned(),
        ),
        None => Some(Point::wants(
            About::Plugin,
            "SillyTavern's config.yaml does not tell whether plugins are loaded.",
            "Set enableServerPlugins to true in it.",
        )),
    }
}

/// Whether a SillyTavern that runs here has loaded the plugin. It tells nothing to whoever is no page of SillyTavern's, and that it does
/// so is enough.
fn answers(port: u16, found: &Installed) -> Point {
    let version = &found.version;
    match ask(port) {
        Err(_) => Point::well(
            About::Plugin,
            format!("Version {version} is installed. SillyTavern does not run at port {port} now."),
        ),
        Ok(text) if text.contains(ErrorCode::WrongOrigin.as_str()) || text.contains("\"hooks\"") => {
            Point::well(About::Plugin, format!("Version {version} is installed and answers at port {port}."))
        }
        Ok(text) if text.starts_with("HTTP/1.1 404") => Point::fails(
            About::Plugin,
            format!("Version {version} is installed, but the SillyTavern at port {port} has not loaded it."),
            "Restart SillyTavern. If that does not help, its console says why.",
        ),
        Ok(_) => Point::wants(
            About::Plugin,
            format!(
                "Version {version} is installed. Whatever runs at port {port} does not say whether it is loaded."
            ),
            "Open Forklore in SillyTavern's page: it tells how it is.",
        ),
    }
}

fn ask(port: u16) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let head = "GET /api/plugins/forklore/plugin HTTP/1.1\r\nHost: 127.0.0.1";
    stream.write_all(format!("{head}:{port}\r\nConnection: close\r\n\r\n").as_bytes())?;
    let mut bytes = Vec::new();
    // Whoever answers without an end has said enough.
    match stream.take(64 << 10).read_to_end(&mut bytes) {
        Err(e) if bytes.is_empty() => Err(e),
        _ => Ok(String::from_utf8_lossy(&bytes).into_owned()),
    }
}
