//! In a user namespace, the kernel shows each owner without a number there as one user, the
//! overflow user. A program that runs as this one took everybody's files for its own.

use super::foreign_directory::{STRANGER, can_be_two_users, owned};
use keyhole_tests::{NOBODY, Ran, World, skipped};
use std::{os::unix::process::CommandExt as _, process::Command};

#[test]
fn another_users_map_is_not_used_by_the_user_who_stands_for_all_that_have_no_number() {
    if !can_be_two_users() {
        return;
    }
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "true"]).uid(NOBODY).gid(NOBODY);
    if Ran::of(&mut unshare, b"").exit != Some(0) {
        return skipped("no user namespaces");
    }
    let world = World::new().with_k1("hunter2").unprivileged();
    let mut client = world.client();
    client.load("k-1").is("hunter2");
    client.end();
    // Anybody may read it: what is asked is only whose it is.
    owned(&world.map_path(), STRANGER, 0o644);
    let mut world = world;
    for through in [&[][..], &["unshare", "--user"]] {
        world = world.through(through);
        let mut client = world.client();
        client.load("k-1").refused("map-invalid");
        client.end();
    }
    let said = world.run(["check"]).exits(2);
    let _ = said.mentions("run keyhole as another user");
}
