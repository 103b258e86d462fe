//! One server from its start to its end, and who is next.

use crate::{
    client::{Act, Client},
    host::{Native, Source, Threads},
    maps::{self, BINDING, KEYS},
    pipe::{Input, Output, Pipe},
    sim::{self, Broken, Give},
};
use corosensei::{Coroutine, CoroutineResult, stack::DefaultStack};
use keyhole::{
    Caller, Callers, Code, Key, Loader, Map,
    limits::Limits,
    mcp::{self, Bound, ServeError, Surface},
};
use keyhole_model::disk::MS;
use std::{
    cell::RefCell,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    runtime::Builder,
    sync::oneshot,
    task::{JoinHandle, yield_now},
    time::{Instant, timeout},
};

/// A server ends within this, once its input has: as long as it may still answer.
const LONGEST_END: u64 = 5_100 * MS;
/// More turns than any run takes.
const MOST_TURNS: usize = 200_000;
/// As much of a stack as a call takes, and more.
const STACK: usize = 512 << 10;

thread_local! {
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// A call on its thread.
struct Running {
    fiber: Option<Coroutine<(), Give, ()>>,
    number: usize,
    /// Not before this.
    wake: u64,
    /// At which step it began.
    began: Option<u64>,
}

/// How it goes with the session.
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
    served: Option<JoinHandle<Result<(), ServeError>>>,
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
    /// For how long the client has left answers lying.
    blocked: u64,
    /// Of so many chances to read, it takes one.
    lazy: usize,
}

/// Plays a server. After the last, a valid key must be served.
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
        let callers = agent.map_or(Callers::Unknown, |agent| Callers::Stated(agent.into()));
        let loader = Arc::new(Loader::over(
            Source::new(),
            Native { agent },
            limits,
            Threads,
        ));
        let pipe = || Arc::new(Mutex::new(Pipe::with(rooms)));
        let (input, output) = (pipe(), pipe());
        let (stop, stopped) = oneshot::channel::<()>();
        let served = tokio::spawn(mcp::serve(
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

    /// Until the end, if it is not killed.
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
            }
            self.turn(true).await;
            self.judge_end();
        }
        self.finish().await;
        if last && sim::with(|sim| sim.trouble.is_none()) {
            self.afterwards().await;
        }
    }

    /// Somebody acts, or time passes.
    async fn turn(&mut self, with_others: bool) {
        self.tick();
        for job in sim::with(|sim| std::mem::take(&mut sim.jobs)) {
            let stack = STACKS.with_borrow_mut(Vec::pop);
            let stack = stack.unwrap_or_else(|| DefaultStack::new(STACK).unwrap());
            self.numbers += 1;
            self.calls.push(Running {
                fiber: Some(sim::fiber(stack, job)),
                number: self.numbers,
                wake: 0,
                began: None,
            });
        }
        let limits = Limits::default();
        if self.calls.len() > limits.running + limits.left_behind {
            sim::with(|sim| sim.violation(|| "more calls run than may".into()));
        }
        let now = sim::with(|sim| sim.world.disk.clock);
        let ready: Vec<usize> = (0..self.calls.len())
            .filter(|index| self.calls[*index].wake <= now)
            .collect();
        let chance = sim::with(|sim| sim.rng.below(100));
        if !ready.is_empty() && chance < 62 {
            let index = ready[sim::with(|sim| sim.rng.below(ready.len()))];
            return self.resume(index).await;
        }
        if with_others && chance < 72 {
            let acted = sim::with(|sim| {
                let told = sim.world.act(&mut sim.rng);
                told.inspect(|told| sim.note(told, |_| told.clone()))
                    .is_some()
            });
            if acted {
                return;
            }
        }
        if chance < 90 && self.client_acts(now) {
            return settle().await;
        }
        self.pass_time(now, ready.is_empty(), with_others).await;
    }

    fn tick(&mut self) {
        let elapsed = self.start.elapsed().as_nanos();
        if elapsed != self.last {
            (self.last, self.micros) = (elapsed, 0);
        } else if self.micros < 990_000 {
            self.micros += 3_000;
        }
        let now = self.base + elapsed as u64 + self.micros;
        sim::with(|sim| sim.world.disk.clock = sim.world.disk.clock.max(now));
    }

    async fn resume(&mut self, index: usize) {
        let call = &mut self.calls[index];
        sim::with(|sim| {
            sim.thread = call.number;
            sim.began = *call.began.get_or_insert(sim.world.now);
        });
        let fiber = call.fiber.as_mut().unwrap();
        let result = catch_unwind(AssertUnwindSafe(|| fiber.resume(())));
        sim::nobody();
        match result {
            Ok(CoroutineResult::Yield(Give::Way)) => {}
            Ok(CoroutineResult::Yield(Give::Until(until))) => call.wake = until,
            ended => {
                if ended.is_err() {
                    sim::with(|sim| sim.violation(|| "a call panicked".into()));
                }
                let call = self.calls.swap_remove(index);
                recycle(call);
                settle().await;
            }
        }
    }

    async fn pass_time(&mut self, now: u64, idle: bool, with_others: bool) {
        let wakes = self.calls.iter().map(|call| call.wake);
        let saves = sim::with(|sim| sim.world.next_save()).filter(|_| with_others);
        let next = wakes
            .chain([self.client_waits])
            .chain(saves)
            .filter(|at| *at > now)
            .min();
        let ms = sim::with(|sim| match (sim.rng.below(8), next) {
            (0..2, Some(next)) => (next - now).div_ceil(MS),
            (_, Some(next)) if idle => (next - now).div_ceil(MS).min(200),
            (2, _) => 1 + sim.rng.below(20) as u64,
            (3, None) => 1 + sim.rng.below(600) as u64,
            _ if idle => 1 + sim.rng.below(30) as u64,
            _ => 1,
        });
        let (lies, written) = {
            let output = self.output.lock().unwrap();
            (!output.bytes.is_empty(), Arc::clone(&output.written))
        };
        let before = Instant::now();
        // Until then, or until there is something to read.
        let _ = timeout(Duration::from_millis(ms.max(1)), written.notified()).await;
        if lies {
            self.blocked += before.elapsed().as_nanos() as u64;
        }
        self.tick();
    }

    /// The client reads, or does what is next.
    fn client_acts(&mut self, now: u64) -> bool {
        let (input, output) = (Arc::clone(&self.input), Arc::clone(&self.output));
        let mut output = output.lock().unwrap();
        if !output.bytes.is_empty() && !output.broken && sim::with(|sim| sim.rng.once_in(self.lazy))
        {
            let most = match sim::with(|sim| sim.rng.once_in(2)) {
                true => output.bytes.len(),
                false => 1 + sim::with(|sim| sim.rng.below(output.bytes.len())),
            };
            let bytes: Vec<u8> = output.bytes.drain(..most).collect();
            output.wake();
            drop(output);
            sim::with(|sim| self.client.take(sim, &bytes, self.blocked));
            return true;
        }
        drop(output);
        if now < self.client_waits || self.end != End::Open {
            return false;
        }
        let mut input = input.lock().unwrap();
        match self.client.acts.front().cloned() {
            None => {
                self.end = End::Ended(now);
                input.ended = true;
                input.wake();
                sim::with(|sim| sim.note("end", |_| "client: ends its input".into()));
            }
            Some(Act::Await(index)) if !self.client.is_answered(index) => return false,
            Some(Act::AwaitAll) if self.client.waits() => return false,
            Some(Act::Await(_) | Act::AwaitAll) => {}
            Some(Act::Wait(ms)) => self.client_waits = now + ms * MS,
            Some(Act::Cancelled(id)) => self.client.cancel(&id),
            Some(Act::Asked(_)) => {}
            Some(Act::Write(bytes)) => {
                input.bytes.extend(&bytes);
                input.wake();
                sim::with(|sim| {
                    sim.note(("writes", bytes.len()), |_| {
                        let most = &bytes[..bytes.len().min(300)];
                        format!(
                            "client: writes {}",
                            String::from_utf8_lossy(most).trim_end()
                        )
                    });
                });
                if let Some(Act::Asked(index)) = self.client.acts.get(1) {
                    let step = sim::with(|sim| sim.world.now);
                    self.client.asked[*index].sent = Some((now, step));
                }
            }
        }
        self.client.acts.pop_front();
        true
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

    /// The server has ended. What it holds comes back, and all was answered.
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
            // Nothing runs, and still it is not idle: give timers a chance, then say so.
            if self.calls.is_empty() && turn > 2000 {
                break;
            }
            self.turn(true).await;
        }
        if !self.loader.is_idle() {
            sim::with(|sim| sim.violation(|| "something is held for ever".into()));
        }
    }

    /// Everybody else has gone.
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

    /// The process is no more: each call ends amid its step.
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

/// Whatever of the server can go on goes on.
async fn settle() {
    for _ in 0..4 {
        yield_now().await;
    }
}

fn bound_surface() -> Surface {
    let text = sim::with(|sim| sim.world.wanted.text());
    let named = Map::parse(text.as_bytes(), &maps::location()).ok();
    let binding = named.as_ref().and_then(|map| map.binding(BINDING));
    Surface::Bound(match binding {
        Some(binding) => Bound::new(BINDING, binding),
        None => Bound::to_key(BINDING, Key::try_from(KEYS[0]).unwrap()),
    })
}
