//! What the system reports at one step, and may report differently at the next: real
//! files, behind a system that can be told to report something else.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests"
)]

#[cfg(target_os = "linux")]
use super::super::Mount;
use super::{
    super::{Fault, FileSystem, Kind, Policy, Stat, System, WalkError, Walker, Why},
    passed_on::pass_on,
};
use crate::map::tests::Tree;
#[cfg(target_os = "linux")]
use rustix::{
    fs::OFlags,
    io::{FdFlags, fcntl_getfd},
};
use std::{
    cell::{Cell, RefCell},
    ffi::OsStr,
    fs,
    os::fd::OwnedFd,
    path::Path,
};

/// The real system, except for what it was told to report.
#[derive(Default)]
struct Told {
    /// How often it reports that a last name is a link.
    links: Cell<usize>,
    /// Whether it reports that everything's group may write to it.
    groups_write: bool,
    /// The most that each read may return; and what each read asked for, and from
    /// where.
    at_most: Option<usize>,
    reads: RefCell<Vec<(usize, u64)>>,
}

impl Told {
    fn says_link(&self) -> bool {
        let left = self.links.get();
        self.links.set(left.saturating_sub(1));
        left > 0
    }
}

impl FileSystem for Told {
    type Handle = OwnedFd;
    pass_on!(
        root,
        hold,
        read_link,
        mount,
        has_hidden_writers,
        settle,
        user,
        now,
        pause
    );

    fn kind(&self, directory: &OwnedFd, name: &OsStr) -> Result<Kind, Fault> {
        match self.says_link() {
            true => Ok(Kind::Link),
            false => System.kind(directory, name),
        }
    }
    fn open(&self, directory: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Fault> {
        match self.says_link() {
            true => Err(Fault::IsLink),
            false => System.open(directory, name),
        }
    }
    fn stat(&self, handle: &OwnedFd) -> Result<Stat, Fault> {
        let mut stat = System.stat(handle)?;
        stat.mode |= if self.groups_write { 0o020 } else { 0 };
        Ok(stat)
    }
    fn read(&self, file: &OwnedFd, bytes: &mut [u8], offset: u64) -> Result<usize, Fault> {
        self.reads.borrow_mut().push((bytes.len(), offset));
        assert!(self.reads.borrow().len() < 100, "it reads without end");
        let most = bytes.len().min(self.at_most.unwrap_or(usize::MAX));
        System.read(file, bytes.get_mut(..most).unwrap(), offset)
    }
}

#[test]
fn a_name_that_was_a_link_just_now_is_tried_again_three_times() {
    let tree = Tree::with("");
    let path = tree.map();
    for (links, found) in [(0, true), (1, true), (3, true), (4, false)] {
        let walker = Walker::new(Told {
            links: Cell::new(links),
            ..Told::default()
        });
        let ended = walker.walk(&path, Policy::TRUSTED_FILE).map(|_| ());
        let expected = found.then_some(()).ok_or(WalkError::Unsteady);
        assert_eq!(ended, expected, "{links} times a link");
    }
    // The walk does not open a mapped file, so it ends with the name that was asked
    // for.
    let walker = Walker::new(Told {
        links: Cell::new(1),
        ..Told::default()
    });
    let walked = walker.walk(&path, Policy::FOLLOWED).unwrap();
    assert_eq!(walked.name, "map.toml");
}

/// Otherwise the file that lists the group's members would be judged by that same file,
/// for ever.
#[test]
fn a_file_that_says_who_is_in_a_group_is_not_believed_if_a_group_may_write_to_it() {
    let walker = Walker::new(Told {
        groups_write: true,
        ..Told::default()
    });
    let ended = walker.walk(Path::new("/etc/hosts"), Policy::TRUSTED_FILE);
    let Err(WalkError::Untrusted(distrust)) = ended.map(|_| ()) else {
        panic!("it is trusted");
    };
    assert_eq!(
        (distrust.path.as_path(), distrust.why),
        (Path::new("/"), Why::WritableByOthers)
    );
}

#[test]
fn as_many_links_as_the_kernel_follows_are_followed_and_no_more() {
    let tree = Tree::of(&["0"]);
    for link in 1..=41 {
        tree.link(&link.to_string(), (link - 1).to_string());
    }
    for policy in [Policy::TRUSTED_FILE, Policy::FOLLOWED] {
        let walk = |name: &str| Walker::new(System).walk(&tree.path(name), policy);
        assert!(walk("40").is_ok());
        assert_eq!(walk("41").map(|_| ()), Err(WalkError::Missing));
    }
}

#[test]
fn as_many_directories_as_may_be_held_are_walked_and_no_more() {
    let tree = Tree::empty();
    let base = tree.path("");
    let most = 128 - (base.components().count() - 1);
    let deepest = base.join(vec!["d"; most].join("/"));
    fs::create_dir_all(deepest.join("d")).unwrap();
    let walk = |path| Walker::new(System).walk(path, Policy::ROOT).map(|_| ());
    assert_eq!(walk(&deepest), Ok(()));
    assert_eq!(walk(&deepest.join("d")), Err(WalkError::Missing));
}

/// Reads a file that holds these bytes and reports this size.
fn read(content: &[u8], says: u64, most: u64, told: Told) -> (Option<Vec<u8>>, Vec<(usize, u64)>) {
    let tree = Tree::with(content);
    let path = tree.map();
    let walker = Walker::new(told);
    let walked = walker.walk(&path, Policy::TRUSTED_FILE).unwrap();
    let stat = Stat {
        size: says,
        ..walked.stat
    };
    let bytes = walker.read(&walked.handle, &stat, most).unwrap();
    (bytes, walker.files().reads.take())
}

#[test]
fn a_file_is_read_to_its_end_whatever_it_says_of_its_size_and_no_further_than_it_may() {
    let whole = b"0123456789";
    // One read gets all, and the next finds the end.
    let (bytes, reads) = read(whole, 10, 64, Told::default());
    assert_eq!(
        (bytes.as_deref(), reads),
        (Some(&whole[..]), vec![(11, 0), (1, 10)])
    );
    // The file has grown: the buffer doubles each time.
    let (bytes, reads) = read(whole, 0, 64, Told::default());
    let doubling = vec![(1, 0), (1, 1), (2, 2), (4, 4), (8, 8), (6, 10)];
    assert_eq!((bytes.as_deref(), reads), (Some(&whole[..]), doubling));
    // The file has shrunk, or comes in pieces.
    assert_eq!(
        read(whole, 50, 64, Told::default()).0.as_deref(),
        Some(&whole[..])
    );
    let pieces = Told {
        at_most: Some(3),
        ..Told::default()
    };
    assert_eq!(read(whole, 10, 64, pieces).0.as_deref(), Some(&whole[..]));
    // As much as it may have, and one byte more, whatever size it reports.
    for says in [0, 10, u64::MAX] {
        assert_eq!(
            read(whole, says, 10, Told::default()).0.as_deref(),
            Some(&whole[..])
        );
        assert_eq!(read(whole, says, 9, Told::default()).0, None, "{says}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_held_can_be_read_by_nobody_and_what_is_open_never_waits_or_is_inherited() {
    let root = System.root().unwrap();
    let held = System.hold(&root, OsStr::new("etc")).unwrap();
    let open = System.open(&root, OsStr::new("etc")).unwrap();
    for (handle, is_held) in [(&root, true), (&held, true), (&open, false)] {
        let flags = rustix::fs::fcntl_getfl(handle).unwrap();
        assert_eq!(flags.contains(OFlags::PATH), is_held);
        assert_eq!(flags.contains(OFlags::NONBLOCK), !is_held);
        assert!(fcntl_getfd(handle).unwrap().contains(FdFlags::CLOEXEC));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn another_mount_is_as_ordinary_as_the_first() {
    let root = System.root().unwrap();
    let proc = System.hold(&root, OsStr::new("proc")).unwrap();
    let stat = System.stat(&proc).unwrap();
    assert_eq!(System.mount(&proc, &stat), Ok(Mount::Kernel));
    let stat = System.stat(&root).unwrap();
    assert_eq!(System.mount(&root, &stat), Ok(Mount::Ordinary));
}
