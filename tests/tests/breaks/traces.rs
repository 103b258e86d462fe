//! A hostile guest once read a neighbour of its file, and saw a changed access time
//! at the next call: so it carried a bit from call to call. And it listed a directory
//! of 100,000 names, which took 100 MB of the host's memory, outside every limit.

use crate::hostile::ground::component;
use cap_std::fs::Dir;
use keyhole::{Grant, limits::Limits, sandbox::Sandbox};
use keyhole_tests::{PATIENCE, World, skipped};
use std::{
    fs::{self, File, FileTimes},
    path::Path,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

include!(concat!(env!("OUT_DIR"), "/guest.rs"));

const NAMES: usize = 100_000;

/// What the hostile guest's attack `name` returns, with `granted.md` in `directory`.
fn attack(name: &str, directory: &Path) -> String {
    let sandbox = Sandbox::new(&component(IMAGE).unwrap(), Limits::default()).unwrap();
    let grant = Grant {
        directory: Dir::from_std_file(File::open(directory).unwrap()),
        name: "granted.md".to_owned(),
        max_bytes: 8 << 20,
    };
    let deadline = Instant::now() + PATIENCE;
    sandbox.call(name, Some(grant), deadline).unwrap()
}

#[test]
fn a_directory_of_100_000_names_is_not_listed() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("granted.md"), "granted\n").unwrap();
    for name in 1..NAMES {
        File::create(directory.path().join(format!("{name:06}.md"))).unwrap();
    }
    assert_eq!(attack("own_directory", directory.path()), "not-permitted");
    assert_eq!(
        attack("endless_lists", directory.path()),
        "10000 not-permitted"
    );
}

#[test]
fn no_call_sees_when_a_file_was_read() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("granted.md"), "granted\n").unwrap();
    fs::write(directory.path().join("neighbour.md"), "neighbour\n").unwrap();
    for _ in 0..2 {
        assert_eq!(
            attack("access_times", directory.path()),
            "2 no time, 2 not-permitted"
        );
        assert_eq!(
            attack("neighbour_file", directory.path()),
            "12 not-permitted"
        );
    }
}

/// Makes the access time so old that the kernel notes the next read, even on file
/// systems where it does not note each one (`relatime`).
fn not_read_for_long(path: &Path) {
    let times = FileTimes::new()
        .set_accessed(UNIX_EPOCH + Duration::from_secs(86_400))
        .set_modified(SystemTime::now());
    let file = File::options().write(true).open(path).unwrap();
    file.set_times(times).unwrap();
}

fn accessed(path: &Path) -> SystemTime {
    fs::metadata(path).unwrap().accessed().unwrap()
}

#[test]
fn a_call_leaves_the_access_time_of_its_file_as_it_was() {
    let name = "a_call_leaves_the_access_time_of_its_file_as_it_was";
    if !cfg!(target_os = "linux") {
        return skipped(name, "only Linux reads without a trace");
    }
    let world = World::new()
        .file("a.md", "whole\n")
        .map("[keys]\nk = '~/a.md'\n");
    let path = world.path("a.md");
    not_read_for_long(&path);
    let before = accessed(&path);
    fs::read(&path).unwrap();
    if accessed(&path) == before {
        return skipped(name, "this file system notes no access times");
    }
    not_read_for_long(&path);
    let before = accessed(&path);
    let mut client = world.client();
    client.load("k").is("whole\n");
    client.end();
    assert_eq!(accessed(&path), before);
}
