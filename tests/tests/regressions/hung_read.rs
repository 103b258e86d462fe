//! A file system that hangs costs a thread for each call that waits for it, and nothing else as
//! long as one is left; then each call is answered at once, until it answers again. A map or a
//! root that hangs at the start delays it.

use super::fuse::{Hanging, Overlay, TEXT};
use keyhole_core::limits::Limits;
use keyhole_tests::{PATIENCE, World, skipped};
use rustix::process::{Signal, geteuid};
use std::{fs, os::unix::fs::symlink, thread, time::Instant};

const HONEST: &str = "k-hunter2-honest-7f3a9c55aa01";
const HUNG: &str = "k-hunter2-hung-7f3a9c55aa01";

/// The keys of a file that is served, and of one that hangs.
fn keys() -> String {
    format!("[keys]\n{HONEST} = '~/notes/honest.md'\n{HUNG} = '~/hung/a.md'\n")
}

/// A world with a file system that hangs, which must be dropped before its servers.
fn hung() -> Option<(World, Hanging)> {
    let world = World::new()
        .file("notes/honest.md", "honest")
        .directory("hung")
        .map(format!("roots = ['~/notes', '~/hung']\n{}", keys()));
    let mount = Hanging::mount(&world.path("hung"))?;
    Some((world, mount))
}

/// Its time is as long as rmcp waits at the end of the input.
#[test]
fn a_call_that_hangs_is_answered_although_the_input_has_ended() {
    let Some((world, mount)) = hung() else { return };
    let mut client = world.client();
    // Dropped first: until then, a server that hangs cannot be killed.
    let mount = mount;
    let call = client.call(HUNG);
    client.hang_up();
    client.answer(call).refused("timed-out");
    mount.let_go();
}

/// Neither may an answer wait for a thread: another user's pipes are written by one of the server's.
#[test]
fn calls_that_hang_are_answered_although_no_other_thread_is_to_be_had() {
    /// Who has no other process.
    const ALONE: u32 = 54_321;
    if !geteuid().is_root() {
        return skipped("only root can run a server as another user");
    }
    let world = World::new().directory("hung").map(keys()).run_by(ALONE);
    // As many as a start needs.
    let limit = ["/usr/bin/env", "PATH=/usr/bin:/bin", "prlimit", "--nproc=4"];
    let world = world.through(limit);
    let Some(mount) = Hanging::mount(&world.path("hung")) else {
        return;
    };
    let mut client = world.client();
    // Dropped first: until then, a server that hangs cannot be killed.
    let mount = mount;
    for call in [HUNG; 3].map(|key| client.call(key)) {
        client.answer(call).refused("timed-out");
    }
    mount.let_go();
}

#[test]
fn calls_that_hang_leave_the_others_until_they_have_all_threads_and_then_go_on() {
    let Some((world, mount)) = hung() else { return };
    let mut client = world.client();
    // Dropped first: until then, a server that hangs cannot be killed.
    let mount = mount;
    client.load(HONEST).is("honest");
    let threads = Limits::default().running;
    let calls: Vec<_> = (1..threads).map(|_| client.call(HUNG)).collect();
    let began = Instant::now();
    while mount.hung() < threads - 1 {
        assert!(began.elapsed() < PATIENCE, "no read hangs");
        client.load_at_last(HONEST).is("honest");
    }
    client.load_at_last(HONEST).is("honest");
    let last = client.call(HUNG);
    for call in calls.into_iter().chain([last]) {
        client.answer(call).refused("timed-out");
    }
    // Nobody waits for what cannot be served: the server says what to do. A call that comes
    // before it knows waits once.
    let mut answer = client.load(HONEST);
    if answer.code() == Some("busy") {
        answer = client.load(HONEST);
    }
    let said = answer.message().to_string();
    assert!(said.contains("/mcp"), "{said}");
    answer.refused("timed-out");
    mount.let_go();
    let began = Instant::now();
    while client.load(HONEST).text() != Some("honest") {
        assert!(began.elapsed() < PATIENCE, "it hangs for ever");
    }
    client.load_at_last(HUNG).is(TEXT);
    drop(mount);
    client.end();
}

/// Waits until somebody hangs there.
fn wait_until_asked(mount: &Hanging) {
    let began = Instant::now();
    while mount.ignored() == 0 {
        assert!(began.elapsed() < PATIENCE, "nothing hangs");
        thread::yield_now();
    }
}

/// A client shows that it connects; it knows nothing better to do.
#[test]
fn a_map_or_a_root_that_hangs_delays_a_start_and_costs_nothing_else() {
    for of_map in [true, false] {
        let Some((world, mount)) = hung() else { return };
        mount.ignore_all();
        if of_map {
            let map = fs::read(world.map_path()).unwrap();
            world.remove_map();
            symlink(world.path("hung/map.toml"), world.map_path()).unwrap();
            world.write("map.toml", map);
        } else {
            world.write_map(format!("roots = ['~/notes', '~/hung/beneath']\n{}", keys()));
        }
        let mut client = world.serve();
        let mount = mount;
        wait_until_asked(&mount);
        // What hung is gone.
        drop(mount);
        if of_map {
            world.remove_map();
            fs::rename(world.path("map.toml"), world.map_path()).unwrap();
        }
        let _ = client.handshake();
        client.load_at_last(HONEST).is("honest");
        let said = client.ends_saying();
        assert_eq!(said.contains("timed-out: "), of_map, "{said}");
    }
}

#[test]
fn a_start_that_hangs_ends_on_a_signal() {
    let Some((world, mount)) = hung() else { return };
    mount.ignore_all();
    world.write_map(format!("roots = ['~/hung/beneath']\n{}", keys()));
    let client = world.serve();
    wait_until_asked(&mount);
    client.signal(Signal::TERM);
    drop(mount);
    // The signal ended it: a server that ends has an exit code.
    assert_eq!(client.ended().exit, None);
}

/// The kernel holds these as it holds a local disk, and the list of mounts is read when it is
/// needed.
#[test]
fn a_root_on_fuse_or_on_an_overlay_is_served() {
    let Some((world, mount)) = hung() else { return };
    mount.let_go();
    let world = world.directory("over");
    let overlay = Overlay::mount(&world.path("notes"), &world.path("over"));
    if overlay.is_none() {
        return;
    }
    world.write_map(format!(
        "roots = ['~/over', '~/hung']\n[keys]\n{HONEST} = '~/over/honest.md'\n{HUNG} = '~/hung/a.md'\n"
    ));
    let mut client = world.client();
    let mounts = (mount, overlay);
    client.load(HONEST).is("honest");
    client.load(HUNG).is(TEXT);
    drop(mounts);
    client.end();
}
