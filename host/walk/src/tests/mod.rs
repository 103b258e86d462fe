//! Walks over real files: what must be trusted, and where a walk ends. Links, mounts
//! and sticky directories have the model; of links, also `hostile::tree` and `hostile::map`.

mod steps;
pub(crate) mod told;

use crate::{
    Distrust,
    DistrustReason::{self, ForeignOwner, Movable, WritableByOthers},
    FileSystem, Handle, Policy, Stat, System, SystemError, WalkError, Walked, Walker, normal,
};
use keyhole_tree::Tree;
use std::path::Path;
use told::Told;

/// A user who is neither root nor this one, and a group that nobody knows.
const STRANGER: u32 = 54_321;

fn walk(tree: &Tree, name: &str, policy: Policy) -> Result<Walked<Handle>, WalkError> {
    Walker::new(System).walk(&tree.path(name), policy)
}

/// What a walk found that others could change, and why. None if it found nothing.
#[track_caller]
fn distrust_in<F: FileSystem>(files: F, path: &Path, policy: Policy) -> Option<Distrust> {
    match Walker::new(files).walk(path, policy).map(|_| ()) {
        Ok(()) => None,
        Err(WalkError::Untrusted(distrust)) => Some(distrust),
        other => panic!("{}: {other:?}", path.display()),
    }
}

#[track_caller]
fn is_trusted(tree: &Tree, name: &str, policy: Policy) {
    let found = distrust_in(System, &tree.path(name), policy);
    assert_eq!(found, None, "{name} {policy:?}");
}

#[track_caller]
fn is_blamed(tree: &Tree, name: &str, policy: Policy, blamed: &str, why: DistrustReason) {
    let path = tree.path(blamed);
    let found = distrust_in(System, &tree.path(name), policy);
    assert_eq!(found, Some(Distrust { path, why }), "{name} {policy:?}");
}

/// The walk to `name` blames `blamed` once `differs` has changed what that reports.
#[track_caller]
fn is_blamed_if(
    differs: fn(&mut Stat),
    tree: &Tree,
    name: &str,
    policy: Policy,
    blamed: &str,
    why: DistrustReason,
) {
    let path = tree.path(blamed);
    let found = distrust_in(Told::of(&path, differs), &tree.path(name), policy);
    assert_eq!(found, Some(Distrust { path, why }), "{name} {policy:?}");
}

#[test]
fn all_from_the_root_on_must_be_trusted_and_not_only_the_end() {
    let tree = Tree::of(&["a/b/c/a.md"]);
    let way = ["a", "a/b", "a/b/c", "a/b/c/a.md"];
    for (end, policy, judged) in [
        ("a/b/c/a.md", Policy::File, &way[..]),
        ("a/b/c", Policy::Directory, &way[..3]),
        ("a/b/c/a.md", Policy::Name, &way[..3]),
    ] {
        is_trusted(&tree, end, policy);
        for name in judged {
            let differences: [(fn(&mut Stat), _); 5] = [
                (|stat| stat.mode = 0o757, WritableByOthers),
                (|stat| stat.mode = 0o777, WritableByOthers),
                (|stat| stat.mode = 0o702, WritableByOthers),
                (|stat| stat.owner = STRANGER, ForeignOwner),
                (
                    |stat| (stat.group, stat.mode) = (STRANGER, 0o775),
                    DistrustReason::WritableByGroup,
                ),
            ];
            for (differs, why) in differences {
                is_blamed_if(differs, &tree, end, policy, name, why);
            }
        }
    }
    // Of a file, the sticky bit says nothing.
    tree.mode("a/b/c/a.md", 0o1666);
    let file = "a/b/c/a.md";
    is_blamed(&tree, file, Policy::File, file, WritableByOthers);
}

/// Of a mapped file only the name is walked. [`crate::GrantedFile`] judges the file.
#[test]
fn a_name_leads_no_further_than_its_directory() {
    let tree = Tree::of(&["d/a.md"]);
    tree.mode("d/a.md", 0o666);
    let walked = walk(&tree, "d/a.md", Policy::Name).unwrap();
    assert_eq!(walked.name, "a.md");
    let directory = walk(&tree, "d", Policy::Directory).unwrap();
    assert_eq!(walked.stat.id(), directory.stat.id());
    let gone = walk(&tree, "d/gone.md", Policy::Name).unwrap_err();
    assert_eq!(gone, SystemError::Missing.into());
}

/// What is not mapped in a user namespace seems to be theirs.
#[test]
fn the_user_who_stands_for_every_unknown_owner_trusts_nothing() {
    let tree = Tree::of(&["d/a.md"]);
    for (name, policy) in [
        ("d/a.md", Policy::File),
        ("d", Policy::Directory),
        ("d/a.md", Policy::Name),
    ] {
        let told = Told {
            user: None,
            all_stats: |stat| stat.owner = 65_534,
            ..Told::default()
        };
        let (path, why) = ("/".into(), DistrustReason::NobodysUser);
        let found = distrust_in(told, &tree.path(name), policy);
        assert_eq!(found, Some(Distrust { path, why }));
    }
}

/// A system on which `d` reports this, and these two files say who is in which group.
fn in_a_group(
    tree: &Tree,
    differs: fn(&mut Stat),
    users: &'static [u8],
    groups: &'static [u8],
) -> Told {
    let told = Told::of(&tree.path("d"), differs);
    let told = told.holding("/etc/passwd", users);
    Told {
        all_stats: |stat| stat.owner = 0,
        user: Some(STRANGER),
        ..told.holding("/etc/group", groups)
    }
}

/// It belongs to a group, and is its to write.
const SHARED: fn(&mut Stat) = |stat| (stat.group, stat.mode) = (STRANGER, 0o775);

const ME: &[u8] = b"me:x:54321:54321::/:\n";
const ALONE: &[u8] = b"me:x:54321:\n";

/// macOS keeps its groups where we do not look: there, no group is anybody's own.
#[test]
fn a_group_of_the_user_alone_is_the_user() {
    let tree = Tree::of(&["d/map.toml"]);
    let here = cfg!(target_os = "linux");
    for (users, groups, trusted) in [
        (ME, ALONE, here),
        (ME, b"me:x:54321:jane\n", false),
        // Any user can put such bytes into a line of their own, by `chfn`.
        (
            b"\xff\xfe\nj:x:7:7:J\xfc:/:\nme:x:54321:54321::/:\n",
            ALONE,
            here,
        ),
        (ME, b"\xff:x:7:j\xfc\nme:x:54321:\n", here),
    ] {
        let told = in_a_group(&tree, SHARED, users, groups);
        let found = distrust_in(told, &tree.path("d/map.toml"), Policy::File);
        assert_eq!(found.is_none(), trusted);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn who_is_in_a_group_is_read_once() {
    let tree = Tree::of(&["d/map.toml"]);
    let walker = Walker::new(in_a_group(&tree, SHARED, ME, ALONE));
    let reads = || {
        walker.walk(&tree.path("d/map.toml"), Policy::File).unwrap();
        walker.files.reads.borrow().len()
    };
    let once = reads();
    assert!(once > 0);
    assert_eq!(reads(), once);
}

/// What is not mapped in a user namespace seems to be of that group.
#[cfg(target_os = "linux")]
#[test]
fn the_group_that_stands_for_every_unknown_group_is_nobodys_own() {
    let tree = Tree::of(&["d/e/map.toml"]);
    let shared = |stat: &mut Stat| (stat.group, stat.mode) = (65_534, 0o775);
    let (me, alone) = (b"me:x:54321:65534::/:\n", b"me:x:65534:\n");
    let told = in_a_group(&tree, shared, me, alone);
    let found = distrust_in(told, &tree.path("d/e/map.toml"), Policy::File).unwrap();
    assert_eq!(found.why, DistrustReason::WritableByGroup);
}

/// Otherwise the file that lists the group's members would be judged by that same file,
/// for ever.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_says_who_is_in_a_group_is_not_believed_if_a_group_may_write_to_it() {
    let told = Told {
        all_stats: |stat| stat.mode |= 0o020,
        ..Told::default()
    };
    let (path, why) = ("/".into(), DistrustReason::UnknownGroup("/etc/passwd"));
    let found = distrust_in(told, Path::new("/etc/hosts"), Policy::File);
    assert_eq!(found, Some(Distrust { path, why }));
}

#[cfg(target_os = "linux")]
#[test]
fn file_systems_of_the_kernel_are_no_place_for_anything() {
    for (path, policy) in [
        ("/proc/self/status", Policy::File),
        ("/proc/self/comm", Policy::Name),
        ("/sys/kernel/notes", Policy::Name),
        ("/proc", Policy::Directory),
        // It is in no other of these.
        ("/dev/pts", Policy::Directory),
    ] {
        let found = distrust_in(System, Path::new(path), policy).unwrap();
        assert_eq!(found.why, DistrustReason::KernelFileSystem, "{path}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_acl_for_others_is_not_hidden_by_the_users_own_group() {
    let tree = Tree::of(&["d/e/map.toml"]);
    // The mask takes away what the ACL lets STRANGER do, and with it the group bits of
    // the mode. The sticky bit of a file says nothing.
    const GROUP: u32 = 1 << 31;
    let me = rustix::process::geteuid().as_raw();
    for (name, mode, mask, named, own_group, trusted) in [
        ("d", 0o775, 7, STRANGER, 7, false),
        ("d", 0o755, 5, STRANGER, 7, true),
        ("d", 0o1775, 7, STRANGER, 7, true),
        ("d/e/map.toml", 0o660, 6, STRANGER, 7, false),
        ("d/e/map.toml", 0o640, 4, STRANGER, 7, true),
        ("d/e/map.toml", 0o1660, 6, STRANGER, 7, false),
        // Both may write anyway.
        ("d", 0o775, 7, me, 7, true),
        ("d", 0o775, 7, 0, 7, true),
        // Its group has other members, and may only read, whatever the mode seems to say.
        ("d", 0o775, 7, me, 5, true),
        ("d/e/map.toml", 0o660, 6, 0, 4, true),
        // The list names a group: the user's own, and another.
        ("d", 0o775, 7, GROUP | STRANGER, 7, true),
        ("d", 0o775, 7, GROUP | 4321, 7, false),
    ] {
        tree.mode(name, mode);
        // Version 2; user::rwx, the one that is named: rwx, group, mask, other::r-x.
        let mut acl = 2_u32.to_le_bytes().to_vec();
        let mut entries = [
            (1_u16, 7_u16, u32::MAX),
            (if named < GROUP { 2 } else { 8 }, 7, named & !GROUP),
            (4, own_group, u32::MAX),
            (16, mask, u32::MAX),
            (32, 5, u32::MAX),
        ];
        entries.sort();
        for (tag, right, id) in entries {
            acl.extend([tag.to_le_bytes(), right.to_le_bytes()].concat());
            acl.extend(id.to_le_bytes());
        }
        let flags = rustix::fs::XattrFlags::empty();
        let set = rustix::fs::setxattr(tree.path(name), "system.posix_acl_access", &acl, flags);
        if set == Err(rustix::io::Errno::OPNOTSUPP) {
            return keyhole_tree::skipped("this file system has no access lists");
        }
        set.unwrap();
        let members = if own_group == 7 {
            ALONE
        } else {
            b"me:x:54321:jane\n"
        };
        let told = in_a_group(&tree, |stat| stat.group = STRANGER, ME, members);
        let found = distrust_in(told, &tree.path("d/e/map.toml"), Policy::File);
        let why = found.map(|found| found.why);
        assert_eq!(why.is_none(), trusted, "{name} {mode:o} {named}: {why:?}");
        tree.mode(name, 0o700);
    }
}

#[test]
fn a_normal_path_has_neither_dots_nor_the_names_that_they_take_out() {
    for (path, expected) in [
        ("/a/b/./../c/", "/a/c"),
        ("/a//b/../../../..", "/"),
        ("/../a/...", "/a/..."),
        ("../a", "a"),
    ] {
        assert_eq!(normal(Path::new(path)), Path::new(expected), "{path}");
    }
}

#[test]
fn a_file_in_a_store_gets_words_that_can_be_followed() {
    for (path, says) in [
        ("/nix/store/abc-a.md", "mkOutOfStoreSymlink"),
        ("/gnu/store/abc-a.md", "outside of the store"),
        ("/tmp/a.md", "move it into a folder of your own"),
    ] {
        let (path, why) = (path.into(), Movable);
        let said = Distrust { path, why }.to_string();
        assert!(said.contains(says), "{said}");
    }
}
