//! The rounds: every server in turn, so that a disturbance affects all of them.

use crate::{
    hooks::Hooks,
    inside::Inside,
    numbers::{Spread, median, quantile},
    server::{self, Absent, Programs, Server, Session},
};
use keyhole_benches::files::{Files, KEYS};
use std::{collections::BTreeMap, error::Error, fs, io, time::Duration};

/// How much is measured.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) rounds: usize,
    /// Slow servers take part in one of this many rounds.
    slow_every: usize,
    starts: usize,
    small_calls: usize,
    large_calls: usize,
    flood_calls: usize,
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

impl Plan {
    fn of_slow(self) -> Self {
        Self {
            starts: 1,
            small_calls: self.small_calls.min(200),
            large_calls: self.large_calls.min(20),
            flood_calls: self.flood_calls.min(500),
            ..self
        }
    }
}

/// How many calls are in flight.
const WIDTH: usize = 64;

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

/// For each measure and name, one value a round.
#[derive(Default)]
pub(crate) struct Results(BTreeMap<(What, String), BTreeMap<usize, f64>>);

impl Results {
    fn add(&mut self, what: What, name: &str, round: usize, value: f64) {
        let values = self.0.entry((what, name.to_owned())).or_default();
        values.insert(round, value);
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
        let both = of
            .iter()
            .filter_map(|(round, of)| Some((of, to.get(round)?)));
        Spread::of(both.map(|(of, to)| how(*of, *to)))
    }
}

/// The name in the results for keyhole with a map of this many keys.
pub(crate) fn with_keys(keys: usize) -> String {
    format!("keyhole, {keys} keys")
}

/// All results.
pub(crate) struct Measured {
    pub(crate) servers: Vec<Server>,
    pub(crate) absent: Absent,
    pub(crate) results: Results,
}

pub(crate) fn measure(
    plan: Plan,
    files: &Files,
    programs: &Programs,
) -> Result<Measured, Box<dyn Error>> {
    let (all, mut absent) = server::all(files, programs)?;
    let texts = [
        fs::read_to_string(files.small())?,
        fs::read_to_string(files.large())?,
    ];
    // After this, the file cache is warm, so a slow start has another cause. A server
    // that does not answer is not measured, but our own must answer.
    let mut servers = Vec::new();
    for server in all {
        match try_out(&server, &texts) {
            Ok(()) => servers.push(server),
            Err(error) if server.is_slow => absent.push((server.title(), error.to_string())),
            Err(error) => return Err(format!("{}: {error}", server.name).into()),
        }
    }
    let keyhole = programs.own.join("keyhole");
    let inside = Inside::new()?;
    let hooks = Hooks::new(files, &keyhole)?;
    if hooks.is_none() {
        let why = "no C compiler that links statically";
        absent.push(("launcher and guard".to_owned(), why.to_owned()));
    }
    // Only the results tell them apart.
    let maps = KEYS.map(|keys| server::keyhole(server::KEYHOLE, &keyhole, &files.map(keys)));

    let mut results = Results::default();
    for round in 0..plan.rounds {
        let (slow, fast): (Vec<_>, Vec<_>) = servers
            .iter()
            .map(|server| (server.name.to_owned(), server))
            .partition(|(_, server)| server.is_slow);
        let mut turn = fast;
        turn.extend(KEYS.map(with_keys).into_iter().zip(&maps));
        // The server that comes first in one round comes last in the next.
        if round % 2 == 1 {
            turn.reverse();
        }
        one_round(plan, &turn, &texts[0], round, &mut results)?;
        if round % plan.slow_every == 0 {
            for server in slow {
                one_round(plan.of_slow(), &[server], &texts[0], round, &mut results)?;
            }
        }
        for (what, name, value) in inside.round(files, plan.small_calls)? {
            results.add(what, name, round, value);
        }
        for (name, value) in hooks
            .iter()
            .map(|hooks| hooks.round(round))
            .collect::<io::Result<Vec<_>>>()?
            .concat()
        {
            results.add(What::First, name, round, value);
        }
    }
    Ok(Measured {
        servers,
        absent,
        results,
    })
}

/// Fails unless the server serves both files unchanged.
fn try_out(server: &Server, texts: &[String; 2]) -> io::Result<()> {
    let mut session = Session::start(server)?;
    session.check(&server.small, &texts[0])?;
    session.check(&server.large, &texts[1])?;
    Ok(())
}

fn one_round(
    plan: Plan,
    turn: &[(String, &Server)],
    small: &str,
    round: usize,
    results: &mut Results,
) -> Result<(), Box<dyn Error>> {
    let mut starts = vec![[const { Vec::new() }; 2]; turn.len()];
    for _ in 0..plan.starts {
        for ((_, server), [handshakes, firsts]) in turn.iter().zip(&mut starts) {
            let mut session = Session::start(server)?;
            firsts.push(milliseconds(session.check(&server.small, small)?));
            handshakes.push(milliseconds(session.handshake));
        }
    }
    for ((name, _), [mut handshakes, mut firsts]) in turn.iter().zip(starts) {
        let handshake = median(&mut handshakes).ok_or("no starts")?;
        results.add(What::Handshake, name, round, handshake);
        let first = median(&mut firsts).ok_or("no starts")?;
        results.add(What::First, name, round, first);
    }

    // All sessions at once. Only the one that gets calls works, in small portions.
    let mut sessions = Vec::new();
    for (name, server) in turn {
        let mut session = Session::start(server)?;
        // Warms up caches, allocators and just-in-time compilers.
        session.check(&server.small, small)?;
        session.client()?.calls(&server.small, 20)?;
        sessions.push((name, *server, session));
    }
    for (is_small, calls, p50, p99) in [
        (true, plan.small_calls, What::Small50, What::Small99),
        (false, plan.large_calls, What::Large50, What::Large99),
    ] {
        let mut times = vec![Vec::new(); turn.len()];
        for _ in 0..10 {
            for ((_, server, session), times) in sessions.iter_mut().zip(&mut times) {
                let params = if is_small {
                    &server.small
                } else {
                    &server.large
                };
                let took = session.client()?.calls(params, calls.div_ceil(10))?;
                times.extend(took.into_iter().map(|took| milliseconds(took) * 1e3));
            }
        }
        for ((name, _), mut times) in turn.iter().zip(times) {
            for (what, part) in [(p50, 0.5), (p99, 0.99)] {
                let value = quantile(&mut times, part).ok_or("no calls")?;
                results.add(what, name, round, value);
            }
        }
    }
    let (portion, mut floods) = (
        plan.flood_calls.div_ceil(3),
        vec![Duration::ZERO; turn.len()],
    );
    for _ in 0..3 {
        for ((_, server, session), flood) in sessions.iter_mut().zip(&mut floods) {
            *flood += session.client()?.flood(&server.small, portion, WIDTH)?;
        }
    }
    for ((name, _, session), flood) in sessions.iter().zip(floods) {
        let rate = u32::try_from(3 * portion).map(f64::from)? / flood.as_secs_f64();
        results.add(What::Flood, name, round, rate);
        if let Some(mib) = session.peak() {
            results.add(What::Peak, name, round, mib);
        }
    }
    Ok(())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
