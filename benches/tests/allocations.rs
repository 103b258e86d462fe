//! What a call allocates: the same on every machine, however busy it is. The most that it may
//! be stands beside what it was when the limit was set. If a change makes something cheaper,
//! lower its limit, so that the gain is kept.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use allocation_counter::{AllocationInfo, measure};
use keyhole_benches::files::{Files, LARGE, LARGE_NAME, SMALL_NAME, grant};
use keyhole_core::{Executor as _, limits::Limits, sandbox::Sandbox};
use std::time::{Duration, Instant};

/// Allocations of a call for a small document: 54. Nearly all are wasmtime's, for an
/// instance; a call must not become more than an instance and a file.
const SMALL_ALLOCATIONS: u64 = 60;

/// Bytes that a call may allocate beside the text: handles, and what wasmtime needs. It was
/// 11 KiB.
const BESIDE: u64 = 32 << 10;

/// What a call for this file costs after another call, which has warmed all that can be
/// warm. The guest's own memory is the pool's, so it does not count.
fn count(name: &str) -> AllocationInfo {
    let files = Files::new();
    let sandbox = Sandbox::embedded(Limits::default()).unwrap();
    let call = || {
        let grant = grant(files.home(), name).unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        let text = sandbox.run("k-1", Some(grant), deadline).unwrap();
        assert!(text.starts_with("- Jane"));
    };
    call();
    let counted = measure(call);
    println!("{counted:?}");
    counted
}

#[test]
fn a_small_document_takes_few_allocations() {
    let counted = count(SMALL_NAME);
    assert!(counted.count_total <= SMALL_ALLOCATIONS, "{counted:?}");
}

/// The host reads it once, and the guest returns it once; a third copy would be felt. At
/// one time there is one, so sixteen calls of the highest limit hold no more than they must.
#[test]
fn the_host_copies_a_large_document_once_and_holds_it_once() {
    let counted = count(LARGE_NAME);
    let text = LARGE as u64;
    assert!(counted.bytes_total <= 2 * text + BESIDE, "{counted:?}");
    assert!(counted.bytes_max <= text + BESIDE, "{counted:?}");
}
