//! A directory or a file that another process swaps with a link to the outside,
//! as fast as it can, for thousands of calls.

use super::{Outcome, world_attacks};
use crate::beside::Beside;
use keyhole_tests::{PATIENCE, World};
use std::{collections::BTreeMap, time::Instant};

world_attacks! {
    "A directory or file that is swapped with a link by another process";
    directory: "the file's directory is swapped with a link to one outside the root, for 3,000 calls";
    upper_directory: "the same, two directories further up";
    file: "the file is swapped with a link to one outside the root, for 200 calls";
    directory_without_openat2: "the directory, where the kernel has no `openat2`";
    upper_directory_without_openat2: "the directory further up, where the kernel has no `openat2`";
    file_without_openat2: "the file, where the kernel has no `openat2`";
}

const INSIDE: &str = "inside\n";

/// What is swapped: the name in the root, and the target of the link that replaces it.
struct Swapped {
    name: &'static str,
    outside: &'static str,
    calls: usize,
    /// Another code that a call may return.
    or: Option<&'static str>,
}

const DIRECTORY: Swapped = Swapped {
    name: "notes/a/b/c",
    outside: "outside/a/b/c",
    calls: 3000,
    or: None,
};
const UPPER_DIRECTORY: Swapped = Swapped {
    name: "notes/a",
    outside: "outside/a",
    calls: 3000,
    or: None,
};
const FILE: Swapped = Swapped {
    name: "notes/a/b/c/file.md",
    outside: "outside/a/b/c/file.md",
    // Each swap changes the file, and each call waits until it is at rest.
    calls: 200,
    or: Some("changed"),
};

fn directory() -> Outcome {
    swap(&DIRECTORY, world())
}

fn upper_directory() -> Outcome {
    swap(&UPPER_DIRECTORY, world())
}

fn file() -> Outcome {
    swap(&FILE, world())
}

fn directory_without_openat2() -> Outcome {
    swap(&DIRECTORY, without_openat2()?)
}

fn upper_directory_without_openat2() -> Outcome {
    swap(&UPPER_DIRECTORY, without_openat2()?)
}

fn file_without_openat2() -> Outcome {
    swap(&FILE, without_openat2()?)
}

fn world() -> World {
    World::new()
        .file("notes/honest.md", "honest\n")
        .file("notes/a/b/c/file.md", INSIDE)
        .file("outside/a/b/c/file.md", "hunter2, from outside")
        .map("roots = ['~/notes']\n[keys]\nk-honest = '~/notes/honest.md'\nk = '~/notes/a/b/c/file.md'\n")
}

fn without_openat2() -> Result<World, &'static str> {
    if !cfg!(target_os = "linux") {
        return Err("only Linux has openat2");
    }
    Ok(world().through([env!("CARGO_BIN_EXE_without-openat2")]))
}

fn swap(swapped: &Swapped, world: World) -> Outcome {
    // Absolute, since it is used in two places.
    let outside = world.path(swapped.outside);
    let world = world.link("swapped", outside);
    let mut client = world.client();
    client.load("k").is(INSIDE);
    let swapper = Beside::start(
        env!("CARGO_BIN_EXE_swap"),
        [world.path(swapped.name), world.path("swapped")],
    );

    let mut got = BTreeMap::<String, usize>::new();
    let began = Instant::now();
    // Goes on until calls have met both the file and the link, or the test would prove
    // nothing. On a busy machine, the swapper may sleep through all the other calls.
    let is_met =
        |got: &BTreeMap<_, _>| ["the file", "outside-root"].map(|met| got.contains_key(met));
    for call in 0.. {
        if call >= swapped.calls && (is_met(&got) == [true; 2] || began.elapsed() > PATIENCE) {
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
    assert!(
        got.keys()
            .all(|code| matches!(&**code, "the file" | "outside-root")
                || Some(&**code) == swapped.or),
        "{got:?}"
    );
    let or = swapped
        .or
        .map_or(String::new(), |code| format!(", or `{code}`"));
    Ok(format!(
        "the file, or `outside-root`{or}; never a byte from outside"
    ))
}
