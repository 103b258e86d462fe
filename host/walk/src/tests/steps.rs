//! What the system reports at one step, and may report differently at the next; and how
//! far a walk goes.

use super::told::Told;
#[cfg(target_os = "linux")]
use crate::FileSystem as _;
use crate::{GrantedFile, Policy, System, SystemError, WalkError, Walker};
use keyhole_tree::Tree;
use std::{
    cell::Cell,
    fs, thread,
    time::{Duration, Instant},
};

#[test]
fn a_name_that_was_a_link_just_now_is_tried_again_three_times() {
    let tree = Tree::with("");
    let path = tree.map();
    let saying_link = |times| {
        Walker::new(Told {
            links: Cell::new(times),
            ..Told::default()
        })
    };
    for (links, found) in [(0, true), (1, true), (3, true), (4, false)] {
        let ended = saying_link(links).walk(&path, Policy::File).map(|_| ());
        let expected = found
            .then_some(())
            .ok_or(WalkError::from(SystemError::Busy));
        assert_eq!(ended, expected, "{links} times a link");
    }
    // The walk does not open a mapped file, so it ends with the name that was asked
    // for.
    let walked = saying_link(1).walk(&path, Policy::Name).unwrap();
    assert_eq!(walked.name, "map.toml");
}

#[test]
fn as_many_links_as_the_kernel_follows_are_followed_and_no_more() {
    let tree = Tree::of(&["0"]);
    for link in 1..=41 {
        tree.link(&link.to_string(), (link - 1).to_string());
    }
    for policy in [Policy::File, Policy::Name] {
        let walk = |name: &str| Walker::new(System).walk(&tree.path(name), policy);
        assert!(walk("40").is_ok());
        assert_eq!(walk("41").unwrap_err(), SystemError::Missing.into());
    }
}

#[test]
fn as_many_directories_as_may_be_held_are_walked_and_no_more() {
    let tree = Tree::empty();
    let base = tree.path("");
    let most = 128 - (base.components().count() - 1);
    let deepest = base.join(vec!["d"; most].join("/"));
    fs::create_dir_all(deepest.join("d")).unwrap();
    let walk = |path| {
        Walker::new(System)
            .walk(path, Policy::Directory)
            .map(|_| ())
    };
    assert_eq!(walk(&deepest), Ok(()));
    assert_eq!(walk(&deepest.join("d")), Err(SystemError::Missing.into()));
}

/// The kernel follows 40 links as well, but it takes no turn of them that is as long.
#[test]
fn a_walk_takes_a_bounded_number_of_steps_whatever_its_links_say() {
    let tree = Tree::of(&["d/a.md"]);
    tree.link("again", format!("{}again", "d/../".repeat(400)));
    // Of this one, each name is held.
    let held = format!("{}again", "d/".repeat(100));
    fs::create_dir_all(tree.path(&held).parent().unwrap()).unwrap();
    tree.link(&held, tree.path(&held));
    let walker = Walker::new(Told::default());
    for policy in [Policy::File, Policy::Name, Policy::Directory] {
        for (link, least) in [("again", 1), (&*held, 1024)] {
            let ended = walker.walk(&tree.path(link), policy).map(|_| ());
            assert_eq!(ended, Err(SystemError::Missing.into()));
            assert!((least..=1024).contains(&walker.files.held.take()));
        }
    }
}

#[test]
fn a_walk_whose_deadline_passes_meanwhile_takes_no_further_step() {
    let tree = Tree::of(&["d/d/d/a.md"]);
    for policy in [Policy::File, Policy::Name] {
        let deadline = Instant::now() + Duration::from_millis(100);
        // A busy machine may be late before.
        let late_from_the_second_on = move |held| {
            while held > 1 && Instant::now() < deadline {
                thread::yield_now();
            }
        };
        let walker = Walker::new(Told {
            at_hold: Box::new(late_from_the_second_on),
            ..Told::default()
        });
        let walker = walker.until(deadline);
        let ended = walker.walk(&tree.path("d/d/d/a.md"), policy).map(|_| ());
        assert_eq!(ended, Err(SystemError::Late.into()));
        assert!(walker.files.held.get() <= 2);
    }
}

#[test]
fn after_its_deadline_a_walk_takes_no_further_step_and_nothing_is_read() {
    let tree = Tree::of(&["d/a.md"]);
    let walker = || Walker::new(System);
    let walked = walker().walk(&tree.path("d"), Policy::Directory).unwrap();
    let file = walker().walk(&tree.path("d/a.md"), Policy::File).unwrap();
    let late = walker().until(Instant::now());
    let ended = late.walk(&tree.path("d/a.md"), Policy::Name).map(|_| ());
    assert_eq!(ended, Err(SystemError::Late.into()));
    let read = late.read_at_rest(&file, 100, None);
    assert_eq!(read, Err(SystemError::Late.into()));
    let opened = GrantedFile::open(&late, &walked.handle, "a.md", 100).map(|_| ());
    assert_eq!(opened, Err(SystemError::Late.into()));
}

/// Reads a file that holds these bytes and reports this size.
fn read(content: &[u8], says: u64, most: u64, told: Told) -> (Option<Vec<u8>>, Vec<(usize, u64)>) {
    let tree = Tree::with(content);
    let walker = Walker::new(told);
    let walked = walker.walk(&tree.map(), Policy::File).unwrap();
    let bytes = walker.read(&walked.handle, says, most).unwrap();
    (bytes, walker.files.reads.take())
}

#[test]
fn a_file_is_read_to_its_end_whatever_it_says_of_its_size_and_no_further_than_it_may() {
    let whole = b"0123456789";
    let read_whole = |says, told| {
        let (bytes, reads) = read(whole, says, 64, told);
        assert_eq!(bytes.as_deref(), Some(&whole[..]), "{says}");
        reads
    };
    // One read gets all, and the next finds the end.
    assert_eq!(read_whole(10, Told::default()), [(11, 0), (1, 10)]);
    // The file has grown: the buffer doubles each time.
    let doubling = [(1, 0), (1, 1), (2, 2), (4, 4), (8, 8), (6, 10)];
    assert_eq!(read_whole(0, Told::default()), doubling);
    // The file has shrunk, or comes in pieces.
    read_whole(50, Told::default());
    let pieces = Told {
        at_most: 3,
        ..Told::default()
    };
    read_whole(10, pieces);
    // As much as it may have, and one byte more, whatever size it reports.
    for says in [0, 10, u64::MAX] {
        let (bytes, _) = read(whole, says, 10, Told::default());
        assert_eq!(bytes.as_deref(), Some(&whole[..]));
        assert_eq!(read(whole, says, 9, Told::default()).0, None, "{says}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_held_can_be_read_by_nobody_and_what_is_open_never_waits_or_is_inherited() {
    use rustix::{
        fs::{OFlags, fcntl_getfl},
        io::{FdFlags, fcntl_getfd},
    };
    let root = || System.root().unwrap().0;
    let held = System.hold(&root(), "etc".as_ref()).unwrap().0;
    let open = System.open(&root(), "etc".as_ref()).unwrap().0;
    for (handle, is_held) in [(root(), true), (held, true), (open, false)] {
        let handle = fs::File::from(handle);
        let flags = fcntl_getfl(&handle).unwrap();
        assert_eq!(flags.contains(OFlags::PATH), is_held);
        assert_eq!(flags.contains(OFlags::NONBLOCK), !is_held);
        assert!(fcntl_getfd(&handle).unwrap().contains(FdFlags::CLOEXEC));
    }
}
