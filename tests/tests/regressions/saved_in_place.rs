//! A file that is saved in place again and again, while a client reads it. The server once
//! served hundreds of empty files, and now and then half a file, or a mixture of two
//! versions: it compared only size and modification time, and the kernel sets that time
//! when a write begins.
//!
//! The promise is about a writer that begins a write at least every [`BETWEEN_LOOKS`] until it is
//! done. On a busy machine a writer may have to pause: the test ignores what is served during a
//! saving that took so long.

use keyhole_tests::{PATIENCE, World, skipped, while_repeating};
use keyhole_walk::BETWEEN_LOOKS;
use std::{
    fs::{self, File},
    io::Write as _,
    os::unix::fs::FileExt as _,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

const SIZE: usize = 512 << 10;

/// How many calls each writer meets, at least.
const CALLS: usize = 25;

/// Runs this with the paths of a version, `$0`, and of the file, `$1`.
fn sh(script: &str, version: &Path, file: &Path) {
    let mut sh = Command::new("sh");
    let ran = sh.args(["-c", script]).args([version, file]).status();
    assert!(ran.unwrap().success(), "{script}");
}

/// How many times as long a rest is in later rounds, so that a slow machine can use one too.
fn longer(round: u32) -> u32 {
    1 + round / 40
}

/// A rest that is sometimes long enough for the file to settle.
fn some_rest(round: u32) -> Duration {
    BETWEEN_LOOKS * (round % 4) / 2 * longer(round)
}

/// Makes calls while `save` saves one version and the other in turn, with a rest after each.
/// Each call gets one of the two, or is refused; and at least one call gets a version. A mixture
/// is allowed only if a save that overlaps the call took [`BETWEEN_LOOKS`] or longer.
fn is_served_whole(save: impl Fn(&Path, &Path) + Send + Sync, rest: fn(u32) -> Duration) {
    // They have one length, because some writers do not truncate the file.
    let versions = ["a", "b"].map(|letter| letter.repeat(SIZE));
    let world = World::new()
        .file("a", &versions[0])
        .file("b", &versions[1])
        .file("x.md", &versions[0])
        .map("[keys]\nk = '~/x.md'\n");
    let mut client = world.client();
    let mut savings = Vec::new();
    let mut rounds = (1..).zip(["b", "a"].into_iter().cycle());
    let write = || {
        let (round, version) = rounds.next().unwrap();
        let began = Instant::now();
        save(&world.path(version), &world.path("x.md"));
        savings.push((began, Instant::now()));
        thread::sleep(rest(round));
    };
    // Whether each call got a mixture, and when.
    let mut got = Vec::new();
    let mut met_a_version = false;
    while_repeating(write, || {
        let began = Instant::now();
        while (got.len() < CALLS || !met_a_version) && began.elapsed() < PATIENCE {
            let asked = Instant::now();
            let answer = client.load_at_last("k");
            let is_whole = |text: &str| versions.iter().any(|version| text == version);
            match answer.text() {
                Some(text) => met_a_version |= is_whole(text),
                None => answer.refused("changed"),
            }
            let is_mixed = answer.text().is_some_and(|text| !is_whole(text));
            got.push((is_mixed, asked, Instant::now()));
        }
    });
    assert!(met_a_version, "{} calls", got.len());
    // The writer may have paused for so long that the file had settled.
    savings.retain(|(began, ended)| *ended - *began >= BETWEEN_LOOKS);
    for (_, asked, answered) in got.into_iter().filter(|(is_mixed, ..)| *is_mixed) {
        let mut savings = savings.iter();
        let paused = savings.any(|(began, ended)| asked <= *ended && *began <= answered);
        assert!(paused, "not whole");
    }
    client.end();
}

#[test]
fn a_file_is_served_whole_whatever_saves_it() {
    for script in [
        "cp $0 $1",
        "dd if=$0 of=$1 conv=notrunc status=none",
        // As an editor replaces it.
        "cp $0 $1.new && mv $1.new $1",
    ] {
        is_served_whole(|version, file| sh(script, version, file), some_rest);
    }
    let by_one_write = |version: &Path, file: &Path| {
        let text = fs::read(version).unwrap();
        let file = File::options().write(true).open(file).unwrap();
        assert_eq!(file.write_at(&text, 0).unwrap(), SIZE);
    };
    is_served_whole(by_one_write, some_rest);
}

/// Then both looks of a call may find the file empty, each in another saving.
#[test]
fn a_file_that_is_saved_as_often_as_the_server_looks_is_served_whole() {
    const EMPTY: Duration = Duration::from_millis(30);
    let save = |version: &Path, file: &Path| {
        let text = fs::read(version).unwrap();
        let mut file = File::create(file).unwrap();
        thread::sleep(EMPTY);
        file.write_all(&text).unwrap();
    };
    let rest = |round| match round % 8 {
        0 => BETWEEN_LOOKS * 3 * longer(round),
        _ => BETWEEN_LOOKS - EMPTY,
    };
    is_served_whole(save, rest);
}

/// What is *not* promised: only saving by renaming is safe, whatever the writer does.
#[test]
fn a_writer_that_waits_longer_than_the_server_looks_is_seen_halfway() {
    let [a, b] = ["a", "b"].map(|letter| letter.repeat(SIZE));
    let world = World::new()
        .file("half", &b[SIZE / 2..])
        .map("[keys]\nk = '~/x.md'\n");
    let mut client = world.client();
    for direct in ["", "oflag=direct"] {
        world.write("x.md", &a);
        let mut dd = Command::new("dd");
        dd.arg(format!("if={}", world.path("half").display()))
            .arg(format!("of={}", world.path("x.md").display()))
            .args(["bs=64k", "conv=notrunc", "status=none"])
            .args(Some(direct).filter(|direct| !direct.is_empty()));
        if !dd.stderr(Stdio::null()).status().unwrap().success() {
            assert_ne!(direct, "", "dd failed");
            skipped("this file system takes no direct writes");
            continue;
        }
        // The writer goes on later, for all that the server can tell.
        client
            .load("k")
            .is(&(b[SIZE / 2..].to_owned() + &a[SIZE / 2..]));
    }
    client.end();
}
