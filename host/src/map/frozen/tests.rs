//! A frozen map does not change; the files that it names do.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

use super::{FreezeError, FrozenMap};
use crate::{
    code::Code,
    grant::Grant,
    limits::Limits,
    map::{Key, LiveMap, tests::Tree},
};
use std::{fs, io::Read};

const MAP: &str = "[keys]\na = 'one/a.md'\nb = 'one/b.md'\nc = 'two/c.md'\nd = 'two/d.md'\n";

/// A map, and files `a.md` and `b.md` in the directory `one`, `c.md` in `two`.
fn tree() -> (Tree, LiveMap) {
    let tree = Tree::with(MAP);
    for name in ["one/a.md", "one/b.md", "two/c.md"] {
        tree.write(name, name);
    }
    let live = tree.live();
    (tree, live)
}

fn grant(frozen: &FrozenMap, key: &str) -> Result<Grant, Code> {
    let entry = frozen.map().find(&Key::try_from(key).unwrap()).unwrap();
    frozen.resolve(&entry)
}

/// The content of the granted file now.
fn read(frozen: &FrozenMap, key: &str) -> String {
    let grant = grant(frozen, key).unwrap();
    let flags = rustix::fs::OFlags::RDONLY;
    let file = rustix::fs::openat(
        &grant.directory,
        &grant.name,
        flags,
        rustix::fs::Mode::empty(),
    );
    let mut text = String::new();
    fs::File::from(file.unwrap())
        .read_to_string(&mut text)
        .unwrap();
    text
}

#[test]
fn descriptors_are_left_for_all_calls_that_may_run() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let calls = |running, abandoned| Limits {
        running,
        abandoned,
        ..Limits::default()
    };
    let reserved = |limits| limit.unwrap() as usize - super::most_directories(limits);
    assert_eq!(reserved(calls(0, 0)), super::DESCRIPTORS_BESIDES);
    assert_eq!(
        reserved(calls(3, 4)) - reserved(calls(0, 0)),
        7 * super::DESCRIPTORS_PER_CALL
    );
}

#[test]
fn files_of_one_directory_share_it_and_each_is_found() {
    let (tree, live) = tree();
    tree.write("one/e.md", "one/e.md");
    tree.write("map.toml", format!("{MAP}e = 'one/e.md'\n"));
    let frozen = FrozenMap::freeze(&live, Limits::default()).unwrap();
    assert_eq!(frozen.directories().count(), 2);
    for (key, text) in [
        ("a", "one/a.md"),
        ("b", "one/b.md"),
        ("c", "two/c.md"),
        ("e", "one/e.md"),
    ] {
        assert_eq!(read(&frozen, key), text);
    }
}

#[test]
fn a_file_that_was_not_there_stays_refused() {
    let (tree, live) = tree();
    let frozen = FrozenMap::freeze(&live, Limits::default()).unwrap();
    tree.write("two/d.md", "late");
    assert_eq!(grant(&frozen, "d").map(drop), Err(Code::NotFound));
}

#[test]
fn a_directory_is_held_once_and_never_another_in_its_place() {
    let (tree, live) = tree();
    let frozen = FrozenMap::freeze(&live, Limits::default()).unwrap();
    assert_eq!(frozen.directories().count(), 2);
    fs::rename(tree.path("one"), tree.path("moved")).unwrap();
    tree.write("one/a.md", "another");
    assert_eq!(read(&frozen, "a"), "one/a.md");
}

#[cfg(target_os = "linux")]
#[test]
fn a_held_directory_cannot_be_listed() {
    let (_tree, live) = tree();
    let frozen = FrozenMap::freeze(&live, Limits::default()).unwrap();
    let directory = grant(&frozen, "a").unwrap().directory;
    let mut buffer = Vec::with_capacity(4096);
    let mut listing = rustix::fs::RawDir::new(&directory, buffer.spare_capacity_mut());
    assert_eq!(
        listing.next().unwrap().map(drop),
        Err(rustix::io::Errno::BADF)
    );
}

#[test]
fn more_directories_than_can_be_held_are_refused_with_their_number() {
    let (_tree, live) = tree();
    let map = live.current().unwrap();
    let entries = map.entries();
    assert!(FrozenMap::of(&map, entries.clone(), None, 2).is_ok());
    assert!(matches!(
        FrozenMap::of(&map, entries, None, 1),
        Err(FreezeError::TooManyDirectories(1))
    ));
}

#[test]
fn calls_keep_their_share_of_the_descriptors() {
    let none = Limits {
        running: usize::MAX / 16,
        ..Limits::default()
    };
    assert_eq!(super::most_directories(none), 0);
    assert!(super::most_directories(Limits::default()) > 0);
}

#[test]
fn for_a_binding_no_directory_is_held_but_its_own() {
    let (tree, live) = tree();
    tree.write(
        "map.toml",
        format!("{MAP}[bindings.only]\nkey = 'c'\n[bindings.gone]\nkey = 'z'\n"),
    );
    let [only, gone] = ["only", "gone"].map(|name| name.try_into().unwrap());
    let frozen = FrozenMap::freeze_bound(&live, &only, Limits::default()).unwrap();
    assert_eq!(frozen.directories().count(), 1);
    assert_eq!(frozen.bound(&only), Some(&Key::try_from("c").unwrap()));
    assert_eq!(frozen.bound(&gone), None);
    assert_eq!(grant(&frozen, "c").unwrap().name, "c.md");
    assert_eq!(grant(&frozen, "a").unwrap_err(), Code::Internal);
    let frozen = FrozenMap::freeze_bound(&live, &gone, Limits::default()).unwrap();
    assert_eq!(frozen.directories().count(), 0);
}
