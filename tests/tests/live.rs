//! The map is live: what the user changes counts from the next call on. That no call sees half of
//! a change, the model holds.

use keyhole_tests::World;

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
