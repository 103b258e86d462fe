//! What every command gives up first, each in a process of its own.

use crate::world::{Wall, in_a_process, without};
use keyhole_wall::{close_inherited, hide_memory};
use libtest_mimic::Trial;
use rustix::{
    io::Errno,
    process::{DumpableBehavior, Resource, dumpable_behavior, getrlimit},
};
use std::{fs::File, os::fd::IntoRawFd as _};

const ATTEMPTS: [(&str, fn()); 3] = [
    ("what_was_left_open_is_closed", inherited),
    (
        "what_was_left_open_is_closed_on_an_older_kernel",
        inherited_by_name,
    ),
    ("no_core_is_left_and_no_memory_is_shown", memory),
];

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |(name, _)| Trial::test(name, move || in_a_process(name, Wall::Plain));
    ATTEMPTS.map(trial).into()
}

/// The attempt of this name.
pub(crate) fn attempt(name: &str) -> Option<fn()> {
    let known = ATTEMPTS.into_iter().find(|(known, _)| *known == name);
    known.map(|(_, attempt)| attempt)
}

fn inherited() {
    let left = |name| File::open(name).unwrap().into_raw_fd();
    let left = [left("/"), left("/dev/null"), left("/etc/passwd")];
    // SAFETY: it makes another descriptor, which nobody owns.
    let far = unsafe { libc::fcntl(left[0], libc::F_DUPFD, 700) };
    assert_eq!(far, 700);
    close_inherited().unwrap();
    let is_open = |descriptor| {
        // SAFETY: it asks for a flag of a descriptor, which need not be open.
        unsafe { libc::fcntl(descriptor, libc::F_GETFD) != -1 }
    };
    assert!(!left.into_iter().chain([far]).any(is_open));
    assert!((0..3).all(is_open));
}

fn inherited_by_name() {
    without(libc::SYS_close_range, Errno::NOSYS);
    inherited();
}

fn memory() {
    hide_memory().unwrap();
    assert_eq!(getrlimit(Resource::Core).maximum, Some(0));
    assert_eq!(dumpable_behavior(), Ok(DumpableBehavior::NotDumpable));
}
