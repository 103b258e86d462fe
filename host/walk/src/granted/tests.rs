//! One file of one directory, judged and at rest, and nothing else. That no half of a file is
//! read, the model holds.

use super::{BETWEEN_LOOKS, GrantedFile, MAX_READINGS, PIECE_BYTES, RECENT};
use crate::{
    Handle, Policy, Stat, System, SystemError, WalkError, Walker, tests::told::Told,
    trust::DistrustReason,
};
use keyhole_tree::Tree;
use std::{
    cell::Cell,
    fs,
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

/// What happens at each of these times: the map of `tree` gets this text, if any.
fn writing(tree: &Tree, text: fn(usize) -> Option<String>) -> Box<dyn Fn(usize)> {
    let map = tree.map();
    Box::new(move |time| {
        let _ = text(time).map(|text| fs::write(&map, text).unwrap());
    })
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
fn a_file_is_old_if_it_was_not_changed_in_the_last_seconds() {
    let tree = Tree::with("");
    let walker = Walker::new(System);
    let mut stat = walker.walk(&tree.map(), Policy::File).unwrap().stat;
    let nanosecond = Duration::from_nanos(1);
    let now = UNIX_EPOCH + Duration::new(1_000_000, 5);
    for (changed, is_long_unchanged) in [
        (now - RECENT, false),
        (now - RECENT - nanosecond, true),
        (now, false),
        // The clock was set back.
        (now + nanosecond, false),
        (now + LONG, false),
    ] {
        let since = changed.duration_since(UNIX_EPOCH).unwrap();
        stat.changed = (since.as_secs() as i64, since.subsec_nanos().into());
        assert_eq!(stat.is_long_unchanged(now), is_long_unchanged);
    }
    stat.changed = (-1, 0);
    assert!(stat.is_long_unchanged(now));
}

/// What reading the map of `tree` at rest ends with, how often it was read from its
/// beginning, and how time passed.
fn read(
    tree: &Tree,
    told: Told,
    known: Option<fn(&mut Stat)>,
) -> (Result<Option<String>, WalkError>, usize, Vec<Duration>) {
    let walker = Walker::new(told);
    let file = walker.walk(&tree.map(), Policy::File).unwrap();
    let known = known.map(|differs| {
        let mut stat = file.stat;
        differs(&mut stat);
        stat
    });
    let read = walker.read_at_rest(&file, 64, known.as_ref());
    let told = walker.files;
    let reads = told.reads.take().into_iter();
    let times = reads.filter(|(_, from)| *from == 0).count();
    let text = read.map(|bytes| bytes.map(|bytes| String::from_utf8(bytes).unwrap()));
    (text, times, told.pauses.take())
}

#[test]
fn a_file_is_still_the_same_only_if_its_report_and_each_byte_are() {
    let tree = Tree::with("whole");
    let walker = Walker::new(after(&tree.map(), LONG));
    let file = walker.walk(&tree.map(), Policy::File).unwrap();
    for known in ["whole", "whol", "whole ", "whale", ""] {
        let is_still = walker.is_still(&file, &file.stat, known.as_bytes());
        assert_eq!(is_still, Ok(known == "whole"), "{known}");
    }
    let mut other = file.stat;
    other.changed.1 ^= 1;
    assert_eq!(walker.is_still(&file, &other, b"whole"), Ok(false));
    let long = "a".repeat(3 * PIECE_BYTES);
    let tree = Tree::with(&long);
    let file = walker.walk(&tree.map(), Policy::File).unwrap();
    let is_still = |known: &str| walker.is_still(&file, &file.stat, known.as_bytes());
    assert_eq!(is_still(&long), Ok(true));
    assert_eq!(is_still(&long[1..]), Ok(false));
    assert_eq!(is_still(&format!("{long}a")), Ok(false));
}

#[test]
fn a_file_that_changes_while_it_is_compared_is_not_the_same() {
    let tree = Tree::with("whole");
    let told = Told {
        // The first read had all of the bytes, and the second one finds the end behind them.
        then: writing(&tree, |read| (read == 1).then(|| "whal".to_owned())),
        ..after(&tree.map(), LONG)
    };
    let walker = Walker::new(told);
    let file = walker.walk(&tree.map(), Policy::File).unwrap();
    assert_eq!(walker.is_still(&file, &file.stat, b"whole"), Ok(false));
}

fn text(text: &str) -> Result<Option<String>, WalkError> {
    Ok(Some(text.to_owned()))
}

#[test]
fn a_map_settles_only_if_it_was_changed_lately_and_is_not_known() {
    let tree = Tree::with("whole");
    let map = tree.map();
    let whole = |pauses: &[Duration]| (text("whole"), 1, pauses.to_vec());
    assert_eq!(read(&tree, after(&map, LONG), None), whole(&[]));
    assert_eq!(
        read(&tree, after(&map, NONE), None),
        whole(&[BETWEEN_LOOKS])
    );
    assert_eq!(read(&tree, after(&map, NONE), Some(|_| {})), whole(&[]));
    let other = Some((|stat| stat.changed.1 ^= 1) as fn(&mut Stat));
    assert_eq!(
        read(&tree, after(&map, NONE), other),
        whole(&[BETWEEN_LOOKS])
    );
}

#[test]
fn a_map_that_does_not_settle_within_a_second_is_refused_unread() {
    let tree = Tree::with("map");
    let told = Told {
        meanwhile: writing(&tree, |pause| Some("a".repeat(pause))),
        ..after(&tree.map(), NONE)
    };
    let busy = Err(SystemError::Busy.into());
    assert_eq!(read(&tree, told, None), (busy, 0, vec![BETWEEN_LOOKS; 10]));
}

#[test]
fn a_map_that_changes_each_time_it_is_read_is_refused() {
    let tree = Tree::with("map");
    let told = Told {
        then: writing(&tree, |read| Some("a".repeat(60 - read))),
        ..after(&tree.map(), LONG)
    };
    let (ended, times, _) = read(&tree, told, None);
    assert_eq!(
        (ended, times),
        (Err(SystemError::Busy.into()), MAX_READINGS)
    );
}

fn directory(tree: &Tree, name: &str) -> Handle {
    Walker::new(System)
        .walk(&tree.path(name), Policy::Directory)
        .unwrap()
        .handle
}

fn open(tree: &Tree, told: Told, most: u64) -> (Walker<Told>, GrantedFile<Told>) {
    let walker = Walker::new(told);
    let file = GrantedFile::open(&walker, &directory(tree, ""), "map.toml", most).unwrap();
    (walker, file)
}

#[test]
fn a_file_that_was_changed_lately_settles_when_it_is_opened_and_no_later_look_waits() {
    let tree = Tree::with("content");
    for (age, pauses) in [(NONE, 1), (LONG, 0)] {
        let (walker, mut file) = open(&tree, after(&tree.map(), age), 100);
        for _ in 0..3 {
            let look = file.look(&walker).unwrap();
            let found = fs::metadata(tree.map()).unwrap();
            let times = (look.modified.0, look.changed.0);
            assert_eq!((look.size, times), (7, (found.mtime(), found.ctime())));
        }
        assert_eq!(walker.files.pauses.take(), vec![BETWEEN_LOOKS; pauses]);
    }
}

#[test]
fn nothing_is_waited_for_if_the_deadline_comes_first() {
    let tree = Tree::with("content");
    let held = directory(&tree, "");
    let opened = |age, left| {
        let walker = Walker::new(after(&tree.map(), age)).until(Instant::now() + left);
        let opened = GrantedFile::open(&walker, &held, "map.toml", 100).map(|_| ());
        (opened, walker.files.pauses.take())
    };
    // A busy machine may take that long before it looks.
    let soon = opened(NONE, BETWEEN_LOOKS * 9 / 10);
    let late = [SystemError::Busy, SystemError::Late].map(|error| Err(error.into()));
    assert!(late.contains(&soon.0) && soon.1.is_empty(), "{soon:?}");
    assert_eq!(opened(NONE, LONG), (Ok(()), vec![BETWEEN_LOOKS]));
    assert_eq!(opened(LONG, LONG), (Ok(()), vec![]));
}

#[test]
fn nothing_is_read_behind_the_limit_or_what_the_file_held_at_the_last_look() {
    let tree = Tree::with("0123456789");
    let (walker, mut file) = open(&tree, Told::default(), 4);
    let read = |file: &GrantedFile<_>, length, from| file.read(&walker, length, from).unwrap();
    // The guest looks before it reads.
    assert_eq!(read(&file, 1, 0), b"");
    file.look(&walker).unwrap();
    assert_eq!(read(&file, u64::MAX, 0), b"01234");
    assert_eq!(read(&file, 2, 1), b"12");
    for (length, from) in [(1, 5), (u64::MAX, 5), (1, u64::MAX), (u64::MAX, u64::MAX)] {
        assert_eq!(read(&file, length, from), b"");
    }
    let tree = Tree::with("0123");
    let (walker, mut file) = open(&tree, Told::default(), 100);
    file.look(&walker).unwrap();
    fs::write(tree.map(), "0123456789").unwrap();
    assert_eq!(file.read(&walker, u64::MAX, 0).unwrap(), b"01234");
}

/// A call may hold it for a while.
#[test]
fn a_directory_that_others_may_write_by_now_is_refused() {
    let tree = Tree::of(&["d/a.md"]);
    let held = directory(&tree, "d");
    let walker = Walker::new(Told::default());
    assert!(GrantedFile::open(&walker, &held, "a.md", 100).is_ok());
    for (mode, why) in [
        (0o777, DistrustReason::WritableByOthers),
        (0o1777, DistrustReason::Movable),
    ] {
        tree.mode("d", mode);
        match GrantedFile::open(&walker, &held, "a.md", 100).map(|_| ()) {
            Err(WalkError::Untrusted(distrust)) => assert_eq!(distrust.why, why),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_cannot_be_read_is_not_tried_for_ever() {
    let tree = Tree::empty();
    let walker = Walker::new(System);
    let walked = walker.walk(&tree.path(""), Policy::Directory).unwrap();
    assert!(walker.read_at_rest(&walked, 100, None).is_err());
}

#[test]
fn a_name_that_is_more_than_a_name_leads_nowhere() {
    let tree = Tree::of(&["x.md", "a/b.md"]);
    let walker = Walker::new(System);
    let held = directory(&tree, "");
    for name in " . .. a/b.md a/../x.md x.md/ /x.md x\0".split(' ') {
        let missing = WalkError::from(SystemError::Missing);
        let kind = GrantedFile::kind(&walker, &held, name);
        assert_eq!(kind, Err(missing.clone()), "{name:?}");
        let refused = GrantedFile::open(&walker, &held, name, 100).map(|_| ());
        assert_eq!(refused, Err(missing), "{name:?}");
    }
}
