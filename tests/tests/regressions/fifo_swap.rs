//! Somebody who may write to the mapped file's directory swaps the file with a FIFO,
//! so that the guest sees a file and opens a FIFO. Each such call once held a thread
//! for ever, and soon the server served no key any more.

use crate::hostile::{ground::fifo, swaps::while_swapping};
use keyhole_tests::{PATIENCE, World};
use std::{collections::BTreeSet, time::Instant};

const ROUNDS: usize = 5;
/// More calls than the server runs at once.
const CALLS: usize = 16;

#[test]
fn a_fifo_that_takes_the_files_place_holds_no_thread_and_no_other_key() {
    let world = World::new()
        .file("notes/a.md", "whole\n")
        .file("other.md", "other\n")
        .map("[keys]\nk-swapped = '~/notes/a.md'\nk-other = '~/other.md'\n");
    fifo(&world.path("notes/fifo"));
    let mut client = world.client();
    let mut got = BTreeSet::new();
    // Until calls have met both, or the test would prove nothing.
    let has_met = |got: &BTreeSet<String>| {
        ["whole\n", "not-a-file"]
            .iter()
            .all(|met| got.contains(*met))
    };
    let began = Instant::now();
    let [file, fifo] = ["notes/a.md", "notes/fifo"].map(|name| world.path(name));
    while_swapping(&file, &fifo, || {
        for round in 0.. {
            if round >= ROUNDS && (has_met(&got) || began.elapsed() > PATIENCE) {
                break;
            }
            let calls: Vec<_> = (0..CALLS).map(|_| client.call("k-swapped")).collect();
            client.load_at_last("k-other").is("other\n");
            for call in calls {
                let answer = client.answer(call);
                got.extend(answer.text().or(answer.code()).map(str::to_owned));
            }
        }
    });
    assert!(has_met(&got), "no call met the file, or the FIFO: {got:?}");
    // The last two are for a busy machine.
    let may_get = ["whole\n", "not-a-file", "changed", "timed-out", "busy"];
    assert!(got.iter().all(|got| may_get.contains(&&**got)), "{got:?}");
    client.load_at_last("k-swapped").is("whole\n");
    client.end();
}
