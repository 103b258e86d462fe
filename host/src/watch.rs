//! Watches one call from outside its thread: what it holds, and how long it may
//! take.

use crate::{
    call::{CallPermit, Content, Ran, Told},
    code::Code,
};
use std::{sync::Arc, time::Duration};
use tokio::{
    pin, select,
    sync::{
        OwnedSemaphorePermit, Semaphore,
        oneshot::{Receiver, Sender, error::RecvError},
    },
    time::{Instant, sleep_until, timeout},
};

/// Watches one call on its thread.
pub(crate) struct Watch<I> {
    /// Stops the guests that have passed their deadline.
    pub(crate) interrupt: I,
    /// One permit for each slow call that has given its permit up.
    pub(crate) slow: Arc<Semaphore>,
    pub(crate) slow_after: Duration,
    pub(crate) deadline: Instant,
}

impl<I: Fn() + Send> Watch<I> {
    /// Tells how the call ended, or that it took too long. It holds the call's
    /// permit, or that of a slow call, until the thread is free and the answer is
    /// written.
    pub(crate) async fn over(
        self,
        mut ran: Receiver<Ran>,
        mut call_permit: OwnedSemaphorePermit,
        tell: Sender<Told>,
    ) {
        // Most calls end here.
        if let Ok(ran) = timeout(self.slow_after, &mut ran).await {
            // If nobody wants the result any more, it is dropped, and its permit
            // with it.
            drop(tell.send(told(ran, call_permit)));
            return;
        }
        let (slow, too_late) = (self.slow.acquire_owned(), sleep_until(self.deadline));
        pin!(slow, too_late);
        let (mut is_slow, mut tell) = (false, Some(tell));
        loop {
            select! {
                biased;
                ran = &mut ran => {
                    if let Some(tell) = tell {
                        drop(tell.send(told(ran, call_permit)));
                    }
                    return;
                }
                slow = &mut slow, if !is_slow => {
                    is_slow = true;
                    if let Ok(slow) = slow {
                        call_permit = slow;
                    }
                }
                () = &mut too_late, if tell.is_some() => {
                    (self.interrupt)();
                    if let Some(tell) = tell.take() {
                        drop(tell.send(Told::Done(Err(Code::TimedOut))));
                    }
                }
            }
        }
    }
}

fn told(ran: Result<Ran, RecvError>, call_permit: OwnedSemaphorePermit) -> Told {
    match ran {
        Ok(Ran::Done(answer)) => Told::Done(answer.map(|text| Content {
            text,
            call_permit: CallPermit(call_permit),
        })),
        Ok(Ran::Wait(call, wait)) => Told::Wait(call, wait),
        // It panicked.
        Err(_) => Told::Done(Err(Code::Internal)),
    }
}
