//! The rounds: every server in turn, so that a disturbance affects all of them.

use crate::{
    plugin::Plugin,
    server::{self, KEYHOLE, PACKAGED, Programs, Server, Session},
    withheld::{Texts, WITHHOLD},
};
use keyhole_benches::{files::Files, microseconds};
use std::{collections::BTreeMap, error::Error, fs, io};

#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Plan {
    pub(crate) rounds: usize,
    starts: usize,
    /// For the small file. There are fewer for the large one, and more at once.
    calls: usize,
}

pub(crate) const FULL: Plan = Plan {
    rounds: 21,
    starts: 8,
    calls: 400,
};

/// Shows that it works, not how fast.
pub(crate) const SHORT: Plan = Plan {
    rounds: 2,
    starts: 1,
    calls: 20,
};

/// Slow servers take part in one of so many rounds.
const SLOW_EVERY: usize = 3;

/// What is measured of a server: each number's title, in the order of [`one_round`].
pub(crate) const COLUMNS: [&str; 8] = [
    "start to handshake, ms",
    "start to first answer, ms",
    "1 KiB p50, µs",
    "1 KiB p99, µs",
    "1 MiB p50, µs",
    "1 MiB p99, µs",
    "64 in flight, /s",
    "peak, MiB",
];

const WIDTH: usize = 64;

/// By name and round, the numbers of all columns.
#[derive(Default)]
pub(crate) struct Results(BTreeMap<String, BTreeMap<usize, Vec<f64>>>);

impl Results {
    fn add(&mut self, name: &str, round: usize, numbers: Vec<f64>) {
        let rounds = self.0.entry(name.to_owned()).or_default();
        rounds.insert(round, numbers);
    }

    pub(crate) fn of(&self, name: &str) -> [Option<Spread>; COLUMNS.len()] {
        self.compare(name, name, |of, _| of)
    }

    /// `of` compared with `to` in each column, round by round.
    pub(crate) fn compare(
        &self,
        of: &str,
        to: &str,
        how: impl Fn(f64, f64) -> f64,
    ) -> [Option<Spread>; COLUMNS.len()] {
        let rounds = |name| self.0.get(name).into_iter().flatten();
        std::array::from_fn(|column| {
            let both = rounds(of).filter_map(|(round, of)| {
                let to = self.0.get(to)?.get(round)?;
                Some(how(*of.get(column)?, *to.get(column)?))
            });
            Spread::of(both.collect())
        })
    }
}

/// A median, and the middle half of the values around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) low: f64,
    pub(crate) median: f64,
    pub(crate) high: f64,
}

impl Spread {
    fn of(mut values: Vec<f64>) -> Option<Self> {
        let mut quantile = |part| quantile(&mut values, part);
        let [low, median, high] = [0.25, 0.5, 0.75].map(&mut quantile);
        (!values.is_empty()).then_some(Self { low, median, high })
    }
}

/// The smallest value that at least this `part` of all values does not exceed (nearest
/// rank). No number if there are no values.
pub(crate) fn quantile(values: &mut [f64], part: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a count of measurements, and a part between 0 and 1"
    )]
    let rank = (values.len() as f64 * part).ceil() as usize;
    let value = values.get(rank.saturating_sub(1));
    value.copied().unwrap_or(f64::NAN)
}

pub(crate) struct Measured {
    pub(crate) servers: Vec<Server>,
    /// What is not measured, and why.
    pub(crate) absent: Vec<String>,
    pub(crate) results: Results,
}

pub(crate) fn measure(
    plan: Plan,
    files: &Files,
    programs: &Programs,
) -> Result<Measured, Box<dyn Error>> {
    let texts = [
        fs::read_to_string(files.small())?,
        fs::read_to_string(files.large())?,
    ];
    let (mut servers, mut absent) = (server::own(files, programs), Vec::new());
    // After this, the file cache is warm, so a slow start has another cause.
    for server in &servers {
        try_out(server, &texts).map_err(|error| format!("{}: {error}", server.name))?;
    }
    if programs.packaged.is_none() {
        absent.push(format!("{PACKAGED} (not built)"));
    }
    if let Some(folder) = &programs.peers {
        for peer in server::peers(files, folder)? {
            match try_out(&peer, &texts) {
                Ok(()) => servers.push(peer),
                Err(why) => absent.push(format!("{} ({why})", peer.title())),
            }
        }
    }
    let keyhole = programs.own.join(KEYHOLE);
    let compared = Texts::new();
    let plugin = Plugin::new(files, &keyhole)?;
    if plugin.is_none() {
        absent.push("launcher and guard (no C compiler that links statically)".to_owned());
    }

    let mut results = Results::default();
    for round in 0..plan.rounds {
        let mut turn: Vec<&Server> = servers.iter().collect();
        // The server that comes first in one round comes last in the next.
        if round % 2 == 1 {
            turn.reverse();
        }
        for server in turn {
            if !server.is_slow || round % SLOW_EVERY == 0 {
                results.add(&server.name, round, one_round(plan, server, &texts[0])?);
            }
        }
        if let Some(plugin) = &plugin {
            for (name, time) in plugin.round(round)? {
                results.add(name, round, vec![time]);
            }
        }
        results.add(WITHHOLD, round, vec![compared.round()?]);
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
    for (call, text) in server.calls.iter().zip(texts) {
        session.client.check(call, text)?;
    }
    Ok(())
}

fn one_round(plan: Plan, server: &Server, text: &str) -> Result<Vec<f64>, Box<dyn Error>> {
    let (starts, calls) = match server.is_slow {
        true => (1, plan.calls.min(200)),
        false => (plan.starts, plan.calls),
    };
    let [small, large] = &server.calls;
    let (mut handshakes, mut firsts) = (Vec::new(), Vec::new());
    for _ in 0..starts {
        let mut session = Session::start(server)?;
        session.client.check(small, text)?;
        firsts.push(microseconds(session.began.elapsed()) / 1e3);
        handshakes.push(microseconds(session.handshake) / 1e3);
    }
    let mut numbers = vec![quantile(&mut handshakes, 0.5), quantile(&mut firsts, 0.5)];
    let mut session = Session::start(server)?;
    let client = &mut session.client;
    // Warms up caches, allocators and just-in-time compilers.
    client.calls(small, 20)?;
    for (call, calls) in [(small, calls), (large, calls.div_ceil(10))] {
        let took = client.calls(call, calls)?;
        let mut times: Vec<f64> = took.into_iter().map(microseconds).collect();
        numbers.extend([0.5, 0.99].map(|part| quantile(&mut times, part)));
    }
    let many = 8 * calls;
    let flood = client.flood(small, many, WIDTH)?;
    numbers.push(f64::from(u32::try_from(many)?) / flood.as_secs_f64());
    numbers.extend(session.peak());
    Ok(numbers)
}
