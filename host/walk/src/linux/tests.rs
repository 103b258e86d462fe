#![allow(clippy::unwrap_used, reason = "tests")]

use super::{is_own, says_own};
use std::{fs, os::unix::fs::MetadataExt as _};

#[test]
fn a_mount_is_looked_up_by_its_device() {
    assert!(is_own(fs::metadata("/proc/self").unwrap().dev(), 1000));
    assert!(!is_own(u64::MAX, 0));
}

#[test]
fn a_fuse_mount_is_whose_every_line_says_so() {
    // Anybody may mount something on a directory whose name is not UTF-8.
    let mounts = b"31 1 8:1 / / rw - ext4 /dev/sda1 rw,user_id=1001\n\
        40 31 0:50 / /jane rw,nosuid - fuse.sshfs jane@h:/ rw,user_id=1000,group_id=1000\n\
        41 31 0:51 / /root rw shared:7 - fuse.x x rw,user_id=0,group_id=0\n\
        42 31 0:52 / /vm rw - virtiofs vm rw\n\
        43 31 0:53 / /a rw - fuse.x x rw,user_id=1000\n\
        44 31 0:53 / /b rw - fuse.x x rw,user_id=1001\n\
        45 31 0:54 / /odd rw - fuse.x x rw,user_id=jane\n\
        46 31 0:55 / /short\n\
        47 31 0:56 / /\xff rw - fuse.x \xff rw,user_id=1001\n\
        48 31 0:57 / /\xff rw - fuse.x \xff rw,user_id=1000\n";
    for (device, user, own) in [
        ("0:50", 1000, true),
        ("0:50", 1001, false),
        ("0:50", 0, false),
        // Root's mounts are trusted for every user, and a mount without the option
        // is root's.
        ("0:51", 1000, true),
        ("0:52", 1000, true),
        // A device that has a mount of the user's and one of another's is not the
        // user's.
        ("0:53", 1000, false),
        ("0:53", 1001, false),
        // A line that cannot be understood, or that is missing, proves nothing.
        ("0:54", 1000, false),
        ("0:55", 1000, false),
        ("0:5", 1000, false),
        ("0:56", 1000, false),
        ("0:57", 1000, true),
    ] {
        assert_eq!(says_own(mounts, device, user), own, "{device} {user}");
    }
}
