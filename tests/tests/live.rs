//! The map is live: what the user changes counts from the next call on.

use crate::regressions::saved_in_place::{each_call_gets, some_rest};
use keyhole_tests::World;
use keyhole_walk::APART;
use std::{fs::File, io::Write as _, thread};

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

/// While a writer writes the map in place, over and over, the server reads all of it
/// or nothing. Half of the old map would be another map: one without the limit that
/// keeps the file from being served. Half of the new one has no key.
#[test]
fn no_call_sees_half_of_a_change() {
    let comment = "# a line to make it long\n".repeat(500);
    let old = format!("[keys.k-1]\npath = '~/limited.md'\n{comment}max_bytes = 3\n");
    let new = format!("[keys]\n{comment}k-1 = '~/1.md'\n");
    let world = world().file("limited.md", "half a map").map(&old);
    let mut client = world.client();
    client.load("k-1").refused("too-large");
    let save = |version: usize| {
        let (half, rest) = [&old, &new][version].split_at(5000);
        let mut map = File::create(world.map_path()).unwrap();
        map.write_all(half.as_bytes()).unwrap();
        thread::sleep(APART / 4);
        map.write_all(rest.as_bytes()).unwrap();
    };
    let whole = ["too-large", "one"];
    let half = ["half a map", "unknown-key"];
    each_call_gets(whole, "map-invalid", &half, save, some_rest, || {
        let answer = client.load_at_last("k-1");
        answer.text().or(answer.code()).unwrap().to_owned()
    });
    // Whatever the server saw before, the last map counts.
    world.write_map(&new);
    client.load("k-1").is("one");
    client.end();
}
