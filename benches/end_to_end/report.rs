//! The tables of benches/README.md.

use crate::{
    measure::{COLUMNS, Measured, Spread},
    plugin::{EMPTY, GUARD, LAUNCHER},
    server::{HYPER, KEYHOLE, Programs, RUST, TWIN},
    withheld::{KINDS, WITHHOLD, worst},
};
use std::{error::Error, fmt::Write as _, fs, process::Command, thread};

/// The program writes the page between these. The rest is written by hand.
const BEGIN: &str = "<!-- measured: begin; written by `./x bench`, never by hand -->";
const END: &str = "<!-- measured: end -->";

/// The page with new tables in it. None if it has no place for them.
pub(crate) fn insert(page: &str, tables: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{tables}\n{END}{after}"))
}

/// What keyhole is compared with in the same rounds: what comes near to it.
const PAIRS: [(&str, &str); 3] = [(KEYHOLE, RUST), (KEYHOLE, HYPER), (KEYHOLE, TWIN)];

/// The head of the table of ratios.
const RATIOS: &str = "what";

type Row = (String, [Option<Spread>; COLUMNS.len()]);

pub(crate) fn tables(
    measured: &Measured,
    programs: &Programs,
    rounds: usize,
) -> Result<String, Box<dyn Error>> {
    let profile = programs.own.file_name().unwrap_or_default();
    let mut text = conditions(&profile.to_string_lossy(), rounds);
    let results = &measured.results;

    text += "\n## Servers over stdio\n\n";
    let servers = measured.servers.iter();
    let servers = servers.map(|server| (server.title(), results.of(&server.name)));
    table(&mut text, "server", servers)?;

    text += "\n## Against each, round by round\n\n\
        Below 1, keyhole is better; of calls a second, above 1.\n\n";
    let pairs = PAIRS.map(|(of, to)| {
        let ratios = results.compare(of, to, |of, to| of / to);
        (format!("{of}, against {to}"), ratios)
    });
    table(&mut text, RATIOS, pairs)?;

    text += "\n## Besides\n\n";
    let over = |name| results.compare(name, EMPTY, |of, to| of - to)[0];
    if let (Some(launcher), Some(guard)) = (over(LAUNCHER), over(GUARD)) {
        let [launcher, guard] = [launcher, guard].map(cell);
        writeln!(
            text,
            "- over {EMPTY}: {LAUNCHER} {launcher} ms, {GUARD} {guard} ms"
        )?;
    }
    let [took, ..] = results.of(WITHHOLD);
    let took = took.map_or_else(String::new, cell);
    write!(
        text,
        "- {WITHHOLD}, a file of 1 MiB and a report of 100 KiB: {took} ms"
    )?;
    // Only this profile strips all.
    if profile == "dist" {
        let (took, kind) = worst();
        let (took, kinds) = (show(took), KINDS.len());
        writeln!(
            text,
            "; 1 MB in each, the worst of {kinds} kinds of text ({kind:?}): {took} ms"
        )?;
        let packaged = programs.packaged.clone();
        let released = packaged.unwrap_or_else(|| programs.own.join(KEYHOLE));
        let size = f64::from(u32::try_from(fs::metadata(released)?.len())?) / 1e6;
        write!(
            text,
            "- the stripped program, as released: {} MB",
            show(size)
        )?;
    }
    text.push('\n');
    for absent in &measured.absent {
        writeln!(text, "- not measured here: {absent}")?;
    }
    Ok(text)
}

/// Of ratios, also how far they lie apart.
fn table(text: &mut String, first: &str, rows: impl IntoIterator<Item = Row>) -> std::fmt::Result {
    writeln!(text, "| {first} | {} |", COLUMNS.join(" | "))?;
    writeln!(text, "|---|{}", "---|".repeat(COLUMNS.len()))?;
    let median = |spread: Spread| show(spread.median);
    let shown = if first == RATIOS { cell } else { median };
    for (title, numbers) in rows {
        let cells = numbers.map(|number| number.map_or("–".to_owned(), shown));
        let cells = cells.join(" | ");
        writeln!(text, "| {title} | {cells} |")?;
    }
    Ok(())
}

/// A median, and the middle half in brackets if that differs.
fn cell(spread: Spread) -> String {
    let [median, low, high] = [spread.median, spread.low, spread.high].map(show);
    match low == high {
        true => median,
        false => format!("{median} ({low}–{high})"),
    }
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

/// The machine and what was measured on it.
fn conditions(profile: &str, rounds: usize) -> String {
    let said = |script: &str| {
        let ran = Command::new("sh").args(["-c", script]).output();
        let said = ran.map(|ran| String::from_utf8_lossy(&ran.stdout).trim().to_owned());
        said.ok().filter(|said| !said.is_empty())
    };
    let [processor, load, system, rustc, node] = [
        "sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1 | grep . || \
         sysctl -n machdep.cpu.brand_string",
        "cut -d' ' -f1 /proc/loadavg",
        // Without the suffix that a distribution or a host appends.
        "uname -sr | cut -d- -f1",
        "rustc --version",
        "node --version",
    ]
    .map(|script| said(script).unwrap_or_else(|| "unknown".to_owned()));
    let cores = thread::available_parallelism().map_or(0, usize::from);
    format!(
        "\
- machine: {processor}, {cores} cores, {system}
- load average when it ended: {load}; the bench itself keeps about 1 busy
- build: profile `{profile}`, {rustc}; Node {node}
- {rounds} rounds, a third of them for slow servers; medians, and beside a ratio, which is taken
  round by round, the middle half
"
    )
}
