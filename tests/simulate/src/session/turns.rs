//! One turn: a call makes a step, somebody acts, the client reads or writes, or time
//! passes.

use super::{End, Running, STACK, STACKS, Session, recycle, settle};
use crate::{
    client::Act,
    sim::{self, Give},
};
use corosensei::{CoroutineResult, stack::DefaultStack};
use keyhole::limits::Limits;
use keyhole_model::disk::MS;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};
use tokio::time::{Instant, timeout};

impl Session {
    /// Somebody acts, or time passes.
    pub(super) async fn turn(&mut self, with_others: bool) {
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
        // The map is read ahead without a permit.
        if self.calls.len() > limits.running + limits.abandoned + 1 {
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

    pub(super) fn tick(&mut self) {
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
            .chain(with_others.then_some(self.client_waits))
            .chain(saves)
            .filter(|at| *at > now)
            .min();
        let ms = sim::with(|sim| match (sim.rng.below(8), next) {
            (0..2, Some(next)) => (next - now).div_ceil(MS),
            // There is nobody else that the calls could wait for.
            _ if !with_others && !idle => 1,
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
        // Waits until then, or until there is something to read.
        let _ = timeout(Duration::from_millis(ms.max(1)), written.notified()).await;
        if lies {
            self.blocked += before.elapsed().as_nanos() as u64;
        }
        self.tick();
    }

    /// The client reads, or does its next act.
    fn client_acts(&mut self, now: u64) -> bool {
        // A write after the server's end would come from a process that is gone.
        if self.served.is_none() {
            return false;
        }
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
}
