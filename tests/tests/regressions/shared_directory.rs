//! A directory on the path of a mapped file is one that several users share. Whoever may
//! write there renamed two of the victim's own directories, or moved one of his own files or
//! links to a mapped name: so he chose which of the victim's files was served.

use super::foreign_directory::{
    STRANGER,
    Thing::{Directory, File, Link},
    can_be_two_users, make, owned,
};
use keyhole_tests::{NOBODY, World};
use std::{
    os::unix::{fs::lchown, process::CommandExt as _},
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
        for (name, thing) in [
            ("", Directory),
            ("now", Directory),
            ("old", Directory),
            ("now/a.md", File("now\n")),
            ("old/a.md", Link(&world.path("diary.md"))),
        ] {
            make(&shared.join(name), thing, NOBODY, 0o755);
        }
        let map = format!("{roots}[keys]\n{KEY} = 'SHARED/now/a.md'\n");
        let world = world.map(map.replace("SHARED", shared.to_str().unwrap()));
        let world = world.unprivileged();
        let mut client = world.client();
        client.load(KEY).is("now\n");
        // The directory gets this mode, and the stranger's group.
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
    let private = world.path("private");
    let map = format!("[keys]\n{KEY} = '~/private/b.md'\n");
    make(&shared, Directory, 0, 0o777);
    make(&sticky, Directory, 0, 0o1777);
    for (path, thing, mode) in [
        (sticky.join("own"), Directory, 0o700),
        (sticky.join("own/c.md"), File("own\n"), 0o700),
        (shared.join("diary.md"), File("hunter2"), 0o700),
        (shared.join("link"), Link(&private), 0),
        (shared.join("map.toml"), File(&map), 0o700),
        (shared.join("directory"), Directory, 0o700),
        // Others may create files in it, and so move it.
        (shared.join("box"), Directory, 0o1777),
        (shared.join("box/notes"), Directory, 0o700),
        (
            shared.join("box/notes/a.md"),
            Link(&private.join("b.md")),
            0,
        ),
    ] {
        make(&path, thing, NOBODY, mode);
    }
    let keys = format!(
        "[keys]\n{KEY} = 'STICKY/a.md'\n{LINKED} = 'STICKY/notes/b.md'\n\
         {BOXED} = 'STICKY/box/notes/a.md'\n{OWN} = 'STICKY/own/c.md'\n"
    );
    let world = world.map(keys.replace("STICKY", sticky.to_str().unwrap()));
    let world = world.unprivileged();
    for (from, to, can) in [
        ("diary.md", "a.md", true),
        ("link", "notes", true),
        ("map.toml", "map.toml", true),
        // Moving a directory changes its `..`; that needs write permission on the directory itself.
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
