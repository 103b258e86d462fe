//! One call, end to end: map, resolution, sandbox, deadline.

use crate::{
    Caller, Code, Grant,
    gates::{Gates, Pass, Thing},
    grant::Directory,
    guesses::{Guess, Guesses},
    limits::Limits,
    map::{Entry, FrozenMap, Key, LiveMap, Map, resolve_along},
    sandbox::{Guest, Sandbox},
    threads::{Runner, Threads},
    walk::Trail,
    watch::Watch,
};
use std::{fmt, io, sync::Arc};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    task::spawn,
    time::{Instant, timeout_at},
};
use zeroize::Zeroizing;

/// What a call gets: the file, and the call's place, which is given back when
/// this is dropped. Keep it until the answer is written.
#[derive(Debug)]
pub struct Content {
    /// The whole file, unchanged.
    pub text: String,
    #[expect(dead_code, reason = "held, not read")]
    pub(crate) place: OwnedSemaphorePermit,
}

/// Loads files for keys. Shared by all calls of a server.
pub struct Loader<G = Sandbox, M = MapSource> {
    work: Arc<Work<G, M>>,
    limits: Limits,
    /// One permit for each call that runs or waits.
    queue: Arc<Semaphore>,
    /// One for each thing that is asked for.
    keys: Gates,
    /// One permit for each call that runs.
    places: Arc<Semaphore>,
    /// One permit for each call that gave its place up because it takes long. It
    /// is given back when the thread is done, which for a read that hangs in the
    /// kernel is after its call was answered.
    slow: Arc<Semaphore>,
    threads: Box<dyn Runner>,
}

/// The map, and how its entries are resolved. It is a [`MapSource`] wherever a
/// user's files are read; tests have one over files in memory.
#[doc(hidden)]
pub trait Maps: Send + Sync + 'static {
    /// A directory that is open.
    type Directory;
    /// What is still held of the way to the map.
    type Trail;

    /// The map that counts for this call.
    ///
    /// # Errors
    /// The [`Code`] of a map that cannot be used.
    fn current(&self) -> Result<(Arc<Map>, Self::Trail), Code>;

    /// The key that a binding stands for. Without one, there is nothing to serve:
    /// the binding is gone, or so is the file or variable that held its key. What a
    /// caller learns is the same as if the key had left the map.
    ///
    /// # Errors
    /// [`Code::UnknownKey`].
    fn bound(&self, map: &Map, name: &str) -> Result<Key, Code>;

    /// The grant for an entry of that map.
    ///
    /// # Errors
    /// As for [`crate::map::resolve()`].
    fn resolve(
        &self,
        map: &Map,
        trail: &Self::Trail,
        entry: &Entry,
    ) -> Result<Grant<Self::Directory>, Code>;
}

/// The map, and how its entries are resolved.
#[derive(Debug)]
pub enum MapSource {
    /// Read and resolved at each call.
    Live(Arc<LiveMap>),
    /// Read and resolved at the start: for a sealed process, which could not do
    /// it later.
    Frozen(FrozenMap),
}

impl Maps for MapSource {
    type Directory = Directory;
    type Trail = Option<Trail>;

    fn current(&self) -> Result<(Arc<Map>, Self::Trail), Code> {
        match self {
            Self::Live(live) => live.current_and_trail().map_err(|error| error.code()),
            Self::Frozen(frozen) => Ok((Arc::clone(frozen.map()), None)),
        }
    }

    fn bound(&self, map: &Map, name: &str) -> Result<Key, Code> {
        match self {
            Self::Live(_) => map.binding(name).and_then(|binding| binding.key(map).ok()),
            Self::Frozen(frozen) => frozen.bound().cloned(),
        }
        .ok_or(Code::UnknownKey)
    }

    fn resolve(&self, map: &Map, trail: &Self::Trail, entry: &Entry) -> Result<Grant, Code> {
        match self {
            Self::Live(_) => resolve_along(map, trail.as_ref(), entry),
            Self::Frozen(frozen) => frozen.resolve(entry),
        }
    }
}

impl From<Arc<LiveMap>> for MapSource {
    fn from(live: Arc<LiveMap>) -> Self {
        Self::Live(live)
    }
}

impl From<FrozenMap> for MapSource {
    fn from(frozen: FrozenMap) -> Self {
        Self::Frozen(frozen)
    }
}

/// It shows nothing of its calls.
impl<G, M> fmt::Debug for Loader<G, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loader").finish_non_exhaustive()
    }
}

/// What a call asks for.
pub(crate) enum Asked {
    /// What this key stands for. It comes from the caller, and may be anything.
    Key(Zeroizing<String>),
    /// What the binding of this name stands for. It comes from the operator.
    Bound(Arc<str>),
    /// What this key stands for. It comes from the operator.
    Given(Key),
}

impl Asked {
    /// What a gate knows it by. Valid or not, known or not: all take one way.
    fn thing(&self, gates: &Gates) -> Thing {
        match self {
            Self::Key(key) => gates.thing(("key", key.as_str())),
            Self::Bound(name) => gates.thing(("binding", name)),
            Self::Given(key) => gates.thing(("given", key.expose())),
        }
    }
}

/// What a call's thread needs.
struct Work<G, M> {
    map: M,
    sandbox: Arc<G>,
    /// One for each file that is being read.
    files: Gates,
    guesses: Arc<Guesses>,
}

/// One call, while it has no thread and while it has one.
pub(crate) struct Call {
    asked: Asked,
    caller: Caller,
    /// The agent that calls, once that is known: a ticket can be redeemed once.
    agent: Option<Option<Arc<str>>>,
    /// Leave to look up a key that could be guessed, if it was waited for.
    guess: Option<Guess>,
    /// Leave to read this file, once that is known.
    file: Option<(Thing, Pass)>,
    /// Leave to run for what is asked for.
    _asked: Pass,
}

/// How far a call got on a thread.
pub(crate) enum Ran {
    Done(Result<String, Code>),
    /// It has to wait, without a thread, and to begin anew.
    Wait(Box<Call>, Wait),
}

/// The same, with the call's place.
pub(crate) enum Told {
    Done(Result<Content, Code>),
    Wait(Box<Call>, Wait),
}

/// What a call has to wait for.
pub(crate) enum Wait {
    /// Its file is being read by as many as may: several keys stand for it.
    File(Thing),
    /// Its key could be guessed, and too many were wrong.
    Guess,
}

impl<G: Guest> Loader<G> {
    /// A loader for the files of `map`, read by `sandbox`.
    #[must_use]
    pub fn new(map: impl Into<MapSource>, sandbox: G, limits: Limits) -> Self {
        // Each call that has one also has a place, or that of a slow call.
        let threads = Threads::new(limits.running + limits.left_behind);
        Self::over(map.into(), sandbox, limits, threads)
    }
}

impl<M: Maps, G: Guest<M::Directory>> Loader<G, M> {
    /// As [`Loader::new`], for any map, and with any threads.
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
                guesses: Guesses::new(limits),
            }),
            limits,
            queue: Arc::new(Semaphore::new(limits.running + limits.waiting)),
            keys: gates(),
            places: Arc::new(Semaphore::new(limits.running)),
            slow: Arc::new(Semaphore::new(limits.left_behind)),
            threads: Box::new(threads),
        }
    }

    /// Makes the first thread for calls now, so that a system that has none for
    /// us says so at the start.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn start(&self) -> io::Result<()> {
        self.threads.start()
    }

    /// Whether nothing is held: no call runs, waits or is stuck.
    #[doc(hidden)]
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let limits = &self.limits;
        self.queue.available_permits() == limits.running + limits.waiting
            && self.places.available_permits() == limits.running
            && self.slow.available_permits() == limits.left_behind
            && (self.keys.len(), self.work.files.len()) == (0, 0)
            && self.work.guesses.is_idle()
    }

    /// The file that `key` stands for in the map as it is now, if `caller` may
    /// have it.
    ///
    /// Waits for a place first, at most as long as a call may take; a key that
    /// could be guessed also waits behind others of that kind that were wrong: see
    /// [`Limits::free_guesses`]. Runs on threads of its own; the runtime needs a
    /// timer.
    ///
    /// # Errors
    /// Each [`Code`].
    pub async fn load(&self, key: &str, caller: &Caller) -> Result<Content, Code> {
        let key = Zeroizing::new(key.to_owned());
        self.answer(Asked::Key(key), caller).await
    }

    /// As [`Self::load`], for a server that is bound: the file of the binding
    /// `name`, by the map as it is now.
    ///
    /// # Errors
    /// Each [`Code`]; [`Code::UnknownKey`] also where the binding is gone, or its
    /// key cannot be had.
    pub async fn load_bound(&self, name: &str, caller: &Caller) -> Result<Content, Code> {
        self.answer(Asked::Bound(name.into()), caller).await
    }

    /// Every wait is for what other calls hold, first come, first served, and ends
    /// at one time for all together. Dropping the future ends the call if it waits;
    /// if it runs, it goes on until it ends, holding what it has.
    pub(crate) async fn answer(&self, asked: Asked, caller: &Caller) -> Result<Content, Code> {
        let until = Instant::now() + self.limits.deadline;
        let _queued = self.queue.try_acquire().map_err(|_| Code::Busy)?;
        let thing = asked.thing(&self.keys);
        let pass = by(until, self.keys.enter(thing)).await??;
        let mut call = Box::new(Call {
            asked,
            caller: caller.clone(),
            agent: None,
            guess: None,
            file: None,
            _asked: pass,
        });
        loop {
            let place = Arc::clone(&self.places).acquire_owned();
            let place = by(until, place).await?.map_err(|_| Code::Internal)?;
            // The map may say something else by the time there is leave, so it is
            // asked again.
            match self.run(call, place).await? {
                Told::Done(answer) => return answer,
                // What it would wait for may be there by now, but its time is over.
                Told::Wait(..) if Instant::now() >= until => return Err(Code::Busy),
                Told::Wait(again, Wait::File(file)) => {
                    call = again;
                    let pass = by(until, self.work.files.enter(file)).await??;
                    call.file = Some((file, pass));
                }
                Told::Wait(again, Wait::Guess) => {
                    call = again;
                    call.guess = Some(by(until, self.work.guesses.take()).await??);
                }
            }
        }
    }

    /// Runs a call on a thread, and watches it.
    async fn run(&self, call: Box<Call>, place: OwnedSemaphorePermit) -> Result<Told, Code> {
        let deadline = Instant::now() + self.limits.deadline;
        let (done, ran) = oneshot::channel();
        let work = Arc::clone(&self.work);
        self.threads
            .run(Box::new(move || {
                // What the call holds is given back before anybody is told.
                let ran = work.run(call, deadline.into_std());
                drop(done.send(ran));
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
        // In a task of its own: a guest whose caller went away is stopped at its
        // deadline all the same, and keeps its place until then.
        spawn(watch.over(ran, place, tell));
        told.await.map_err(|_| Code::Internal)
    }
}

/// The same, if it is ready at `until`.
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

impl<M: Maps, G: Guest<M::Directory>> Work<G, M> {
    /// The call itself, on a thread that may block.
    fn run(&self, mut call: Box<Call>, deadline: std::time::Instant) -> Ran {
        match self.load(&mut call, deadline) {
            Ok(text) => Ran::Done(Ok(text)),
            Err(Stop::Refused(code)) => Ran::Done(Err(code)),
            Err(Stop::Wait(wait)) => Ran::Wait(call, wait),
        }
    }

    fn load(&self, call: &mut Call, deadline: std::time::Instant) -> Result<String, Stop> {
        // First of all: who is not verified learns nothing, not even of the map.
        let agent = match &mut call.agent {
            Some(agent) => agent,
            agent => agent.insert(call.caller.agent()?),
        };
        let (map, trail) = self.map.current()?;
        let bound;
        let key = match &call.asked {
            Asked::Key(key) => key.as_str(),
            Asked::Bound(name) => {
                bound = self.map.bound(&map, name)?;
                bound.expose()
            }
            Asked::Given(key) => key.expose(),
        };
        let guess = match call.guess.take() {
            None if matches!(call.asked, Asked::Key(_)) && Key::is_guessable(key) => {
                Some(self.guesses.try_take().ok_or(Stop::Wait(Wait::Guess))?)
            }
            guess => guess,
        };
        let entry = Key::try_from(key)
            .ok()
            .and_then(|key| map.find_for(&key, agent.as_deref()));
        match (guess, entry) {
            (Some(guess), None) => guess.was_wrong(),
            // It goes back.
            (guess, _) => drop(guess),
        }
        if let Some(entry) = entry {
            self.enter(&mut call.file, self.files.thing(entry.path()))?;
        }
        // Without an entry there is no grant, and the guest refuses: a wrong key,
        // and one that is bound to others, takes the same way as a right one.
        let grant = entry
            .map(|entry| self.map.resolve(&map, &trail, entry))
            .transpose()?;
        drop(trail);
        Ok(self.sandbox.call(key, grant, deadline)?)
    }

    /// Leave to read `file`, if `pass` is not that already.
    fn enter(&self, pass: &mut Option<(Thing, Pass)>, file: Thing) -> Result<(), Stop> {
        if pass.as_ref().is_none_or(|(of, _)| *of != file) {
            // What was waited for is of no use, and others may wait for it.
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
#[path = "loader_tests.rs"]
mod tests;
