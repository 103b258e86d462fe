//! One file of one directory, judged and at rest, and nothing else.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use super::{GrantedFile, LOOKS, RECENT};
use crate::{
    Handle, Policy, System, SystemError, WalkError, Walker, tests::told::Told, trust::Why,
};
use keyhole_tree::Tree;
use std::{
    cell::Cell,
    fs::{self, File},
    io::Write as _,
    os::unix::fs::MetadataExt as _,
    path::Path,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// When the file at `path` was last changed.
fn changed(path: &Path) -> SystemTime {
    let found = fs::metadata(path).unwrap();
    let seconds = Duration::from_secs(found.ctime().try_into().unwrap());
    UNIX_EPOCH + seconds + Duration::from_nanos(found.ctime_nsec().try_into().unwrap())
}

/// A system on which the file at `path` was changed this long ago.
fn after(path: &Path, age: Duration) -> Told {
    Told {
        now: Cell::new(changed(path) + age),
        ..Told::default()
    }
}

const LONG: Duration = Duration::from_secs(3600);
const NONE: Duration = Duration::ZERO;

#[test]
fn a_file_is_settled_if_it_was_not_changed_in_the_last_seconds() {
    let tree = Tree::with("");
    let walker = Walker::new(System);
    let mut stat = walker.walk(&tree.map(), Policy::FILE).unwrap().stat;
    let nanosecond = Duration::from_nanos(1);
    let now = UNIX_EPOCH + Duration::new(1_000_000, 5);
    for (changed, is_settled) in [
        (now - RECENT, false),
        (now - RECENT - nanosecond, true),
        (now, false),
        // The clock was set back.
        (now + nanosecond, false),
        (now + LONG, false),
    ] {
        let since = changed.duration_since(UNIX_EPOCH).unwrap();
        stat.changed = (since.as_secs() as i64, since.subsec_nanos().into());
        assert_eq!(stat.is_settled(now), is_settled);
    }
    stat.changed = (-1, 0);
    assert!(stat.is_settled(now));
}

/// What reading the map of `tree` at rest ends with, how often it was read from its
/// beginning, and how often time passed.
fn read(
    tree: &Tree,
    told: Told,
    known: Option<&[u8]>,
) -> (Result<Option<String>, WalkError>, usize, usize) {
    let walker = Walker::new(told);
    let file = walker.walk(&tree.map(), Policy::FILE).unwrap();
    let read = walker.read_at_rest(&file.handle, 64, known);
    let told = walker.files;
    let reads = told.reads.borrow();
    let times = reads.iter().filter(|(_, from)| *from == 0).count();
    let text = read.map(|bytes| bytes.map(|bytes| String::from_utf8(bytes).unwrap()));
    (text, times, told.pauses.get())
}

fn text(text: &str) -> Result<Option<String>, WalkError> {
    Ok(Some(text.to_owned()))
}

#[test]
fn a_map_is_read_twice_only_if_it_was_changed_lately_and_is_not_known() {
    let tree = Tree::with("whole");
    let map = tree.map();
    assert_eq!(read(&tree, after(&map, LONG), None), (text("whole"), 1, 0));
    assert_eq!(read(&tree, after(&map, NONE), None), (text("whole"), 2, 1));
    let known = Some(&b"whole"[..]);
    assert_eq!(read(&tree, after(&map, NONE), known), (text("whole"), 1, 0));
    let other = Some(&b"other"[..]);
    assert_eq!(read(&tree, after(&map, NONE), other), (text("whole"), 2, 1));
}

/// A store through a mapping, for instance: the file reports the same as before.
#[test]
fn two_readings_must_be_equal_and_not_only_what_the_file_reports() {
    let tree = Tree::with("0123");
    let map = tree.map();
    let told = Told {
        meanwhile: Box::new(move |pause| match pause {
            1 | 2 => fs::write(&map, format!("{pause}123")).unwrap(),
            _ => {}
        }),
        all_stats: |stat| (stat.modified, stat.changed) = ((5, 0), (5, 0)),
        now: Cell::new(UNIX_EPOCH + Duration::from_secs(6)),
        ..Told::default()
    };
    assert_eq!(read(&tree, told, None), (text("2123"), 4, 3));
}

#[test]
fn what_was_read_while_the_file_changed_is_not_used_however_long_it_was_at_rest() {
    let tree = Tree::with("old");
    let map = tree.map();
    let told = Told {
        then: Cell::new(Some(Box::new(move || fs::write(&map, "new").unwrap()))),
        ..after(&tree.map(), LONG)
    };
    let known = Some(&b"old"[..]);
    assert_eq!(read(&tree, told, known).0, text("new"));
}

#[test]
fn a_map_that_does_not_come_to_rest_is_refused() {
    let tree = Tree::with("map");
    let map = tree.map();
    let told = Told {
        meanwhile: Box::new(move |pause| fs::write(&map, pause.to_string()).unwrap()),
        ..after(&tree.map(), NONE)
    };
    let ended = read(&tree, told, None);
    assert_eq!(ended, (Err(SystemError::Busy.into()), LOOKS, LOOKS));
}

fn directory(tree: &Tree, name: &str) -> Handle {
    Walker::new(System)
        .walk(&tree.path(name), Policy::DIRECTORY)
        .unwrap()
        .handle
}

fn open(tree: &Tree, told: Told, most: u64) -> (Walker<Told>, GrantedFile<Handle>) {
    let walker = Walker::new(told);
    let file = GrantedFile::open(&walker, &directory(tree, ""), "map.toml", most).unwrap();
    (walker, file)
}

fn in_time() -> Instant {
    Instant::now() + LONG
}

#[test]
fn a_file_that_was_changed_lately_has_no_change_time_and_the_next_look_comes_later() {
    let tree = Tree::with("content");
    let (walker, mut file) = open(&tree, after(&tree.map(), NONE), 100);
    for pauses in 0..3 {
        let look = file.look(&walker, in_time()).unwrap();
        let written = fs::metadata(tree.map()).unwrap().mtime();
        assert_eq!(
            (look.size, look.modified.0, look.changed),
            (7, written, None)
        );
        assert_eq!(walker.files.pauses.get(), pauses);
    }
    let (walker, mut file) = open(&tree, after(&tree.map(), LONG), 100);
    for _ in 0..3 {
        let look = file.look(&walker, in_time()).unwrap();
        let seconds = fs::metadata(tree.map()).unwrap().ctime();
        assert_eq!(look.changed.map(|time| time.0), Some(seconds));
    }
    assert_eq!(walker.files.pauses.get(), 0);
}

#[test]
fn the_first_look_is_of_the_moment_of_opening_and_each_other_shows_a_change() {
    let tree = Tree::with("content");
    let (walker, mut file) = open(&tree, after(&tree.map(), LONG), 100);
    let mut in_place = File::options().write(true).open(tree.map()).unwrap();
    in_place.write_all(b"CONTENT").unwrap();
    let first = file.look(&walker, in_time()).unwrap();
    in_place.write_all(b"!").unwrap();
    let second = file.look(&walker, in_time()).unwrap();
    assert_eq!((first.size, second.size), (7, 8));
    assert_ne!(first.changed, second.changed);
}

#[test]
fn nothing_is_waited_for_if_the_deadline_comes_first() {
    let tree = Tree::with("content");
    let (walker, mut file) = open(&tree, after(&tree.map(), NONE), 100);
    let late = Instant::now();
    // Nothing is waited for before the first look.
    assert!(file.look(&walker, late).is_ok());
    assert_eq!(file.look(&walker, late), Err(SystemError::Busy));
    assert_eq!(walker.files.pauses.get(), 0);
}

#[test]
fn nothing_is_read_behind_the_limit_or_what_the_file_held_at_the_last_look() {
    let tree = Tree::with("0123456789");
    let (walker, mut file) = open(&tree, Told::default(), 4);
    let read = |file: &GrantedFile<_>, length, from| file.read(&walker, length, from).unwrap();
    // The guest looks before it reads.
    assert_eq!(read(&file, 1, 0), b"");
    file.look(&walker, in_time()).unwrap();
    assert_eq!(read(&file, u64::MAX, 0), b"01234");
    assert_eq!(read(&file, 2, 1), b"12");
    for (length, from) in [(1, 5), (u64::MAX, 5), (1, u64::MAX), (u64::MAX, u64::MAX)] {
        assert_eq!(read(&file, length, from), b"");
    }
    let tree = Tree::with("0123");
    let (walker, mut file) = open(&tree, Told::default(), 100);
    file.look(&walker, in_time()).unwrap();
    fs::write(tree.map(), "0123456789").unwrap();
    assert_eq!(file.read(&walker, u64::MAX, 0).unwrap(), b"01234");
}

fn distrust(walker: &Walker<Told>, directory: &Handle, name: &str) -> Why {
    match GrantedFile::open(walker, directory, name, 100).map(|_| ()) {
        Err(WalkError::Untrusted(distrust)) => distrust.why,
        other => panic!("{other:?}"),
    }
}

/// A call may hold it for a while.
#[test]
fn a_directory_that_others_may_write_by_now_is_refused() {
    let tree = Tree::of(&["d/a.md"]);
    let held = directory(&tree, "d");
    let walker = Walker::new(Told::default());
    assert!(GrantedFile::open(&walker, &held, "a.md", 100).is_ok());
    tree.mode("d", 0o777);
    assert_eq!(distrust(&walker, &held, "a.md"), Why::WritableByOthers);
    tree.mode("d", 0o1777);
    assert_eq!(distrust(&walker, &held, "a.md"), Why::Movable);
}

#[test]
fn what_cannot_be_read_is_not_tried_for_ever() {
    let tree = Tree::empty();
    let walker = Walker::new(System);
    assert!(
        walker
            .read_at_rest(&directory(&tree, ""), 100, None)
            .is_err()
    );
}

#[test]
fn a_name_that_is_more_than_a_name_leads_nowhere() {
    let tree = Tree::of(&["x.md", "a/b.md"]);
    let walker = Walker::new(System);
    let held = directory(&tree, "");
    for name in [
        "",
        ".",
        "..",
        "a/b.md",
        "a/../x.md",
        "x.md/",
        "/x.md",
        "x\0",
    ] {
        let missing = SystemError::Missing;
        assert_eq!(
            GrantedFile::kind(&walker, &held, name),
            Err(missing),
            "{name:?}"
        );
        let refused = GrantedFile::open(&walker, &held, name, 100).map(|_| ());
        assert_eq!(refused, Err(missing.into()), "{name:?}");
    }
}
