//! The cost of the sandbox, measured from outside: `./x bench`.
//!
//! Starts each server as a client would, over stdio, all in turn and in many rounds:
//! keyhole, the same server without its sandbox, one that answers a constant, and
//! servers that people use instead. Writes the tables of docs/performance.md and its
//! chart.
//!
//! - `files`: the maps and files that the servers serve
//! - `server`: the list of servers, and how to call each
//! - `session`: the client
//! - `inside`, `hooks`: what is measured besides servers
//! - `measure`: the rounds
//! - `targets`, `report`, `chart`: the results

mod chart;
mod files;
mod hooks;
mod inside;
mod measure;
mod numbers;
mod report;
mod server;
mod session;
mod targets;

use files::Files;
use measure::{FULL, Plan, SHORT, give_up_after, measure};
use server::Programs;
use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

const USAGE: &str = "usage: keyhole-bench [--short] [--peers DIR] [--packaged FILE]";

/// Relative to the repository's root, where `./x` starts it.
const PAGE: &str = "docs/performance.md";
const CHART: &str = "docs/performance.svg";
const START: &str = "plugin/start.sh";

fn main() -> Result<(), Box<dyn Error>> {
    let (mut plan, mut peers, mut packaged) = (FULL, None, None);
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--short" => plan = SHORT,
            "--peers" => peers = arguments.next().map(PathBuf::from),
            "--packaged" => packaged = arguments.next().map(PathBuf::from),
            _ => return Err(USAGE.into()),
        }
    }
    give_up_after(Duration::from_secs(15 * 60));
    bench(plan, peers, packaged)
}

fn bench(
    plan: Plan,
    peers: Option<PathBuf>,
    packaged: Option<PathBuf>,
) -> Result<(), Box<dyn Error>> {
    // The servers are in this program's directory, built with its profile.
    let own = env::current_exe()?
        .parent()
        .ok_or("this program lies nowhere")?
        .to_owned();
    let profile = own
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let programs = Programs {
        own,
        packaged,
        // Each server starts in a folder of its own, so the path must be absolute.
        peers: peers.map(fs::canonicalize).transpose()?,
    };
    let files = Files::new()?;
    if let Some(plugin) = programs
        .peers
        .as_ref()
        .map(|peers| peers.join("hyper.wasm"))
        && plugin.exists()
    {
        files.tell_hyper(&plugin)?;
    }
    let measured = measure(plan, &files, &programs, Path::new(START))?;

    let keyhole = programs
        .packaged
        .clone()
        .unwrap_or_else(|| programs.own.join("keyhole"));
    // Only this profile strips all.
    let targets = targets::targets(&measured.results, &keyhole, profile == "dist");
    let conditions = report::conditions(&profile, plan.rounds);
    let tables = report::tables(&measured, &targets, &conditions);
    let chart = chart::chart(&measured);
    if plan.rounds == SHORT.rounds {
        for (name, why) in &measured.absent {
            say(&format!("skipped: {name} ({why})"));
        }
        say("everything can be measured; nothing was written");
        return Ok(());
    }
    say(&tables);
    let page = fs::read_to_string(PAGE)?;
    let page =
        report::insert(&page, &tables).ok_or("docs/performance.md has no place for tables")?;
    fs::write(PAGE, page)?;
    fs::write(CHART, chart)?;
    Ok(())
}

#[allow(clippy::print_stdout, reason = "this program reports to a terminal")]
fn say(text: &str) {
    println!("{text}");
}
