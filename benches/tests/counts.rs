//! What a call costs in things that can be counted. Unlike times, they do not vary from
//! run to run or from machine to machine. So a test can notice if a call costs more.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use allocation_counter::{AllocationInfo, measure};
use cap_std::fs::Dir;
use keyhole::{
    Grant,
    limits::Limits,
    sandbox::{Executor as _, Sandbox},
};
use std::{
    fs::{self, File},
    time::{Duration, Instant},
};
use tempfile::TempDir;

const KEY: &str = "k-2c1f8a96d0e34b57";
const SMALL: u64 = 1 << 10;
const LARGE: u64 = 1 << 20;

/// What a call may allocate beside the text: handles, and what wasmtime needs.
const BESIDE: u64 = 64 << 10;

struct Ground {
    files: TempDir,
    sandbox: Sandbox,
}

impl Ground {
    fn new() -> Self {
        let files = tempfile::tempdir().unwrap();
        for size in [SMALL, LARGE] {
            let text = "a".repeat(size.try_into().unwrap());
            fs::write(files.path().join(format!("{size}.md")), text).unwrap();
        }
        Self {
            files,
            sandbox: Sandbox::embedded(Limits::default()).unwrap(),
        }
    }

    fn call(&self, size: u64) {
        let grant = Grant {
            directory: Dir::from_std_file(File::open(self.files.path()).unwrap()),
            name: format!("{size}.md"),
            max_bytes: LARGE,
        };
        let deadline = Instant::now() + Duration::from_secs(60);
        let text = self.sandbox.call(KEY, Some(grant), deadline).unwrap();
        assert_eq!(text.len() as u64, size);
    }

    /// What a call costs after another call, which has warmed all that can be warm.
    fn count(&self, size: u64) -> AllocationInfo {
        self.call(size);
        self.sandbox.tidy();
        measure(|| self.call(size))
    }
}

/// Once when the host reads it, and once when the guest has answered. The guest's own
/// memory is the pool's, so it does not count.
#[test]
fn the_host_allocates_a_document_twice_and_no_more() {
    let counted = Ground::new().count(LARGE);
    assert!(counted.bytes_total <= 2 * LARGE + BESIDE, "{counted:?}");
    // The first copy is released by then.
    assert!(counted.bytes_max <= LARGE + BESIDE, "{counted:?}");
}

/// The store and its instances were made before.
#[test]
fn a_call_that_finds_an_instance_makes_none() {
    let ground = Ground::new();
    let ready = ground.count(SMALL).count_total;
    // Nobody has tidied up since.
    let own = measure(|| ground.call(SMALL)).count_total;
    assert!(2 * ready < own, "{ready} {own}");
}

/// One read for the whole file, and one that finds its end.
#[cfg(target_os = "linux")]
#[test]
fn a_document_is_read_in_two_reads() {
    let ground = Ground::new();
    let Ok(began) = reads() else {
        println!(
            "skipped: a_document_is_read_in_two_reads (the system does not count a thread's reads)"
        );
        return;
    };
    let counting = reads().unwrap() - began;
    for size in [SMALL, LARGE] {
        let began = reads().unwrap();
        ground.call(size);
        assert_eq!(reads().unwrap() - began - counting, 2);
    }
}

/// How often this thread has read.
#[cfg(target_os = "linux")]
fn reads() -> std::io::Result<u64> {
    let counts = fs::read_to_string("/proc/thread-self/io")?;
    let reads = counts.lines().find_map(|line| line.strip_prefix("syscr: "));
    Ok(reads.unwrap().parse().unwrap())
}
