//! A frozen map does not change; the files that it names do.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

use super::{FreezeError, FrozenMap};
use crate::{
    Code, Grant,
    limits::Limits,
    map::{Key, LiveMap, Location},
};
use std::{fs, io::Read, os::unix::fs::PermissionsExt, path::Path};
use tempfile::TempDir;

/// A map, and files `a.md` and `b.md` in the directory `one`, `c.md` in `two`.
fn tree() -> (TempDir, LiveMap) {
    let tree = tempfile::tempdir().unwrap();
    for name in ["one/a.md", "one/b.md", "two/c.md"] {
        write(&tree.path().join(name), name);
    }
    let map = tree.path().join("map.toml");
    write(
        &map,
        "[keys]\na = 'one/a.md'\nb = 'one/b.md'\nc = 'two/c.md'\nd = 'two/d.md'\n",
    );
    let location = Location::find(Some(&map), |_| None).unwrap();
    (tree, LiveMap::new(location))
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

fn grant(frozen: &FrozenMap, key: &str) -> Result<Grant, Code> {
    let entry = frozen.map().find(&Key::try_from(key).unwrap()).unwrap();
    frozen.resolve(entry)
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
    write(&tree.path().join("one/e.md"), "one/e.md");
    let map = tree.path().join("map.toml");
    let text = fs::read_to_string(&map).unwrap() + "e = 'one/e.md'\n";
    write(&map, &text);
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
fn the_keys_stay_as_they_were_at_the_start() {
    let (tree, live) = tree();
    let frozen = FrozenMap::freeze(&live, Limits::default()).unwrap();
    fs::remove_file(tree.path().join("map.toml")).unwrap();
    assert_eq!(read(&frozen, "a"), "one/a.md");
    assert_eq!(read(&frozen, "c"), "two/c.md");
}

#[test]
fn new_content_is_served_however_it_was_saved() {
    let (tree, live) = tree();
    let frozen = FrozenMap::freeze(&live, Limits::default()).unwrap();
    let file = tree.path().join("one/a.md");
    fs::write(&file, "in place").unwrap();
    assert_eq!(read(&frozen, "a"), "in place");
    fs::write(tree.path().join("one/new"), "renamed").unwrap();
    fs::rename(tree.path().join("one/new"), &file).unwrap();
    assert_eq!(read(&frozen, "a"), "renamed");
}

#[test]
fn a_file_that_was_not_there_stays_refused() {
    let (tree, live) = tree();
    let frozen = FrozenMap::freeze(&live, Limits::default()).unwrap();
    write(&tree.path().join("two/d.md"), "late");
    assert_eq!(grant(&frozen, "d").map(drop), Err(Code::NotFound));
}

#[test]
fn a_directory_is_held_once_and_never_another_in_its_place() {
    let (tree, live) = tree();
    let frozen = FrozenMap::freeze(&live, Limits::default()).unwrap();
    assert_eq!(frozen.directories().count(), 2);
    fs::rename(tree.path().join("one"), tree.path().join("moved")).unwrap();
    write(&tree.path().join("one/a.md"), "another");
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
    let entries: Vec<_> = map.entries().into_iter().map(|(_, entry)| entry).collect();
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
fn there_is_nothing_to_freeze_without_a_usable_map() {
    let (tree, live) = tree();
    write(&tree.path().join("map.toml"), "unknown = 1");
    assert!(matches!(
        FrozenMap::freeze(&live, Limits::default()),
        Err(FreezeError::Map(_))
    ));
}

#[test]
fn for_a_binding_no_directory_is_held_but_its_own() {
    let (tree, live) = tree();
    let map = tree.path().join("map.toml");
    let text = fs::read_to_string(&map).unwrap();
    write(
        &map,
        &format!("{text}[bindings.only]\nkey = 'c'\n[bindings.gone]\nkey = 'z'\n"),
    );
    let frozen = FrozenMap::freeze_bound(&live, "only", Limits::default()).unwrap();
    assert_eq!(frozen.directories().count(), 1);
    assert_eq!(frozen.bound(), Some(&Key::try_from("c").unwrap()));
    assert_eq!(grant(&frozen, "c").unwrap().name, "c.md");
    assert_eq!(grant(&frozen, "a").unwrap_err(), Code::Internal);
    let frozen = FrozenMap::freeze_bound(&live, "gone", Limits::default()).unwrap();
    assert_eq!(frozen.directories().count(), 0);
}
