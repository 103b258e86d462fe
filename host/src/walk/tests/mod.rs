//! Walks over real files: what the policies demand, and where a walk ends.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests"
)]

pub(crate) mod passed_on;
mod steps;

use super::{
    Distrust, Mount, Policy, System, WalkError, Walked, Walker, Why,
    trust::{self, Seat},
};
use crate::map::tests::Tree;
use rustix::process::{Gid, Uid};
use std::{
    fs,
    io::Read as _,
    os::{fd::OwnedFd, unix::fs::chown},
    path::Path,
};

/// A user who is neither root nor this one, and a group with other members.
const STRANGER: u32 = 54_321;

impl Tree {
    fn walk(&self, name: &str, policy: Policy) -> Result<Walked<OwnedFd>, WalkError> {
        Walker::new(System).walk(&self.path(name), policy)
    }

    fn read(&self, name: &str) -> Result<String, WalkError> {
        self.walk(name, Policy::TRUSTED_FILE).map(|walked| {
            let mut text = String::new();
            fs::File::from(walked.handle)
                .read_to_string(&mut text)
                .unwrap();
            text
        })
    }

    /// Why a walk found something untrusted, and what it was.
    fn distrust(&self, name: &str, policy: Policy) -> (String, Why) {
        match self.walk(name, policy).map(|_| ()) {
            Err(WalkError::Untrusted(Distrust { path, why })) => {
                let base = self.path("");
                let path = path.strip_prefix(&base).unwrap_or(&path).to_owned();
                (path.to_str().unwrap().to_owned(), why)
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}

/// Gives a file to another user. False if this needs root and the test is not root.
fn give(path: &Path, owner: Option<u32>, group: Option<u32>, what: &str) -> bool {
    let is_root = rustix::process::geteuid() == Uid::ROOT;
    if is_root {
        chown(path, owner, group).unwrap();
    } else {
        eprintln!("skipped: {what} (needs root)");
    }
    is_root
}

#[test]
fn every_directory_from_the_root_on_must_be_trusted_and_not_only_the_last() {
    let tree = Tree::of(&["a/b/c/map.toml"]);
    assert_eq!(tree.read("a/b/c/map.toml").unwrap(), "a/b/c/map.toml");
    for directory in ["a", "a/b", "a/b/c"] {
        tree.mode(directory, 0o707);
        let found = tree.distrust("a/b/c/map.toml", Policy::TRUSTED_FILE);
        assert_eq!(found, (directory.into(), Why::WritableByOthers));
        tree.mode(directory, 0o755);
    }
    assert!(tree.read("a/b/c/map.toml").is_ok());
}

#[test]
fn a_directory_of_another_user_is_not_trusted_wherever_it_stands() {
    let tree = Tree::of(&["a/b/map.toml"]);
    for name in ["a", "a/b", "a/b/map.toml"] {
        if !give(
            &tree.path(name),
            Some(STRANGER),
            None,
            "another user's directory",
        ) {
            return;
        }
        let found = tree.distrust("a/b/map.toml", Policy::TRUSTED_FILE);
        assert_eq!(found, (name.into(), Why::ForeignOwner));
        chown(tree.path(name), Some(0), None).unwrap();
    }
}

#[test]
fn a_group_that_holds_others_is_others() {
    let tree = Tree::of(&["a/map.toml"]);
    if !give(&tree.path("a"), None, Some(STRANGER), "a group of others") {
        return;
    }
    tree.mode("a", 0o775);
    let found = tree.distrust("a/map.toml", Policy::TRUSTED_FILE);
    assert_eq!(found, ("a".into(), Why::WritableByOthers));
}

/// macOS keeps its groups where we do not look: there, no group is anybody's own.
#[test]
fn a_group_of_root_alone_is_root() {
    let tree = Tree::of(&["a/map.toml"]);
    if !give(
        &tree.path("a"),
        None,
        Some(Gid::ROOT.as_raw()),
        "root's group",
    ) {
        return;
    }
    tree.mode("a", 0o775);
    let is_trusted = tree.read("a/map.toml").is_ok();
    assert_eq!(is_trusted, cfg!(not(target_os = "macos")));
}

/// Like the mount of most volumes that are plugged into macOS: it tells each user that
/// everything on it is theirs, and lets them write to it.
#[test]
fn where_everybody_owns_everything_nothing_is_trusted() {
    let tree = Tree::of(&["map.toml"]);
    let own = tree.walk("map.toml", Policy::TRUSTED_FILE).unwrap().stat;
    let seat = Seat {
        shared: false,
        hidden_writers: false,
    };
    for (mount, why) in [
        (Mount::Ordinary, None),
        (Mount::WithoutOwners, Some(Why::NoOwners)),
    ] {
        let user = own.owner;
        let judged = trust::object(&own, mount, seat, user, || Ok::<_, ()>(true));
        assert_eq!(judged, Ok(why));
        assert_eq!(trust::link(&own, mount, false, user), why);
    }
}

#[test]
fn a_sticky_directory_will_do_on_the_way_but_not_for_what_has_two_names() {
    let tree = Tree::of(&["s/map.toml", "own/map.toml"]);
    tree.mode("s", 0o1777);
    assert!(tree.read("s/map.toml").is_ok());
    // As if somebody had linked an older copy of our file to that place.
    fs::hard_link(tree.path("s/map.toml"), tree.path("s/other.toml")).unwrap();
    let found = tree.distrust("s/map.toml", Policy::TRUSTED_FILE);
    assert_eq!(found, ("s/map.toml".into(), Why::SecondName));
    // If nobody else can make names there, the second name is ours. On macOS, nobody
    // can tell what the ACL of such a file says.
    fs::hard_link(tree.path("own/map.toml"), tree.path("own/other.toml")).unwrap();
    let is_trusted = tree.read("own/map.toml").is_ok();
    assert_eq!(is_trusted, cfg!(not(target_os = "macos")));
}

#[test]
fn the_links_of_a_trusted_way_are_walked_and_judged_like_it() {
    let tree = Tree::of(&["store/deep/map.toml", "open/map.toml"]);
    tree.link("map.toml", "store/deep/../deep/./map.toml");
    tree.link("absolute.toml", tree.path("map.toml"));
    assert_eq!(tree.read("absolute.toml").unwrap(), "store/deep/map.toml");
    tree.mode("open", 0o757);
    tree.link("led.toml", "open/map.toml");
    // A path through it and up again as well.
    tree.link("through.toml", "open/sub/../../store/deep/map.toml");
    fs::create_dir(tree.path("open/sub")).unwrap();
    for name in ["led.toml", "through.toml"] {
        let found = tree.distrust(name, Policy::TRUSTED_FILE);
        assert_eq!(found, ("open".into(), Why::WritableByOthers), "{name}");
    }
}

#[test]
fn links_that_lead_to_each_other_or_nowhere_end() {
    let tree = Tree::of(&["file"]);
    for (name, target) in [("a", "b"), ("b", "a"), ("gone", "none/x")] {
        tree.link(name, target);
    }
    for name in ["a", "gone", "none", "file/x", "file/"] {
        for policy in [Policy::TRUSTED_FILE, Policy::FOLLOWED, Policy::ROOT] {
            let ended = tree.walk(name, policy).map(|_| ());
            assert!(
                matches!(ended, Err(WalkError::Missing | WalkError::NotAFile)),
                "{name} {ended:?}"
            );
        }
    }
}

#[test]
fn a_file_is_found_by_what_it_is() {
    let tree = Tree::of(&["file", "d/x"]);
    assert_eq!(
        tree.walk("d", Policy::TRUSTED_FILE).unwrap_err(),
        WalkError::NotAFile
    );
    assert!(tree.walk("d", Policy::TRUSTED_DIRECTORY).is_ok());
    assert_eq!(
        tree.walk("file", Policy::TRUSTED_DIRECTORY).unwrap_err(),
        WalkError::Missing
    );
    let walked = tree.walk("d/x", Policy::FOLLOWED).unwrap();
    assert_eq!(walked.name, "x");
}

#[test]
fn a_root_may_be_shared_but_not_what_is_above_it() {
    let tree = Tree::of(&["above/root/a.md"]);
    tree.mode("above/root", 0o777);
    assert!(tree.walk("above/root", Policy::ROOT).is_ok());
    tree.mode("above", 0o777);
    let found = tree.distrust("above/root", Policy::ROOT);
    assert_eq!(found, ("above".into(), Why::WritableByOthers));
}

#[test]
fn what_lies_beneath_a_root_is_told_by_the_directories_and_not_by_their_names() {
    let tree = Tree::of(&["root/deep/a.md", "root-b/a.md"]);
    tree.link("alias", "root");
    tree.link("root/out", "../root-b");
    let root = tree.walk("alias", Policy::ROOT).unwrap();
    for (path, beneath) in [
        ("root/deep/a.md", true),
        ("alias/deep/a.md", true),
        ("root/deep/../../root/deep/a.md", true),
        ("root-b/a.md", false),
        ("root/out/a.md", false),
        ("root/../root-b/a.md", false),
    ] {
        let walked = tree.walk(path, Policy::FOLLOWED).unwrap();
        assert_eq!(walked.is_beneath(&root), beneath, "{path}");
    }
}

#[test]
fn a_mapped_file_may_lie_in_a_shared_directory_but_no_link_there_is_followed() {
    let tree = Tree::of(&["shared/a.md", "private.md"]);
    tree.link("shared/link.md", "../private.md");
    assert!(tree.walk("shared/link.md", Policy::FOLLOWED).is_ok());
    tree.mode("shared", 0o777);
    assert!(tree.walk("shared/a.md", Policy::FOLLOWED).is_ok());
    let found = tree.distrust("shared/link.md", Policy::FOLLOWED);
    assert_eq!(found, ("shared".into(), Why::WritableByOthers));
    // Into a sticky directory, nobody else can have moved it.
    tree.mode("shared", 0o1777);
    assert!(tree.walk("shared/link.md", Policy::FOLLOWED).is_ok());
}

#[test]
fn a_link_that_another_user_made_is_not_followed() {
    let tree = Tree::of(&["a.md"]);
    tree.link("link.md", "a.md");
    let link = tree.path("link.md");
    if rustix::process::geteuid() != Uid::ROOT {
        eprintln!("skipped: another user's link (needs root)");
        return;
    }
    std::os::unix::fs::lchown(&link, Some(STRANGER), None).unwrap();
    let found = tree.distrust("link.md", Policy::FOLLOWED);
    assert_eq!(found, ("link.md".into(), Why::ForeignOwner));
}

#[cfg(target_os = "linux")]
#[test]
fn file_systems_of_the_kernel_are_no_place_for_anything() {
    let walker = Walker::new(System);
    for path in ["/proc/self/status", "/proc/self/comm", "/sys/kernel/notes"] {
        for policy in [Policy::TRUSTED_FILE, Policy::FOLLOWED] {
            let ended = walker.walk(Path::new(path), policy).map(|_| ());
            let Err(WalkError::Untrusted(distrust)) = ended else {
                panic!("{path}: {ended:?}");
            };
            assert_eq!(distrust.why, Why::KernelFileSystem);
        }
    }
    let proc = walker.walk(Path::new("/proc"), Policy::ROOT).map(|_| ());
    assert!(matches!(proc, Err(WalkError::Untrusted(_))));
}

#[cfg(target_os = "linux")]
#[test]
fn an_acl_for_others_is_not_hidden_by_the_users_own_group() {
    let tree = Tree::of(&["a/map.toml"]);
    if !give(&tree.path("a"), None, Some(Gid::ROOT.as_raw()), "an ACL") {
        return;
    }
    // The mask takes away what the ACL lets STRANGER do, and with it the group bits of
    // the mode.
    for (mode, mask, trusted) in [(0o775, 7, false), (0o755, 5, true), (0o1775, 7, true)] {
        tree.mode("a", mode);
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
        match rustix::fs::setxattr(tree.path("a"), "system.posix_acl_access", &acl, flags) {
            Ok(()) => {}
            Err(rustix::io::Errno::OPNOTSUPP) => {
                eprintln!("skipped: an ACL (this file system has none)");
                return;
            }
            Err(error) => panic!("{error}"),
        }
        if trusted {
            assert!(tree.read("a/map.toml").is_ok(), "{mode:o}");
        } else {
            let found = tree.distrust("a/map.toml", Policy::TRUSTED_FILE);
            assert_eq!(found, ("a".into(), Why::WritableByOthers), "{mode:o}");
        }
    }
}
