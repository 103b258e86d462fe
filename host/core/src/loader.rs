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
    task::{JoinHandle, spawn, spawn_blocking},
    time::{Instant, timeout, timeout_at},
};

/// A thread that has not ended so long after its call's deadline counts as hanging. A guest that
/// is stopped ends in far less.
const TIME_TO_END: Duration = Duration::from_millis(100);

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
    /// How many calls have not ended [`TIME_TO_END`] after their deadline: their threads hang in
    /// the kernel.
    hanging: Arc<AtomicUsize>,
}

/// What a call gets.
#[derive(Debug)]
pub struct Content {
    /// The whole file, unchanged.
    pub text: String,
    /// The permit to run, which is free for another call when this is dropped. Keep it until the
    /// answer is written: so a client that does not read cannot pile up answers.
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
            hanging: Arc::default(),
        }
    }

    /// A permit to run one call, once fewer calls run than may.
    ///
    /// # Errors
    /// [`Refusal::Busy`] if no permit is free within [`Limits::deadline`], the time that a call may
    /// take. [`Refusal::Internal`] if there are no permits any more, which does not happen.
    async fn permit_to_run(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        let running = Arc::clone(&self.running);
        match timeout(self.limits.deadline, running.acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_closed)) => Err(Refusal::Internal),
            Err(_elapsed) => Err(Refusal::Busy),
        }
    }

    /// Starts one call on a blocking thread. The call keeps `permit` until its content is dropped.
    fn start(
        &self,
        target: Target,
        caller: Caller,
        permit: OwnedSemaphorePermit,
        deadline: Instant,
    ) -> JoinHandle<Result<Content, Refusal>> {
        let maps = Arc::clone(&self.maps);
        let guest = Arc::clone(&self.guest);
        spawn_blocking(move || {
            let text = call(target, &caller, deadline.into_std(), &*maps, &*guest)?;
            Ok(Content { text, permit })
        })
    }
}

impl<M: Maps, G: Executor<Directory = M::Directory>> Load for Loader<M, G> {
    /// Waits for a permit to run, runs the call on a thread, and returns its content. If the future
    /// is dropped, a call that still waits ends. A call that runs goes on, and keeps its permit
    /// until its thread ends.
    ///
    /// # Errors
    /// [`Refusal::Busy`] if as many calls run and wait as may ([`Limits`]), or if no permit comes
    /// in the time that a call may take. [`Refusal::TimedOut`] if all threads for calls hang, or if
    /// the call runs past its deadline. [`Refusal::Internal`] if the call panicked. Else what
    /// [`call`] refuses.
    async fn load(&self, target: Target, caller: Caller) -> Result<Content, Refusal> {
        let _queued = self.queue.try_acquire().map_err(|_| Refusal::Busy)?;
        // Every thread for calls hangs in the kernel. To wait for one is no use.
        if self.hanging.load(Ordering::Relaxed) >= self.limits.running {
            return Err(Refusal::TimedOut);
        }
        let permit = self.permit_to_run().await?;
        let deadline = Instant::now() + self.limits.deadline;
        let (tell, told) = oneshot::channel();
        let running = RunningCall {
            result: self.start(target, caller, permit, deadline),
            deadline,
            tell,
            guest: Arc::clone(&self.guest),
            hanging: Arc::clone(&self.hanging),
        };
        // In a task of its own: so a guest whose caller went away is still stopped at its deadline.
        spawn(running.follow_to_its_end());
        told.await.map_err(|_| Refusal::Internal)?
    }
}

/// A call that runs on a thread.
struct RunningCall<G> {
    /// The thread of the call. Waiting for it gives the call's result, or an error if the call
    /// panicked.
    result: JoinHandle<Result<Content, Refusal>>,
    deadline: Instant,
    /// Sends the result to [`Loader::load`]. This fails if nobody waits there any more.
    tell: oneshot::Sender<Result<Content, Refusal>>,
    guest: Arc<G>,
    /// See [`Loader::hanging`].
    hanging: Arc<AtomicUsize>,
}

impl<G: Executor> RunningCall<G> {
    /// Sends the result of the call as soon as its thread ends. If it has not ended at the
    /// deadline, sends [`Refusal::TimedOut`] then, and interrupts the guest. If the thread has not
    /// ended [`TIME_TO_END`] (100 ms) later either, it counts as hanging until it ends, which may
    /// be never.
    async fn follow_to_its_end(mut self) {
        if let Ok(ended) = timeout_at(self.deadline, &mut self.result).await {
            // If nobody waits any more, sending fails. The result is dropped, which frees its
            // permit.
            drop(self.tell.send(ended.unwrap_or(Err(Refusal::Internal))));
            return;
        }
        self.guest.interrupt();
        drop(self.tell.send(Err(Refusal::TimedOut)));
        // A guest that computes ends soon after an interrupt. A read that hangs in the kernel does
        // not.
        let ended = timeout_at(self.deadline + TIME_TO_END, &mut self.result).await;
        if ended.is_err() {
            self.hanging.fetch_add(1, Ordering::Relaxed);
            drop(self.result.await);
            self.hanging.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
