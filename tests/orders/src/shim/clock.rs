//! A clock that is one more thread: time passes when the scheduler runs it, up to the
//! next moment that somebody waits for. So anything may take any time, but nothing
//! happens before its time.

use super::{choose, others_first};
use shuttle::{
    current::context_switches,
    thread::{self, Thread},
};
use std::{
    cell::RefCell,
    collections::BTreeMap,
    ops::{Add, AddAssign},
    pin::Pin,
    sync::OnceLock,
    task::{Context, Poll, Waker},
    time::Duration,
};

thread_local! {
    static CLOCK: RefCell<Clock> = RefCell::default();
}

#[derive(Default)]
struct Clock {
    now: Duration,
    /// Those who wait, by time and then by who came first.
    timers: BTreeMap<(Duration, u64), Waker>,
    last: u64,
    thread: Option<Thread>,
    stopped: bool,
}

/// How time passes in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Not at all: whoever waits only for time waits for ever.
    Frozen,
    /// Whenever the scheduler chooses.
    Any,
    /// When there is nothing else to do: computing takes no time.
    Idle,
}

/// Starts the clock of a run.
pub fn start(pace: Pace) {
    CLOCK.with_borrow_mut(|clock| *clock = Clock::default());
    // In some runs time passes fast, in others there is time for everything.
    let wait: Box<dyn Fn() + Send> = match pace {
        Pace::Frozen => return,
        Pace::Any => {
            let patience = [0, 2, 8, 40][choose(4)];
            Box::new(move || (0..=patience).for_each(|_| thread::yield_now()))
        }
        Pace::Idle => Box::new(until_idle),
    };
    let thread = thread::spawn(move || run(&*wait));
    CLOCK.with_borrow_mut(|clock| clock.thread = Some(thread.thread().clone()));
}

/// Waits until the scheduler has chosen nobody else for so many times in a row that
/// nobody else is left.
fn until_idle() {
    let mut alone = 0;
    while alone < 32 {
        let before = context_switches();
        thread::yield_now();
        alone = match context_switches() - before {
            1 => alone + 1,
            _ => 0,
        };
    }
}

/// Stops it, so that the run can end.
pub fn stop() {
    let thread = CLOCK.with_borrow_mut(|clock| {
        clock.stopped = true;
        clock.thread.take()
    });
    if let Some(thread) = thread {
        thread.unpark();
    }
}

fn run(wait: &dyn Fn()) {
    loop {
        wait();
        let (stopped, due) = CLOCK.with_borrow_mut(|clock| {
            let due = clock.timers.pop_first();
            if let Some(((at, _), _)) = &due {
                clock.now = clock.now.max(*at);
            }
            (clock.stopped, due)
        });
        match due {
            _ if stopped => return,
            Some((_, waker)) => waker.wake(),
            None => thread::park(),
        }
    }
}

/// The time since the run began.
pub fn now() -> Duration {
    CLOCK.with_borrow(|clock| clock.now)
}

/// A moment, as tokio's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(Duration);

impl Instant {
    pub fn now() -> Self {
        Self(now())
    }

    pub fn elapsed(&self) -> Duration {
        now().saturating_sub(self.0)
    }

    pub fn duration_since(&self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// The guest's deadline is one of these.
    pub fn into_std(self) -> std::time::Instant {
        base() + self.0
    }
}

/// Whether `instant`, which [`Instant::into_std`] made, has come.
pub fn is_past(instant: std::time::Instant) -> bool {
    base() + now() >= instant
}

/// The start of a run, as a time of the system's clock.
fn base() -> std::time::Instant {
    static BASE: OnceLock<std::time::Instant> = OnceLock::new();
    *BASE.get_or_init(std::time::Instant::now)
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, time: Duration) -> Self {
        Self(self.0 + time)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, time: Duration) {
        self.0 += time;
    }
}

/// Ready at a moment.
#[derive(Debug)]
pub struct Sleep {
    until: Duration,
    timer: Option<(Duration, u64)>,
}

pub fn sleep(time: Duration) -> Sleep {
    sleep_until(Instant::now() + time)
}

pub fn sleep_until(until: Instant) -> Sleep {
    Sleep {
        until: until.0,
        timer: None,
    }
}

impl Sleep {
    fn forget(&mut self) {
        if let Some(timer) = self.timer.take() {
            let _ = CLOCK.try_with(|clock| clock.borrow_mut().timers.remove(&timer));
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        others_first();
        self.forget();
        if now() >= self.until {
            return Poll::Ready(());
        }
        let until = self.until;
        let (timer, thread) = CLOCK.with_borrow_mut(|clock| {
            clock.last += 1;
            let timer = (until, clock.last);
            clock.timers.insert(timer, cx.waker().clone());
            (timer, clock.thread.clone())
        });
        self.timer = Some(timer);
        if let Some(thread) = thread {
            thread.unpark();
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.forget();
    }
}
