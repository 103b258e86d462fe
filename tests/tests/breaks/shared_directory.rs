//! A directory on the path of a mapped file is one that several users share. Whoever may
//! write there renamed two of the victim's own directories, or moved one of his own files or
//! links to a mapped name: so he chose which of the victim's files was served.

use super::foreign_directory::{STRANGER, can_be_two_users, owned};
use keyhole_tests::{NOBODY, World};
use std::{
    fs,
    os::unix::{
        fs::{lchown, symlink},
        process::CommandExt as _,
    },
    path::Path,
    process::{Command, Stdio},
};

const KEY: &str = "k-2c1f8a96d0e34b57";
const LINKED: &str = "k-91c0d2e4f6a8b0c1";
const BOXED: &str = "k-3e5a7c9b1d2f4061";
const OWN: &str = "k-5d7e9f1a3b5c7d9e";

/// Whether the stranger may rename this.
fn stranger_moves(from: &Path, to: &Path) -> bool {
    let mut mv = Command::new("mv");
    mv.arg("-T").args([from, to]).uid(STRANGER).gid(STRANGER);
    mv.stderr(Stdio::null()).status().unwrap().success()
}

#[test]
fn two_of_the_victims_directories_that_somebody_renames_lead_nowhere() {
    if !can_be_two_users() {
        return;
    }
    for (mode, roots) in [
        (0o777, ""),
        (0o777, "roots = ['SHARED', '~/']\n"),
        (0o770, ""),
    ] {
        let world = World::new().file("diary.md", "hunter2");
        let shared = world.outside("shared");
        for name in ["now", "old"] {
            fs::create_dir_all(shared.join(name)).unwrap();
        }
        fs::write(shared.join("now/a.md"), "now\n").unwrap();
        symlink(world.path("diary.md"), shared.join("old/a.md")).unwrap();
        for name in ["now", "old", "now/a.md"] {
            owned(&shared.join(name), NOBODY, 0o755);
        }
        lchown(shared.join("old/a.md"), Some(NOBODY), None).unwrap();
        owned(&shared, NOBODY, 0o755);
        let map = format!("{roots}[keys]\n{KEY} = 'SHARED/now/a.md'\n");
        let world = world.map(map.replace("SHARED", shared.to_str().unwrap()));
        let world = world.unprivileged();
        let mut client = world.client();
        client.load(KEY).is("now\n");
        // The victim lets others in, who bring the group with them.
        owned(&shared, NOBODY, mode);
        lchown(&shared, None, Some(STRANGER)).unwrap();
        client.load(KEY).refused("untrusted");
        assert!(stranger_moves(&shared.join("now"), &shared.join("kept")));
        assert!(stranger_moves(&shared.join("old"), &shared.join("now")));
        client.load(KEY).refused("untrusted");
        client.end();
        let _ = world.run(["check"]).exits(1).mentions("shared");
    }
}

/// As in `/tmp`: there, nobody can move what belongs to others, but anybody can move it there
/// from elsewhere.
#[test]
fn what_somebody_moved_into_a_sticky_directory_is_refused_and_a_directory_there_is_not() {
    if !can_be_two_users() {
        return;
    }
    let world = World::new().file("private/b.md", "hunter2");
    let (shared, sticky) = (world.outside("shared"), world.outside("sticky"));
    for (directory, mode) in [(&shared, 0o777), (&sticky, 0o1777)] {
        fs::create_dir(directory).unwrap();
        owned(directory, 0, mode);
    }
    fs::create_dir(sticky.join("own")).unwrap();
    for name in ["directory", "box"] {
        fs::create_dir(shared.join(name)).unwrap();
    }
    // Others may make names in it, and so move it.
    fs::create_dir(shared.join("box/notes")).unwrap();
    symlink(world.path("private/b.md"), shared.join("box/notes/a.md")).unwrap();
    fs::write(sticky.join("own/c.md"), "own\n").unwrap();
    fs::write(shared.join("diary.md"), "hunter2").unwrap();
    let map = format!("[keys]\n{KEY} = '~/private/b.md'\n");
    fs::write(shared.join("map.toml"), map).unwrap();
    symlink(world.path("private"), shared.join("link")).unwrap();
    for path in [
        sticky.join("own"),
        sticky.join("own/c.md"),
        shared.join("directory"),
        shared.join("box/notes"),
        shared.join("diary.md"),
        shared.join("map.toml"),
    ] {
        owned(&path, NOBODY, 0o700);
    }
    owned(&shared.join("box"), NOBODY, 0o1777);
    for link in ["link", "box/notes/a.md"] {
        lchown(shared.join(link), Some(NOBODY), None).unwrap();
    }
    let keys = format!(
        "[keys]\n{KEY} = 'STICKY/a.md'\n{LINKED} = 'STICKY/notes/b.md'\n{BOXED} = 'STICKY/box/notes/a.md'\n{OWN} = 'STICKY/own/c.md'\n"
    );
    let world = world.map(keys.replace("STICKY", sticky.to_str().unwrap()));
    let world = world.unprivileged();
    for (from, to, can) in [
        ("diary.md", "a.md", true),
        ("link", "notes", true),
        ("map.toml", "map.toml", true),
        // Its `..` would change, which only those may do who may write to it.
        ("directory", "directory", false),
        ("box", "box", true),
    ] {
        let moved = stranger_moves(&shared.join(from), &sticky.join(to));
        assert_eq!(moved, can, "{from}");
    }
    let mut client = world.client();
    for key in [KEY, LINKED, BOXED] {
        client.load(key).refused("untrusted");
    }
    client.load(OWN).is("own\n");
    client.end();
    let map = sticky.join("map.toml");
    let said = world.run(["check".as_ref(), "--map".as_ref(), map.as_os_str()]);
    let _ = said.exits(2).mentions("others can add files beside");
}
