//! `gates.rs`: there are never more calls inside than allowed, no call waits behind one
//! that hangs, no call is refused without a reason, and no gate is left at the end.

use crate::{
    host::{Code, gates::Gates},
    run::{Scenario, met},
    shim::{
        Plain, choose,
        clock::{Instant, Pace, sleep},
        tokio::{
            sync::{permits_out, semaphores},
            time::timeout,
        },
    },
};
use shuttle::future::{block_on, spawn};
use std::{sync::Arc, time::Duration};

const HUNG_AFTER: Duration = Duration::from_secs(2);
const WIDTH: usize = 2;

/// The calls that are or were inside one gate.
#[derive(Default)]
struct Seen(Plain<(usize, Vec<Stay>)>);

/// When a call entered, and when it left.
type Stay = (Instant, Option<Instant>);

impl Seen {
    /// A call that came at `since` may enter. The gate may have seen it enter before
    /// the test does.
    fn enter(&self, since: Instant) -> usize {
        let mut seen = self.0.lock();
        seen.0 += 1;
        assert!(seen.0 <= WIDTH, "{} are inside", seen.0);
        seen.1.push((since, None));
        seen.1.len() - 1
    }

    fn leaves(&self) {
        self.0.lock().0 -= 1;
    }

    fn has_left(&self, number: usize) {
        self.0.lock().1[number].1 = Some(Instant::now());
    }

    /// Whether a call was inside for so long that the gate may refuse others now.
    fn some_hung(&self) -> bool {
        self.0.lock().1.iter().any(|(since, left)| {
            left.unwrap_or_else(Instant::now).duration_since(*since) >= HUNG_AFTER
        })
    }
}

/// Five calls for one thing and one for another. Some give up, some stay for long.
fn calls() {
    let gates = Gates::new(WIDTH, 8, HUNG_AFTER);
    let seen = Arc::new(Seen::default());
    let calls: Vec<_> = (0..5)
        .map(|_| {
            let (gates, seen) = (gates.clone(), Arc::clone(&seen));
            spawn(async move {
                let id = gates.id_of("a");
                sleep(HUNG_AFTER * choose(4) as u32 / 3).await;
                let since = Instant::now();
                let entered = match choose(3) {
                    0 => match timeout(HUNG_AFTER / 4, gates.enter(id)).await {
                        Ok(entered) => entered,
                        Err(_gave_up) => return met("gave up"),
                    },
                    1 => match gates.try_enter(id) {
                        Some(pass) => Ok(pass),
                        None => return met("full"),
                    },
                    _ => gates.enter(id).await,
                };
                match entered {
                    Ok(pass) => {
                        met("entered");
                        let number = seen.enter(since);
                        sleep(HUNG_AFTER * choose(4) as u32 / 3).await;
                        seen.leaves();
                        drop(pass);
                        seen.has_left(number);
                    }
                    Err(code) => {
                        met("busy");
                        assert_eq!(code, Code::Busy);
                        assert!(seen.some_hung(), "sent away for nothing");
                    }
                }
            })
        })
        .collect();
    let other = {
        let gates = gates.clone();
        spawn(async move { drop(gates.enter(gates.id_of("b")).await.unwrap()) })
    };
    for call in calls.into_iter().chain([other]) {
        block_on(call).unwrap();
    }
    // Each gate has a semaphore, so none may be left.
    assert_eq!((semaphores(), permits_out()), (0, 0));
}

/// One call is inside and stays there until all others have their answer.
fn one_hangs() {
    let gates = Gates::new(1, 8, HUNG_AFTER);
    let hung = block_on(gates.enter(gates.id_of("a"))).unwrap();
    let others: Vec<_> = (0..3)
        .map(|_| {
            let gates = gates.clone();
            spawn(async move {
                let entered = gates.enter(gates.id_of("a")).await;
                assert_eq!(entered.err(), Some(Code::Busy));
            })
        })
        .collect();
    for other in others {
        block_on(other).unwrap();
    }
    drop(hung);
    assert_eq!((semaphores(), permits_out()), (0, 0));
}

/// Small enough to try every order, without a clock: two calls at a gate for one. One of
/// them does not wait.
fn two() {
    let gates = Gates::new(1, 1, HUNG_AFTER);
    let other = {
        let gates = gates.clone();
        spawn(async move { drop(gates.try_enter(gates.id_of("a"))) })
    };
    drop(block_on(gates.enter(gates.id_of("a"))).unwrap());
    block_on(other).unwrap();
    assert_eq!((semaphores(), permits_out()), (0, 0));
}

pub const CALLS: Scenario = Scenario {
    name: "gates let in as many as may be and leave nothing behind",
    pace: Pace::Any,
    play: calls,
    meets: &["entered", "busy", "gave up", "full"],
};

const ONE_HANGS: Scenario = Scenario {
    name: "nobody waits for ever behind a call that hangs",
    pace: Pace::Any,
    play: one_hangs,
    meets: &[],
};

const TWO: Scenario = Scenario {
    name: "two calls at one gate in every order",
    pace: Pace::Frozen,
    play: two,
    meets: &[],
};

#[test]
fn gates_let_in_as_many_as_may_be_and_leave_nothing_behind() {
    CALLS.holds();
}

#[test]
fn nobody_waits_for_ever_behind_a_call_that_hangs() {
    ONE_HANGS.holds();
}

#[test]
fn two_calls_at_one_gate_in_every_order() {
    TWO.holds_in_all(None);
}

#[test]
fn broken_gates_are_found() {
    CALLS.finds("a gate stays when all have left");
    CALLS.finds("who left counts as being in");
    CALLS.finds("who gives up waiting is still present");
    ONE_HANGS.finds("who waits never asks whether those inside hang");
    TWO.finds("a gate stays when all have left");
}
