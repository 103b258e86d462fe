//! The state that all parts of one run share. It belongs to the thread that plays the
//! run, so that the host's own types, which must be `Send`, can reach it.

use crate::{rng::Rng, world::World};
use keyhole::Job;
use std::{
    cell::{Cell, RefCell},
    hash::{DefaultHasher, Hash, Hasher as _},
};

/// A deliberate mistake, to show that the simulation can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// A call uses the map of the call before.
    StaleMap,
    /// An answer goes to another request.
    WrongId,
    /// A call does not release what it holds if its thread was refused.
    LostPermit,
    /// A file is served while it is being saved.
    NoRest,
    /// The host follows a path wherever it leads.
    FollowsAll,
    /// A request gets no answer.
    Silent,
    /// A request gets two answers.
    Twice,
    /// A refusal names the key.
    Leaks,
    /// A call waits for its file without a limit.
    NoDeadline,
}

impl Broken {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::StaleMap,
        Self::WrongId,
        Self::LostPermit,
        Self::NoRest,
        Self::FollowsAll,
        Self::Silent,
        Self::Twice,
        Self::Leaks,
        Self::NoDeadline,
    ];
}

/// How often the system fails: once in this many times; 0 means never.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// `EIO`
    pub fails: usize,
    /// `ENFILE`, `ENOMEM`
    pub exhausted: usize,
    /// `EINTR`: the call is made again.
    pub interrupted: usize,
    /// A read returns less than there is.
    pub short: usize,
    /// A step takes seconds.
    pub hangs: usize,
    /// The system refuses a thread.
    pub no_thread: usize,
}

/// See the module.
pub struct Sim {
    /// The seed's sequence.
    pub rng: Rng,
    /// The disk, and who works on it.
    pub world: World,
    /// How often the system fails.
    pub faults: Faults,
    /// The mistake, if one is played.
    pub broken: Option<Broken>,
    /// Jobs that no thread has started yet.
    pub jobs: Vec<Job>,
    /// What was served: for which key, which text, and at which step.
    pub given: Vec<(String, String, u64)>,
    /// What has gone wrong.
    pub trouble: Option<String>,
    /// Which of the calls' threads runs.
    pub thread: usize,
    /// At which step its call began.
    pub began: u64,
    trace: DefaultHasher,
    story: Option<Vec<String>>,
}

/// How a call's thread yields.
#[derive(Clone, Copy, Debug)]
pub enum Give {
    /// To whoever is next.
    Way,
    /// Until this time of the disk's clock.
    Until(u64),
}

type Yielder = corosensei::Yielder<(), Give>;

thread_local! {
    static SIM: RefCell<Option<Sim>> = const { RefCell::new(None) };
    static CURRENT: Cell<*const Yielder> = const { Cell::new(std::ptr::null()) };
}

/// Makes `sim` the run of this thread, or ends the run.
pub fn set(sim: Option<Sim>) -> Option<Sim> {
    SIM.replace(sim)
}

/// Works on this thread's run. Nobody else may do so at the same time.
pub fn with<T>(act: impl FnOnce(&mut Sim) -> T) -> T {
    SIM.with_borrow_mut(|sim| act(sim.as_mut().unwrap()))
}

/// Runs a job on a stack of its own, until it first yields.
pub fn fiber(
    stack: corosensei::stack::DefaultStack,
    job: Job,
) -> corosensei::Coroutine<(), Give, ()> {
    corosensei::Coroutine::with_stack(stack, move |yielder: &Yielder, ()| {
        CURRENT.set(yielder);
        job(&|| {});
    })
}

/// The running call yields. Outside of calls, this does nothing.
pub fn give(give: Give) {
    let current = CURRENT.get();
    if current.is_null() {
        return;
    }
    // SAFETY: it is set at the start of a fiber and of each later turn of it, and unset when
    // the fiber stops running. So it belongs to the fiber that runs now, and lives as long as
    // that fiber's stack.
    unsafe { (*current).suspend(give) };
    CURRENT.set(current);
}

/// No call runs now.
pub fn nobody() {
    CURRENT.set(std::ptr::null());
}

impl Sim {
    /// A run that is about to begin.
    #[must_use]
    pub fn new(rng: Rng, world: World, broken: Option<Broken>, tell: bool) -> Self {
        Self {
            rng,
            world,
            faults: Faults::default(),
            broken,
            jobs: Vec::new(),
            given: Vec::new(),
            trouble: None,
            thread: 0,
            began: 0,
            trace: DefaultHasher::new(),
            story: tell.then(Vec::new),
        }
    }

    /// Adds an event to the trace, and to the story if one is wanted.
    pub fn note(&mut self, what: impl Hash, say: impl FnOnce(&Self) -> String) {
        (self.world.disk.clock, what).hash(&mut self.trace);
        if let Some(mut story) = self.story.take() {
            let ms = self.world.elapsed() as f64 / 1e6;
            story.push(format!("{ms:>10.3} ms  {}", say(self)));
            self.story = Some(story);
        }
    }

    /// Notes a broken promise. Only the first one counts.
    pub fn violation(&mut self, what: impl FnOnce() -> String) {
        if self.trouble.is_none() {
            let what = what();
            self.note("violation", |_| format!("NOT KEPT: {what}"));
            self.trouble = Some(what);
        }
    }

    /// One number for all that has happened.
    #[must_use]
    pub fn traced(&self) -> u64 {
        self.trace.finish()
    }

    /// The story, if one was wanted.
    pub fn story(&mut self) -> Vec<String> {
        self.story.take().unwrap_or_default()
    }
}
