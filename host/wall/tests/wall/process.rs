//! When a process gets a wall, and what every command gives up first.

use crate::world::{Attempt, Does::Itself, Wall, World, without};
use keyhole_wall::close_inherited;
use rustix::{io::Errno, process::geteuid};
use std::{fs::File, io::ErrorKind, os::fd::IntoRawFd as _, sync::mpsc, thread};

pub(crate) const ATTEMPTS: [Attempt; 3] = [
    (
        "only_without_any_wall_a_second_thread_is_allowed",
        Itself(second_thread),
        &[Wall::Plain, Wall::Roots, Wall::Neither],
    ),
    (
        "without_proc_there_is_a_wall",
        Itself(without_proc),
        &[Wall::Plain, Wall::Roots],
    ),
    (
        "what_was_left_open_is_closed_on_an_older_kernel",
        Itself(inherited),
        &[Wall::Plain],
    ),
];

fn second_thread(world: &World, wall: Wall) {
    let (_stop, stopped) = mpsc::channel::<()>();
    thread::spawn(move || stopped.recv());
    match (wall, world.restrict(wall)) {
        (Wall::Neither, Ok(())) => {}
        (Wall::Plain | Wall::Roots, Err(error)) if error.kind() == ErrorKind::Other => {}
        (_, other) => panic!("{other:?}"),
    }
}

fn without_proc(world: &World, wall: Wall) {
    if !geteuid().is_root() {
        return eprintln!(
            "skipped: without_proc_there_is_a_wall (only root can leave /proc behind)"
        );
    }
    rustix::process::chroot(&world.root).unwrap();
    world.restrict(wall).unwrap();
}

fn inherited(_: &World, _: Wall) {
    without(libc::SYS_close_range, Errno::NOSYS);
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
