//! A file system that hangs costs a thread for each call that waits for it, and nothing else as
//! long as one is left; then each call is answered at once, until it answers again. A map or a
//! root that hangs at the start keeps no server from starting.

use super::fuse::{Hanging, Overlay, TEXT};
use crate::wall::stands;
use keyhole_core::limits::Limits;
use keyhole_tests::{PATIENCE, World};
use std::{
    fs,
    os::unix::fs::symlink,
    thread,
    time::{Duration, Instant},
};

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

/// As for a user who takes the map off a network that is gone: the reading that hangs there goes
/// on to hang.
#[test]
fn a_map_that_hangs_at_the_start_is_said_and_keeps_nobody_from_the_next_one() {
    let Some((world, mount)) = hung() else { return };
    mount.ignore_all();
    let map = fs::read(world.map_path()).unwrap();
    world.remove_map();
    symlink(world.path("hung/map.toml"), world.map_path()).unwrap();
    let mut client = world.serve();
    let mount = mount;
    let _ = client.handshake();
    client.load(HONEST).refused("timed-out");
    world.replace_map(map);
    client.load(HONEST).is("honest");
    drop(mount);
    let said = client.ends_saying();
    assert!(said.contains("timed-out: "), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

/// Nobody can look up a name there. A mount that hangs is no obstacle itself, only what is
/// beneath it.
#[test]
fn a_root_that_hangs_delays_a_start_and_costs_its_own_files() {
    for (roots, says) in [
        ("'~/notes', '~/hung'", ""),
        (
            "'~/notes', '~/hung/beneath'",
            "a folder in them does not answer",
        ),
    ] {
        let Some((world, mount)) = hung() else { return };
        mount.ignore_all();
        world.write_map(format!("roots = [{roots}]\n{}", keys()));
        let mut client = world.serve();
        let mount = mount;
        let _ = client.handshake();
        client.load(HONEST).is("honest");
        drop(mount);
        let said = client.ends_saying();
        assert!(said.contains(says), "{said}");
        assert_eq!(said.is_empty(), says.is_empty() && stands(), "{said}");
    }
}

/// The thread that hangs there is outside the wall, so it is not whole.
#[test]
fn a_server_that_requires_its_wall_does_not_start_beside_a_root_that_hangs() {
    if !stands() {
        return;
    }
    let Some((world, mount)) = hung() else { return };
    mount.ignore_all();
    world.write_map(format!("roots = ['~/notes', '~/hung/beneath']\n{}", keys()));
    let server = world.argument("--require-wall").serve();
    let leader = format!("/proc/{0}/task/{0}/status", server.process_id());
    let began = Instant::now();
    // Its other thread keeps the process from ending until the mount is gone.
    while fs::read_to_string(&leader).is_ok_and(|status| !status.contains("State:\tZ")) {
        assert!(began.elapsed() < PATIENCE, "it serves");
        thread::sleep(Duration::from_millis(10));
    }
    drop(mount);
    let said = server.does_not_start();
    assert!(said.contains("a folder in them does not answer"), "{said}");
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
