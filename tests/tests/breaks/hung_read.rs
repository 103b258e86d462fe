//! A file system that hangs affects only its own files: the server serves every other key all
//! the time, and the files themselves again when the cause is gone. The files once shared
//! their threads with all others, under each spelling, and as roots that nobody asked for.

use super::fuse::{Hanging, Overlay, TEXT};
use crate::sealed::stands;
use keyhole_tests::{PATIENCE, World};
use std::time::{Duration, Instant};

const HONEST: &str = "k-hunter2-honest-7f3a9c55aa01";

/// As many as docs/refusals.md promises.
const MOUNTS: usize = 3;

/// Calls of one file system that run at once.
const AT_ONCE: usize = 4;

/// Each mount has a file under four names: two spellings, a link, and another file.
const NAMES: [&str; 4] = [
    "hung/N/a.md",
    "hung/N/../N/./a.md",
    "link-N.md",
    "hung/N/b.md",
];

fn key(mount: usize, name: usize) -> String {
    format!("k-hunter2-hung-7f3a9c55-{mount}-{name}")
}

/// A world with file systems that hang, which must be dropped before its servers.
fn hung() -> Option<(World, Vec<Hanging>)> {
    let mut world = World::new().file("notes-private/honest.md", "honest");
    let mut map = format!("[keys]\n{HONEST} = '~/notes-private/honest.md'\n");
    for mount in 0..MOUNTS {
        let named = |name: &str| name.replace('N', &mount.to_string());
        world = world
            .directory(&named("hung/N"))
            .link(&named("link-N.md"), named("hung/N/a.md"));
        for (at, name) in NAMES.iter().enumerate() {
            map += &format!("{} = '~/{}'\n", key(mount, at), named(name));
        }
    }
    let world = world.map(map);
    let mounts: Option<Vec<_>> = (0..MOUNTS)
        .map(|mount| Hanging::mount(&world.path(&format!("hung/{mount}"))))
        .collect();
    Some((world, mounts?))
}

#[test]
fn reads_that_hang_keep_no_other_key_waiting_and_leave_nothing_behind() {
    if let Some((world, mounts)) = hung() {
        flood(&world, mounts);
    }
}

#[test]
fn reads_that_hang_do_so_no_more_in_a_sealed_server() {
    if stands()
        && let Some((world, mounts)) = hung()
    {
        flood(&world.argument("--sealed"), mounts);
    }
}

fn flood(world: &World, mounts: Vec<Hanging>) {
    let mut client = world.client();
    // Dropped first: until then, a server that hangs cannot be killed.
    let mounts = mounts;
    client.load(HONEST).is("honest");
    let mut calls: std::collections::HashSet<u64> = (0..5 * NAMES.len())
        .flat_map(|call| (0..MOUNTS).map(move |mount| key(mount, call % NAMES.len())))
        .map(|key| client.call(&key))
        .collect();
    // All the time, until the last of them was given up.
    let mut honest = client.call(HONEST);
    while !calls.is_empty() {
        let answer = client.receive();
        let id = answer.message()["id"].as_u64().unwrap();
        if id == honest {
            // On a busy machine, it may be too late now and then.
            answer.is_or_late("honest");
            honest = client.call(HONEST);
        } else if answer.code() != Some("timed-out") {
            answer.refused("busy");
        }
        calls.remove(&id);
    }
    client.answer(honest).is_or_late("honest");
    client.load_at_last(HONEST).is("honest");
    for mount in &mounts {
        assert_eq!(mount.hung(), AT_ONCE);
        mount.let_go();
    }
    for mount in 0..MOUNTS {
        let began = Instant::now();
        loop {
            let answer = client.load(&key(mount, 0));
            if answer.text().is_some() {
                break answer.is(TEXT);
            }
            assert!(matches!(answer.code(), Some("busy" | "timed-out")));
            assert!(began.elapsed() < PATIENCE, "it hangs for ever");
        }
    }
    client.load(HONEST).is("honest");
    drop(mounts);
    client.end();
}

/// It looks like a file system on this machine's own disk.
#[test]
fn an_overlay_of_a_file_system_that_hangs_keeps_no_other_key_waiting() {
    let Some((mut world, mounts)) = hung() else {
        return;
    };
    let mut map = format!("[keys]\n{HONEST} = '~/notes-private/honest.md'\n");
    let mut overlays = Vec::new();
    for mount in 0..MOUNTS {
        let over = format!("over-{mount}");
        world = world.directory(&over);
        let lower = world.path(&format!("hung/{mount}"));
        let Some(overlay) = Overlay::mount(&lower, &world.path(&over)) else {
            return;
        };
        overlays.push(overlay);
        for file in 0..10 {
            map += &format!("{} = '~/{over}/{file}.md'\n", key(mount, file));
        }
    }
    world.write_map(map);
    let mut client = world.client();
    let mounts = (mounts, overlays);
    // In the second round, looking up a new name hangs too, and counts towards the same limit.
    for first in [0, 5] {
        for call in 0..25 {
            for mount in 0..MOUNTS {
                let _ = client.call(&key(mount, first + call % 5));
            }
        }
        let began = Instant::now();
        loop {
            client.load_at_last(HONEST).is("honest");
            if mounts.0.iter().all(|mount| mount.hung() > 0) {
                break;
            }
            assert!(began.elapsed() < PATIENCE, "no read hangs");
        }
        mounts.0.iter().for_each(Hanging::ignore_all);
    }
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(2) {
        client.load_at_last(HONEST).is("honest");
    }
    drop(mounts);
    client.hang_up();
    assert_eq!(client.ended().exit, Some(0));
}

/// Not even a name can be looked up there. A root's text may begin as a file's path does,
/// and a path need not begin as its root does.
#[test]
fn roots_that_hang_and_that_nobody_asks_for_delay_nothing() {
    let Some((world, mounts)) = hung() else {
        return;
    };
    for mount in &mounts {
        mount.ignore_all();
    }
    world.write("hung/0-private/honest.md", "beside");
    let relative = "k-hunter2-relative-7f3a9c55aa";
    world.write_map(format!(
        "roots = ['~/hung/0', '~/hung/1', '~/hung/0-private', '~/notes-private']\n[keys]\n\
         {HONEST} = '~/hung/0-private/honest.md'\n{relative} = '../../notes-private/honest.md'\n"
    ));
    let mut client = world.client();
    let mounts = mounts;
    for _ in 0..30 {
        client.load(HONEST).is("beside");
        client.load(relative).is("honest");
    }
    drop(mounts);
    client.end();
}

/// The first answer of a sealed server comes after it has looked at all of its files.
#[test]
fn a_sealed_server_and_check_say_what_hangs_and_go_on() {
    if !stands() {
        return;
    }
    let Some((world, mounts)) = hung() else {
        return;
    };
    for mount in &mounts {
        mount.ignore_all();
    }
    world.write_map(format!(
        "[keys]\n{HONEST} = '~/notes-private/honest.md'\n{} = '~/hung/0/a.md'\n",
        key(0, 0)
    ));
    let world = world.argument("--sealed");
    let mut client = world.serve();
    let mounts = mounts;
    let _ = client.handshake();
    client.load(HONEST).is("honest");
    client.load(&key(0, 0)).refused("timed-out");
    let report = world.run(["check", "--json"]).exits(1).json();
    let codes = report["entries"].as_array().unwrap().iter();
    let codes: Vec<_> = codes.map(|entry| entry["code"].as_str()).collect();
    assert_eq!(codes, [None, Some("timed-out")]);
    // Nor does it matter if the home hangs.
    let honest = world.path("notes-private/honest.md");
    world.write(
        "alone.toml",
        format!("[keys.{HONEST}]\npath = '{}'\n", honest.display()),
    );
    let (map, home) = (world.path("alone.toml"), world.path("hung/1"));
    let world = world.env("HOME", home);
    let check = ["check".as_ref(), "--map".as_ref(), map.as_os_str()];
    let _ = world.run(check).exits(0).mentions("1 of 1");
    drop(mounts);
    client.end();
}

/// What hangs is the key's file, not the map's. The start ends all the same, and says so.
#[test]
fn a_server_whose_key_file_hangs_answers_and_does_not_blame_the_map() {
    let both = [false, true]
        .into_iter()
        .filter(|sealed| !sealed || stands());
    let hung: Vec<_> = both.filter_map(|sealed| Some((sealed, hung()?))).collect();
    // At once, because each waits for what hangs.
    std::thread::scope(|threads| {
        for (sealed, (world, mounts)) in hung {
            threads.spawn(move || the_key_file_hangs(world, mounts, sealed));
        }
    });
}

fn the_key_file_hangs(world: World, mounts: Vec<Hanging>, sealed: bool) {
    world.write_map(format!(
        "[keys]\n{HONEST} = '~/notes-private/honest.md'\n\
         [bindings.notes]\nkey_file = '~/hung/0/key.md'\n"
    ));
    let world = world.arguments(["--bind", "notes"]);
    let world = match sealed {
        true => world.argument("--sealed"),
        false => world,
    };
    let mut client = world.serve();
    let mounts = mounts;
    let _ = client.handshake();
    client.load_bound().refused("timed-out");
    drop(mounts);
    client.hang_up();
    let said = client.ended().stderr;
    assert!(!said.contains("of the context map"), "{said}");
    assert_eq!(said.contains("key_file does not answer"), !sealed, "{said}");
}
