//! Many calls at once, each with its own answer.

use keyhole_tests::{Protocol, World};
use std::collections::HashSet;

fn key(n: usize) -> String {
    format!("k-2c1f8a96d0e34b57-{n}")
}

/// A world with 32 files, and the key and content of each.
fn files(protocol: Protocol) -> (World, Vec<(String, String)>) {
    let mut world = World::new().speaking(protocol);
    let mut map = String::from("[keys]\n");
    let mut files = Vec::new();
    for n in 0..32 {
        // Of different lengths, some longer than one read.
        let content = format!("document {n}\n").repeat(1 + n * n * 7);
        world = world.file(&format!("notes/{n}.md"), &content);
        map.push_str(&format!("{} = '~/notes/{n}.md'\n", key(n)));
        files.push((key(n), content));
    }
    (world.map(map), files)
}

#[test]
fn documents_and_refusals_in_flight_are_not_mixed_up() {
    for protocol in Protocol::ALL {
        let (world, files) = files(protocol);
        let mut client = world.client();
        let asked: Vec<_> = (0..64)
            .map(|n| match n % 2 {
                0 => (client.call(&files[n / 2].0), Some(&files[n / 2].1)),
                _ => (client.call(&key(1000 + n)), None),
            })
            .collect();
        // In another order than they were sent in.
        let mut met = HashSet::new();
        for (id, content) in asked.into_iter().rev() {
            let answer = client.answer(id);
            match content {
                // On a busy machine, some come too late.
                _ if matches!(answer.code(), Some("busy" | "timed-out")) => continue,
                Some(content) => answer.is(content),
                None => answer.refused("unknown-key"),
            }
            met.insert(content.is_some());
        }
        assert_eq!(met.len(), 2, "{met:?}");
        client.end();
    }
}

/// If any kind of call leaked a descriptor, the later calls would fail.
#[test]
fn a_server_keeps_no_descriptor_of_a_call_that_has_ended() {
    let (world, files) = files(Protocol::Initialize);
    let world = world.file("notes/0.md", [0xFF]).after("ulimit -n 32");
    let mut client = world.client();
    for (at, (key, content)) in files.iter().enumerate() {
        client.load(&files[0].0).refused("not-utf8");
        client.load(&format!("{key}-wrong")).refused("unknown-key");
        if at > 0 {
            client.load(key).is(content);
        }
    }
    client.end();
}
