//! An install cleans up what earlier versions left. If the folder held more, it removed
//! files with such names in all subfolders too.

use crate::plugin::launcher::machine::Machine;
use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
    time::{Duration, SystemTime},
};

fn old(path: &Path) {
    let long_ago = SystemTime::now() - Duration::from_secs(3 * 86_400);
    fs::File::open(path)
        .unwrap()
        .set_modified(long_ago)
        .unwrap();
}

#[test]
fn nothing_is_removed_but_files_of_our_own_names_in_the_folder_itself() {
    let machine = Machine::new();
    let data = machine.data();
    let sum = "0123456789abcdef".repeat(4);
    let outside = machine.temp.path().join("outside");
    let directories = [
        data.join("sub"),
        data.join(format!("keyhole-{sum}")),
        outside.clone(),
    ];
    let mut kept = Vec::new();
    for directory in &directories {
        fs::create_dir_all(directory).unwrap();
        for name in [
            &format!("keyhole-{sum}"),
            "server.12.tmp",
            "manifest.12.tmp",
            "notes.tmp",
        ] {
            kept.push(directory.join(name));
        }
    }
    for name in [
        "keyhole-notes",
        "keyhole-",
        "keyhole-*",
        "notes.tmp",
        "server.tmp",
        "server.x.tmp",
        "server.1.2.tmp",
        "manifest.sha256.tmp",
        ".keyhole.tmp",
        &format!("keyhole-{sum}0"),
        &format!("keyhole-{}", sum.to_uppercase()),
        &format!("keyhole-{}g", &sum[1..]),
    ] {
        kept.push(data.join(name));
    }
    for file in &kept {
        fs::write(file, "").unwrap();
        old(file);
    }
    // Links count as themselves, and are not ours.
    let other = sum.replace('0', "1");
    let file = kept[8].clone();
    for (name, target) in [
        (format!("keyhole-{other}"), &file),
        ("server.7.tmp".into(), &outside),
    ] {
        symlink(target, data.join(&name)).unwrap();
        kept.push(data.join(name));
    }
    let ours = ["2", "3"].map(|digit| data.join(format!("keyhole-{}", digit.repeat(64))));
    let temporary = ["server.99.tmp", "manifest.99.tmp"].map(|name| data.join(name));
    for file in ours.iter().chain(&temporary) {
        fs::write(file, "").unwrap();
        old(file);
    }
    for directory in &directories[..2] {
        old(directory);
    }
    fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).unwrap();

    machine.installs("v1");
    for file in &kept {
        assert!(
            file.symlink_metadata().is_ok(),
            "{} is gone",
            file.display()
        );
    }
    for file in ours.iter().chain(&temporary) {
        assert!(!file.exists(), "{} is still there", file.display());
    }
}
