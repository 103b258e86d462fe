//! The cost of the sandbox, measured from outside: `./x bench`.
//!
//! Starts each server as a client would, over stdio, all in turn and in many rounds:
//! keyhole, the same server without its sandbox, one that answers a constant, and
//! servers that people use instead. Writes the tables of docs/performance.md and its
//! chart. No number makes it fail.
//!
//! - `server`: the list of servers, and how to start and call each
//! - `inside`, `hooks`: what is measured besides servers
//! - `measure`, `numbers`: the rounds, and what they give
//! - `report`, `chart`: the results

mod chart;
mod hooks;
mod inside;
mod measure;
mod numbers;
mod report;
mod server;

use keyhole_benches::files::Files;
use measure::{FULL, Plan, SHORT, measure};
use server::Programs;
use std::{env, error::Error, fs, path::PathBuf, process::exit, thread, time::Duration};

const USAGE: &str = "usage: keyhole-bench [--short] [--peers DIR] [--packaged FILE]";

/// Relative to the repository's root, where `./x` starts it.
const PAGE: &str = "docs/performance.md";
const CHART: &str = "docs/performance.svg";

/// A server that does not answer must not block whoever waits for the result.
const PATIENCE: Duration = Duration::from_secs(60 * 60);

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
    thread::spawn(|| {
        thread::sleep(PATIENCE);
        say(&format!("gave up after {PATIENCE:?}"));
        exit(1);
    });
    // The servers are in this program's directory, built with its profile.
    let own = env::current_exe()?.with_file_name("");
    let profile = own.file_name().unwrap_or_default().to_string_lossy();
    let programs = Programs {
        own: own.clone(),
        packaged,
        // Each server starts in a folder of its own, so the path must be absolute.
        peers: peers.map(fs::canonicalize).transpose()?,
    };
    bench(plan, &programs, &profile)
}

fn bench(plan: Plan, programs: &Programs, profile: &str) -> Result<(), Box<dyn Error>> {
    let files = Files::new()?.at_rest();
    let measured = measure(plan, &files, programs)?;
    let released = programs.packaged.clone();
    let released = released.unwrap_or_else(|| programs.own.join("keyhole"));
    // Only this profile strips all.
    let size = (profile == "dist")
        .then(|| fs::metadata(released))
        .transpose()?;
    let conditions = report::conditions(profile, plan.rounds);
    let size = size.map(|program| program.len());
    let tables = report::tables(&measured, size, &conditions);
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
