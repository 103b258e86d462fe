//! The owner of the mapped file holds a write lease on it. An open then waits, usually
//! for 45 s, until the kernel takes the lease away. A few calls once made every other
//! key `busy` for that long.

use keyhole_tests::{PATIENCE, World};
use std::{
    fs::File,
    os::fd::AsRawFd as _,
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// As many calls as once held every thread.
const CALLS: usize = 16;

/// From `asm-generic/fcntl.h`; the `libc` crate does not have it everywhere.
const F_SETSIG: i32 = 10;

fn control(file: &File, command: i32, argument: i32) -> bool {
    // SAFETY: these commands take a number, and the descriptor is open.
    unsafe { libc::fcntl(file.as_raw_fd(), command, argument) != -1 }
}

/// Takes the lease. Nobody else may have the file open.
fn lease(path: &Path) -> File {
    let file = File::options().read(true).write(true).open(path).unwrap();
    // The kernel asks for the lease with SIGIO, which would end this process; SIGURG does not.
    assert!(control(&file, F_SETSIG, libc::SIGURG));
    let began = Instant::now();
    while !control(&file, libc::F_SETLEASE, libc::F_WRLCK) {
        assert!(began.elapsed() < PATIENCE, "no lease");
        thread::sleep(Duration::from_millis(10));
    }
    file
}

#[test]
fn a_write_lease_on_a_file_refuses_its_own_key_at_once_and_no_other() {
    let world = World::new()
        .file("leased.md", "leased\n")
        .file("other.md", "other\n")
        .map("[keys]\nk-leased = '~/leased.md'\nk-other = '~/other.md'\n");
    let mut client = world.client();
    client.load("k-leased").is("leased\n");
    let file = lease(&world.path("leased.md"));
    for _ in 0..2 {
        let calls: Vec<_> = (0..CALLS).map(|_| client.call("k-leased")).collect();
        client.load("k-other").is("other\n");
        for call in calls {
            client.answer(call).refused("changed");
        }
        client.load("k-other").is("other\n");
    }
    // A child of another test may have the file open for a moment longer.
    assert!(control(&file, libc::F_SETLEASE, libc::F_UNLCK));
    client.load("k-leased").is("leased\n");
    client.end();
}

#[test]
fn a_write_lease_on_the_map_refuses_each_call_at_once() {
    let world = World::new().with_k1("content\n");
    let mut client = world.client();
    client.load("k-1").is("content\n");
    let map = lease(&world.map_path());
    let calls: Vec<_> = (0..CALLS).map(|_| client.call("k-1")).collect();
    for call in calls {
        client.answer(call).refused("changed");
    }
    assert!(control(&map, libc::F_SETLEASE, libc::F_UNLCK));
    client.load("k-1").is("content\n");
    client.end();
}
