//! One server from its start to its end, and who is next.

mod turns;

use crate::{
    client::Client,
    host::{Native, Source, Threads},
    maps::{self, BINDING, KEYS},
    pipe::{Input, Output, Pipe},
    sim::{self, Broken, Give},
};
use corosensei::{Coroutine, stack::DefaultStack};
use keyhole::{
    Caller, Callers, Code, Key, Loader, Map,
    limits::Limits,
    mcp::{self, Bound, SessionError, Surface},
};
use keyhole_model::disk::MS;
use std::{
    cell::RefCell,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    runtime::Builder,
    sync::oneshot,
    task::{JoinHandle, yield_now},
    time::Instant,
};

/// How soon a server ends after its input: as long as it may still answer.
const LONGEST_END: u64 = 5_100 * MS;
/// More turns than any run takes.
const MOST_TURNS: usize = 200_000;
/// For this many turns, the user and the others still act during the last calls.
const OTHERS_STAY: usize = 5_000;
/// The size of a stack: more than a call needs.
const STACK: usize = 512 << 10;

thread_local! {
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// A call on its thread.
struct Running {
    fiber: Option<Coroutine<(), Give, ()>>,
    number: usize,
    /// It does not run before this time.
    wake: u64,
    /// At which step it began.
    began: Option<u64>,
}

/// The state of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Open,
    /// The input ended, at this time.
    Ended(u64),
    /// The server is told to stop, or its client has gone.
    Gone,
}

struct Session {
    loader: Arc<Loader<Native, Source>>,
    served: Option<JoinHandle<Result<(), SessionError>>>,
    client: Client,
    input: Arc<Mutex<Pipe>>,
    output: Arc<Mutex<Pipe>>,
    stop: Option<oneshot::Sender<()>>,
    end: End,
    calls: Vec<Running>,
    numbers: usize,
    start: Instant,
    base: u64,
    last: u128,
    micros: u64,
    client_waits: u64,
    /// How long the client has not read waiting answers.
    blocked: u64,
    /// It reads once in this many chances.
    lazy: usize,
}

/// Plays a server. After the last one, a valid key must be served.
pub fn session(last: bool) {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut session = Session::new();
        session.play(last).await;
        session.drop_calls();
    });
}

impl Session {
    fn new() -> Self {
        let (agent, bound, limits, lazy, rooms, base, client) = sim::with(|sim| {
            let agent = Client::agent(&mut sim.rng);
            let bound = sim.rng.once_in(5);
            let deadline = match sim.broken {
                Some(Broken::NoDeadline) => Duration::from_secs(60),
                _ => Limits::default().deadline,
            };
            let limits = Limits {
                deadline,
                ..Limits::default()
            };
            let rooms = sim.rng.of(&[64, 700, 1 << 16, 1 << 20]);
            let base = sim.world.disk.clock;
            let lazy = sim.rng.of(&[1, 1, 2, 8]);
            let client = Client::new(&mut sim.rng, bound, sim.broken);
            (agent, bound, limits, lazy, rooms, base, client)
        });
        let surface = match bound {
            true => bound_surface(),
            false => Surface::General,
        };
        let callers = agent.map_or(Callers::Unknown, |agent| {
            Callers::Stated(agent.try_into().unwrap())
        });
        let loader = Arc::new(Loader::over(
            Source::new(),
            Native { agent },
            limits,
            Threads,
        ));
        // A server that gets no thread ends, and its client starts another.
        while loader.start().is_err() {}
        let pipe = || Arc::new(Mutex::new(Pipe::with(rooms)));
        let (input, output) = (pipe(), pipe());
        let (stop, stopped) = oneshot::channel::<()>();
        let served = tokio::spawn(mcp::run_session(
            Arc::clone(&loader),
            callers,
            surface,
            Input(Arc::clone(&input)),
            Output(Arc::clone(&output)),
            async {
                if stopped.await.is_err() {
                    std::future::pending().await
                }
            },
        ));
        Self {
            loader,
            served: Some(served),
            client,
            input,
            output,
            stop: Some(stop),
            end: End::Open,
            calls: Vec::new(),
            numbers: 0,
            start: Instant::now(),
            base,
            last: 0,
            micros: 0,
            client_waits: 0,
            blocked: 0,
            lazy,
        }
    }

    /// Plays until the end, if the server is not killed.
    async fn play(&mut self, last: bool) {
        let (killed, stopped, closed, broken) = sim::with(|sim| {
            let mut at = |rarity, most| match sim.rng.once_in(rarity) {
                true => sim.rng.below(most),
                false => usize::MAX,
            };
            (at(4, 3000), at(12, 2000), at(12, 2000), at(30, 2000))
        });
        let mut turns = 0;
        while let Some(served) = &self.served
            && !served.is_finished()
        {
            turns += 1;
            if turns > MOST_TURNS {
                sim::with(|sim| sim.violation(|| "the run has no end".into()));
            }
            if sim::with(|sim| sim.trouble.is_some()) {
                return;
            }
            if turns == killed && !last {
                return sim::with(|sim| sim.note("killed", |_| "the server is killed".into()));
            }
            if turns == stopped
                && let Some(stop) = self.stop.take()
            {
                self.end = End::Gone;
                sim::with(|sim| sim.note("stopped", |_| "the server is told to stop".into()));
                let _ = stop.send(());
                settle().await;
            } else if turns == closed || turns == broken {
                self.end = End::Gone;
                sim::with(|sim| sim.note("gone", |_| "a stream breaks".into()));
                let pipe = if turns == closed {
                    &self.output
                } else {
                    &self.input
                };
                let mut pipe = pipe.lock().unwrap();
                pipe.broken = true;
                pipe.wake();
                drop(pipe);
            } else if turns == closed.saturating_add(2000) {
                // The server notices that its reader has gone when it writes. If it has
                // nothing to write, its input ends at some time.
                let mut input = self.input.lock().unwrap();
                input.ended = true;
                input.wake();
            }
            self.turn(true).await;
            if turns % 256 == 0 {
                self.judge_waits();
            }
            self.judge_end();
        }
        self.finish().await;
        if last && sim::with(|sim| sim.trouble.is_none()) {
            self.afterwards().await;
        }
    }

    /// Checks that nobody waits for longer than any answer may take.
    fn judge_waits(&self) {
        let now = sim::with(|sim| sim.world.disk.clock);
        let begin = now.saturating_sub(crate::host::LONGEST + self.blocked);
        if self.end == End::Open && self.client.waits_since(begin) {
            sim::with(|sim| sim.violation(|| "an answer does not come".into()));
        }
    }

    fn judge_end(&self) {
        let now = sim::with(|sim| sim.world.disk.clock);
        if let End::Ended(at) = self.end
            && now > at + LONGEST_END + self.blocked + 700 * MS
            && self
                .served
                .as_ref()
                .is_some_and(|served| !served.is_finished())
        {
            sim::with(|sim| sim.violation(|| "the server does not end".into()));
        }
    }

    /// The server has ended. Checks that it releases all that it holds, and that all
    /// requests have answers.
    async fn finish(&mut self) {
        let Some(served) = self.served.take() else {
            return;
        };
        let ended = served.await;
        sim::with(|sim| {
            sim.note("ended", |_| format!("the server has ended: {ended:?}"));
            if !matches!(ended, Ok(Ok(()))) && self.end != End::Gone {
                sim.violation(|| format!("the server ended so: {ended:?}"));
            }
        });
        let rest: Vec<u8> = self.output.lock().unwrap().bytes.drain(..).collect();
        sim::with(|sim| self.client.take(sim, &rest, self.blocked));
        if let End::Ended(at) = self.end {
            sim::with(|sim| {
                let gave_up = sim.world.disk.clock >= at + 4_900 * MS;
                if self.client.waits() && !gave_up {
                    sim.violation(|| "a request got no answer".into());
                }
                if !self.client.is_whole() && !gave_up {
                    sim.violation(|| "half a line at the end".into());
                }
            });
        }
        for turn in 0.. {
            settle().await;
            if self.calls.is_empty()
                && sim::with(|sim| sim.jobs.is_empty())
                && self.loader.is_idle()
            {
                break;
            }
            if turn > MOST_TURNS / 4 || sim::with(|sim| sim.trouble.is_some()) {
                break;
            }
            // Nothing runs, but it is not idle: give timers a chance, then report that.
            if self.calls.is_empty() && turn > 2000 {
                break;
            }
            // While the user saves the map again and again, calls read it again and
            // again. So the user must stop as well.
            if turn == OTHERS_STAY {
                sim::with(|sim| sim.world.end_saves(&mut sim.rng));
            }
            self.turn(turn < OTHERS_STAY).await;
        }
        if !self.loader.is_idle() {
            sim::with(|sim| sim.violation(|| "something is held for ever".into()));
        }
    }

    /// Checks the server after everybody else has gone.
    async fn afterwards(&mut self) {
        sim::with(|sim| {
            sim.faults = crate::sim::Faults::default();
            sim.world.calm_down(&mut sim.rng);
            self.base = sim.world.disk.clock + 1000 * MS - self.start.elapsed().as_nanos() as u64;
        });
        self.end = End::Gone;
        let loader = Arc::clone(&self.loader);
        let call = tokio::spawn(async move {
            let answer: Result<_, Code> = loader.load(KEYS[0], &Caller::Nobody).await;
            answer.map(|content| content.text.clone())
        });
        for _ in 0..MOST_TURNS {
            settle().await;
            if call.is_finished() {
                break;
            }
            self.turn(false).await;
        }
        if !call.is_finished() {
            return sim::with(|sim| sim.violation(|| "the call afterwards has no end".into()));
        }
        let answer = call.await.unwrap();
        if answer.as_deref() != Ok(maps::text(0, 1)) {
            sim::with(|sim| sim.violation(|| format!("a valid key is not served: {answer:?}")));
        }
    }

    /// The process has ended: each call ends in the middle of its step.
    fn drop_calls(&mut self) {
        for call in self.calls.drain(..) {
            recycle(call);
        }
        let jobs = sim::with(|sim| std::mem::take(&mut sim.jobs));
        drop(jobs);
    }
}

fn recycle(call: Running) {
    if let Some(mut fiber) = call.fiber {
        fiber.force_unwind();
        STACKS.with_borrow_mut(|stacks| stacks.push(fiber.into_stack()));
    }
}

/// Lets every part of the server run that can.
async fn settle() {
    for _ in 0..4 {
        yield_now().await;
    }
}

fn bound_surface() -> Surface {
    let text = sim::with(|sim| sim.world.wanted.text());
    let named = Map::parse(text.as_bytes(), &maps::location()).ok();
    let binding = named.as_ref().and_then(|map| map.binding(BINDING));
    let name = BINDING.try_into().unwrap();
    Surface::Bound(match binding {
        Some(binding) => Bound::new(&name, binding),
        None => Bound::to_key(&name, Key::try_from(KEYS[0]).unwrap()),
    })
}
