//! `./x counts`: what a reviewer would have to read and trust.
//!
//! It prints the list "Read it yourself" of ARCHITECTURE.md with sizes, the rooms, the pages and
//! each `unsafe`; then what has a ceiling. It fails if something is above its ceiling.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool that only developers run"
)]

mod rust;

use rust::Measure;
use std::{
    collections::BTreeSet,
    env,
    fmt::Display,
    fs,
    path::Path,
    process::{Command, ExitCode},
};

/// A higher ceiling needs a commit that names the user who asked for what is in it.
const MOST_TOKENS: usize = 182_000;
/// Tokens in a line of code.
const MOST_PER_LINE: f64 = 9.3;
const MOST_PER_LINE_OF_ROOM: f64 = 9.5;
/// A room of fewer lines is free.
const LINES_OF_LARGE_ROOM: usize = 1000;
/// In 100 lines of code.
const MOST_HEAVY_LINES: f64 = 5.0;
/// In 100 lines of code.
const MOST_CLOSURES: f64 = 1.0;
const MOST_TRICKS: usize = 0;
/// In 1,000 lines of code.
const MOST_NAMES_AGAIN: f64 = 4.0;
const MOST_WORDS: usize = 18_400;
const MOST_UNSAFE: usize = 3;
const MOST_CRATES: usize = 105;
const MOST_LINES_OF_SCRIPTS: usize = 520;

/// What the plugin runs that is not Rust.
const SCRIPTS: [&str; 3] = [
    "plugin/hooks/register.ts",
    "plugin/start.sh",
    "plugin/bin/keyhole",
];

/// Pages in `docs` that are made from a table of the program, so nobody writes their words.
const MADE: [&str; 1] = ["docs/check.md"];

/// The pages that users and contributors read, besides those in `docs`.
const PAGES: [&str; 5] = [
    "README.md",
    "SECURITY.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "plugin/README.md",
];

fn main() -> ExitCode {
    // This crate is in tests/tree.
    env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap();
    let (program, others) = sources();
    let whole = measure(&program, "");
    let rooms = rooms(&program);
    print_reading_list(&program);
    print_rooms(&whole, &rooms);
    let words = print_pages();
    let unsafe_in_program = print_unsafe("in the program", &program);
    print_unsafe("in tests, benches and fuzzing", &others);
    let lines_of_scripts = SCRIPTS.into_iter().map(lines).sum();

    println!();
    let mut ceilings = Ceilings::default();
    ceilings.at_most(MOST_TOKENS, whole.tokens, "tokens in the program");
    ceilings.density(&whole, &rooms);
    ceilings.at_most(
        MOST_LINES_OF_SCRIPTS,
        lines_of_scripts,
        "lines of register.ts, start.sh and bin/keyhole",
    );
    ceilings.at_most(MOST_WORDS, words, "words on the pages");
    ceilings.at_most(MOST_UNSAFE, unsafe_in_program, "unsafe in the program");
    ceilings.at_most(
        MOST_CRATES,
        crates(),
        "crates in the program on this system, besides our own",
    );
    ceilings.exit_code()
}

/// Compares numbers with their ceilings.
#[derive(Default)]
struct Ceilings {
    is_one_exceeded: bool,
}

impl Ceilings {
    fn at_most<T: Display + PartialOrd>(&mut self, most: T, found: T, what: &str) {
        println!("{found:>7.2} of {most:>7.2}  {what}");
        if found > most {
            self.is_one_exceeded = true;
            eprintln!("x: too many {what}");
        }
    }

    /// How much a line holds.
    fn density(&mut self, whole: &Measure, rooms: &[Room]) {
        self.at_most(MOST_PER_LINE, whole.per_line(), "tokens in a line");
        for room in rooms {
            if room.measure.lines >= LINES_OF_LARGE_ROOM {
                let what = format!("tokens in a line of {}", room.name);
                self.at_most(MOST_PER_LINE_OF_ROOM, room.measure.per_line(), &what);
            }
        }
        let heavy = whole.share(whole.heavy, 100.0);
        self.at_most(MOST_HEAVY_LINES, heavy, "heavy lines in 100");
        let closures = whole.share(whole.closures, 100.0);
        self.at_most(
            MOST_CLOSURES,
            closures,
            "closures that a let binds, in 100 lines",
        );
        let tricks = "uses of then_some, or of an index by usize::from";
        self.at_most(MOST_TRICKS, whole.tricks, tricks);
        let again = whole.share(whole.again, 1000.0);
        self.at_most(MOST_NAMES_AGAIN, again, "names bound again in 1,000 lines");
    }

    fn exit_code(&self) -> ExitCode {
        if self.is_one_exceeded {
            return ExitCode::FAILURE;
        }
        ExitCode::SUCCESS
    }
}

/// A Rust file.
struct Source {
    /// From the top of the repository on.
    path: String,
    text: String,
}

impl Source {
    /// Whether the program is built of it: no test, no example. Files for other systems count.
    fn is_of_program(&self) -> bool {
        let (folder, name) = self.path.rsplit_once('/').unwrap_or_default();
        let is_beside = folder.contains("/tests") || folder.contains("/examples");
        let is_test = is_beside || name.contains("test");
        let is_in_program = self.path.starts_with("host/") || self.path.starts_with("guest/src/");
        is_in_program && !is_test
    }
}

/// The program's Rust files, and all others.
fn sources() -> (Vec<Source>, Vec<Source>) {
    let mut sources = Vec::new();
    collect(Path::new("."), &mut sources);
    sources.into_iter().partition(Source::is_of_program)
}

/// Adds the Rust files in this folder and below it, in order.
fn collect(folder: &Path, sources: &mut Vec<Source>) {
    for path in listed(folder) {
        let name = path.rsplit('/').next().unwrap_or_default();
        if Path::new(&path).is_dir() {
            if !name.starts_with('.') && name != "target" && name != "node_modules" {
                collect(Path::new(&path), sources);
            }
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(&path).unwrap();
            let path = path.trim_start_matches("./").to_owned();
            sources.push(Source { path, text });
        }
    }
}

/// The paths of what is in this folder.
fn listed(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().path().to_str().unwrap().to_owned())
        .collect()
}

/// What is in the file or folder at `path`, of these sources. An empty path is all of them.
fn measure(sources: &[Source], path: &str) -> Measure {
    sources
        .iter()
        .filter(|source| Path::new(&source.path).starts_with(path))
        .map(|source| Measure::of(&source.text))
        .sum()
}

/// The lines of a file.
fn lines(path: &str) -> usize {
    fs::read_to_string(path).unwrap().lines().count()
}

/// A row of the list "Read it yourself".
struct Row {
    what: String,
    rust: Measure,
    /// Lines of files that are not Rust.
    others: usize,
}

/// Prints the list "Read it yourself" of ARCHITECTURE.md, with the size of each row.
fn print_reading_list(program: &[Source]) {
    let page = fs::read_to_string("ARCHITECTURE.md").unwrap();
    let list = between(&page, "## Read it yourself\n", "\n## ");
    let mut part = "";
    let mut rows = Vec::new();
    for line in list.lines().filter(|line| line.contains("](")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, named, what, links, _] = cells[..] else {
            continue;
        };
        if !named.is_empty() {
            print_part(part, &rows);
            rows.clear();
            part = named;
        }
        rows.push(row(program, what, links));
    }
    print_part(part, &rows);
}

/// What is between `start` and `end`.
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let (_, after) = text.split_once(start).unwrap();
    after.split(end).next().unwrap_or_default()
}

/// The row whose last cell has these links.
fn row(program: &[Source], what: &str, links: &str) -> Row {
    let mut row = Row {
        what: what.to_owned(),
        rust: Measure::default(),
        others: 0,
    };
    for link in links.split("](").skip(1) {
        let path = link.split(')').next().unwrap_or_default();
        if path.ends_with(".rs") || Path::new(path).is_dir() {
            row.rust = row.rust + measure(program, path);
        } else {
            row.others += lines(path);
        }
    }
    row
}

fn print_part(part: &str, rows: &[Row]) {
    if rows.is_empty() {
        return;
    }
    let tokens: usize = rows.iter().map(|row| row.rust.tokens).sum();
    let others: usize = rows.iter().map(|row| row.others).sum();
    if others > 0 {
        println!("{part}: {tokens} tokens of Rust, {others} lines of other languages");
    } else {
        println!("{part}: {tokens} tokens of Rust");
    }
    for Row { what, rust, others } in rows {
        if rust.tokens > 0 {
            println!(
                "{:>7} tokens {:>6.2} a line  {what}",
                rust.tokens,
                rust.per_line()
            );
        }
        if *others > 0 {
            println!("{others:>7} lines                {what}");
        }
    }
}

/// A crate of the program.
struct Room {
    name: String,
    measure: Measure,
}

/// All rooms: the guest, and the folders of `host`.
fn rooms(program: &[Source]) -> Vec<Room> {
    let mut folders = listed(Path::new("host"));
    folders.insert("guest".to_owned());
    let mut rooms = Vec::new();
    for name in folders {
        let sources = format!("{name}/src");
        if Path::new(&sources).is_dir() {
            let measure = measure(program, &sources);
            rooms.push(Room { name, measure });
        }
    }
    rooms
}

/// Prints how much a line holds, in the program and in each room.
fn print_rooms(whole: &Measure, rooms: &[Room]) {
    println!("\n tokens  lines  a line  heavy/100  closures/100  tricks  again/1000");
    print_room("program", whole);
    for room in rooms {
        print_room(&room.name, &room.measure);
    }
}

fn print_room(name: &str, room: &Measure) {
    println!(
        "{:>7}{:>7}{:>8.2}{:>11.1}{:>14.1}{:>8}{:>12.1}  {name}",
        room.tokens,
        room.lines,
        room.per_line(),
        room.share(room.heavy, 100.0),
        room.share(room.closures, 100.0),
        room.tricks,
        room.share(room.again, 1000.0),
    );
}

/// Prints the words of each page, and returns the words of all. The bars of tables are none.
fn print_pages() -> usize {
    println!();
    let mut pages: BTreeSet<String> = PAGES.into_iter().map(str::to_owned).collect();
    pages.extend(
        listed(Path::new("docs"))
            .into_iter()
            .filter(|path| path.ends_with(".md") && !MADE.contains(&&**path)),
    );
    let mut all = 0;
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        let is_word = |part: &&str| part.contains(|c: char| c.is_ascii_alphanumeric());
        let words = text.split_whitespace().filter(is_word).count();
        println!("{words:>7} words  {page}");
        all += words;
    }
    all
}

/// Prints each line with `unsafe` in these sources, and returns how many there are.
fn print_unsafe(place: &str, sources: &[Source]) -> usize {
    let mut found = Vec::new();
    for Source { path, text } in sources {
        for number in rust::lines_with(text, "unsafe") {
            let line = text.lines().nth(number - 1).unwrap_or_default();
            found.push(format!("{path}:{number}: {}", line.trim()));
        }
    }
    println!("\nunsafe {place}: {}", found.len());
    for line in &found {
        println!("{line}");
    }
    found.len()
}

/// How many crates the program is built of on this system, without our own.
fn crates() -> usize {
    let tree = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--locked",
            "-p",
            "keyhole",
            "-e",
            "normal,no-proc-macro",
        ])
        .args(["--prefix", "none", "--format", "{p}"])
        .output()
        .unwrap();
    assert!(tree.status.success(), "{tree:?}");
    let tree = String::from_utf8(tree.stdout).unwrap();
    // A line that says that the crate was listed already has more after its folder.
    let crates: BTreeSet<&str> = tree
        .lines()
        .filter_map(|line| line.split(" (").next())
        .collect();
    crates
        .iter()
        .filter(|name| !name.starts_with("keyhole"))
        .count()
}
