//! A server with almost no resources says so: at its start, or in an answer.

use keyhole_tests::{Session, World, skipped};
use rustix::process::geteuid;
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
};

const KEY: &str = "k-hunter2-7f3a9c55aa01beef";

fn world() -> World {
    World::new()
        .file("a.md", "text")
        .map(format!("[keys]\n{KEY} = '~/a.md'\n"))
}

/// Whether the server started. Checks what it says in both cases.
fn says_what_is_missing(mut session: Session, place: &str) -> bool {
    session.begin();
    let id = session.call(KEY);
    let answer = loop {
        match session.receive_unless_ended() {
            Some(answer) if answer.message()["id"] == id => break Some(answer),
            Some(_) => {}
            None => break None,
        }
    };
    session.hang_up();
    let ended = session.ended();
    match &answer {
        None => {
            assert_eq!(ended.exit, Some(1), "{place}: {}", ended.stderr);
            let line = "keyhole: cannot start: too few file descriptors, threads or memory (";
            assert!(ended.stderr.starts_with(line), "{place}: {}", ended.stderr);
            assert_eq!(ended.stderr.lines().count(), 1, "{place}: {}", ended.stderr);
        }
        Some(answer) => {
            assert_eq!(ended.exit, Some(0), "{place}: {}", ended.stderr);
            assert_eq!(ended.stderr, "", "{place}");
            match answer.code() {
                None => answer.is("text"),
                Some(_) => answer.refused("out-of-resources"),
            }
        }
    }
    answer.is_some()
}

#[test]
fn with_few_descriptors_a_server_ends_in_order_or_answers_what_is_missing() {
    let mut world = world();
    let mut started = 0;
    for most in 6..=24 {
        world = world.open_files(most);
        let place = format!("{most} descriptors");
        started += usize::from(says_what_is_missing(world.serve(), &place));
    }
    // Both outcomes happened.
    assert!((1..19).contains(&started), "{started}");
}

/// To read its access control list, the program opens a directory once more.
#[test]
fn a_directory_that_cannot_be_looked_into_for_want_of_a_descriptor_is_not_called_untrusted() {
    let mut world = world();
    let config = world.path(".config");
    fs::set_permissions(config, Permissions::from_mode(0o770)).unwrap();
    let mut client = world.client();
    let trusted = client.load(KEY).code().is_none();
    client.end();
    if !trusted {
        return skipped(
            "breaks::low_resources::a_directory_that_cannot_be_looked_into_for_want_of_a_descriptor_is_not_called_untrusted",
            "this user's group is not his alone",
        );
    }
    for most in 12..=32 {
        world = world.open_files(most);
        says_what_is_missing(world.serve(), &format!("{most} descriptors"));
    }
}

/// The limit counts all threads of a user, and does not bind root. So the server runs
/// as a user who has few other threads: those of other tests.
#[test]
fn with_few_threads_a_server_ends_in_order_or_answers_what_is_missing() {
    if !geteuid().is_root() {
        let this = "with_few_threads_a_server_ends_in_order_or_answers_what_is_missing";
        let this = format!("breaks::low_resources::{this}");
        return skipped(&this, "only root can be another user");
    }
    let mut world = world().unprivileged();
    let mut started = 0;
    for most in [1, 2, 3, 4, 5, 6, 8, 10, 16, 100] {
        // Shells do not agree on the option's name.
        let script = format!(
            "if (ulimit -u 100) 2>/dev/null; then ulimit -u {most}; else ulimit -p {most}; fi; \
             exec \"$0\" \"$@\""
        );
        world = world.through(["/bin/sh", "-c", &script]);
        let place = format!("{most} threads");
        started += usize::from(says_what_is_missing(world.serve(), &place));
    }
    assert!((1..10).contains(&started), "{started}");
}
