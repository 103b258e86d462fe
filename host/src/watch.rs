//! Watches one call from outside its thread: what it holds, and how long it may
//! take.

use crate::{
    call::{CallPermit, Content, Outcome},
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
        mut ran: Receiver<Outcome<String>>,
        mut call_permit: OwnedSemaphorePermit,
        tell: Sender<Outcome<Content>>,
    ) {
        // Most calls end here.
        if let Ok(ran) = timeout(self.slow_after, &mut ran).await {
            // If nobody wants the result any more, it is dropped, and its permit
            // with it.
            drop(tell.send(with_permit(ran, call_permit)));
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
                        drop(tell.send(with_permit(ran, call_permit)));
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
                        drop(tell.send(Outcome::Done(Err(Code::TimedOut))));
                    }
                }
            }
        }
    }
}

/// Puts the call's permit into its content. Without content, the permit is returned
/// here.
fn with_permit(
    ran: Result<Outcome<String>, RecvError>,
    call_permit: OwnedSemaphorePermit,
) -> Outcome<Content> {
    match ran {
        Ok(Outcome::Done(answer)) => Outcome::Done(answer.map(|text| Content {
            text,
            call_permit: CallPermit(call_permit),
        })),
        Ok(Outcome::Wait(call, wait)) => Outcome::Wait(call, wait),
        // It panicked.
        Err(_) => Outcome::Done(Err(Code::Internal)),
    }
}
