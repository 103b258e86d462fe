//! One call, end to end: map, resolution, sandbox, deadline.

use crate::{
    call::{Call, Content, Outcome, Target, Wait},
    caller::Caller,
    code::Code,
    gates::{GateId, Gates, Pass},
    guesses::GuessThrottle,
    limits::Limits,
    map::{Key, MapSource, Maps},
    sandbox::{Executor, Sandbox},
    threads::{Runner, Threads},
    watch::Watch,
};
use std::{
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::yield_now,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    task::spawn,
    time::{Instant, timeout_at},
};
use zeroize::Zeroizing;

/// Loads files for keys. All calls of a server share it.
pub struct Loader<G = Sandbox, M = MapSource> {
    work: Arc<Work<G, M>>,
    limits: Limits,
    /// One permit for each call that runs or waits.
    queue: Arc<Semaphore>,
    /// One gate for each key or binding that is asked for.
    keys: Gates,
    /// One permit for each call that runs.
    call_permits: Arc<Semaphore>,
    /// One permit for each call that gave its permit up because it takes long. The
    /// permit is returned when the thread is done. If a read hangs in the kernel,
    /// that is after its call was answered.
    slow: Arc<Semaphore>,
    threads: Arc<dyn Runner>,
}

/// Shows nothing of its calls.
impl<G, M> fmt::Debug for Loader<G, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loader").finish_non_exhaustive()
    }
}

/// What a call's thread needs.
struct Work<G, M> {
    map: M,
    sandbox: Arc<G>,
    /// One gate for each file that is being read.
    files: Gates,
    guesses: Arc<GuessThrottle>,
    /// Whether a call has come yet.
    is_called: AtomicBool,
}

impl<G: Executor> Loader<G> {
    /// A loader for the files of `map`, read by `sandbox`.
    #[must_use]
    pub fn new(map: impl Into<MapSource>, sandbox: G, limits: Limits) -> Self {
        // Each call that has a thread also has a permit, as a running or as a slow
        // call.
        let threads = Threads::new(limits.running + limits.abandoned);
        Self::over(map.into(), sandbox, limits, threads)
    }
}

impl<M: Maps, G: Executor<M::Directory>> Loader<G, M> {
    /// Like [`Loader::new`], but for any map and with any threads.
    #[doc(hidden)]
    #[must_use]
    pub fn over(map: M, sandbox: G, limits: Limits, threads: impl Runner) -> Self {
        let gates = || {
            Gates::new(
                limits.for_one_file,
                limits.waiting_for_one_file,
                limits.hung_after,
            )
        };
        Self {
            work: Arc::new(Work {
                map,
                sandbox: Arc::new(sandbox),
                files: gates(),
                guesses: GuessThrottle::new(limits),
                is_called: AtomicBool::new(false),
            }),
            limits,
            queue: Arc::new(Semaphore::new(limits.running + limits.waiting)),
            keys: gates(),
            call_permits: Arc::new(Semaphore::new(limits.running)),
            slow: Arc::new(Semaphore::new(limits.abandoned)),
            threads: Arc::new(threads),
        }
    }

    /// Creates the first thread for calls now, so that a system that has no thread
    /// for us says so at the start. This thread reads the map while the client and the
    /// server still initialize the session. What is wrong with the map is no error here:
    /// each call asks for the map as it is then, and says so.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn start(&self) -> io::Result<()> {
        self.start_with(|| {})
    }

    /// Like [`Self::start`], and runs `first` before, on the same thread. The thread then has
    /// a warm stack when the first call comes.
    ///
    /// A call can be refused without `first`, but not served. So one early call waits for this
    /// thread, which costs less than to wake another one. The map is then not read ahead:
    /// that call reads it.
    ///
    /// # Errors
    /// What the operating system says.
    pub(crate) fn start_with(&self, first: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let work = Arc::clone(&self.work);
        let threads = Arc::clone(&self.threads);
        self.threads.run(Box::new(move |soon_free| {
            soon_free();
            // If it panics, whoever waits for it learns that; the map is then read later.
            first();
            work.map.use_threads();
            // With one processor, the protocol's thread may not have run yet. It may read a
            // call first.
            yield_now();
            if !work.is_called.load(Ordering::Relaxed) {
                // A job of its own: a map may hang, and no call must wait for that thread.
                // If it is refused, the map is read later.
                let _ = threads.run(Box::new(move |_| work.map.read_ahead()));
            }
        }))
    }

    /// Whether the loader holds nothing: no call runs, waits or hangs.
    #[doc(hidden)]
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let limits = &self.limits;
        self.queue.available_permits() == limits.running + limits.waiting
            && self.call_permits.available_permits() == limits.running
            && self.slow.available_permits() == limits.abandoned
            && (self.keys.len(), self.work.files.len()) == (0, 0)
            && self.work.guesses.is_idle()
    }

    /// The file that `key` stands for in the map as it is now, if `caller` may
    /// have it.
    ///
    /// It first waits for a permit to run, at most as long as a call may take. A
    /// guessable key also waits behind other guessable keys that were wrong: see
    /// [`Limits::free_guesses`]. The call runs on the loader's own threads. The
    /// runtime needs a timer.
    ///
    /// # Errors
    /// Each [`Code`].
    pub async fn load(&self, key: &str, caller: &Caller) -> Result<Content, Code> {
        let key = Zeroizing::new(key.to_owned());
        self.answer(Target::Key(key), caller).await
    }

    /// Each wait is for a permit that other calls hold, first come, first served.
    /// One deadline limits all waits of the call together. Dropping the future ends
    /// a call that waits. A call that runs goes on until it ends, and keeps its
    /// permits.
    pub(crate) async fn answer(&self, target: Target, caller: &Caller) -> Result<Content, Code> {
        let until = Instant::now() + self.limits.deadline;
        let _queued = self.queue.try_acquire().map_err(|_| Code::Busy)?;
        let gate = target.gate_id(&self.keys);
        let pass = by(until, self.keys.enter(gate)).await??;
        let mut call = Box::new(Call::new(target, caller.clone(), pass));
        loop {
            let call_permit = Arc::clone(&self.call_permits).acquire_owned();
            let call_permit = by(until, call_permit).await?.map_err(|_| Code::Internal)?;
            // The map may have changed while the call waited, so each run reads it
            // again.
            match self.run(call, call_permit).await? {
                Outcome::Done(answer) => return answer,
                // The permit may be free by now, but the call's time is over.
                Outcome::Wait(..) if Instant::now() >= until => return Err(Code::Busy),
                Outcome::Wait(again, Wait::File(file)) => {
                    call = again;
                    let pass = by(until, self.work.files.enter(file)).await??;
                    call.file = Some((file, pass));
                }
                Outcome::Wait(again, Wait::Guess) => {
                    call = again;
                    call.guess = Some(by(until, self.work.guesses.take()).await??);
                }
            }
        }
    }

    /// Runs a call on a thread, and watches it.
    async fn run(
        &self,
        call: Box<Call>,
        call_permit: OwnedSemaphorePermit,
    ) -> Result<Outcome<Content>, Code> {
        let deadline = Instant::now() + self.limits.deadline;
        let (done, ran) = oneshot::channel();
        let work = Arc::clone(&self.work);
        work.is_called.store(true, Ordering::Relaxed);
        self.threads
            .run(Box::new(move |soon_free| {
                // The call releases its permits before anybody learns the result.
                let ran = work.run(call, deadline.into_std());
                // Said before the answer goes: whoever gets it may have the next call.
                if !leaves_much(&ran) {
                    soon_free();
                }
                drop(done.send(ran));
                work.sandbox.tidy();
            }))
            .map_err(|_| Code::OutOfResources)?;
        let (tell, told) = oneshot::channel();
        let guest = Arc::clone(&self.work.sandbox);
        let watch = Watch {
            interrupt: move || guest.interrupt(),
            slow: Arc::clone(&self.slow),
            slow_after: self.limits.slow_after,
            deadline,
        };
        // The watch runs in its own task. So a guest whose caller went away is
        // still stopped at its deadline, and keeps its permit until then.
        spawn(watch.over(ran, call_permit, tell));
        told.await.map_err(|_| Code::Internal)
    }
}

/// Whether it may take long to tidy up behind this call, so that another call should not
/// wait for it. A large file may have come in one part, and then leaves much memory to wipe.
fn leaves_much(ran: &Outcome<String>) -> bool {
    const SMALL: usize = 64 << 10;
    match ran {
        Outcome::Done(Ok(text)) => text.len() > SMALL,
        // All of the file may have been read.
        Outcome::Done(Err(code)) => matches!(code, Code::NotUtf8 | Code::Changed),
        Outcome::Wait(..) => false,
    }
}

/// Waits for `wait`, but not longer than until `until`.
async fn by<T>(until: Instant, wait: impl Future<Output = T>) -> Result<T, Code> {
    timeout_at(until, wait).await.map_err(|_| Code::Busy)
}

/// Why a call ends, or has to wait, before its file is read.
enum Stop {
    Refused(Code),
    Wait(Wait),
}

impl From<Code> for Stop {
    fn from(code: Code) -> Self {
        Self::Refused(code)
    }
}

impl<M: Maps, G: Executor<M::Directory>> Work<G, M> {
    /// The call itself, on a thread that may block.
    fn run(&self, mut call: Box<Call>, deadline: std::time::Instant) -> Outcome<String> {
        match self.load(&mut call, deadline) {
            Ok(text) => Outcome::Done(Ok(text)),
            Err(Stop::Refused(code)) => Outcome::Done(Err(code)),
            Err(Stop::Wait(wait)) => Outcome::Wait(call, wait),
        }
    }

    fn load(&self, call: &mut Call, deadline: std::time::Instant) -> Result<String, Stop> {
        // This comes first: a caller that is not verified learns nothing, not even
        // about the map.
        let agent = match &mut call.agent {
            Some(agent) => agent,
            agent => agent.insert(call.caller.agent()?),
        };
        let (map, trail) = self.map.current()?;
        let bound;
        let key = match &call.target {
            Target::Key(key) => key.as_str(),
            Target::Bound(name) => {
                bound = self.map.bound(&map, name)?;
                bound.expose()
            }
            Target::Given(key) => key.expose(),
        };
        let guess = match call.guess.take() {
            None if matches!(call.target, Target::Key(_)) && Key::is_guessable(key) => {
                Some(self.guesses.try_take().ok_or(Stop::Wait(Wait::Guess))?)
            }
            guess => guess,
        };
        let entry = Key::try_from(key)
            .ok()
            .and_then(|key| map.find_for(&key, agent.as_ref()));
        match (guess, &entry) {
            (Some(guess), None) => guess.was_wrong(),
            // The key was right, or it needed no permit. A permit is returned here.
            (guess, _) => drop(guess),
        }
        if let Some(entry) = &entry {
            self.enter(&mut call.file, self.files.id_of(entry.path()))?;
        }
        // Without an entry there is no grant, and the guest refuses. So a wrong
        // key, and a key that is bound to other agents, takes the same path as a
        // right one.
        let grant = entry
            .as_ref()
            .map(|entry| self.map.resolve(&map, &trail, entry))
            .transpose()?;
        drop(trail);
        Ok(self.sandbox.call(key, grant, deadline)?)
    }

    /// Gets the permit to read `file`, if `pass` is not that permit already.
    fn enter(&self, pass: &mut Option<(GateId, Pass)>, file: GateId) -> Result<(), Stop> {
        if pass.as_ref().is_none_or(|(of, _)| *of != file) {
            // The permit for the other file is of no use now, and others may wait
            // for it.
            *pass = None;
            let entered = self
                .files
                .try_enter(file)
                .ok_or(Stop::Wait(Wait::File(file)))?;
            *pass = Some((file, entered));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
