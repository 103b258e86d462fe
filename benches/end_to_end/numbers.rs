//! Medians and spreads.

/// A median, and the middle half of the values around it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Spread {
    /// The spread of any number of values. None if there are no values.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        Some(Self {
            median: median(&mut values)?,
            low: quantile(&mut values, 0.25)?,
            high: quantile(&mut values, 0.75)?,
        })
    }
}

/// The middle value.
pub(crate) fn median(values: &mut [f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The smallest value that at least this `part` of all values does not exceed (nearest
/// rank).
pub(crate) fn quantile(values: &mut [f64], part: f64) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a count of measurements, and a part between 0 and 1"
    )]
    let rank = (values.len() as f64 * part).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied()
}

/// Three significant digits, without an exponent.
pub(crate) fn show(value: f64) -> String {
    let digits = match value.abs() {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::float_cmp, reason = "tests")]

    use super::{Spread, quantile, show};

    #[test]
    fn a_quantile_is_one_of_the_values_and_a_spread_the_middle_half() {
        let mut values = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(quantile(&mut values, 0.5), Some(2.0));
        assert_eq!(quantile(&mut values, 0.99), Some(4.0));
        assert_eq!(quantile(&mut [], 0.5), None);
        let spread = Spread::of((1..=100).map(f64::from)).unwrap();
        assert_eq!((spread.low, spread.median, spread.high), (25.0, 50.0, 75.0));
    }

    #[test]
    fn numbers_keep_three_digits() {
        assert_eq!(
            [1234.5, 12.345, 1.2345, 0.0123].map(show),
            ["1234", "12.3", "1.23", "0.012"]
        );
    }
}
