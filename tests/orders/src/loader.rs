//! `loader.rs` and `watch.rs`, with the gates, the guesses and the threads: every call
//! gets one answer, its own. If calls are cancelled, hang, are late or panic, all that
//! they hold comes back, and the host serves calls for other files.

use crate::{
    guest::{Fake, Files, KINDS, limits, text},
    host::{
        Caller, Code,
        call::Content,
        limits::Limits,
        loader::Loader,
        map::{LiveMap, MapSource},
    },
    run::{Scenario, met},
    shim::{
        choose,
        clock::{Instant, Pace, sleep},
        others_first,
        std::thread::refuse_some,
        tokio::{
            sync::{permits_out, semaphores},
            task::join_all,
            time::timeout,
        },
    },
};
use shuttle::future::{block_on, spawn};
use std::{sync::Arc, time::Duration};

/// Two keys for one file, one for another, one that could be guessed, and two wrong
/// ones.
const ONE: &str = "k-2c1f8a96d0e34b57-1";
const SAME: &str = "k-2c1f8a96d0e34b57-2";
const OTHER: &str = "k-2c1f8a96d0e34b57-3";
const SHORT: &str = "k-4";
const WRONG: &str = "k-2c1f8a96d0e34b57-5";
const WRONG_SHORT: &str = "k-6";
const KEYS: [&str; 6] = [ONE, SAME, OTHER, SHORT, WRONG, WRONG_SHORT];

/// The loader's own semaphores: its queue, its permits, and two of the guesses. Each gate
/// has one more.
const SEMAPHORES: usize = 5;

fn loader(map: &Arc<LiveMap>, files: &Arc<Files>, limits: Limits) -> Arc<Loader<Fake>> {
    let map = MapSource::Live(Arc::clone(map));
    let loader = Loader::new(map, Fake(Arc::clone(files)), limits);
    loader.start().unwrap();
    Arc::new(loader)
}

/// Asserts that nobody holds anything any more.
fn is_whole() {
    join_all();
    assert_eq!((semaphores(), permits_out()), (SEMAPHORES, 0));
}

/// Asserts that a call for `key`, whose file is one of `files`, may have this answer.
fn is_due(key: &str, files: &[&str], answer: Result<&str, Code>) {
    let panics = files.iter().any(|file| file.starts_with("panics"));
    let is_wrong = files.is_empty();
    met(answer.map_or_else(Code::as_str, |_| "ok"));
    let due = match answer {
        Ok(answer) => files.iter().any(|file| answer == text(key, file)),
        Err(Code::UnknownKey) => is_wrong,
        Err(Code::Internal) => panics,
        // The clock runs at any speed, so any call may take too long.
        Err(Code::Busy | Code::TimedOut | Code::OutOfResources) => true,
        Err(_) => false,
    };
    assert!(due, "{key}: {answer:?}");
}

/// Three clients, whose calls reach every limit. Some give up.
fn calls() {
    let kind = || KINDS[choose(KINDS.len())];
    let (first, second) = (format!("{}-1.md", kind()), format!("{}-2.md", kind()));
    let third = format!("{}-3.md", kind());
    let map = Arc::new(LiveMap::default());
    for (key, file) in [
        (ONE, &first),
        (SAME, &first),
        (OTHER, &second),
        (SHORT, &third),
    ] {
        map.write(key, file);
    }
    let files = Files::new(limits());
    let loader = loader(&map, &files, limits());
    refuse_some(choose(4) == 0);
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let loader = Arc::clone(&loader);
            let (first, second, third) = (first.clone(), second.clone(), third.clone());
            spawn(async move {
                for _ in 0..2 {
                    let key = KEYS[choose(KEYS.len())];
                    let patience = [Some(0), Some(50), Some(1000), Some(6000), None][choose(5)];
                    let call = loader.load(key, &Caller::Nobody);
                    let answer = match patience.map(Duration::from_millis) {
                        Some(patience) => timeout(patience, call).await.ok(),
                        None => Some(call.await),
                    };
                    let Some(answer) = answer else {
                        met("gave up");
                        continue;
                    };
                    let files: &[&str] = match key {
                        // Somebody changes the map in the meantime.
                        ONE => &[&first, &second],
                        SAME => &[&first],
                        OTHER => &[&second],
                        SHORT => &[&third],
                        _ => &[],
                    };
                    is_due(
                        key,
                        files,
                        answer.as_ref().map(|it| &*it.text).map_err(|it| *it),
                    );
                    // The answer is written.
                    others_first();
                }
            })
        })
        .collect();
    others_first();
    map.write(ONE, &second);
    for client in clients {
        block_on(client).unwrap();
    }
    files.release();
    is_whole();
    // Threads that do not end are a deadlock.
    drop(loader);
}

/// Two calls for one file are stuck, and take all permits. A call for another file is
/// still served: the client tries until it is.
fn stuck() {
    let limits = Limits {
        for_one_file: 2,
        abandoned: 2,
        ..limits()
    };
    let map = Arc::new(LiveMap::default());
    map.write(ONE, "stuck-1.md");
    map.write(OTHER, "quick-2.md");
    let files = Files::new(limits);
    let loader = loader(&map, &files, limits);
    let clients: Vec<_> = (0..3)
        .map(|_| {
            let loader = Arc::clone(&loader);
            spawn(async move {
                let answer = loader.load(ONE, &Caller::Nobody).await;
                assert!(matches!(answer, Err(Code::TimedOut | Code::Busy)));
            })
        })
        .collect();
    let other = Arc::clone(&loader);
    block_on(spawn(async move {
        let mut tries = 0;
        loop {
            tries += 1;
            match other.load(OTHER, &Caller::Nobody).await {
                Ok(Content { text: answer, .. }) => {
                    assert_eq!(answer, text(OTHER, "quick-2.md"));
                    break met(match tries {
                        1 => "served at once",
                        _ => "had to try again",
                    });
                }
                Err(Code::TimedOut | Code::Busy) => sleep(Duration::from_secs(1)).await,
                Err(code) => panic!("{code:?}"),
            }
        }
    }))
    .unwrap();
    for client in clients {
        block_on(client).unwrap();
    }
    files.release();
    is_whole();
}

/// The same, on a clock that waits for everybody: the host serves the other call as soon
/// as those that hang have given up their permits, and each call gets its answer in time.
fn in_time() {
    let limits = Limits {
        for_one_file: 2,
        abandoned: 2,
        ..limits()
    };
    let map = Arc::new(LiveMap::default());
    let kind = ["stuck", "late", "computes", "slow"][choose(4)];
    map.write(ONE, &format!("{kind}-1.md"));
    map.write(SAME, &format!("{kind}-1.md"));
    map.write(OTHER, "quick-2.md");
    let files = Files::new(limits);
    let loader = loader(&map, &files, limits);
    let late = |key| {
        let loader = Arc::clone(&loader);
        spawn(async move {
            let start = Instant::now();
            let answer = loader.load(key, &Caller::Nobody).await.map(drop);
            // It waits for at most as long as it may run, and then runs.
            let took = start.elapsed();
            assert!(took <= limits.deadline * 2, "{took:?}");
            match answer {
                Ok(()) => assert_eq!(kind, "slow"),
                Err(Code::Busy) => assert!(kind != "slow" && took <= limits.deadline),
                Err(Code::TimedOut) => assert!(kind != "slow" && took >= limits.deadline),
                Err(code) => panic!("{code:?}"),
            }
            met(answer.map_or_else(Code::as_str, |()| "served late"));
        })
    };
    let clients = [ONE, ONE, SAME].map(late);
    let others = Arc::clone(&loader);
    let other = spawn(async move {
        sleep(Duration::from_millis([0, 50, 3000][choose(3)])).await;
        let start = Instant::now();
        let answer = others.load(OTHER, &Caller::Nobody).await;
        assert_eq!(answer.map(|it| it.text), Ok(text(OTHER, "quick-2.md")));
        let took = start.elapsed();
        assert!(took <= limits.slow_after, "{took:?}");
        met("served in time");
    });
    for client in clients.into_iter().chain([other]) {
        block_on(client).unwrap();
    }
    files.release();
    is_whole();
}

pub const CALLS: Scenario = Scenario {
    name: "every call gets its own answer and gives back what it held",
    pace: Pace::Any,
    play: calls,
    meets: &[
        "ok",
        "gave up",
        "unknown-key",
        "internal",
        "busy",
        "timed-out",
        "out-of-resources",
    ],
};

pub const STUCK: Scenario = Scenario {
    name: "calls for a file that hangs keep no other file's calls out",
    pace: Pace::Any,
    play: stuck,
    meets: &["served at once", "had to try again"],
};

pub const IN_TIME: Scenario = Scenario {
    name: "every call is answered in time whatever hangs",
    pace: Pace::Idle,
    play: in_time,
    meets: &["served in time", "served late", "busy", "timed-out"],
};

#[test]
fn every_call_is_answered_in_time_whatever_hangs() {
    IN_TIME.holds();
}

#[test]
fn every_call_gets_its_own_answer_and_gives_back_what_it_held() {
    CALLS.holds();
}

#[test]
fn calls_for_a_file_that_hangs_keep_no_other_files_calls_out() {
    STUCK.holds();
}

#[test]
fn a_broken_loader_is_found() {
    CALLS.finds("the permit of a call that nobody wants is lost");
    CALLS.finds("a slow call keeps its first permit too");
    CALLS.finds("a late call is not stopped");
    CALLS.finds("a late call is not answered");
    CALLS.finds("a file is read without a permit");
    CALLS.finds("a gate stays when all have left");
    STUCK.finds("a slow call never returns its permit");
    IN_TIME.finds("a slow call never returns its permit");
    IN_TIME.finds("a late call is not answered");
}
