//! One byte that is not UTF-8, in a line of another user's or of another mount, made every
//! map invalid in a home that a group may write to, or on FUSE. Any user can put it there:
//! by `chfn`, or by mounting something on a directory with such a name.

use super::{
    foreign_directory::can_be_two_users,
    fuse::{Hanging, TEXT},
};
use keyhole_tests::{Ran, World, skipped};
use std::{
    ffi::OsStr,
    fs::{self, Permissions},
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    process::Command,
};

/// A server, in a home that its group may write to, for whom these lines are in a file in
/// `/etc`, too. Root has a group of its own on each system.
fn world(file: &str, lines: &[u8]) -> World {
    let world = World::new().with_k1("text");
    world.mode(".config", 0o770);
    let etc = world.outside(file);
    let known = fs::read(format!("/etc/{file}")).unwrap();
    fs::write(&etc, [&known, lines].concat()).unwrap();
    fs::set_permissions(&etc, Permissions::from_mode(0o644)).unwrap();
    let mount = format!(
        "mount --bind '{}' /etc/{file} && exec \"$0\" \"$@\"",
        etc.display()
    );
    world.through(["unshare", "-m", "/bin/sh", "-c", &mount])
}

/// Whether the test can have an `/etc` of its own, and root is alone in its group.
fn has_own_etc() -> bool {
    can_be_two_users() && {
        let ran = Ran::of(Command::new("unshare").args(["-m", "true"]), b"").exit == Some(0);
        let trusted = ran && world("passwd", b"").client().load("k-1").text().is_some();
        if !trusted {
            skipped("no mounts, or root's group has others");
        }
        trusted
    }
}

#[test]
fn a_line_of_somebody_elses_changes_nothing_whatever_bytes_it_holds() {
    if !has_own_etc() {
        return;
    }
    for (file, line) in [
        ("passwd", &b"joe:x:54321:54321:J\xfcrgen:/:/bin/sh\n"[..]),
        ("passwd", b"\xff\xfe\n"),
        ("group", b"\xff:x:54321:j\xfc\n"),
    ] {
        let world = world(file, line);
        world.load("k-1").is("text");
    }
}

#[test]
fn a_line_that_counts_and_cannot_be_understood_refuses_and_check_says_which_file_has_it() {
    if !has_own_etc() {
        return;
    }
    for (file, line) in [("passwd", &b"+::::::\n"[..]), ("group", b"+:::\n")] {
        let world = world(file, line);
        world.load("k-1").refused("map-invalid");
        let check = world.run(["check"]).exits(2).mentions("HOME/.config");
        let _ = check.mentions(&format!("/etc/{file}"));
    }
}

/// The kernel writes such a name into the list of mounts as it is.
#[test]
fn a_mount_on_an_odd_name_changes_nothing_for_other_mounts() {
    let world = World::new().directory("mounted");
    let odd = world.home().join(OsStr::from_bytes(b"\xff"));
    fs::create_dir(&odd).unwrap();
    let world = world.map("roots = ['~/mounted']\n[keys]\nk-1 = '~/mounted/a.md'\n");
    let mounts = [world.path("mounted"), odd].map(|at| Hanging::mount(&at));
    let [Some(mount), Some(odd)] = mounts else {
        return;
    };
    mount.let_go();
    world.load("k-1").is(TEXT);
    drop((mount, odd));
}
