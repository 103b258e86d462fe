#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[cfg(shuttle)]
pub(super) mod orders;

use super::{LATE, MOST, Obstacle};
use crate::SystemError;
use std::{
    sync::mpsc::channel,
    thread::{scope, sleep},
};

/// Its threads are not those of `shuttle`.
#[cfg_attr(not(shuttle), test)]
#[cfg_attr(shuttle, expect(dead_code, reason = "no test there"))]
fn nobody_joins_so_many_who_hang_and_others_go_on() {
    let [hung, other, later] = ["hung", "other", "later"].map(Obstacle::of);
    let ask = |obstacle: Obstacle| obstacle.ask(|| Ok::<_, SystemError>(()));
    scope(|threads| {
        let (begin, begun) = channel();
        let hang = |what: Obstacle, count| {
            (0..count)
                .map(|_| {
                    let (answer, answered) = channel::<()>();
                    let begin = begin.clone();
                    threads.spawn(move || {
                        what.ask(|| {
                            begin.send(()).unwrap();
                            answered.recv().map_err(|_| SystemError::Denied)
                        })
                    });
                    begun.recv().unwrap();
                    answer
                })
                .collect::<Vec<_>>()
        };
        let mut waiting = hang(hung, MOST - 1);
        assert_eq!(ask(hung), Ok(()));
        waiting.extend(hang(hung, 1));
        // Whether or not they are late by now.
        let refused = hung.ask(|| -> Result<(), SystemError> { panic!("it was asked") });
        assert_eq!(refused, Err(SystemError::Hangs));
        assert_eq!(ask(other), Ok(()));
        drop(waiting);
        // Three hang for long, and the fourth has just begun: whoever comes then waits for it.
        // On a busy machine, it may be late as well, so there are some tries.
        let _late = hang(later, MOST - 1);
        sleep(2 * LATE);
        let is_waited_for = (0..20).any(|_| {
            let fourth = hang(later, 1);
            let ends = threads.spawn(|| {
                sleep(LATE / 3);
                drop(fourth);
            });
            let answer = ask(later);
            ends.join().unwrap();
            // Until the fourth has gone.
            while ask(later).is_err() {}
            answer.is_ok()
        });
        assert!(is_waited_for);
    });
    assert_eq!(ask(hung), Ok(()));
}
