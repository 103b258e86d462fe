//! A program in the plugin's data folder ran with the user's rights, and a script judged
//! who could write there. Whoever could, or could put another folder in its place, or
//! make the folder look as if it were the user's, chose what ran.

use super::foreign_directory::can_be_two_users;
use crate::plugin::launcher::machine::{Machine, own};
use keyhole_tests::NOBODY;
use sha2::{Digest as _, Sha256};
use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, chown, lchown, symlink},
    path::Path,
};

const REFUSED: &str = "others can write to the folder that Keyhole keeps tickets in, or to a directory above it; \
    run: chmod go-w on it";

/// Neither the user nor root.
const ATTACKER: u32 = 54321;

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn nothing_in_the_data_folder_is_run_whoever_put_it_there() {
    let machine = Machine::new();
    fs::create_dir_all(machine.data().join("server")).unwrap();
    let program = fs::read(machine.server("v1")).unwrap();
    let sum = Sha256::digest(program);
    for name in [
        &format!("keyhole-{sum:x}"),
        "start.sh",
        &format!("server/{}", own()),
    ] {
        let planted = machine.data().join(name);
        fs::write(&planted, "#!/bin/sh\necho evil\n").unwrap();
        mode(&planted, 0o777);
    }
    let manifest = machine.data().join("manifest.sha256");
    fs::copy(machine.root("v1").join("manifest.sha256"), manifest).unwrap();
    mode(&machine.data(), 0o777);
    machine.start("v1", &["install"]).says("").exits(0);
    machine.runs("v1");
}

/// Whoever planted the manifest gains nothing, since the program judges the folder at
/// each session's start.
#[test]
fn a_folder_that_others_could_change_is_refused_by_the_program_itself() {
    for planted in [true, false] {
        let machine = Machine::new().real();
        let above = machine.temp.path().join("above");
        let data = above.join("home/data");
        fs::create_dir_all(&data).unwrap();
        let machine = machine.with_data(data.clone());
        if planted {
            machine.installs("v1");
        }
        let home = above.join("home");
        for (directory, bits) in [(&above, 0o777), (&home, 0o757), (&data, 0o773)] {
            mode(directory, bits);
            machine.refuses(REFUSED);
            mode(directory, 0o755);
        }
        // Whoever may create files there creates those that the launcher will write.
        for bits in [0o1777, 0o1770] {
            mode(&data, bits);
            machine.refuses(REFUSED);
        }
        mode(&data, 0o755);
        // Nobody else can move the user's own files out of such a directory.
        mode(&above, 0o1777);
        machine.installs("v1");
        // Behind a link, too.
        let link = machine.temp.path().join("link");
        symlink(&data, &link).unwrap();
        let machine = machine.with_data(link);
        machine.installs("v1");
        mode(&data, 0o777);
        machine.refuses(REFUSED);
    }
}

#[test]
fn a_folder_a_directory_above_it_or_a_link_of_another_user_is_refused() {
    if !can_be_two_users() {
        return;
    }
    let mut machine = Machine::new().real();
    machine.nobody = true;
    let above = machine.temp.path().join("above");
    let data = above.join("data");
    fs::create_dir_all(&data).unwrap();
    for path in [&above, &data] {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let machine = machine.with_data(data.clone());
    machine.installs("v1");
    for path in [&above, &data] {
        for bits in [0o755, 0o1777] {
            chown(path, Some(ATTACKER), Some(ATTACKER)).unwrap();
            mode(path, bits);
            machine.refuses(REFUSED);
        }
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        mode(path, 0o755);
    }

    // The link's owner turned it to another private folder of the user, where a
    // manifest was replaced.
    let link = machine.temp.path().join("link");
    symlink(&data, &link).unwrap();
    lchown(&link, Some(ATTACKER), Some(ATTACKER)).unwrap();
    fs::write(data.join("manifest.sha256"), "the user's own").unwrap();
    let machine = machine.with_data(link);
    machine.refuses(REFUSED);
    assert_eq!(machine.manifest(), b"the user's own");
}

#[test]
fn what_is_made_is_closed_whatever_the_umask() {
    let mut machine = Machine::new().real();
    machine.shell = vec!["sh", "-c", "umask 000; exec sh \"$0\" \"$@\""];
    let data = machine.temp.path().join("a/b/data");
    let machine = machine.with_data(data);
    machine.installs("v1");
    for path in ["a", "a/b", "a/b/data", "a/b/data/tickets"] {
        let made = fs::metadata(machine.temp.path().join(path)).unwrap();
        assert_eq!(made.permissions().mode() & 0o777, 0o700, "{path}");
    }
}
