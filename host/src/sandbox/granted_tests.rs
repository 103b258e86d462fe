//! One file of one directory, at rest, and nothing else. The guest's native twin runs
//! these tests too.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

use super::{GrantedFile, Look, Patience, QUIET, QUIET_EMPTY, kind, settle};
use cap_std::{ambient_authority, fs::Dir};
use rustix::io::Errno;
use std::{
    cell::Cell,
    fs::{self, File},
    io::{self, Write as _},
    os::unix::{fs::symlink, net::UnixListener},
    process::Command,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use tempfile::TempDir;

/// A directory with a file `x.md` of this content.
fn tree(content: &str) -> (TempDir, Dir) {
    let tree = tempfile::tempdir().unwrap();
    fs::write(tree.path().join("x.md"), content).unwrap();
    let directory = Dir::open_ambient_dir(tree.path(), ambient_authority()).unwrap();
    (tree, directory)
}

fn patience() -> Patience {
    Patience::new(Instant::now() + Duration::from_secs(60))
}

fn open(directory: &Dir, name: &str) -> io::Result<GrantedFile> {
    GrantedFile::open(directory, name, 100, &mut patience())
}

fn errno(refused: io::Result<impl Sized>) -> Errno {
    Errno::from_io_error(&refused.err().unwrap()).unwrap()
}

#[test]
fn a_file_that_was_just_written_is_at_rest_when_it_is_open() {
    // A file of exactly as many bytes as it may have, too.
    for content in ["content".to_owned(), "x".repeat(100)] {
        let (_tree, directory) = tree(&content);
        let mut file = open(&directory, "x.md").unwrap();
        let changed = file.look(&mut patience()).unwrap().changed;
        assert!(changed.age(SystemTime::now()).unwrap() >= QUIET);
        assert!(file.is_reliable());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn reading_leaves_no_trace_in_the_users_own_file() {
    let (tree, directory) = tree("content");
    let path = tree.path().join("x.md");
    // Older than the last write, so that the system would record a read.
    let long_ago = UNIX_EPOCH + Duration::from_secs(1_000);
    let times = fs::FileTimes::new().set_accessed(long_ago);
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_times(times)
        .unwrap();
    let file = open(&directory, "x.md").unwrap();
    assert_eq!(file.read(100, 0).unwrap(), b"content");
    assert_eq!(fs::metadata(&path).unwrap().accessed().unwrap(), long_ago);
}

thread_local! {
    static NOW: Cell<SystemTime> = const { Cell::new(UNIX_EPOCH) };
}

#[test]
fn a_file_that_does_not_come_to_rest_is_refused() {
    let (_tree, directory) = tree("content");
    let file = directory.open("x.md").unwrap();
    // Whenever it is looked at, it was changed a moment ago.
    let changed = Look::at(&file).unwrap().changed;
    let seconds = Duration::from_secs(changed.seconds.try_into().unwrap());
    let nanoseconds = Duration::from_nanos(changed.nanoseconds.try_into().unwrap());
    NOW.set(UNIX_EPOCH + seconds + nanoseconds + Duration::from_millis(1));
    let refused = settle(&file, 100, &mut patience(), || NOW.get());
    assert_eq!(errno(refused), Errno::WOULDBLOCK);
}

#[test]
fn nothing_is_waited_for_past_the_deadline() {
    let (tree, directory) = tree("content");
    let mut late = Patience::new(Instant::now());
    assert_eq!(errno(late.wait(QUIET)), Errno::WOULDBLOCK);
    let path = tree.path().join("x.md");
    // A slow machine may let it come to rest between two writes.
    let refused = (0..1000).find_map(|_| {
        fs::write(&path, "changed").unwrap();
        GrantedFile::open(&directory, "x.md", 100, &mut late).err()
    });
    assert_eq!(errno(Err::<(), _>(refused.unwrap())), Errno::WOULDBLOCK);
}

#[test]
fn one_call_waits_for_one_second_at_most() {
    let mut patience = patience();
    patience.left = Duration::from_millis(5);
    assert!(patience.wait(Duration::from_millis(4)).is_ok());
    assert_eq!(
        errno(patience.wait(Duration::from_millis(4))),
        Errno::WOULDBLOCK
    );
}

#[test]
fn a_file_over_its_limit_is_not_waited_for() {
    let (_tree, directory) = tree("content");
    let mut none = Patience::new(Instant::now());
    let mut file = GrantedFile::open(&directory, "x.md", 6, &mut none).unwrap();
    assert_eq!(file.look(&mut none).unwrap().size, 7);
}

#[test]
fn an_empty_file_is_given_longer() {
    let (tree, directory) = tree("content");
    File::create(tree.path().join("x.md")).unwrap();
    let changed = open(&directory, "x.md")
        .and_then(|mut file| file.look(&mut patience()))
        .unwrap()
        .changed;
    assert!(changed.age(SystemTime::now()).unwrap() >= QUIET_EMPTY);
}

#[test]
fn the_first_look_is_of_the_moment_at_rest_and_each_other_shows_a_change() {
    let (tree, directory) = tree("content");
    let mut file = open(&directory, "x.md").unwrap();
    let mut in_place = File::options()
        .write(true)
        .open(tree.path().join("x.md"))
        .unwrap();
    in_place.write_all(b"CONTENT").unwrap();
    let first = file.look(&mut patience()).unwrap();
    let second = file.look(&mut patience()).unwrap();
    assert_eq!(first.size, second.size);
    assert_ne!(first, second);
}

#[test]
fn what_the_clock_cannot_tell_is_told() {
    let (tree, directory) = tree("content");
    let file = directory.open("x.md").unwrap();
    // The clock is set back, so that all changes are in its future.
    let early = || UNIX_EPOCH;
    let (look, is_reliable) = settle(&file, 100, &mut patience(), early).unwrap();
    assert_eq!((look.size, is_reliable), (7, false));
    drop(tree);
}

#[test]
fn a_second_look_takes_a_while_only_if_the_times_do_not_tell() {
    let (_tree, directory) = tree("content");
    for is_reliable in [true, false] {
        let mut file = GrantedFile {
            file: directory.open("x.md").unwrap(),
            first: None,
            end: 7,
            is_reliable,
        };
        assert_eq!(file.is_reliable(), is_reliable);
        let mut patience = patience();
        let before = patience.left;
        assert_eq!(file.look(&mut patience).unwrap().size, 7);
        assert_eq!(patience.left == before, is_reliable);
    }
}

#[test]
fn a_read_that_fails_is_not_tried_for_ever() {
    let (_tree, directory) = tree("content");
    let file = GrantedFile {
        // A directory has no content to read.
        file: directory.open(".").unwrap(),
        first: None,
        end: 7,
        is_reliable: true,
    };
    assert_eq!(errno(file.read(7, 0)), Errno::ISDIR);
}

#[test]
fn nothing_is_read_behind_the_limit() {
    let (_tree, directory) = tree("0123456789");
    let file = GrantedFile::open(&directory, "x.md", 4, &mut patience()).unwrap();
    assert_eq!(file.read(u64::MAX, 0).unwrap(), b"01234");
    assert_eq!(file.read(2, 1).unwrap(), b"12");
    for (length, offset) in [(1, 5), (u64::MAX, 5), (1, u64::MAX), (u64::MAX, u64::MAX)] {
        assert_eq!(file.read(length, offset).unwrap(), b"");
    }
}

#[test]
fn nothing_is_read_behind_what_the_file_held_at_rest() {
    let (tree, directory) = tree("0123");
    let file = open(&directory, "x.md").unwrap();
    fs::write(tree.path().join("x.md"), "0123456789").unwrap();
    assert_eq!(file.read(u64::MAX, 0).unwrap(), b"01234");
}

#[test]
fn what_is_not_a_regular_file_is_never_handed_out() {
    let (tree, directory) = tree("content");
    let path = |name| tree.path().join(name);
    symlink("x.md", path("link")).unwrap();
    fs::create_dir(path("directory")).unwrap();
    // The way to create one that each system has.
    let made = Command::new("mkfifo").arg(path("fifo")).status();
    assert!(made.unwrap().success());
    let _listener = UnixListener::bind(path("socket")).unwrap();
    assert_eq!(errno(open(&directory, "link")), Errno::LOOP);
    assert_eq!(errno(open(&directory, "directory")), Errno::NXIO);
    assert_eq!(errno(open(&directory, "fifo")), Errno::NXIO);
    let socket = errno(open(&directory, "socket"));
    assert!(
        matches!(socket, Errno::NXIO | Errno::OPNOTSUPP),
        "{socket:?}"
    );
    assert!(kind(&directory, "link").unwrap().is_symlink());
    assert!(kind(&directory, "directory").unwrap().is_dir());
    assert!(kind(&directory, "x.md").unwrap().is_file());
    assert!(!kind(&directory, "fifo").unwrap().is_file());
}

#[test]
fn a_name_that_is_more_than_a_name_leads_nowhere() {
    let (tree, directory) = tree("content");
    fs::create_dir(tree.path().join("a")).unwrap();
    fs::write(tree.path().join("a/b.md"), "beneath").unwrap();
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
        assert_eq!(errno(kind(&directory, name)), Errno::LOOP, "{name:?}");
        assert_eq!(errno(open(&directory, name)), Errno::LOOP, "{name:?}");
    }
}
