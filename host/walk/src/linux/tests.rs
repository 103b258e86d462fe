use super::{distrust_by_mounts, distrust_of_fuse};
use crate::groups_in;
use crate::{
    DistrustReason::{ForeignMount, Unchecked},
    SystemError,
};
use rustix::io::Errno;
use std::{fs, os::unix::fs::MetadataExt as _};

#[test]
fn a_mount_is_looked_up_by_its_device() {
    let proc = fs::metadata("/proc/self").unwrap().dev();
    assert_eq!(distrust_of_fuse(proc, Some(1000)), None);
    assert_eq!(distrust_of_fuse(u64::MAX, Some(0)), Some(ForeignMount));
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
        48 31 0:57 / /\xff rw - fuse.x \xff rw,user_id=1000\n\
        49 31 0:58 / /open rw - fuse.x x rw,user_id=1000,group_id=1000,allow_other\n\
        50 31 0:59 / /kept rw - fuse.x x rw,user_id=0,default_permissions,allow_other\n\
        51 31 0:60 / /c rw - fuse.x x rw,user_id=1000\n\
        52 31 0:60 / /d rw - fuse.x x rw,user_id=0,allow_other\n";
    let [ordinary, anothers, unchecked] = [None, Some(ForeignMount), Some(Unchecked)];
    for (device, user, mount) in [
        ("0:50", 1000, ordinary),
        ("0:50", 1001, anothers),
        ("0:50", 0, anothers),
        // Root's mounts are trusted for every user, and a mount without the option
        // is root's.
        ("0:51", 1000, ordinary),
        ("0:52", 1000, ordinary),
        // A device that has a mount of the user's and one of another's is not the
        // user's.
        ("0:53", 1000, anothers),
        ("0:53", 1001, anothers),
        // A line that cannot be understood, or that is missing, proves nothing.
        ("0:54", 1000, anothers),
        ("0:55", 1000, anothers),
        ("0:5", 1000, anothers),
        ("0:56", 1000, anothers),
        ("0:57", 1000, ordinary),
        // Others are let in: only what the kernel checks proves anything.
        ("0:58", 1000, unchecked),
        ("0:58", 1001, anothers),
        ("0:59", 1000, ordinary),
        ("0:60", 1000, unchecked),
    ] {
        let found = distrust_by_mounts(mounts, device, Some(user));
        assert_eq!(found, mount, "{device} {user}");
    }
    // In a user namespace, the numbers in the options may be others'.
    for (device, mount) in [
        ("0:50", anothers),
        ("0:51", anothers),
        ("0:52", ordinary),
        ("0:59", anothers),
    ] {
        assert_eq!(distrust_by_mounts(mounts, device, None), mount, "{device}");
    }
}

/// It is no fault of ours that a server is gone.
#[test]
fn a_file_system_whose_server_is_gone_does_not_answer() {
    let of_network = [Errno::HOSTDOWN, Errno::TIMEDOUT];
    for errno in [Errno::NOTCONN, Errno::STALE].into_iter().chain(of_network) {
        assert_eq!(SystemError::from(errno), SystemError::Late);
    }
}

#[test]
fn an_acl_that_is_not_understood_lets_others_write() {
    let entry = |tag: u16, rights: u16, id: u32| {
        let mut bytes = [tag.to_le_bytes(), rights.to_le_bytes()].concat();
        bytes.extend(id.to_le_bytes());
        bytes
    };
    let list = |version: u32, entries: &[Vec<u8>]| {
        [version.to_le_bytes().to_vec(), entries.concat()].concat()
    };
    let (own, roots) = (entry(2, 7, 1000), entry(2, 6, 0));
    let (group, mask) = (entry(4, 6, 0), entry(16, 6, 0));
    for (list, groups) in [
        (list(2, &[own.clone(), group, mask.clone()]), Some(vec![50])),
        (
            list(2, &[own.clone(), roots, entry(4, 5, 0), mask]),
            Some(vec![]),
        ),
        (
            list(2, &[entry(2, 5, 1001), entry(8, 4, 1001)]),
            Some(vec![]),
        ),
        (
            list(2, &[entry(8, 2, 1000), entry(8, 6, 0)]),
            Some(vec![1000, 0]),
        ),
        (list(2, &[entry(2, 2, 1001)]), None),
        (list(2, &[entry(64, 0, 0)]), None),
        (list(3, std::slice::from_ref(&own)), None),
        (list(2, &[own, vec![0]]), None),
        (vec![2, 0], None),
    ] {
        assert_eq!(groups_in(&list, 2, 50, Some(1000)), groups, "{list:?}");
    }
}
