//! A read that hangs affects only its own file: the server serves every other key all
//! the time, and the file itself again when the cause is gone.

use super::fuse::{Hanging, TEXT};
use keyhole_tests::{PATIENCE, World, skipped};
use std::{
    thread,
    time::{Duration, Instant},
};

const HONEST: &str = "k-hunter2-honest-7f3a9c55aa01";

/// As many as docs/refusals.md promises.
const FILES: usize = 3;

/// Calls for one file that run at once; the others wait.
const AT_ONCE: usize = 4;

fn key(number: usize) -> String {
    format!("k-hunter2-hung-7f3a9c55-{number}")
}

#[test]
fn reads_that_hang_keep_no_other_key_waiting_and_leave_nothing_behind() {
    let mut map = format!("[keys]\n{HONEST} = '~/honest.md'\n");
    for number in 0..FILES {
        map += &format!("{} = '~/hung/{number}.md'\n", key(number));
    }
    let world = World::new()
        .directory("hung")
        .file("honest.md", "honest")
        .map(map);
    let mut client = world.client();
    // Dropped before the client, because otherwise its server could not end.
    let hanging = match Hanging::mount(&world.path("hung")) {
        Ok(hanging) => hanging,
        Err(why) => {
            let this = "reads_that_hang_keep_no_other_key_waiting_and_leave_nothing_behind";
            skipped(&format!("breaks::hung_read::{this}"), why);
            return client.end();
        }
    };
    client.load(HONEST).is("honest");
    let calls: Vec<u64> = (0..20 * FILES)
        .map(|call| client.call(&key(call % FILES)))
        .collect();
    // All the time: until the last of them was given up, and for some time after.
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(8) {
        client.load(HONEST).is("honest");
        thread::sleep(Duration::from_millis(5));
    }
    let mut timed_out = 0;
    for call in calls {
        let answer = client.answer(call);
        match answer.code() {
            Some("timed-out") => timed_out += 1,
            _ => answer.refused("busy"),
        }
    }
    assert_eq!(timed_out, AT_ONCE * FILES);
    assert_eq!(hanging.hung(), AT_ONCE * FILES);
    hanging.let_go();
    for number in 0..FILES {
        let began = Instant::now();
        loop {
            let answer = client.load(&key(number));
            if answer.text().is_some() {
                break answer.is(TEXT);
            }
            answer.refused("busy");
            assert!(began.elapsed() < PATIENCE, "busy for ever");
            thread::sleep(Duration::from_millis(10));
        }
    }
    client.load(HONEST).is("honest");
    drop(hanging);
    client.end();
}
