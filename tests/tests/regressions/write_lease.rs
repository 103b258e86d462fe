//! The owner of the mapped file holds a write lease on it. An open then waits, usually
//! for 45 s, until the kernel takes the lease away. A few calls once made every other
//! key `busy` for that long.

use crate::beside::Beside;
use keyhole_tests::{World, skipped};

/// As many calls as once held every thread.
const CALLS: usize = 16;

#[test]
fn a_write_lease_on_a_file_refuses_its_own_key_at_once_and_no_other() {
    if !cfg!(target_os = "linux") {
        return skipped("only Linux has leases");
    }
    let world = World::new()
        .file("leased.md", "leased\n")
        .file("other.md", "other\n")
        .map("[keys]\nk-leased = '~/leased.md'\nk-other = '~/other.md'\n");
    let mut client = world.client();
    client.load("k-leased").is("leased\n");
    let holder = Beside::start(env!("CARGO_BIN_EXE_lease"), [world.path("leased.md")]);
    for _ in 0..2 {
        let calls: Vec<_> = (0..CALLS).map(|_| client.call("k-leased")).collect();
        client.load("k-other").is("other\n");
        for call in calls {
            client.answer(call).refused("changed");
        }
        client.load("k-other").is("other\n");
    }
    holder.end();
    client.load("k-leased").is("leased\n");
    client.end();
}
