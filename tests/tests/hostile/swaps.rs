//! A directory or a file of the user's own that another process of the user swaps with a
//! link to the outside, or with a FIFO, as fast as it can. In somebody else's directory,
//! nothing is served: see `walk::tests`.

use super::{Outcome, ground, world_attacks};
use keyhole_tests::{PATIENCE, World, while_repeating};
use keyhole_walk::RECENT;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::symlink,
    path::Path,
    thread,
    time::{Duration, Instant},
};

world_attacks! {
    "A directory or file that is swapped by another process";
    directory: "a directory is swapped with a link to one outside the root, for 500 calls: the file's own, and one two further up" =>
        "the file, or `outside-root`, or `restart-needed`; never a byte from outside" =
        swap(&["a/b/c", "a"], 500, &["the file", "outside-root", "restart-needed"], outside);
    // Each swap changes the file, so that each call waits until it has settled.
    file: "the file is swapped with a link to one outside the root, for 150 calls" =>
        "the file, or `outside-root`, or `changed`, or `restart-needed`; never a byte from outside" =
        swap(
            &["a/b/c/file.md"],
            150,
            &["the file", "outside-root", "changed", "restart-needed"],
            outside,
        );
    // Each open of it once held a thread for ever.
    fifo: "the file is swapped with a FIFO that nobody writes to, for 80 calls" =>
        "the file, or `not-a-file`, or `changed`, or `restart-needed`; never a byte from outside" =
        swap(
            &["a/b/c/file.md"],
            80,
            &["the file", "not-a-file", "changed", "restart-needed"],
            |_, _, at| ground::fifo(at),
        );
}

const INSIDE: &str = "inside\n";

/// How many exchanges there are between two pauses, an even number: in the end everything is
/// where it was.
const EXCHANGES: usize = 60_000;
/// Without one, a file that is swapped would never settle.
const PAUSE: Duration = Duration::from_millis(150);

/// Exchanges two names, again and again, until `then` has ended. Each exchange is atomic.
fn while_swapping<T>(a: &Path, b: &Path, then: impl FnOnce() -> T) -> T {
    let swap = || {
        for _ in 0..EXCHANGES {
            renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).unwrap();
        }
        thread::sleep(PAUSE);
    };
    while_repeating(swap, then)
}

/// A link to what has this name outside. Absolute, because it is used in two places.
fn outside(world: &World, name: &str, at: &Path) {
    symlink(world.path("outside").join(name), at).unwrap();
}

/// Makes calls while a name in the root is swapped with something else: one name after the
/// other. A call gets the file or one of these codes: `restart-needed` if it left the root
/// behind the walk's back, so that only the kernel could see it.
fn swap(names: &[&str], calls: usize, may_get: &[&str], make: fn(&World, &str, &Path)) -> Outcome {
    let world = World::new()
        .file("notes/honest.md", "honest\n")
        .file("notes/a/b/c/file.md", INSIDE)
        .file("outside/a/b/c/file.md", "hunter2, from outside")
        .map("roots = ['~/notes']\n[keys]\nk-honest = '~/notes/honest.md'\nk = '~/notes/a/b/c/file.md'\n");
    let mut client = world.client();
    client.load("k").is(INSIDE);
    if !names.contains(&"a/b/c/file.md") {
        // Then the file was not changed lately. So each call is short, and there can be many.
        thread::sleep(RECENT);
    }
    for name in names {
        let other = world.path("swapped");
        let _ = fs::remove_file(&other);
        make(&world, name, &other);
        let mut got = BTreeSet::new();
        let began = Instant::now();
        // Continues until calls have met both the file and the link, or the test would prove
        // nothing. On a busy machine, the swapper may sleep through all the other calls.
        let has_met = |got: &BTreeSet<String>| may_get[..2].iter().all(|met| got.contains(*met));
        while_swapping(&world.path("notes").join(name), &other, || {
            for call in 0.. {
                if call >= calls && (has_met(&got) || began.elapsed() > PATIENCE) {
                    break;
                }
                let answer = client.load("k");
                got.insert(match answer.text() {
                    Some(text) => {
                        assert_eq!(text, INSIDE, "from outside");
                        "the file".to_owned()
                    }
                    None => answer.code().unwrap().to_owned(),
                });
            }
        });
        client.load("k-honest").is("honest\n");
        assert!(has_met(&got), "no call met the file, or the other: {got:?}");
        let is_right = |outcome: &String| may_get.contains(&&**outcome);
        assert!(got.iter().all(is_right), "{got:?}");
    }
    client.end();
    let codes = may_get[1..].join("`, or `");
    Ok(format!("the file, or `{codes}`; never a byte from outside"))
}
