//! The targets, and what was reached. Nothing here is adjusted to the results.

use crate::{
    hooks::{EMPTY, GUARD, LAUNCHER},
    inside::{NATIVE, SANDBOX},
    measure::{
        Results,
        What::{self, First, Flood, Handshake, Large50, Peak, Small50},
        with_keys,
    },
    numbers::Spread,
    server::{HYPER, KEYHOLE, NPM, PACKAGED, PACKAGED_TWIN, PYTHON, RUST, TWIN},
};
use keyhole_benches::files::KEYS;

/// One row of the table.
pub(crate) struct Target {
    pub(crate) what: &'static str,
    pub(crate) limit: Limit,
    /// The unit after the numbers, or nothing for a ratio.
    pub(crate) unit: &'static str,
    /// None if it was not measured here.
    pub(crate) got: Option<Spread>,
}

#[derive(Clone, Copy)]
pub(crate) enum Limit {
    AtMost(f64),
    AtLeast(f64),
}
use Limit::{AtLeast, AtMost};

impl Target {
    pub(crate) fn met(&self) -> Option<bool> {
        let got = self.got?.median;
        Some(match self.limit {
            AtMost(limit) => got <= limit,
            AtLeast(limit) => got >= limit,
        })
    }
}

/// The targets, in the order in which they were set. `program` is the size of a released
/// program, in bytes.
pub(crate) fn targets(results: &Results, program: Option<u64>) -> Vec<Target> {
    let of = |of: f64, to: f64| of / to;
    let over = |of: f64, to: f64| of - to;
    let ratio = |what, to| results.compare(what, KEYHOLE, to, of);
    let inside = |what, how: fn(f64, f64) -> f64| results.compare(what, SANDBOX, NATIVE, how);
    let [few, _, many] = KEYS.map(with_keys);
    let keys = |what, how: fn(f64, f64) -> f64| results.compare(what, &many, &few, how);
    let hook = |name| results.compare(First, name, EMPTY, over);
    let packaged = |what: What| results.compare(what, PACKAGED, PACKAGED_TWIN, of);
    let peak = results.spread(Peak, KEYHOLE);
    let program = program.and_then(|bytes| u32::try_from(bytes).ok());
    let size = program.and_then(|bytes| Spread::of([f64::from(bytes) / 1e6]));
    #[rustfmt::skip]
    let rows = [
        ("call p50, 1 KiB, against the twin without the sandbox", AtMost(1.10), "", ratio(Small50, TWIN)),
        ("call p50, 1 MiB, against the twin without the sandbox", AtMost(1.15), "", ratio(Large50, TWIN)),
        ("the same, against rust-mcp-filesystem", AtMost(0.8), "", ratio(Large50, RUST)),
        ("added by the sandbox in process, 1 KiB", AtMost(15.0), " µs", inside(Small50, over)),
        ("in process, 1 MiB, against the native guest", AtMost(2.0), "", inside(Large50, of)),
        ("start to the handshake's answer, against the twin without the sandbox", AtMost(1.15), "", ratio(Handshake, TWIN)),
        ("start to the first tool answer, against the twin without the sandbox", AtMost(1.40), "", ratio(First, TWIN)),
        ("the same, packaged, against the twin packaged the same way", AtMost(1.25), "", packaged(First)),
        ("the same, against the Python server", AtMost(0.01), "", ratio(First, PYTHON)),
        ("the same, against the npm server", AtMost(0.01), "", ratio(First, NPM)),
        ("the same, against hyper-mcp", AtMost(0.2), "", ratio(First, HYPER)),
        ("calls a second, 64 in flight, against the twin without the sandbox", AtLeast(0.9), "", ratio(Flood, TWIN)),
        ("the same, against the npm server", AtLeast(2.0), "", ratio(Flood, NPM)),
        ("the same, against the Python server", AtLeast(30.0), "", ratio(Flood, PYTHON)),
        ("the same, against hyper-mcp", AtLeast(2.5), "", ratio(Flood, HYPER)),
        ("peak memory, against the npm server", AtMost(0.125), "", ratio(Peak, NPM)),
        ("peak memory", AtMost(10.0), " MiB", peak),
        ("10,000 keys against 10: call p50", AtMost(1.05), "", keys(Small50, of)),
        ("10,000 keys against 10: added to the start", AtMost(30.0), " ms", keys(First, over)),
        ("stripped release binary", AtMost(5.0), " MB", size),
        ("launcher, over an empty static program", AtMost(5.0), " ms", hook(LAUNCHER)),
        ("guard, over an empty static program", AtMost(5.0), " ms", hook(GUARD)),
    ];
    rows.map(|(what, limit, unit, got)| Target {
        what,
        limit,
        unit,
        got,
    })
    .into()
}

#[cfg(test)]
mod tests {
    use super::{Limit, Target};
    use crate::numbers::Spread;

    #[test]
    fn a_target_is_met_on_its_limit_and_missed_beyond() {
        let met = |limit, got: Option<f64>| {
            let (what, unit, got) = ("", "", Spread::of(got));
            Target {
                what,
                limit,
                unit,
                got,
            }
            .met()
        };
        assert_eq!(met(Limit::AtMost(1.1), Some(1.1)), Some(true));
        assert_eq!(met(Limit::AtMost(1.1), Some(1.2)), Some(false));
        assert_eq!(met(Limit::AtLeast(2.0), Some(2.0)), Some(true));
        assert_eq!(met(Limit::AtLeast(2.0), Some(1.9)), Some(false));
        assert_eq!(met(Limit::AtLeast(2.0), None), None);
    }
}
