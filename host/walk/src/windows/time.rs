//! Windows' time, which counts tenths of microseconds from 1601.

/// 1970.
const EPOCH: i64 = 116_444_736_000_000_000;
const PER_SECOND: i64 = 10_000_000;

/// Seconds and nanoseconds since 1970.
pub fn time(ticks: i64) -> (i64, i64) {
    let ticks = ticks.saturating_sub(EPOCH);
    let (seconds, rest) = (ticks.div_euclid(PER_SECOND), ticks.rem_euclid(PER_SECOND));
    (seconds, rest * 100)
}
