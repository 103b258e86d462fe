//! The rounds: every server in turn, so that a disturbance affects all of them.

use crate::{
    files::{Files, KEYS},
    hooks::Hooks,
    inside::Inside,
    numbers::{Spread, quantile},
    server::{self, Programs, Server},
    session::Session,
};
use std::{
    collections::BTreeMap,
    error::Error,
    fs,
    path::Path,
    time::{Duration, Instant},
};

/// How much is measured.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) rounds: usize,
    /// Slow servers take part in one of this many rounds.
    pub(crate) slow_every: usize,
    pub(crate) starts: usize,
    pub(crate) small_calls: usize,
    pub(crate) large_calls: usize,
    pub(crate) flood_calls: usize,
}

pub(crate) const FULL: Plan = Plan {
    rounds: 21,
    slow_every: 3,
    starts: 8,
    small_calls: 400,
    large_calls: 40,
    flood_calls: 3000,
};

/// Shows that it works, not how fast.
pub(crate) const SHORT: Plan = Plan {
    rounds: 2,
    slow_every: 1,
    starts: 1,
    small_calls: 20,
    large_calls: 2,
    flood_calls: 128,
};

/// How many calls are in flight.
pub(crate) const WIDTH: usize = 64;

/// What is measured for a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    /// Start to handshake, and to the first answer, in milliseconds.
    Handshake,
    First,
    /// Calls one by one, in microseconds.
    Small50,
    Small99,
    Large50,
    Large99,
    /// Calls a second.
    Flood,
    /// MiB.
    Peak,
}

/// For each measure and server, one value a round.
#[derive(Default)]
pub(crate) struct Results(BTreeMap<(What, String), BTreeMap<usize, f64>>);

impl Results {
    fn add(&mut self, what: What, name: &str, round: usize, value: f64) {
        self.0
            .entry((what, name.to_owned()))
            .or_default()
            .insert(round, value);
    }

    pub(crate) fn spread(&self, what: What, name: &str) -> Option<Spread> {
        Spread::of(self.0.get(&(what, name.to_owned()))?.values().copied())
    }

    /// `of` compared with `to`, round by round.
    pub(crate) fn compare(
        &self,
        what: What,
        of: &str,
        to: &str,
        how: impl Fn(f64, f64) -> f64,
    ) -> Option<Spread> {
        let of = self.0.get(&(what, of.to_owned()))?;
        let to = self.0.get(&(what, to.to_owned()))?;
        Spread::of(
            of.iter()
                .filter_map(|(round, value)| Some(how(*value, *to.get(round)?))),
        )
    }
}

/// Names in the results that are not names of servers.
pub(crate) const NATIVE_INSIDE: &str = "native, inside";
pub(crate) const SANDBOX_INSIDE: &str = "sandbox, inside";
pub(crate) const AFTER_LARGE_INSIDE: &str = "sandbox after large files, inside";
pub(crate) const EMPTY: &str = "empty program";
pub(crate) const LAUNCHER: &str = "launcher";
pub(crate) const GUARD: &str = "guard";

/// The name in the results for keyhole with a map of this many keys.
pub(crate) fn with_keys(keys: usize) -> String {
    format!("keyhole, {keys} keys")
}

/// All results.
pub(crate) struct Measured {
    pub(crate) servers: Vec<Server>,
    pub(crate) absent: Vec<(String, String)>,
    pub(crate) results: Results,
}

pub(crate) fn measure(
    plan: Plan,
    files: &Files,
    programs: &Programs,
    start: &Path,
) -> Result<Measured, Box<dyn Error>> {
    let (mut servers, mut absent) = server::all(files, programs);
    let texts = [
        fs::read_to_string(files.small())?,
        fs::read_to_string(files.large())?,
    ];
    // After this, the file cache is warm, so a slow start has another cause. A server
    // that does not answer is not measured, but our own must answer.
    let mut failures = Vec::new();
    servers.retain(|server| match tried(server, &texts) {
        Ok(()) => true,
        Err(error) => {
            failures.push((server.clone(), error.to_string()));
            false
        }
    });
    for (server, error) in failures {
        if !server.slow {
            return Err(format!("{}: {error}", server.name).into());
        }
        absent.push((format!("{} {}", server.name, server.version), error));
    }
    let inside = Inside::new()?;
    let keyhole = programs.own.join("keyhole");
    let hooks = Hooks::new(files, &keyhole, start)?;
    if hooks.is_none() {
        absent.push((
            "launcher and guard".to_owned(),
            "no C compiler that links statically".to_owned(),
        ));
    }
    let maps = KEYS.map(|keys| Server {
        // Only the results tell them apart.
        ..server::keyhole(server::KEYHOLE, &keyhole, &files.map(keys))
    });

    let mut results = Results::default();
    for round in 0..plan.rounds {
        let mut turn: Vec<(String, &Server)> = servers
            .iter()
            .filter(|server| !server.slow)
            .map(|server| (server.name.to_owned(), server))
            .chain(KEYS.map(with_keys).into_iter().zip(&maps))
            .collect();
        // The server that comes first in one round comes last in the next.
        if round % 2 == 1 {
            turn.reverse();
        }
        one_round(plan, &turn, &texts, round, &mut results)?;
        if round % plan.slow_every == 0 {
            for server in servers.iter().filter(|server| server.slow) {
                let few = Plan {
                    starts: 1,
                    small_calls: plan.small_calls.min(200),
                    large_calls: plan.large_calls.min(20),
                    flood_calls: plan.flood_calls.min(500),
                    ..plan
                };
                let turn = [(server.name.to_owned(), server)];
                one_round(few, &turn, &texts, round, &mut results)?;
            }
        }
        let times = inside.round(files, plan.small_calls)?;
        for (what, name, value) in [
            (What::Small50, NATIVE_INSIDE, times.native_small),
            (What::Large50, NATIVE_INSIDE, times.native_large),
            (What::Small50, SANDBOX_INSIDE, times.sandbox_small),
            (What::Large50, SANDBOX_INSIDE, times.sandbox_large),
            (
                What::Small50,
                AFTER_LARGE_INSIDE,
                times.sandbox_small_after_large,
            ),
        ] {
            results.add(what, name, round, value);
        }
        if let Some(hooks) = &hooks {
            let times = hooks.round(round)?;
            for (name, value) in [
                (EMPTY, times.empty),
                (LAUNCHER, times.launcher),
                (GUARD, times.guard),
            ] {
                results.add(What::First, name, round, value);
            }
        }
    }
    Ok(Measured {
        servers,
        absent,
        results,
    })
}

/// Fails unless the server serves both files unchanged.
fn tried(server: &Server, texts: &[String; 2]) -> std::io::Result<()> {
    let (mut session, _) = Session::start(server)?;
    session.check(&server.small, &texts[0])?;
    session.check(&server.large, &texts[1])?;
    Ok(())
}

fn one_round(
    plan: Plan,
    turn: &[(String, &Server)],
    texts: &[String; 2],
    round: usize,
    results: &mut Results,
) -> Result<(), Box<dyn Error>> {
    let mut starts = vec![(Vec::new(), Vec::new()); turn.len()];
    for _ in 0..plan.starts {
        for ((_, server), (handshakes, firsts)) in turn.iter().zip(&mut starts) {
            let (mut session, handshake) = Session::start(server)?;
            handshakes.push(milliseconds(handshake));
            firsts.push(milliseconds(session.check(&server.small, &texts[0])?));
        }
    }
    for ((name, _), (mut handshakes, mut firsts)) in turn.iter().zip(starts) {
        for (what, times) in [
            (What::Handshake, &mut handshakes),
            (What::First, &mut firsts),
        ] {
            let median = quantile(times, 0.5).ok_or("no starts")?;
            results.add(what, name, round, median);
        }
    }

    // All sessions at once. Only the one that gets calls works, in small portions.
    let mut sessions = Vec::new();
    for (_, server) in turn {
        let (mut session, _) = Session::start(server)?;
        // Warms up caches, allocators and just-in-time compilers.
        session.check(&server.small, &texts[0])?;
        session.calls(&server.small, 20)?;
        sessions.push(session);
    }
    for (small, calls, p50, p99) in [
        (true, plan.small_calls, What::Small50, What::Small99),
        (false, plan.large_calls, What::Large50, What::Large99),
    ] {
        let mut times = vec![Vec::new(); turn.len()];
        for _ in 0..10 {
            for (((_, server), session), times) in turn.iter().zip(&mut sessions).zip(&mut times) {
                let params = if small { &server.small } else { &server.large };
                let took = session.calls(params, calls.div_ceil(10))?;
                times.extend(took.into_iter().map(microseconds));
            }
        }
        for ((name, _), mut times) in turn.iter().zip(times) {
            for (what, part) in [(p50, 0.5), (p99, 0.99)] {
                let value = quantile(&mut times, part).ok_or("no calls")?;
                results.add(what, name, round, value);
            }
        }
    }
    let mut floods = vec![Duration::ZERO; turn.len()];
    for _ in 0..3 {
        for (((_, server), session), flood) in turn.iter().zip(&mut sessions).zip(&mut floods) {
            *flood += session.flood(&server.small, plan.flood_calls.div_ceil(3), WIDTH)?;
        }
    }
    for (((name, _), session), flood) in turn.iter().zip(&sessions).zip(floods) {
        let calls = plan.flood_calls.div_ceil(3) * 3;
        let rate = u32::try_from(calls).map(f64::from)? / flood.as_secs_f64();
        results.add(What::Flood, name, round, rate);
        if let Some(bytes) = session.peak() {
            let mib = u32::try_from(bytes >> 10).map(f64::from)? / 1024.0;
            results.add(What::Peak, name, round, mib);
        }
    }
    Ok(())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Ends the process if it hangs: a server that does not answer must not block whoever
/// waits for the result.
pub(crate) fn give_up_after(limit: Duration) {
    let began = Instant::now();
    std::thread::spawn(move || {
        std::thread::sleep(limit);
        crate::say(&format!("gave up after {:?}", began.elapsed()));
        std::process::exit(1);
    });
}
