//! A malicious client gets errors, or the session ends. It harms nobody else: no panic,
//! no hang, no lost answer to a valid request, no growth without bound.

/// When the input ends, or a signal comes.
mod ends;
/// More calls than can run, and answers that nobody reads.
mod floods;
/// Bytes that are not a request.
mod lines;

use keyhole_tests::{Answer, Session, World};
use std::{fs, thread, time::Duration};

const KEY: &str = "k-hunter2-valid-7f3a9c55aa01beef";

/// A world with one key, [`KEY`], for a file with this text.
fn world(text: &str) -> World {
    World::new()
        .file("notes/a.md", text)
        .map(format!("[keys]\n{KEY} = '~/notes/a.md'\n"))
}

/// The most memory that the server ever had, in MiB. None if the system does not
/// tell.
fn peak_mib(session: &Session) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", session.process_id())).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024)
}

/// Asserts that the server never took more than this, if the system tells.
#[track_caller]
fn took_at_most(session: &Session, mib: u64) {
    match peak_mib(session) {
        Some(peak) => assert!(peak <= mib, "the server took {peak} MiB"),
        None if cfg!(target_os = "linux") => panic!("/proc tells"),
        None => {}
    }
}

/// Waits until every thread of the server sleeps at each of several looks: then it has
/// done all that it can do without its client. If the system does not tell, waits for a
/// while.
fn settle(session: &Session) {
    const LOOKS: usize = 20;
    let tasks = format!("/proc/{}/task", session.process_id());
    let asleep = || -> Option<bool> {
        let states: Vec<String> = fs::read_dir(&tasks)
            .ok()?
            .filter_map(|task| fs::read_to_string(task.ok()?.path().join("stat")).ok())
            .collect();
        Some(states.iter().all(|stat| stat.contains(") S ")))
    };
    let mut quiet = 0;
    // Bounded: the server may never sleep.
    for _ in 0..2000 {
        match asleep() {
            Some(true) => quiet += 1,
            Some(false) => quiet = 0,
            None => quiet += 1,
        }
        if quiet == LOOKS {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Asserts that a call got this document, or was refused for want of time. Returns whether it
/// got it.
#[track_caller]
fn is_or_busy(answer: &Answer, text: &str) -> bool {
    match answer.code() {
        // On a busy machine, a call can take too long.
        Some("timed-out") => answer.refused("timed-out"),
        Some(_) => answer.refused("busy"),
        None => answer.is(text),
    }
    answer.code().is_none()
}
