//! The chart of benches/README.md, as SVG.

use crate::{measure::Measured, report::show, server::KEYHOLE};
use std::fmt::Write as _;

/// The panels: which column is shown, and whether less is better.
const PANELS: [(usize, &str); 4] = [
    (1, "start to first answer, ms (less is better)"),
    (2, "call p50, 1 KiB, µs (less is better)"),
    (6, "calls a second, 64 in flight (more is better)"),
    (7, "peak memory, MiB (less is better)"),
];

const WIDTH: f64 = 720.0;
const NAMES: f64 = 230.0;
const BAR: f64 = 16.0;
const STEP: f64 = 22.0;
/// The length of the longest bar, which has its number after it.
const LONGEST: f64 = WIDTH - NAMES - 90.0;

/// Bars on a logarithmic scale, since the servers differ by powers of ten.
pub(crate) fn chart(measured: &Measured) -> Result<String, std::fmt::Error> {
    let mut body = String::new();
    let mut y = 30.0;
    for (column, title) in PANELS {
        let names = measured.servers.iter().map(|server| &*server.name);
        let bars = names.filter_map(|name| {
            let numbers = measured.results.of(name);
            Some((name, numbers.get(column)?.as_ref()?.median))
        });
        let bars: Vec<(&str, f64)> = bars.collect();
        let most = bars.iter().map(|bar| bar.1).fold(f64::MIN, f64::max);
        let least = bars.iter().map(|bar| bar.1).fold(f64::MAX, f64::min);
        // A bar of length zero would be the power of ten below the smallest value.
        let zero = least.log10().floor() - 0.3;
        let scale = LONGEST / (most.log10() - zero);
        writeln!(body, r#"<text class="t" x="10" y="{y}">{title}</text>"#)?;
        y += 12.0;
        for (name, value) in bars {
            let long = (value.log10() - zero) * scale;
            let class = if name == KEYHOLE { "k" } else { "o" };
            let (middle, number) = (y + 12.5, NAMES + long + 6.0);
            writeln!(
                body,
                r#"<text x="{end}" y="{middle}" text-anchor="end">{name}</text><rect class="{class}" x="{NAMES}" y="{y}" width="{long:.1}" height="{BAR}"/><text x="{number:.1}" y="{middle}">{value}</text>"#,
                end = NAMES - 8.0,
                value = show(value),
            )?;
            y += STEP;
        }
        y += 26.0;
    }
    Ok(format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" viewBox="0 0 {WIDTH} {y}" role="img" aria-label="keyhole and other servers: start, call, throughput, memory">
<style>text{{font:12px sans-serif;fill:#222}}.t{{font-weight:bold}}.k{{fill:#1b6e53}}.o{{fill:#b5bcc4}}</style>
<rect width="{WIDTH}" height="{y}" fill="#fff"/>
{body}<text x="10" y="{note}">Medians; logarithmic scales. Numbers and conditions: benches/README.md</text>
</svg>
"##,
        note = y - 12.0,
    ))
}
