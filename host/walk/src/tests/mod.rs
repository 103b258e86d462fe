//! Walks over real files: what must be trusted, and where a walk ends.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests"
)]

mod steps;
pub(crate) mod told;

use crate::{
    Distrust, FileSystem, Handle, Mount, Policy, Stat, System, SystemError, WalkError, Walked,
    Walker, Why,
};
use keyhole_tree::Tree;
use std::{
    fs,
    path::{Path, PathBuf},
};
use told::Told;

/// A user who is neither root nor this one, and a group that nobody knows.
const STRANGER: u32 = 54_321;

const POLICIES: [Policy; 3] = [Policy::FILE, Policy::DIRECTORY, Policy::NAME];

fn walk(tree: &Tree, name: &str, policy: Policy) -> Result<Walked<Handle>, WalkError> {
    Walker::new(System).walk(&tree.path(name), policy)
}

fn read(tree: &Tree, name: &str) -> Result<String, WalkError> {
    let walker = Walker::new(System);
    let file = walker.walk(&tree.path(name), Policy::FILE)?;
    let bytes = walker.read(&file.handle, file.stat.size, 1 << 10)?;
    Ok(String::from_utf8(bytes.unwrap()).unwrap())
}

/// What a walk found that others could change, and why.
fn distrust_in<F: FileSystem>(files: F, path: &Path, policy: Policy) -> Distrust {
    match Walker::new(files).walk(path, policy).map(|_| ()) {
        Err(WalkError::Untrusted(distrust)) => distrust,
        other => panic!("{}: {other:?}", path.display()),
    }
}

#[track_caller]
fn is_blamed(tree: &Tree, name: &str, policy: Policy, blamed: &str, why: Why) {
    let path = tree.path(blamed);
    let found = distrust_in(System, &tree.path(name), policy);
    assert_eq!(found, Distrust { path, why }, "{name} {policy:?}");
}

/// A path in `tree` that ends as `policy` demands, in `a/b/c`.
fn end_of(tree: &Tree, policy: Policy) -> PathBuf {
    match policy {
        Policy::DIRECTORY => tree.path("a/b/c"),
        _ => tree.path("a/b/c/a.md"),
    }
}

#[test]
fn every_directory_from_the_root_on_must_be_trusted_and_not_only_the_last() {
    let tree = Tree::of(&["a/b/c/a.md"]);
    for policy in POLICIES {
        let end = end_of(&tree, policy);
        assert!(Walker::new(System).walk(&end, policy).is_ok());
        for name in ["a", "a/b", "a/b/c"] {
            let path = tree.path(name);
            for mode in [0o757, 0o777, 0o702] {
                tree.mode(name, mode);
                let found = distrust_in(System, &end, policy);
                let (path, why) = (path.clone(), Why::WritableByOthers);
                assert_eq!(found, Distrust { path, why }, "{mode:o}");
            }
            tree.mode(name, 0o755);
            let told: [(fn(&mut Stat), _); 2] = [
                (|stat| stat.owner = STRANGER, Why::ForeignOwner),
                (
                    |stat| (stat.group, stat.mode) = (STRANGER, 0o775),
                    Why::WritableByGroup,
                ),
            ];
            for (differs, why) in told {
                let found = distrust_in(Told::of(&path, differs), &end, policy);
                let path = path.clone();
                assert_eq!(found, Distrust { path, why }, "{policy:?}");
            }
        }
    }
    assert_eq!(read(&tree, "a/b/c/a.md").unwrap(), "a/b/c/a.md");
}

#[test]
fn a_file_that_others_could_change_is_not_trusted() {
    let tree = Tree::of(&["map.toml"]);
    // Of a file, the sticky bit says nothing.
    for mode in [0o606, 0o666, 0o602, 0o1666] {
        tree.mode("map.toml", mode);
        is_blamed(
            &tree,
            "map.toml",
            Policy::FILE,
            "map.toml",
            Why::WritableByOthers,
        );
    }
    tree.mode("map.toml", 0o644);
    let path = tree.map();
    let told = Told::of(&path, |stat| stat.owner = STRANGER);
    let found = distrust_in(told, &path, Policy::FILE);
    let why = Why::ForeignOwner;
    assert_eq!(found, Distrust { path, why });
}

/// Of a mapped file only the name is walked. [`crate::GrantedFile`] judges the file.
#[test]
fn a_name_leads_no_further_than_its_directory() {
    let tree = Tree::of(&["d/a.md"]);
    tree.mode("d/a.md", 0o666);
    let walked = walk(&tree, "d/a.md", Policy::NAME).unwrap();
    assert_eq!(walked.name, "a.md");
    assert_eq!(
        walked.stat.id(),
        walk(&tree, "d", Policy::DIRECTORY).unwrap().stat.id()
    );
    assert_eq!(
        walk(&tree, "d/gone.md", Policy::NAME).unwrap_err(),
        SystemError::Missing.into()
    );
}

/// What is not mapped in a user namespace seems to be theirs.
#[test]
fn the_user_who_stands_for_every_unknown_owner_trusts_nothing() {
    let tree = Tree::of(&["a/b/c/a.md"]);
    for policy in POLICIES {
        let told = Told {
            user: None,
            all_stats: |stat| stat.owner = 65_534,
            ..Told::default()
        };
        let why = Why::NobodysUser;
        let path = "/".into();
        let found = distrust_in(told, &end_of(&tree, policy), policy);
        assert_eq!(found, Distrust { path, why });
    }
}

const USERS: &str = "/etc/passwd";
const GROUPS: &str = "/etc/group";

/// A system on which `d` belongs to a group, and is its to write.
fn in_a_group(tree: &Tree, users: &'static [u8], groups: &'static [u8]) -> Told {
    let told = Told::of(&tree.path("d"), |stat| {
        (stat.group, stat.mode) = (STRANGER, 0o775);
    });
    let told = told.holding(USERS, users).holding(GROUPS, groups);
    Told {
        all_stats: |stat| stat.owner = 0,
        user: Some(STRANGER),
        ..told
    }
}

const ALONE: [&[u8]; 2] = [b"me:x:54321:54321::/:\n", b"me:x:54321:\n"];

/// macOS keeps its groups where we do not look: there, no group is anybody's own.
#[test]
fn a_group_of_the_user_alone_is_the_user() {
    let tree = Tree::of(&["d/map.toml"]);
    let [users, groups] = ALONE;
    let others = b"me:x:54321:jane\n";
    for (groups, trusted) in [(groups, cfg!(target_os = "linux")), (others, false)] {
        let walker = Walker::new(in_a_group(&tree, users, groups));
        let walked = walker.walk(&tree.path("d/map.toml"), Policy::FILE);
        assert_eq!(walked.is_ok(), trusted);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_groups_that_are_remembered_count_and_not_those_of_now() {
    let tree = Tree::of(&["d/map.toml"]);
    let [users, groups] = ALONE;
    let now = in_a_group(&tree, users, b"");
    let walker = Walker::new(in_a_group(&tree, users, groups));
    let remembered = Walker {
        files: now,
        groups: walker.remember_groups().unwrap().groups,
    };
    let walked = remembered.walk(&tree.path("d/map.toml"), Policy::FILE);
    assert!(walked.is_ok());
}

/// Otherwise the file that lists the group's members would be judged by that same file,
/// for ever.
#[test]
fn a_file_that_says_who_is_in_a_group_is_not_believed_if_a_group_may_write_to_it() {
    let told = Told {
        all_stats: |stat| stat.mode |= 0o020,
        ..Told::default()
    };
    let found = distrust_in(told, Path::new("/etc/hosts"), Policy::FILE);
    assert_eq!(found.path, Path::new("/"));
    assert_eq!(found.why, Why::UnknownGroup("/etc/passwd"));
}

/// Like the mount of most volumes that are plugged into macOS: it tells each user that
/// everything on it is theirs, and lets them write to it.
#[test]
fn where_everybody_owns_everything_nothing_is_trusted() {
    let tree = Tree::of(&["map.toml"]);
    tree.link("link", "map.toml");
    let file = walk(&tree, "map.toml", Policy::FILE).unwrap().stat;
    let parent = walk(&tree, "", Policy::DIRECTORY).unwrap().handle;
    let (_, link) = System.hold(&parent, "link".as_ref()).unwrap();
    for (mount, why) in [
        (Mount::Ordinary, None),
        (Mount::WithoutOwners, Some(Why::NoOwners)),
        (Mount::Unchecked, Some(Why::Unchecked)),
        (Mount::AnothersOwn, Some(Why::ForeignMount)),
    ] {
        for stat in [file, System.stat(&parent).unwrap(), link] {
            let judged = Walker::new(System).distrust(&parent, &stat, mount, false, true);
            assert_eq!(judged, Ok(why));
        }
    }
}

/// Others could have moved one of our own files or links into it.
#[test]
fn a_sticky_directory_may_be_passed_and_no_file_or_link_in_it_is_used() {
    let tree = Tree::of(&["s/map.toml", "own/map.toml", "s/root/a.md"]);
    tree.link("s/link", "root");
    tree.mode("s", 0o1777);
    assert!(walk(&tree, "s/root", Policy::DIRECTORY).is_ok());
    assert!(walk(&tree, "s/root/a.md", Policy::NAME).is_ok());
    for (name, policy, at) in [
        ("s/map.toml", Policy::FILE, "s/map.toml"),
        ("s/link", Policy::DIRECTORY, "s/link"),
        ("s/link/a.md", Policy::NAME, "s/link"),
    ] {
        is_blamed(&tree, name, policy, at, Why::Movable);
    }
    // On macOS, nobody can tell what the ACL of a file with a second name says.
    fs::hard_link(tree.path("own/map.toml"), tree.path("own/other.toml")).unwrap();
    let is_trusted = read(&tree, "own/map.toml").is_ok();
    assert_eq!(is_trusted, cfg!(not(target_os = "macos")));
}

#[test]
fn the_links_of_a_trusted_way_are_walked_and_judged_like_it() {
    let tree = Tree::of(&["store/deep/map.toml", "open/map.toml"]);
    tree.link("map.toml", "store/deep/../deep/./map.toml");
    tree.link("absolute.toml", tree.path("map.toml"));
    assert_eq!(read(&tree, "absolute.toml").unwrap(), "store/deep/map.toml");
    tree.mode("open", 0o757);
    tree.link("led.toml", "open/map.toml");
    // A path through it and up again as well.
    tree.link("through.toml", "open/sub/../../store/deep/map.toml");
    fs::create_dir(tree.path("open/sub")).unwrap();
    for name in ["led.toml", "through.toml"] {
        for policy in [Policy::FILE, Policy::NAME] {
            is_blamed(&tree, name, policy, "open", Why::WritableByOthers);
        }
    }
}

#[test]
fn a_link_in_a_shared_directory_is_not_followed() {
    let tree = Tree::of(&["shared/note.txt", "private/a.md"]);
    tree.link("shared/a.md", "../private/a.md");
    tree.link("shared/root", "../private");
    for (name, policy) in [
        ("shared/a.md", Policy::FILE),
        ("shared/a.md", Policy::NAME),
        ("shared/root", Policy::DIRECTORY),
        ("shared/root/a.md", Policy::NAME),
    ] {
        tree.mode("shared", 0o755);
        assert!(walk(&tree, name, policy).is_ok(), "{name}");
        tree.mode("shared", 0o777);
        is_blamed(&tree, name, policy, "shared", Why::WritableByOthers);
    }
}

#[test]
fn a_link_that_another_user_made_is_not_followed() {
    let tree = Tree::of(&["real/a.md"]);
    tree.link("link", "real");
    tree.link("link.md", "real/a.md");
    for (name, link, policy) in [
        ("link", "link", Policy::DIRECTORY),
        ("link.md", "link.md", Policy::FILE),
        ("link.md", "link.md", Policy::NAME),
        ("link/a.md", "link", Policy::NAME),
    ] {
        assert!(walk(&tree, name, policy).is_ok());
        let path = tree.path(link);
        let told = Told::of(&path, |stat| stat.owner = STRANGER);
        let why = Why::ForeignOwner;
        let found = distrust_in(told, &tree.path(name), policy);
        assert_eq!(found, Distrust { path, why }, "{name} {policy:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn file_systems_of_the_kernel_are_no_place_for_anything() {
    for (path, policy) in [
        ("/proc/self/status", Policy::FILE),
        ("/proc/self/comm", Policy::NAME),
        ("/sys/kernel/notes", Policy::NAME),
        ("/proc", Policy::DIRECTORY),
    ] {
        let found = distrust_in(System, Path::new(path), policy);
        assert_eq!(found.why, Why::KernelFileSystem, "{path}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_acl_for_others_is_not_hidden_by_the_users_own_group() {
    let tree = Tree::of(&["d/e/map.toml"]);
    let [users, groups] = ALONE;
    // The mask takes away what the ACL lets STRANGER do, and with it the group bits of
    // the mode.
    for (mode, mask, trusted) in [(0o775, 7, false), (0o755, 5, true), (0o1775, 7, true)] {
        tree.mode("d", mode);
        // Version 2; user::rwx, user:54321:rwx, group::rwx, mask, other::r-x.
        let mut acl = 2_u32.to_le_bytes().to_vec();
        for (tag, right, id) in [
            (1_u16, 7_u16, u32::MAX),
            (2, 7, STRANGER),
            (4, 7, u32::MAX),
            (16, mask, u32::MAX),
            (32, 5, u32::MAX),
        ] {
            acl.extend(tag.to_le_bytes());
            acl.extend(right.to_le_bytes());
            acl.extend(id.to_le_bytes());
        }
        let flags = rustix::fs::XattrFlags::empty();
        match rustix::fs::setxattr(tree.path("d"), "system.posix_acl_access", &acl, flags) {
            Ok(()) => {}
            Err(rustix::io::Errno::OPNOTSUPP) => {
                eprintln!("skipped: an ACL (this file system has none)");
                return;
            }
            Err(error) => panic!("{error}"),
        }
        let told = Told::of(&tree.path("d"), |stat| stat.group = STRANGER);
        let told = told.holding(USERS, users).holding(GROUPS, groups);
        let walker = Walker::new(Told {
            all_stats: |stat| stat.owner = 0,
            user: Some(STRANGER),
            ..told
        });
        let walked = walker.walk(&tree.path("d/e/map.toml"), Policy::FILE);
        let why = walked.map_err(|error| match error {
            WalkError::Untrusted(distrust) => distrust.why,
            other => panic!("{other}"),
        });
        let expected = if trusted {
            None
        } else {
            Some(Why::WritableByOthers)
        };
        assert_eq!(why.err(), expected, "{mode:o}");
    }
}
