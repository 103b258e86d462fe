//! The targets, and what was reached. Nothing here is adjusted to the results.

use crate::{
    files::{KEYS, size},
    measure::{
        AFTER_LARGE_INSIDE, EMPTY, GUARD, LAUNCHER, NATIVE_INSIDE, Results, SANDBOX_INSIDE, What,
        with_keys,
    },
    numbers::Spread,
    server::{HYPER, KEYHOLE, NPM, PACKAGED, PACKAGED_TWIN, PYTHON, RUST, TWIN},
};
use std::path::Path;

/// One row of the table.
pub(crate) struct Target {
    pub(crate) what: String,
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

impl Target {
    pub(crate) fn met(&self) -> Option<bool> {
        let got = self.got?.median;
        Some(match self.limit {
            Limit::AtMost(limit) => got <= limit,
            Limit::AtLeast(limit) => got >= limit,
        })
    }
}

/// The targets, in the order in which they were set.
pub(crate) fn targets(results: &Results, program: &Path, is_stripped: bool) -> Vec<Target> {
    use Limit::{AtLeast, AtMost};
    let ratio = |what, to| results.compare(what, KEYHOLE, to, |of, to| of / to);
    let inside =
        |what, how: fn(f64, f64) -> f64| results.compare(what, SANDBOX_INSIDE, NATIVE_INSIDE, how);
    let keys = |what, how: fn(f64, f64) -> f64| {
        results.compare(what, &with_keys(KEYS[2]), &with_keys(KEYS[0]), how)
    };
    let hook = |name| results.compare(What::First, name, EMPTY, |of, to| of - to);
    let mut all = Vec::new();
    let mut target = |what: &str, limit, unit, got| {
        all.push(Target {
            what: what.to_owned(),
            limit,
            unit,
            got,
        });
    };
    let twin = "the twin without the sandbox";
    target(
        &format!("call p50, 1 KiB, against {twin}"),
        AtMost(1.10),
        "",
        ratio(What::Small50, TWIN),
    );
    target(
        &format!("call p50, 1 MiB, against {twin}"),
        AtMost(1.15),
        "",
        ratio(What::Large50, TWIN),
    );
    target(
        "the same, against rust-mcp-filesystem",
        AtMost(0.8),
        "",
        ratio(What::Large50, RUST),
    );
    target(
        "added by the sandbox in process, 1 KiB",
        AtMost(15.0),
        " µs",
        inside(What::Small50, |of, to| of - to),
    );
    target(
        "in process, 1 MiB, against the native guest",
        AtMost(2.0),
        "",
        inside(What::Large50, |of, to| of / to),
    );
    target(
        "in process, 1 KiB in a slot that served 1 MiB, against another slot",
        AtMost(1.3),
        "",
        results.compare(
            What::Small50,
            AFTER_LARGE_INSIDE,
            SANDBOX_INSIDE,
            |of, to| of / to,
        ),
    );
    target(
        &format!("start to the handshake's answer, against {twin}"),
        AtMost(1.15),
        "",
        ratio(What::Handshake, TWIN),
    );
    target(
        &format!("start to the first tool answer, against {twin}"),
        AtMost(1.40),
        "",
        ratio(What::First, TWIN),
    );
    target(
        "the same, packaged, against the twin packaged the same way",
        AtMost(1.25),
        "",
        results.compare(What::First, PACKAGED, PACKAGED_TWIN, |of, to| of / to),
    );
    target(
        "the same, against the Python server",
        AtMost(0.01),
        "",
        ratio(What::First, PYTHON),
    );
    target(
        "the same, against the npm server",
        AtMost(0.01),
        "",
        ratio(What::First, NPM),
    );
    target(
        "the same, against hyper-mcp",
        AtMost(0.2),
        "",
        ratio(What::First, HYPER),
    );
    target(
        &format!("calls a second, 64 in flight, against {twin}"),
        AtLeast(0.9),
        "",
        ratio(What::Flood, TWIN),
    );
    target(
        "the same, against the npm server",
        AtLeast(2.0),
        "",
        ratio(What::Flood, NPM),
    );
    target(
        "the same, against the Python server",
        AtLeast(30.0),
        "",
        ratio(What::Flood, PYTHON),
    );
    target(
        "the same, against hyper-mcp",
        AtLeast(2.5),
        "",
        ratio(What::Flood, HYPER),
    );
    target(
        "peak memory, against the npm server",
        AtMost(0.125),
        "",
        ratio(What::Peak, NPM),
    );
    target(
        "peak memory",
        AtMost(10.0),
        " MiB",
        results.spread(What::Peak, KEYHOLE),
    );
    target(
        "100,000 keys against 10: call p50",
        AtMost(1.05),
        "",
        keys(What::Small50, |of, to| of / to),
    );
    target(
        "100,000 keys against 10: added to the start",
        AtMost(30.0),
        " ms",
        keys(What::First, |of, to| of - to),
    );
    let megabytes = size(program)
        .filter(|_| is_stripped)
        .and_then(|bytes| u32::try_from(bytes).ok())
        .map(|bytes| f64::from(bytes) / 1e6);
    target(
        "stripped release binary",
        AtMost(5.0),
        " MB",
        megabytes.and_then(|size| Spread::of([size])),
    );
    target(
        "launcher, over an empty static program",
        AtMost(5.0),
        " ms",
        hook(LAUNCHER),
    );
    target(
        "guard, over an empty static program",
        AtMost(5.0),
        " ms",
        hook(GUARD),
    );
    all
}

#[cfg(test)]
mod tests {
    use super::{Limit, Target};
    use crate::numbers::Spread;

    #[test]
    fn a_target_is_met_on_its_limit_and_missed_beyond() {
        let target = |limit, got| Target {
            what: String::new(),
            limit,
            unit: "",
            got: Spread::of(got),
        };
        assert_eq!(target(Limit::AtMost(1.1), Some(1.1)).met(), Some(true));
        assert_eq!(target(Limit::AtMost(1.1), Some(1.2)).met(), Some(false));
        assert_eq!(target(Limit::AtLeast(2.0), Some(2.0)).met(), Some(true));
        assert_eq!(target(Limit::AtLeast(2.0), Some(1.9)).met(), Some(false));
        assert_eq!(target(Limit::AtLeast(2.0), None).met(), None);
    }
}
