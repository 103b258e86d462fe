//! Attacks that need more than one attack and one call after it.

use super::ground::{GRANTED, Ground, SOON, component};
use keyhole::{Caller, Code, Grant, Loader, limits::Limits, sandbox::Executor};
use keyhole_tests::{PATIENCE, World};
use std::{
    sync::{Condvar, Mutex},
    time::{Duration, Instant},
};
use tokio::{
    join,
    time::{sleep, timeout},
};

include!(concat!(env!("OUT_DIR"), "/guest.rs"));

const KEYS: [(&str, u64); 3] = [("endless_loop", 1024), ("hung", 1024), ("honest", 1024)];

/// Limits with one call at a time, and `abandoned` more threads.
fn few_threads(abandoned: usize) -> Limits {
    Limits {
        deadline: SOON,
        running: 1,
        abandoned,
        ..Limits::default()
    }
}

/// Makes honest calls until one is served: the thread that it needs comes back when
/// the operating system schedules it.
fn is_served_soon<G: Executor>(ground: &Ground, loader: &Loader<G>) {
    let began = Instant::now();
    loop {
        match ground.load(loader, "honest") {
            Ok(text) => return assert!(text.starts_with(GRANTED)),
            Err(code) => assert_eq!(code, Code::Busy),
        }
        assert!(began.elapsed() < PATIENCE, "busy for ever");
        ground.run(async { sleep(Duration::from_millis(10)).await });
    }
}

#[test]
fn an_honest_call_is_served_while_a_guest_computes_for_ever() {
    let ground = Ground::new(KEYS);
    let limits = Limits {
        deadline: SOON,
        ..Limits::default()
    };
    let loader = ground.attacked_by(&component(IMAGE).unwrap(), limits);
    let (attack, honest) = ground.run(async {
        let honest = async {
            let content = loader.load("honest", &Caller::Nobody).await.unwrap();
            assert!(content.text.starts_with(GRANTED));
            Instant::now()
        };
        let attack = async {
            assert_eq!(
                loader
                    .load("endless_loop", &Caller::Nobody)
                    .await
                    .unwrap_err(),
                Code::TimedOut
            );
            Instant::now()
        };
        join!(attack, honest)
    });
    assert!(honest < attack, "it waited for the attack to end");
}

#[test]
fn a_guest_whose_caller_went_away_is_stopped() {
    let ground = Ground::new(KEYS);
    let loader = ground.attacked_by(&component(IMAGE).unwrap(), few_threads(0));
    ground.run(async {
        let call = timeout(SOON / 10, loader.load("endless_loop", &Caller::Nobody));
        assert!(call.await.is_err(), "it was still computing");
    });
    is_served_soon(&ground, &loader);
}

/// For one key, hangs like a read in the kernel that nothing can stop, until the test
/// releases it. For all others it answers.
#[derive(Default)]
struct Hung {
    is_let_go: Mutex<bool>,
    let_go: Condvar,
}

impl Executor for &'static Hung {
    fn call(&self, key: &str, _: Option<Grant>, _: Instant) -> Result<String, Code> {
        if key == "hung" {
            let is_let_go = self.is_let_go.lock().unwrap();
            drop(self.let_go.wait_while(is_let_go, |is_let_go| !*is_let_go));
        }
        Ok(GRANTED.to_owned())
    }

    /// The interrupt that stops a computing guest does not reach into the kernel.
    fn interrupt(&self) {}
}

#[test]
fn threads_that_hang_in_the_kernel_are_bounded_and_come_back() {
    let ground = Ground::new(KEYS);
    let hung: &Hung = Box::leak(Box::default());
    let loader = ground.loader(hung, few_threads(1));
    for _ in 0..2 {
        assert_eq!(ground.load(&loader, "hung"), Err(Code::TimedOut));
    }
    for key in ["hung", "honest"] {
        assert_eq!(ground.load(&loader, key), Err(Code::Busy));
    }
    *hung.is_let_go.lock().unwrap() = true;
    hung.let_go.notify_all();
    is_served_soon(&ground, &loader);
}

/// The promise is 500 MB; with less memory the result is beyond doubt.
#[test]
fn eight_calls_at_once_are_served_in_400_mb_of_address_space() {
    let text = "a line of text\n".repeat(60_000);
    let world = World::new()
        .file("a.md", &text)
        .map("[keys]\nk = '~/a.md'\n")
        .through(["/bin/sh", "-c", "ulimit -v 400000 && exec \"$0\" \"$@\""]);
    let mut client = world.client();
    for _ in 0..5 {
        let calls: Vec<_> = (0..8).map(|_| client.call("k")).collect();
        for call in calls {
            client.answer(call).is(&text);
        }
    }
    client.end();
}
