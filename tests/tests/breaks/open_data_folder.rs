//! Programs in the plugin's data folder run with the user's rights. Whoever could
//! write there, or put another folder in its place, chose what runs.

use super::stranger::can_be;
use crate::plugin::launcher::machine::{Machine, identity};
use keyhole_tests::NOBODY;
use rustix::process::geteuid;
use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, lchown, symlink},
    path::Path,
};

const REFUSED: &str = "others could change the server in the plugin's data folder: it must be yours, \
    each directory above it yours or root's, and none of them writable by others; look with ls -ld, \
    and run chmod go-w on what is";

/// Neither the user nor root.
const ATTACKER: u32 = 54321;

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Writes a program under the name of version 1's server, and the manifest that marks
/// that server as installed.
fn plant(machine: &Machine, owner: Option<u32>) {
    let folder = machine.data();
    fs::create_dir_all(&folder).unwrap();
    fs::write(machine.server("v1"), "#!/bin/sh\necho evil\n").unwrap();
    mode(&machine.server("v1"), 0o700);
    let manifest = folder.join("manifest.sha256");
    fs::copy(machine.root("v1").join("manifest.sha256"), &manifest).unwrap();
    if owner.is_some() {
        for path in [&machine.server("v1"), &manifest] {
            chown(path, owner, owner).unwrap();
        }
        // The user must be able to run it.
        mode(&machine.server("v1"), 0o755);
    }
}

/// A machine whose user is not root. None if the tests cannot tell users apart here.
fn of_another_user(test: &str) -> Option<Machine> {
    if !can_be(test) {
        return None;
    }
    let mut machine = Machine::new();
    machine.nobody = true;
    Some(machine)
}

#[test]
fn a_folder_that_another_user_made_is_refused() {
    let Some(machine) = of_another_user("a_folder_that_another_user_made_is_refused") else {
        return;
    };
    for bits in [0o777, 0o755, 0o1777] {
        plant(&machine, Some(ATTACKER));
        chown(machine.data(), Some(ATTACKER), Some(ATTACKER)).unwrap();
        mode(&machine.data(), bits);
        machine.refuses(REFUSED);
        fs::remove_dir_all(machine.data()).unwrap();
    }
}

#[test]
fn what_another_user_put_into_an_open_folder_is_not_run() {
    let Some(machine) = of_another_user("what_another_user_put_into_an_open_folder_is_not_run")
    else {
        return;
    };
    // In the last case the user has closed the folder in the meantime, but has not
    // looked at its content.
    for bits in [0o777, 0o1777, 0o700] {
        plant(&machine, Some(ATTACKER));
        chown(machine.data(), Some(NOBODY), Some(NOBODY)).unwrap();
        mode(&machine.data(), bits);
        machine.runs("v1");
        let folder = fs::metadata(machine.data()).unwrap();
        assert_eq!((folder.uid(), folder.mode() & 0o777), (NOBODY, 0o700));
        let server = fs::metadata(machine.server("v1")).unwrap();
        assert_eq!((server.uid(), server.mode() & 0o7777), (NOBODY, 0o700));
        fs::remove_dir_all(machine.data()).unwrap();
    }
}

/// Another user can have given the user's own files such names, with links.
#[test]
fn what_was_in_an_open_folder_is_installed_again_whoever_owns_it() {
    for bits in [0o777, 0o770, 0o702, 0o755, 0o711] {
        let machine = Machine::new();
        plant(&machine, None);
        mode(&machine.data(), bits);
        machine.runs("v1");
        let folder = fs::metadata(machine.data()).unwrap().permissions();
        assert_eq!(folder.mode() & 0o777, 0o700, "{bits:o}");
    }
}

#[test]
fn a_server_that_others_may_write_is_installed_again() {
    for bits in [0o777, 0o720, 0o702, 0o755] {
        let machine = Machine::new();
        plant(&machine, None);
        mode(&machine.data(), 0o700);
        mode(&machine.server("v1"), bits);
        machine.runs("v1");
    }
}

#[test]
fn a_link_in_the_servers_place_is_not_followed() {
    let machine = Machine::new();
    plant(&machine, None);
    mode(&machine.data(), 0o700);
    let elsewhere = machine.temp.path().join("elsewhere");
    fs::rename(machine.server("v1"), &elsewhere).unwrap();
    symlink(&elsewhere, machine.server("v1")).unwrap();
    machine.runs("v1");
    assert!(fs::read_to_string(elsewhere).unwrap().contains("evil"));

    fs::remove_file(machine.server("v1")).unwrap();
    symlink("/", machine.server("v1")).unwrap();
    machine.fails(
        "a directory is in the server's place in the plugin's data folder; remove the folder",
    );
}

#[test]
fn a_directory_above_that_others_may_write_is_refused() {
    for bits in [0o777, 0o757, 0o773] {
        let machine = Machine::new();
        let above = machine.temp.path().join("above");
        fs::create_dir_all(above.join("home")).unwrap();
        let machine = machine.with_data(above.join("home/data"));
        machine.runs("v1");
        let before = identity(&machine.server("v1"));
        for directory in [above.clone(), above.join("home")] {
            mode(&directory, bits);
            machine.refuses(REFUSED);
            mode(&directory, 0o755);
        }
        // Nobody else can move the user's own files out of such a directory.
        mode(&above, 0o1777);
        machine.runs("v1");
        assert_eq!(identity(&machine.server("v1")), before);
    }
}

#[test]
fn a_directory_above_that_is_another_users_is_refused() {
    let Some(machine) = of_another_user("a_directory_above_that_is_another_users_is_refused")
    else {
        return;
    };
    let above = machine.temp.path().join("above");
    fs::create_dir_all(above.join("home/data")).unwrap();
    for path in [above.join("home/data"), above.join("home")] {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let machine = machine.with_data(above.join("home/data"));
    machine.runs("v1");
    for bits in [0o755, 0o1777] {
        chown(&above, Some(ATTACKER), Some(ATTACKER)).unwrap();
        mode(&above, bits);
        machine.refuses(REFUSED);
        chown(&above, Some(0), Some(0)).unwrap();
        machine.runs("v1");
    }
}

#[test]
fn the_way_behind_a_link_is_judged_too() {
    let machine = Machine::new();
    let open = machine.temp.path().join("open");
    fs::create_dir_all(open.join("data")).unwrap();
    symlink(&open, machine.temp.path().join("link")).unwrap();
    let inside = machine.temp.path().join("link/data");
    let machine = machine.with_data(inside);
    machine.runs("v1");
    mode(&open, 0o777);
    machine.refuses(REFUSED);
}

#[test]
fn a_link_that_another_user_made_is_refused() {
    let Some(machine) = of_another_user("a_link_that_another_user_made_is_refused") else {
        return;
    };
    let real = machine.temp.path().join("real");
    fs::create_dir(&real).unwrap();
    chown(&real, Some(NOBODY), Some(NOBODY)).unwrap();
    symlink(&real, machine.data()).unwrap();
    machine.runs("v1");
    lchown(machine.data(), Some(ATTACKER), Some(ATTACKER)).unwrap();
    machine.refuses(REFUSED);
}

/// As on systems with umask 002 and a group for each user.
#[test]
fn a_group_that_holds_the_user_alone_may_write_above() {
    let machine = Machine::new();
    let above = machine.temp.path().join("above");
    fs::create_dir(&above).unwrap();
    mode(&above, 0o775);
    let gid = fs::metadata(&above).unwrap().gid();
    let machine = machine.with_data(above.join("data"));
    let account = |user: &str, group: &str, id: u32, members: &str| {
        let uid = geteuid().as_raw();
        machine.shim(
            "id",
            &format!("case $1 in -u) echo {uid};; -un) echo {user};; -gn) echo {group};; -g) echo {id};; esac"),
        );
        machine.shim(
            "getent",
            &format!("[ \"$*\" = 'group {gid}' ] && echo '{group}:x:{gid}:{members}'"),
        );
    };
    for members in ["", "jane"] {
        account("jane", "jane", gid, members);
        machine.runs("v1");
    }
    for (user, group, id, members) in [
        ("jane", "staff", gid, ""),
        ("jane", "jane", gid + 1, ""),
        ("jane", "jane", gid, "john"),
        ("jane", "jane", gid, "jane,john"),
    ] {
        account(user, group, id, members);
        machine.refuses(REFUSED);
    }
    // Now users outside the group may write there.
    account("jane", "jane", gid, "");
    mode(&above, 0o777);
    machine.refuses(REFUSED);
}

#[test]
fn what_is_made_is_closed_whatever_the_umask() {
    let mut machine = Machine::new();
    machine.shell = vec!["sh", "-c", "umask 000; exec sh \"$0\" \"$@\""];
    let data = machine.temp.path().join("a/b/data");
    let machine = machine.with_data(data);
    machine.runs("v1");
    for path in ["a", "a/b", "a/b/data"] {
        let made = fs::metadata(machine.temp.path().join(path)).unwrap();
        assert_eq!(made.mode() & 0o777, 0o700, "{path}");
    }
    assert_eq!(
        fs::metadata(machine.server("v1")).unwrap().mode() & 0o777,
        0o700
    );
}
