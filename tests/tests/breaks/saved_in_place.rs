//! A file that is saved in place every 50 ms, while a client reads it. The server once
//! served hundreds of empty files, and now and then half a file, or a mixture of two
//! versions: it compared only size and modification time, and the kernel sets that time
//! when a write begins.
//!
//! The promise is about a writer that does not pause for 20 ms during its work, or for
//! 200 ms before it fills the file that it emptied. On a busy machine a writer may have
//! to pause: the test ignores what is served during a saving that took so long.
//!
//! Each writer runs for 3 seconds; with `KEYHOLE_LONG=1` for 12.

use keyhole_tests::{PATIENCE, SetOnDrop, World};
use std::{
    collections::BTreeMap,
    env,
    fs::{self, File},
    os::unix::fs::FileExt as _,
    path::Path,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

/// The size of each version, in bytes.
const SIZE: usize = 512 << 10;
/// The time from the end of one saving to the next.
const PAUSE: Duration = Duration::from_millis(50);

/// Two versions of a file, each made of one letter. They have one length, because some
/// writers do not truncate the file.
fn versions() -> [String; 2] {
    ["a", "b"].map(|letter| letter.repeat(SIZE))
}

fn run(command: &mut Command) {
    assert!(command.status().unwrap().success(), "{command:?}");
}

fn cp(version: &Path, file: &Path) {
    run(Command::new("cp").args([version, file]));
}

fn cat(version: &Path, file: &Path) {
    run(Command::new("/bin/sh")
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

/// How long nobody must change a file, or an empty file, before it is at rest.
const QUIET: Duration = Duration::from_millis(20);
const QUIET_EMPTY: Duration = Duration::from_millis(200);

/// The start and end of a saving, or of a call.
type Span = (Instant, Instant);

/// An answer that is neither version.
#[derive(Debug)]
struct NotWhole {
    asked: Span,
    bytes: usize,
}

impl NotWhole {
    /// Whether the writer may have paused for so long that the file was at rest.
    fn is_a_pause_of(&self, saving: &Span) -> bool {
        let quiet = match self.bytes {
            0 => QUIET_EMPTY,
            _ => QUIET,
        };
        saving.1 - saving.0 >= quiet && self.asked.0 <= saving.1 && saving.0 <= self.asked.1
    }
}

/// Reads the file while `save` saves the two versions in turn. Each answer is one of
/// them, or `changed`; and at least one answer is a version.
fn saved_by(name: &str, save: fn(&Path, &Path)) {
    let [a, b] = versions();
    let world = World::new()
        .file("a", &a)
        .file("b", &b)
        .file("x.md", &a)
        .map("[keys]\nk = '~/x.md'\n");
    let mut client = world.client();
    let duration = match env::var_os("KEYHOLE_LONG") {
        Some(_) => Duration::from_secs(12),
        None => Duration::from_secs(3),
    };
    let done = AtomicBool::new(false);
    let mut got = BTreeMap::<String, usize>::new();
    let mut not_whole = Vec::<NotWhole>::new();
    let savings = thread::scope(|scope| {
        let _done = SetOnDrop(&done);
        let writer = scope.spawn(|| {
            let mut savings = Vec::<Span>::new();
            for version in ["b", "a"].iter().cycle() {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                let began = Instant::now();
                save(&world.path(version), &world.path("x.md"));
                savings.push((began, Instant::now()));
                thread::sleep(PAUSE);
            }
            savings
        });
        let began = Instant::now();
        let is_whole = |got: &BTreeMap<_, _>| got.contains_key("a") || got.contains_key("b");
        while began.elapsed() < duration || !is_whole(&got) && began.elapsed() < PATIENCE {
            let asked = Instant::now();
            let answer = client.load("k");
            let outcome = match answer.text() {
                Some(text) if text == a => "a",
                Some(text) if text == b => "b",
                Some(text) => {
                    not_whole.push(NotWhole {
                        asked: (asked, Instant::now()),
                        bytes: text.len(),
                    });
                    "not whole"
                }
                None => answer.code().unwrap(),
            };
            *got.entry(outcome.to_owned()).or_default() += 1;
        }
        done.store(true, Ordering::Relaxed);
        writer.join().unwrap()
    });
    client.end();
    #[allow(clippy::print_stderr, reason = "how often came what")]
    {
        eprintln!("saved by {name}, {} times: {got:?}", savings.len());
    }
    not_whole.retain(|answer| !savings.iter().any(|saving| answer.is_a_pause_of(saving)));
    assert!(not_whole.is_empty(), "{name}: {not_whole:?}");
    assert!(
        got.keys()
            .all(|outcome| matches!(&**outcome, "a" | "b" | "changed" | "not whole")),
        "{name}: {got:?}"
    );
    assert!(
        got.contains_key("a") || got.contains_key("b"),
        "{name}: {got:?}"
    );
}

#[test]
fn a_file_that_cp_saves_is_served_whole() {
    saved_by("cp", cp);
}

#[test]
fn a_file_that_the_shell_saves_is_served_whole() {
    saved_by("cat", cat);
}

#[test]
fn a_file_that_dd_saves_is_served_whole() {
    saved_by("dd", dd);
}

#[test]
fn a_file_that_is_saved_by_one_write_is_served_whole() {
    saved_by("pwrite", pwrite);
}
