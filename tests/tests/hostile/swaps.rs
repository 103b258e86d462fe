//! A directory or a file of the user's own that another process of the user swaps with a
//! link to the outside, as fast as it can. In somebody else's directory, nothing is served:
//! see `breaks`.

use super::{Outcome, world_attacks};
use crate::beside::Beside;
use keyhole_tests::{PATIENCE, World};
use keyhole_walk::RECENT;
use std::{collections::BTreeMap, thread, time::Instant};

world_attacks! {
    "A directory or file that is swapped with a link by another process";
    directory: "the file's directory is swapped with a link to one outside the root, for 3,000 calls" =>
        swap("notes/a/b/c", "outside/a/b/c", 3000, &["the file", "outside-root"]);
    upper_directory: "the same, two directories further up" =>
        swap("notes/a", "outside/a", 3000, &["the file", "outside-root"]);
    // Each swap changes the file, so that each call reads it twice.
    file: "the file is swapped with a link to one outside the root, for 30 calls" =>
        swap("notes/a/b/c/file.md", "outside/a/b/c/file.md", 30, &["the file", "outside-root", "changed"]);
}

const INSIDE: &str = "inside\n";

/// Makes calls while a name in the root is swapped with a link to what is outside. A call
/// gets the file or one of these codes.
fn swap(name: &str, outside: &str, calls: usize, may_get: &[&str]) -> Outcome {
    let world = World::new()
        .file("notes/honest.md", "honest\n")
        .file("notes/a/b/c/file.md", INSIDE)
        .file("outside/a/b/c/file.md", "hunter2, from outside")
        .map("roots = ['~/notes']\n[keys]\nk-honest = '~/notes/honest.md'\nk = '~/notes/a/b/c/file.md'\n");
    // Absolute, because it is used in two places.
    let outside = world.path(outside);
    let world = world.link("swapped", outside);
    let mut client = world.client();
    client.load("k").is(INSIDE);
    // Now the file was not changed lately. So each call is short, and there can be many.
    thread::sleep(RECENT);
    let swapper = Beside::start(
        env!("CARGO_BIN_EXE_swap"),
        [world.path(name), world.path("swapped")],
    );

    let mut got = BTreeMap::<String, usize>::new();
    let began = Instant::now();
    // Continues until calls have met both the file and the link, or the test would prove
    // nothing. On a busy machine, the swapper may sleep through all the other calls.
    let is_met =
        |got: &BTreeMap<_, _>| ["the file", "outside-root"].map(|met| got.contains_key(met));
    for call in 0.. {
        if call >= calls && (is_met(&got) == [true; 2] || began.elapsed() > PATIENCE) {
            break;
        }
        let answer = client.load("k");
        let outcome = match answer.text() {
            Some(text) => {
                assert_eq!(text, INSIDE, "from outside");
                "the file"
            }
            None => answer.code().unwrap(),
        };
        *got.entry(outcome.to_owned()).or_default() += 1;
    }
    swapper.end();
    client.load("k-honest").is("honest\n");
    client.end();

    assert_eq!(
        is_met(&got),
        [true; 2],
        "no call met the file, or the link: {got:?}"
    );
    let is_right = |outcome: &String| may_get.contains(&&**outcome);
    assert!(got.keys().all(is_right), "{got:?}");
    let codes: Vec<_> = may_get[1..]
        .iter()
        .map(|code| format!("`{code}`"))
        .collect();
    Ok(format!(
        "the file, or {}; never a byte from outside",
        codes.join(", or ")
    ))
}
