//! A malicious client gets errors, or the session ends. It harms nobody else: no panic,
//! no hang, no lost answer to a valid request, no growth without bound.

/// When the input ends, or a signal comes.
mod ends;
/// More calls than can run, and answers that nobody reads.
mod floods;
/// Bytes that are not a request.
mod lines;

use keyhole_tests::{Session, World, skipped};
use rustix::process::Signal;
use std::{fs, thread, time::Duration};

const KEY: &str = "k-hunter2-valid-7f3a9c55aa01beef";

/// A world with one key, [`KEY`], for a file with this text.
fn world(text: &str) -> World {
    World::new()
        .file("notes/a.md", text)
        .map(format!("[keys]\n{KEY} = '~/notes/a.md'\n"))
}

/// Asserts that the server never took more memory than this, if the system tells.
#[track_caller]
fn took_at_most(session: &Session, mib: u64) {
    if !cfg!(target_os = "linux") {
        return skipped("only Linux tells how much memory a process took");
    }
    let status = fs::read_to_string(format!("/proc/{}/status", session.process_id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.unwrap().split_whitespace().next().unwrap();
    let peak = kib.parse::<u64>().unwrap() / 1024;
    assert!(peak <= mib, "the server took {peak} MiB");
}

/// Waits until the server listens to signals and every thread of it sleeps, at each of several
/// looks: then it has started, and done all that it can do without its client. If the system does
/// not tell, waits for a while.
fn settle(session: &Session) {
    let status = format!("/proc/{}/status", session.process_id());
    let tasks = format!("/proc/{}/task", session.process_id());
    let mut quiet = 0;
    // Bounded: the server may never sleep.
    for _ in 0..2000 {
        let tasks = fs::read_dir(&tasks).into_iter().flatten();
        let mut states =
            tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("stat")).ok());
        // It also sleeps while it starts, on a busy machine for long.
        let status = fs::read_to_string(&status).unwrap_or_default();
        let mut caught = status
            .lines()
            .filter_map(|line| line.strip_prefix("SigCgt:"));
        let listens = caught.all(|set| {
            let set = u64::from_str_radix(set.trim(), 16).unwrap();
            [Signal::INT, Signal::TERM]
                .iter()
                .all(|signal| set & 1 << (signal.as_raw() - 1) != 0)
        });
        quiet = match listens && states.all(|stat| stat.contains(") S ")) {
            true => quiet + 1,
            false => 0,
        };
        if quiet == 20 {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
}
