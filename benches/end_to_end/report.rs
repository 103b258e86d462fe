//! The tables of docs/performance.md.

use crate::{
    hooks::{EMPTY, GUARD, LAUNCHER},
    inside::{NATIVE, SANDBOX},
    measure::{Measured, What, with_keys},
    numbers::{Spread, show},
    server::{HYPER, KEYHOLE, NPM, PACKAGED, PACKAGED_TWIN, PYTHON, RUST, TWIN},
};
use keyhole_benches::files::KEYS;
use std::{fmt::Write as _, fs, process::Command};

/// The program writes the page between these. The rest is written by hand.
const BEGIN: &str = "<!-- measured: begin; written by `./x bench`, never by hand -->";
const END: &str = "<!-- measured: end -->";

const COLUMNS: [(What, &str); 8] = [
    (What::Handshake, "start to handshake, ms"),
    (What::First, "start to first answer, ms"),
    (What::Small50, "1 KiB p50, µs"),
    (What::Small99, "1 KiB p99, µs"),
    (What::Large50, "1 MiB p50, µs"),
    (What::Large99, "1 MiB p99, µs"),
    (What::Flood, "64 in flight, /s"),
    (What::Peak, "peak, MiB"),
];

/// The page with new tables in it. None if it has no place for them.
pub(crate) fn insert(page: &str, tables: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{tables}\n{END}{after}"))
}

/// What keyhole is compared with, in the same rounds.
const PAIRS: [(&str, &str); 6] = [
    (KEYHOLE, RUST),
    (KEYHOLE, HYPER),
    (KEYHOLE, NPM),
    (KEYHOLE, PYTHON),
    (KEYHOLE, TWIN),
    (PACKAGED, PACKAGED_TWIN),
];

/// All tables, as Markdown. `program` is the size of a released program, in bytes.
pub(crate) fn tables(measured: &Measured, program: Option<u64>, conditions: &str) -> String {
    let results = &measured.results;
    let mut text = format!("{conditions}\n## Servers, whole processes over stdio\n\n");
    let by_name = |what, name: &String| results.spread(what, name);
    let servers = measured
        .servers
        .iter()
        .map(|server| (server.name.to_owned(), server.title()));
    table(&mut text, "server", &COLUMNS, servers, by_name);

    text += "\n## Against each, round by round\n\n\
        Below 1, keyhole is better; of calls a second, above 1.\n\n";
    let pairs = PAIRS.map(|(of, to)| ((of, to), format!("{of}, against {to}")));
    table(&mut text, "what", &COLUMNS, pairs, |what, (of, to)| {
        results.compare(what, of, to, |of, to| of / to)
    });

    text += "\n## Inside one process, from an open directory to the text\n\n";
    let inside = [(NATIVE, "native"), (SANDBOX, "in the sandbox")];
    let inside = inside.map(|(name, title)| (name.to_owned(), title.to_owned()));
    let columns = [
        (What::Small50, "1 KiB p50, µs"),
        (What::Large50, "1 MiB p50, µs"),
    ];
    table(&mut text, "guest", &columns, inside, by_name);

    text += "\n## keyhole, by the number of keys in the map\n\n";
    let maps = KEYS.map(|keys| (with_keys(keys), format!("{keys} keys")));
    table(&mut text, "map", &COLUMNS, maps, by_name);

    text += "\n## Besides\n\n";
    for (title, name) in [("launcher", LAUNCHER), ("guard", GUARD)] {
        let over = results.compare(What::First, name, EMPTY, |of, to| of - to);
        if let Some(over) = over {
            let over = cell(over);
            let _ = writeln!(text, "- {title}, over an empty static program: {over} ms");
        }
    }
    if let Some(bytes) = program.and_then(|bytes| u32::try_from(bytes).ok()) {
        let size = show(f64::from(bytes) / 1e6);
        let _ = writeln!(text, "- the stripped program, as released: {size} MB");
    }
    for (name, why) in &measured.absent {
        let _ = writeln!(text, "- not measured here: {name} ({why})");
    }
    text
}

/// Each row has what `find` looks its numbers up by, and a title.
fn table<R>(
    text: &mut String,
    first: &str,
    columns: &[(What, &str)],
    rows: impl IntoIterator<Item = (R, String)>,
    find: impl Fn(What, &R) -> Option<Spread>,
) {
    let titles: Vec<&str> = columns.iter().map(|(_, title)| *title).collect();
    let _ = writeln!(text, "| {first} | {} |", titles.join(" | "));
    let _ = writeln!(text, "|---|{}", "---|".repeat(columns.len()));
    for (row, title) in rows {
        let _ = write!(text, "| {title} |");
        for (what, _) in columns {
            let found = find(*what, &row);
            let _ = write!(text, " {} |", found.map_or("–".to_owned(), cell));
        }
        text.push('\n');
    }
}

/// A median, and the middle half in brackets if that differs.
fn cell(spread: Spread) -> String {
    let [median, low, high] = [spread.median, spread.low, spread.high].map(show);
    match low == high {
        true => median,
        false => format!("{median} ({low}–{high})"),
    }
}

/// The machine and what was measured on it.
pub(crate) fn conditions(profile: &str, rounds: usize) -> String {
    let run = |program: &str, arguments: &[&str]| {
        Command::new(program)
            .args(arguments)
            .output()
            .ok()
            .and_then(|out| String::from_utf8(out.stdout).ok())
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty())
            .unwrap_or_else(|| "unknown".to_owned())
    };
    let processor = fs::read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("model name"))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        })
        .unwrap_or_else(|| run("sysctl", &["-n", "machdep.cpu.brand_string"]));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = fs::read_to_string("/proc/loadavg")
        .ok()
        .and_then(|text| text.split(' ').next().map(str::to_owned))
        .unwrap_or_else(|| "unknown".to_owned());
    format!(
        "\
- machine: {processor}, {cores} cores, {system}
- load average when it ended: {load}; the bench itself keeps about 1 busy
- build: profile `{profile}`, {rustc}; Node {node}
- {rounds} rounds; a number is the median over the rounds, in brackets the middle
  half of them. Slow servers take part in a third of the rounds. A ratio is taken
  round by round, so that what disturbs one server disturbs the other.
",
        // Without the suffix that a distribution or a host appends.
        system = run("uname", &["-sr"]).split('-').next().unwrap_or_default(),
        rustc = run("rustc", &["--version"]),
        node = run("node", &["--version"]),
    )
}

#[cfg(test)]
mod tests {
    use super::{BEGIN, END, insert};

    #[test]
    fn what_is_written_by_hand_stays() {
        let page = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        let new = insert(&page, "new");
        assert_eq!(new, Some(format!("before\n{BEGIN}\n\nnew\n{END}\nafter\n")));
        assert_eq!(insert("no place", "new"), None);
    }
}
