//! `keyhole setup` and its `remove` in a terminal, killed before each system call by which it changes files. An
//! empty folder may stay, if it is killed before it has written down that it made it.

use super::setup_door::{RULES, SETTINGS, WRITE, everything, lived_in};
use keyhole_tests::{World, skipped};
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
    thread,
};

const KILLER: &str = env!("CARGO_BIN_EXE_kill-at");
const INSTALL: [&str; 6] = [
    "setup",
    "claude-code",
    "--bind",
    "house-rules",
    "--file",
    "~/private/identifiers.md",
];
const REMOVE: [&str; 3] = ["setup", "remove", "house-rules"];
/// Not the mode of a new file.
const MODE: u32 = 0o640;

fn home() -> World {
    let world = lived_in();
    world.mode(SETTINGS, MODE);
    world
}

/// Each file's mode and bytes. The folder for tickets has the home's path.
fn files(world: &World) -> Files {
    let home = world.home().display().to_string();
    let all = everything(world).into_iter().map(|(path, bytes)| {
        let bytes = String::from_utf8_lossy(&bytes).replace(&home, "/home/me");
        let bytes = bytes.into_bytes();
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
        (
            path.strip_prefix(world.home()).unwrap().to_owned(),
            (mode, bytes),
        )
    });
    all.collect()
}

/// Says yes to each question.
#[track_caller]
fn agreed<const N: usize>(world: &World, arguments: [&str; N]) {
    let (shown, exit) = world.agreed(arguments);
    assert_eq!(exit, Some(0), "{shown}");
}

type Files = BTreeMap<PathBuf, (u32, Vec<u8>)>;

/// Whether it is killed at the call with this number: each file is then old or new. It is
/// finished by a second run, and taken back.
fn is_killed_at(number: u32, removes: bool, old: &Files, new: &Files) -> bool {
    let world = home();
    if removes {
        agreed(&world, INSTALL);
    }
    let world = world.through([KILLER, &number.to_string()]);
    let (shown, exit) = match removes {
        true => world.agreed(REMOVE),
        false => world.asked(INSTALL, &[RULES, WRITE]),
    };
    let is_unfinished = |path: &Path| path.to_string_lossy().ends_with(".keyhole-new");
    let left = files(&world);
    for (path, file) in &left {
        let is_one = [old.get(path), new.get(path)].contains(&Some(file));
        assert!(is_one || is_unfinished(path), "{number}: {path:?} {file:?}");
    }
    assert!(old.keys().all(|path| left.contains_key(path)), "{number}");
    if exit == Some(0) {
        assert_eq!(left, if removes { old } else { new }.clone());
        return false;
    }
    assert_eq!(exit, Some(137), "{shown}");
    // Without the killer.
    let world = world.through::<&str>([]);
    if !removes {
        agreed(&world, INSTALL);
        let done = files(&world);
        let is_new = |(path, file): (&PathBuf, &_)| done.get(path) == Some(file);
        assert!(new.iter().all(is_new), "{number}");
    }
    let (shown, exit) = world.agreed(REMOVE);
    let is_gone = removes && shown.contains("setup wrote nothing of this name");
    assert!(exit == Some(0) || is_gone, "{number}: {shown}");
    let mut left = files(&world);
    left.retain(|path, _| !removes || !is_unfinished(path));
    assert_eq!(left, *old, "{number}");
    let record = world.path(".local/state/keyhole/setup.json");
    assert!(!record.exists(), "{number}");
    true
}

#[test]
fn a_setup_or_removal_that_is_killed_leaves_each_file_old_or_new_and_can_be_finished_and_taken_back()
 {
    let probe = Command::new(KILLER).args(["0", "/bin/true"]).status();
    if probe.unwrap().code() == Some(77) {
        return skipped("no program can be followed here");
    }
    let world = home();
    let old = files(&world);
    agreed(&world, INSTALL);
    let new = files(&world);
    // Four times, a file is replaced; and twice, with one removed and then the record.
    for (removes, calls) in [(false, 4 * 5), (true, 2 * 5 + 2)] {
        let next = AtomicU32::new(0);
        let next = || next.fetch_add(1, Ordering::Relaxed);
        // Most of the time, a run waits for a new file to settle.
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| while is_killed_at(next(), removes, &old, &new) {});
            }
        });
        // Beside those that were not killed.
        let killed = next() - 8;
        assert!(killed > calls, "{killed}");
    }
}
