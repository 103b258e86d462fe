//! In a user namespace, the kernel shows each owner without a number there as one user, the
//! overflow user. A program that runs as this one took everybody's files for its own.

use super::{STRANGER, can_be_two_users, owned};
use keyhole_tests::{NOBODY, Ran, World, skipped};
use std::{os::unix::process::CommandExt as _, process::Command};

/// Whether the test can run another user's program in a namespace.
fn can_be_in_a_namespace() -> bool {
    can_be_two_users() && {
        let mut unshare = Command::new("unshare");
        unshare.args(["--user", "true"]).uid(NOBODY).gid(NOBODY);
        let can = Ran::of(&mut unshare, b"").exit == Some(0);
        if !can {
            skipped("no user namespaces");
        }
        can
    }
}

/// In a sandbox with one user, who owns `/` has no number.
#[test]
fn that_owners_are_unknown_in_a_namespace_is_said() {
    if !can_be_in_a_namespace() {
        return;
    }
    let world = World::new().with_k1("hunter2").unprivileged();
    let said = world
        .through(["unshare", "--user", "--map-root-user"])
        .run(["check"])
        .exits(2);
    let _ = said.mentions("owners are unknown here: this is a sandbox in which / belongs");
}

#[test]
fn another_users_map_is_not_used_by_the_user_who_stands_for_all_that_have_no_number() {
    if !can_be_in_a_namespace() {
        return;
    }
    let world = World::new().with_k1("hunter2").unprivileged();
    world.load("k-1").is("hunter2");
    // Anybody may read it: what is asked is only whose it is.
    owned(&world.map_path(), STRANGER, 0o644);
    let mut world = world;
    for through in [&[][..], &["unshare", "--user"]] {
        world = world.through(through);
        world.load("k-1").refused("map-invalid");
    }
    let said = world.run(["check"]).exits(2);
    let _ = said.mentions("run keyhole as another user");
}
