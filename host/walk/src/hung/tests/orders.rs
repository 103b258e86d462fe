//! Threads that wait for one file system, in many orders: `shuttle` says who goes on next.

use super::super::{MOST, Obstacle, Waits};
use crate::SystemError;
use shuttle::{check_random, sync::RwLock, thread};
use std::{
    ops::Sub,
    sync::{
        Arc, LockResult,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

pub(in super::super) use shuttle::sync::{Mutex, MutexGuard};

/// A clock that stands still. So nobody is late, and only being woken lets a thread go on.
#[derive(Clone, Copy, PartialEq)]
pub(in super::super) struct Instant;

impl Instant {
    pub(in super::super) fn now() -> Self {
        Self
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, _: Self) -> Duration {
        Duration::ZERO
    }
}

pub(in super::super) struct Condvar(shuttle::sync::Condvar);

impl Condvar {
    pub(in super::super) const fn new() -> Self {
        Self(shuttle::sync::Condvar::new())
    }

    pub(in super::super) fn notify_all(&self) {
        self.0.notify_all();
    }

    pub(in super::super) fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        _: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, ())> {
        Ok((self.0.wait(guard).unwrap(), ()))
    }
}

/// More threads than may wait for each of two file systems ask them at once. One hangs until
/// the other has answered all of its own.
fn all_are_answered() {
    let waits = Arc::new(Waits::new());
    let ask = |name: &'static str, work: Arc<dyn Fn() + Send + Sync>| {
        let (waits, inside) = (Arc::clone(&waits), Arc::new(AtomicUsize::new(0)));
        let one = move || {
            let (waits, inside, work) = (waits.clone(), inside.clone(), work.clone());
            thread::spawn(move || {
                let answer = waits.ask(Obstacle::of(name), || {
                    let others = inside.fetch_add(1, Ordering::SeqCst);
                    assert!(others < MOST, "one more than may hang");
                    work();
                    inside.fetch_sub(1, Ordering::SeqCst);
                    Ok::<_, SystemError>(())
                });
                assert_eq!(answer, Ok(()));
            })
        };
        (0..MOST + 2).map(|_| one()).collect::<Vec<_>>()
    };
    let hangs = Arc::new(RwLock::new(()));
    let hanging = hangs.write().unwrap();
    let hung = {
        let hangs = Arc::clone(&hangs);
        ask("hung", Arc::new(move || drop(hangs.read().unwrap())))
    };
    for thread in ask("slow", Arc::new(thread::yield_now)) {
        thread.join().unwrap();
    }
    drop(hanging);
    for thread in hung {
        thread.join().unwrap();
    }
    assert!(waits.all().is_empty());
}

#[test]
fn in_many_orders_no_more_than_may_hang_wait_and_each_is_woken() {
    check_random(all_are_answered, 2000);
}
