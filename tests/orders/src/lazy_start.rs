//! `sandbox/lazy.rs`: a call that comes early waits and then gets its answer; a load that fails
//! ends the session, and no call waits for ever; an interrupt may come before there is
//! a sandbox to interrupt.

use crate::{
    guest::{Fake, Files, limits, text},
    host::{
        Caller, Code,
        lazy::LazySandbox,
        loader::Loader,
        map::{LiveMap, MapSource},
    },
    run::{Scenario, met},
    shim::{
        choose,
        clock::Pace,
        others_first,
        std::{
            sync::{Condvar, Mutex, end_process},
            thread,
        },
        tokio::task::join_all,
    },
};
use shuttle::future::{block_on, spawn};
use std::{io, panic::resume_unwind, pin::pin, sync::Arc, time::Duration};

const KEY: &str = "k-2c1f8a96d0e34b57";

/// How the load goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    Works,
    /// It takes longer than a call may.
    TakesLong,
    /// It hangs until all calls have answers.
    Hangs,
    Fails,
    Panics,
}

impl Load {
    fn is_bad(self) -> bool {
        matches!(self, Self::Fails | Self::Panics)
    }
}

const LOADS: [Load; 5] = [
    Load::Works,
    Load::TakesLong,
    Load::Hangs,
    Load::Fails,
    Load::Panics,
];

/// Three calls, from the very start.
fn session() {
    let load = LOADS[choose(LOADS.len())];
    let files = Files::new(limits());
    let hung = Arc::new((Mutex::new(true), Condvar::new()));
    let (lazy, run, failed) = {
        let (files, hung) = (Arc::clone(&files), Arc::clone(&hung));
        LazySandbox::new(move || {
            others_first();
            match load {
                Load::Works => {}
                Load::TakesLong => thread::sleep(Duration::from_secs(20)),
                Load::Hangs => {
                    let mut hangs = hung.0.lock().unwrap();
                    while *hangs {
                        hangs = hung.1.wait(hangs).unwrap();
                    }
                }
                Load::Fails => return Err(io::Error::other("told")),
                Load::Panics => resume_unwind(Box::new(())),
            }
            Ok(Fake(files))
        })
    };
    let map = Arc::new(LiveMap::default());
    map.write(KEY, "quick-1.md");
    let loader = Loader::new(MapSource::Live(map), lazy, limits());
    loader.start_with(run).unwrap();
    let loader = Arc::new(loader);
    let calls = (0..3).map(|_| {
        let loader = Arc::clone(&loader);
        spawn(async move {
            match loader.load(KEY, &Caller::Nobody).await {
                Ok(content) => {
                    met(match load {
                        Load::Works => "Works: served",
                        _ => "TakesLong: served",
                    });
                    assert_eq!(content.text, text(KEY, "quick-1.md"));
                    assert!(matches!(load, Load::Works | Load::TakesLong), "{load:?}");
                }
                // The clock runs at any speed, so any call may take too long.
                Err(Code::Busy | Code::TimedOut) => {
                    if load == Load::Hangs {
                        met("Hangs: refused");
                    }
                }
                // The load failed. The session ends, so no client gets this answer.
                Err(Code::Internal) => assert!(load.is_bad()),
                Err(code) => panic!("{code:?}"),
            }
        })
    });
    let calls: Vec<_> = calls.collect();
    let all = async {
        for call in calls {
            call.await.unwrap();
        }
    };
    block_on(async {
        let (mut failed, all) = (pin!(failed), pin!(all));
        // No call waits for ever, however the load ends ...
        let ended = tokio::select! {
            biased;
            error = &mut failed => Some(error),
            () = all => None,
        };
        // ... and a load that failed ends the session, and says why.
        let ended = match ended {
            None if load.is_bad() => Some(failed.await),
            ended => ended,
        };
        match load {
            Load::Fails => met("Fails: ended"),
            Load::Panics => met("Panics: ended"),
            _ => {}
        }
        let said = match load {
            Load::Fails => Some("told".to_owned()),
            Load::Panics => Some("the sandbox could not be loaded".to_owned()),
            _ => None,
        };
        assert_eq!(ended.map(|error| error.to_string()), said);
    });
    *hung.0.lock().unwrap() = false;
    hung.1.notify_all();
    if load.is_bad() {
        end_process();
    }
    join_all();
}

pub const SESSION: Scenario = Scenario {
    name: "a session that starts early answers every call or ends",
    pace: Pace::Any,
    play: session,
    meets: &[
        "Works: served",
        "TakesLong: served",
        "Hangs: refused",
        "Fails: ended",
        "Panics: ended",
    ],
};

#[test]
fn a_session_that_starts_early_answers_every_call_or_ends() {
    SESSION.holds();
}

#[test]
fn a_broken_start_is_found() {
    SESSION.finds("a sandbox that is ready counts as failed");
    SESSION.finds("an interrupt waits for the sandbox");
    SESSION.finds("a load that failed says nothing");
}
