//! The cost of the sandbox, measured from outside: `./x bench`.
//!
//! Starts each server as a client would, over stdio, all in turn and in many rounds:
//! keyhole, the same server without its sandbox, one that answers a constant, and
//! servers that people use instead. Writes the tables of benches/README.md and its
//! chart. No number makes it fail.
//!
//! - `server`: the list of servers, and how to start and call each
//! - `plugin`, `withheld`: what is measured besides servers
//! - `measure`: the rounds, and what they give
//! - `report`, `chart`: the results

mod chart;
mod measure;
mod plugin;
mod report;
mod server;
mod withheld;

use keyhole_benches::files::Files;
use measure::{FULL, SHORT, measure};
use server::Programs;
use std::{env, error::Error, fs, path::PathBuf};

const USAGE: &str = "usage: keyhole-bench [--short] [--peers DIR] [--packaged FILE]";

/// Relative to the repository's root, where `./x` starts it.
const PAGE: &str = "benches/README.md";
const CHART: &str = "benches/performance.svg";

#[allow(clippy::print_stdout, reason = "this program reports to a terminal")]
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
    let programs = Programs {
        // The servers are in this program's directory, built with its profile.
        own: env::current_exe()?.with_file_name(""),
        packaged,
        peers: peers.map(fs::canonicalize).transpose()?,
    };
    let measured = measure(plan, &Files::new().at_rest(), &programs)?;
    let tables = report::tables(&measured, &programs, plan.rounds)?;
    let chart = chart::chart(&measured)?;
    println!("{tables}");
    if plan == SHORT {
        for absent in &measured.absent {
            println!("skipped: {absent}");
        }
        println!("everything can be measured; nothing was written");
        return Ok(());
    }
    let page = fs::read_to_string(PAGE)?;
    let page = report::insert(&page, &tables).ok_or("the page has no place for tables")?;
    fs::write(PAGE, page)?;
    Ok(fs::write(CHART, chart)?)
}
