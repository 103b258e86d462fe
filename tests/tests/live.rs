//! The map is live: what the user changes counts from the next call on.

use keyhole_tests::{World, while_repeating};
use std::{
    fs,
    os::unix::fs::symlink,
    thread,
    time::{Duration, SystemTime},
};

const ONE: &str = "[keys]\nk-1 = '~/1.md'\n";
const TWO: &str = "[keys]\nk-2 = '~/2.md'\n";
const BOTH: &str = "[keys]\nk-1 = '~/1.md'\nk-2 = '~/2.md'\n";

fn world() -> World {
    World::new().file("1.md", "one").file("2.md", "two")
}

#[test]
fn a_key_that_is_removed_is_refused_at_the_very_next_call() {
    for save in [World::write_map, World::replace_map] as [fn(&World, &'static str); 2] {
        for (world, mut client) in World::in_each_protocol(|| world().map(BOTH)) {
            for _ in 0..3 {
                client.load("k-1").is("one");
                save(&world, TWO);
                client.load("k-1").refused("unknown-key");
                client.load("k-2").is("two");
                save(&world, BOTH);
            }
            client.end();
        }
    }
}

#[test]
fn a_map_that_is_another_link_now_counts() {
    let world = world().file("maps/1.toml", ONE).file("maps/2.toml", TWO);
    let map = world.map_path();
    let point_at = |target: &str| {
        let new = map.with_extension("new");
        fs::create_dir_all(map.parent().unwrap()).unwrap();
        symlink(world.path(target), &new).unwrap();
        fs::rename(&new, &map).unwrap();
    };
    point_at("maps/1.toml");
    world.mode(".config/keyhole", 0o700);
    let mut client = world.client();
    client.load("k-1").is("one");
    // The directory of the real file counts too.
    world.mode("maps", 0o777);
    client.load("k-1").refused("map-invalid");
    world.mode("maps", 0o700);
    point_at("maps/2.toml");
    client.load("k-1").refused("unknown-key");
    client.load("k-2").is("two");
    point_at("maps/3.toml");
    client.load("k-2").refused("map-missing");
    client.end();
}

/// While a writer writes the map in place, over and over, the server reads all of it
/// or nothing. Half of the old map would be another map: one without the limit that
/// keeps the file from being served. Half of the new one is not a map.
///
/// The writer may be delayed for longer than the server waits. Then the server is right
/// to find no key in the empty file, so any refusal is right.
#[test]
fn no_call_sees_half_of_a_change() {
    let comment = "# a line to make it long\n".repeat(500);
    let old = format!("[keys.k-1]\npath = '~/limited.md'\n{comment}max_bytes = 3\n");
    let new = format!("[keys]\n{comment}k-1 = '~/1.md'\n");
    let world = world().file("limited.md", "half a map").map(&old);
    let mut client = world.client();
    client.load("k-1").refused("too-large");
    let write = || {
        for text in [&new, &old] {
            world.write_map(text);
            // About as long as the server waits: 20 ms.
            let now = SystemTime::UNIX_EPOCH.elapsed().unwrap();
            thread::sleep(Duration::from_millis(u64::from(now.subsec_micros() % 40)));
        }
    };
    while_repeating(write, || {
        for _ in 0..60 {
            let answer = client.load("k-1");
            let text = answer.text();
            assert!(
                text.is_none() || text == Some("one"),
                "{}",
                answer.message()
            );
        }
    });
    // Whatever the server saw before, the last map counts.
    world.write_map(&new);
    client.load("k-1").is("one");
    client.end();
}
