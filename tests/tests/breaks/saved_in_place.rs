//! A file that is saved in place again and again, while a client reads it. The server once
//! served hundreds of empty files, and now and then half a file, or a mixture of two
//! versions: it compared only size and modification time, and the kernel sets that time
//! when a write begins.
//!
//! The promise is about a writer that does not pause for [`APART`] during its work. On a busy
//! machine a writer may have to pause: the test ignores what is served during a saving that
//! took so long.

use keyhole_tests::{PATIENCE, World, while_repeating};
use keyhole_walk::APART;
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Write as _,
    os::unix::fs::FileExt as _,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// The size of each version, in bytes.
const SIZE: usize = 512 << 10;

/// How many calls each writer meets, at least.
const CALLS: usize = 25;

fn run(command: &mut Command) {
    assert!(command.status().unwrap().success(), "{command:?}");
}

fn cp(version: &Path, file: &Path) {
    run(Command::new("cp").args([version, file]));
}

fn cat(version: &Path, file: &Path) {
    let mut shell = Command::new("/bin/sh");
    run(shell
        .args(["-c", "cat \"$0\" > \"$1\""])
        .args([version, file]));
}

fn dd(version: &Path, file: &Path) {
    let named = |name: &str, path: &Path| format!("{name}={}", path.display());
    run(Command::new("dd")
        .args([named("if", version), named("of", file)])
        .args(["conv=notrunc", "status=none"]));
}

fn pwrite(version: &Path, file: &Path) {
    let text = fs::read(version).unwrap();
    let file = File::options().write(true).open(file).unwrap();
    assert_eq!(file.write_at(&text, 0).unwrap(), SIZE);
}

/// As careful editors do.
fn rename(version: &Path, file: &Path) {
    let new = file.with_extension("new");
    fs::copy(version, &new).unwrap();
    fs::rename(new, file).unwrap();
}

/// Takes the name away, and gives it to a new file.
fn remove_and_restore(version: &Path, file: &Path) {
    fs::remove_file(file).unwrap();
    rename(version, file);
}

/// The start and end of a saving, or of a call.
type Span = (Instant, Instant);

/// Reads the file while `save` saves two versions of it in turn. Each answer is one of
/// them, or `changed`; and at least one answer is a version.
fn saved_by(save: fn(&Path, &Path)) {
    saved_with_rests(save, some_rest, &["changed"]);
}

/// Sometimes long enough for the file to come to rest.
fn some_rest(round: u32) -> Duration {
    APART * (round % 4) / 2 * longer(round)
}

/// How many times as long a rest is in later rounds, so that a slow machine can use one too.
fn longer(round: u32) -> u32 {
    1 + round / 40
}

/// The same, with a rest after each saving, and other codes that a call may get.
fn saved_with_rests(save: fn(&Path, &Path), rest: fn(u32) -> Duration, codes: &[&str]) {
    // They have one length, because some writers do not truncate the file.
    let [a, b] = ["a", "b"].map(|letter| letter.repeat(SIZE));
    let world = World::new()
        .file("a", &a)
        .file("b", &b)
        .file("x.md", &a)
        .map("[keys]\nk = '~/x.md'\n");
    let mut client = world.client();
    let mut got = BTreeMap::<String, usize>::new();
    let mut not_whole = Vec::<Span>::new();
    let mut savings = Vec::<Span>::new();
    let mut rounds = (1..).zip(["b", "a"].iter().cycle());
    let write = || {
        let (round, version) = rounds.next().unwrap();
        let began = Instant::now();
        save(&world.path(version), &world.path("x.md"));
        savings.push((began, Instant::now()));
        thread::sleep(rest(round));
    };
    while_repeating(write, || {
        let began = Instant::now();
        let is_whole = |got: &BTreeMap<_, _>| got.contains_key("a") || got.contains_key("b");
        for call in 0.. {
            if call >= CALLS && is_whole(&got) || began.elapsed() > PATIENCE {
                break;
            }
            let asked = Instant::now();
            let answer = client.load("k");
            let outcome = match answer.text() {
                Some(text) if text == a => "a",
                Some(text) if text == b => "b",
                Some(_) => {
                    not_whole.push((asked, Instant::now()));
                    "not whole"
                }
                None => answer.code().unwrap(),
            };
            *got.entry(outcome.to_owned()).or_default() += 1;
        }
    });
    client.end();
    // The writer may have paused for so long that the file was at rest.
    let is_a_pause = |(asked, answered): &Span| {
        let mut savings = savings.iter();
        savings
            .any(|(began, ended)| *ended - *began >= APART && asked <= ended && began <= answered)
    };
    not_whole.retain(|answer| !is_a_pause(answer));
    assert!(not_whole.is_empty(), "{} of {got:?}", not_whole.len());
    let known = [&["a", "b", "not whole"], codes].concat();
    assert!(
        got.keys().all(|outcome| known.contains(&&**outcome)),
        "{got:?}"
    );
    assert!(got.contains_key("a") || got.contains_key("b"), "{got:?}");
}

#[test]
fn a_file_that_cp_saves_is_served_whole() {
    saved_by(cp);
}

#[test]
fn a_file_that_the_shell_saves_is_served_whole() {
    saved_by(cat);
}

#[test]
fn a_file_that_dd_saves_is_served_whole() {
    saved_by(dd);
}

#[test]
fn a_file_that_is_saved_by_one_write_is_served_whole() {
    saved_by(pwrite);
}

#[test]
fn a_file_that_an_editor_replaces_is_served_whole() {
    saved_by(rename);
}

/// To lose its name is a change of the file that is open.
#[test]
fn a_file_that_is_removed_and_restored_is_served_whole_or_not_at_all() {
    saved_with_rests(remove_and_restore, some_rest, &["changed", "not-found"]);
}

/// Then both readings of a call may find the file empty, each in another saving.
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
        0 => APART * 3 * longer(round),
        _ => APART - EMPTY,
    };
    saved_with_rests(save, rest, &["changed"]);
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
            // No direct writes in this file system.
            continue;
        }
        // The writer goes on later, for all that the server can tell.
        client
            .load("k")
            .is(&(b[SIZE / 2..].to_owned() + &a[SIZE / 2..]));
    }
    client.end();
}
