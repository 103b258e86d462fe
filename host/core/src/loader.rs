//! Calls, many at once: which may run, on which thread, and for how long.

use crate::{
    call::{Target, call},
    caller::Caller,
    grant::Executor,
    limits::Limits,
    map::Maps,
    refusal::Refusal,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    task::{spawn, spawn_blocking},
    time::{Instant, timeout_at},
};

/// So long after its deadline, a thread counts as hanging. A stopped guest ends in far less.
const TO_END: Duration = Duration::from_millis(100);

/// Where documents come from: a [`Loader`], except in tests.
pub trait Load: Send + Sync + 'static {
    /// The file that `target` stands for in the map as it is now, if `caller` may have it.
    fn load(
        &self,
        target: Target,
        caller: Caller,
    ) -> impl Future<Output = Result<Content, Refusal>> + Send;
}

/// Loads files for keys. All calls of a server share it.
pub struct Loader<M, G> {
    maps: Arc<M>,
    guest: Arc<G>,
    limits: Limits,
    /// One permit for each call that runs or waits.
    queue: Semaphore,
    /// One permit for each call that runs.
    running: Arc<Semaphore>,
    /// How many of those are past their deadline: their threads hang in the kernel.
    late: Arc<AtomicUsize>,
}

/// What a call gets.
#[derive(Debug)]
pub struct Content {
    /// The whole file, unchanged.
    pub text: String,
    /// The slot is free when thread and answer are done. Keep this until the answer is written:
    /// so a client that does not read cannot pile up answers.
    pub permit: OwnedSemaphorePermit,
}

impl<M: Maps, G: Executor<Directory = M::Directory>> Loader<M, G> {
    /// A loader for the files of `maps`, read by `guest`. Its calls run on blocking threads of the
    /// runtime, which needs [`Limits::running`] of them, and a timer.
    pub fn new(maps: Arc<M>, guest: G, limits: Limits) -> Self {
        Self {
            maps,
            guest: Arc::new(guest),
            limits,
            queue: Semaphore::new(limits.running + limits.waiting),
            running: Arc::new(Semaphore::new(limits.running)),
            late: Arc::default(),
        }
    }
}

impl<M: Maps, G: Executor<Directory = M::Directory>> Load for Loader<M, G> {
    /// The call first waits for a permit to run, at most as long as a call may take. If the future
    /// is dropped, a call that waits ends; one that runs goes on, and keeps its permit.
    async fn load(&self, target: Target, caller: Caller) -> Result<Content, Refusal> {
        let until = Instant::now() + self.limits.deadline;
        let _queued = self.queue.try_acquire().map_err(|_| Refusal::Busy)?;
        // Every thread for calls hangs in the kernel, so nobody need wait for one.
        if self.late.load(Ordering::Relaxed) >= self.limits.running {
            return Err(Refusal::TimedOut);
        }
        let permit = timeout_at(until, Arc::clone(&self.running).acquire_owned()).await;
        let permit = permit.map_err(|_| Refusal::Busy)?;
        let permit = permit.map_err(|_| Refusal::Internal)?;

        let deadline = Instant::now() + self.limits.deadline;
        let (maps, guest) = (self.maps.clone(), self.guest.clone());
        let mut ran = spawn_blocking(move || {
            let text = call(target, &caller, deadline.into_std(), &*maps, &*guest)?;
            Ok(Content { text, permit })
        });
        let (tell, told) = oneshot::channel();
        let (guest, late) = (Arc::clone(&self.guest), Arc::clone(&self.late));
        // In a task of its own: so a guest whose caller went away is still stopped at its deadline.
        spawn(async move {
            let Ok(done) = timeout_at(deadline, &mut ran).await else {
                guest.interrupt();
                drop(tell.send(Err(Refusal::TimedOut)));
                // A guest that computed ends now.
                if timeout_at(deadline + TO_END, &mut ran).await.is_err() {
                    late.fetch_add(1, Ordering::Relaxed);
                    drop(ran.await);
                    late.fetch_sub(1, Ordering::Relaxed);
                }
                return;
            };
            // It may have panicked. A result that nobody wants is dropped, with its permit.
            drop(tell.send(done.unwrap_or(Err(Refusal::Internal))));
        });
        told.await.map_err(|_| Refusal::Internal)?
    }
}
