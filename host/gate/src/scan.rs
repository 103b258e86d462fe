//! `keyhole scan`: tells a person, or a job of CI, where something that is about to be published
//! has a value of a list.

use crate::{
    compare::{Finding, List, Text},
    error::Uncompared,
    gather::{lists, of_file, read},
    said::{FOR_MODELS, Reader, name, rule, shown, with_number},
    stream::texts,
};
use keyhole_core::{LiveMap, Refusal, Target, limits::MAX_MAX_BYTES};
use keyhole_outgoing::{Place, Repository, Sent, Uncollected, Wanted};
use keyhole_serve::{
    inject::Loading,
    streams::{Waiting, print, say},
};
use keyhole_wall::{Rights, restrict_process};
use serde_json::json;
use std::{
    collections::{HashMap, HashSet},
    env,
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// So many findings are shown on a terminal.
const ON_TERMINAL: usize = 10;

/// The bytes of a file or of standard input that are compared: as many as of a repository.
const MAX_TEXT: u64 = 64 << 20;

/// Nobody waits longer for a comparison.
const LONGEST: Duration = Duration::from_secs(600);

/// Its exit codes.
const NOTHING: u8 = 0;
const FOUND: u8 = 1;
const NOT_COMPARED: u8 = 2;

/// What one run of the command is for.
pub struct Scan {
    /// The files that are compared; `-` is standard input. None: the repository.
    pub files: Vec<PathBuf>,
    /// A list that is compared instead of those of the map.
    pub list: Option<PathBuf>,
    /// The map, or why it is not known which one is meant.
    pub map: Result<LiveMap, String>,
    /// The folder for git's own files.
    pub scratch: PathBuf,
    /// Whether each finding is printed as JSON.
    pub is_json: bool,
    /// Who reads the findings.
    pub reader: Reader,
    /// Whether a client's shell runs this: then it tells nothing.
    pub is_clients_shell: bool,
}

/// Prints the findings, and says on standard error what was compared. Returns the exit code: 0 if
/// there is no finding, 1 if there are some, and 2 if something could not be compared.
pub fn scan(scan: Scan) -> u8 {
    if scan.is_clients_shell {
        say(FOR_MODELS);
        return NOT_COMPARED;
    }
    let looked = look(scan).map_err(|why| why.to_string());
    let done = looked.and_then(|looked| looked.print());
    done.unwrap_or_else(|why| {
        say(&why);
        NOT_COMPARED
    })
}

/// What was found in what.
struct Looked {
    scanned: Scanned,
    lists: Vec<List>,
    findings: Vec<Finding>,
    is_json: bool,
    reader: Reader,
}

/// Collects what is to be compared, and compares it. Only then is a list read: what has read one
/// can start no program.
fn look(scan: Scan) -> Result<Looked, Uncompared> {
    let scanned = Scanned::of(&scan)?;
    let lists = match &scan.list {
        Some(file) => vec![list_in(file)?],
        None => lists_of(scan.map, scanned.repository.as_ref())?,
    };
    let end = Instant::now() + LONGEST;
    let mut findings = Vec::new();
    for list in &lists {
        findings.extend(list.findings(&scanned.texts, end)?);
    }
    Ok(Looked {
        scanned,
        lists,
        findings,
        is_json: scan.is_json,
        reader: scan.reader,
    })
}

/// What is compared.
struct Scanned {
    texts: Vec<Text>,
    commits: usize,
    /// The repository here, if there is one.
    repository: Option<Repository>,
}

impl Scanned {
    /// Gathers the files that the user named; if there are none, what the repository would publish.
    fn of(scan: &Scan) -> Result<Self, Uncompared> {
        let folder = env::current_dir().map_err(Uncollected::from)?;
        let mut scanned = Self {
            texts: Vec::new(),
            commits: 0,
            repository: Repository::find(&folder)?,
        };
        if scan.files.is_empty() {
            scanned.add_repository(&folder, &scan.scratch)?;
        }
        for file in &scan.files {
            scanned.add_file(file)?;
        }
        Ok(scanned)
    }

    /// Adds what is staged, changed and new, and the commits of HEAD that no remote has.
    fn add_repository(&mut self, folder: &Path, scratch: &Path) -> Result<(), Uncompared> {
        let repository = self.repository.as_ref().ok_or(Uncompared::NoRepository)?;
        let wanted = Wanted {
            takes_all: true,
            sends: Some(Sent::default()),
            ..Wanted::default()
        };
        let outgoing = repository.collect(folder, &wanted, scratch)?;
        self.commits = outgoing.commits;
        self.texts
            .extend(outgoing.passages.into_iter().map(Text::from));
        Ok(())
    }

    /// Adds this file, or standard input for `-`.
    fn add_file(&mut self, file: &Path) -> Result<(), Uncompared> {
        if file == Path::new("-") {
            let mut bytes = Vec::new();
            let mut stdin = Waiting(io::stdin()).take(MAX_TEXT + 1);
            stdin
                .read_to_end(&mut bytes)
                .map_err(|_| Uncompared::File)?;
            let stream = String::from_utf8_lossy(&bytes).into_owned();
            self.texts.extend(texts(at_most(stream, MAX_TEXT)?));
        } else {
            let text = read(file, MAX_TEXT + 1).ok_or(Uncompared::File)?;
            let whole = at_most(text, MAX_TEXT)?;
            self.texts.push(of_file(file.to_owned(), whole));
        }
        Ok(())
    }

    /// What was compared, in words: `41 added lines in 5 files, 2 commits`.
    fn in_words(&self) -> String {
        let mut lines = 0;
        let mut files = HashSet::new();
        for text in &self.texts {
            if let Some(Place::Lines { path, .. }) = &text.place {
                lines += text.text.lines().count();
                files.insert(path);
            }
        }
        let lines = count(lines, "added line");
        let files = count(files.len(), "file");
        format!("{lines} in {files}, {}", count(self.commits, "commit"))
    }
}

/// A number of these, in words: `1 file`, `2 files`.
pub(crate) fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

/// The text, if it has at most so many bytes. A longer one is refused.
fn at_most(text: String, most: u64) -> Result<String, Uncompared> {
    if text.len() as u64 > most {
        return Err(Uncollected::TooMuch.into());
    }
    Ok(text)
}

/// The list in this file.
fn list_in(file: &Path) -> Result<List, Uncompared> {
    restrict_process::<File, _>(Rights::Read, None, || (None, ()))
        .map_err(|_| Refusal::OutOfResources)?;
    let text = read(file, MAX_MAX_BYTES + 1).ok_or(Uncompared::Unreadable)?;
    if text.contains(char::REPLACEMENT_CHARACTER) {
        return Err(Uncompared::Unreadable);
    }
    List::new(at_most(text, MAX_MAX_BYTES)?)
}

/// The lists of the map that the repository must not publish.
fn lists_of(
    map: Result<LiveMap, String>,
    repository: Option<&Repository>,
) -> Result<Vec<List>, Uncompared> {
    let live = map.map_err(|_| Refusal::MapMissing)?;
    let map = live.current().map_err(|error| error.code())?;
    let entries = map.entries();
    if entries.iter().all(|(_, it)| it.publish_only_in.is_none()) {
        return Err(Uncompared::NoList);
    }
    let listed = lists(&map, repository);
    let loading = Loading::start(Ok(live))?;
    let mut read = Vec::new();
    for one in listed {
        read.push(List::new(
            loading.load(Target::OperatorsKey(one.key), one.caller)?,
        )?);
    }
    Ok(read)
}

impl Looked {
    /// Prints the findings, and says what was compared. Returns the exit code.
    fn print(&self) -> Result<u8, String> {
        let hidden = self.hidden().map_err(|why| why.to_string())?;
        let mut lines = String::new();
        let most = if self.reader == Reader::Person && !self.is_json {
            ON_TERMINAL
        } else {
            self.findings.len()
        };
        for finding in self.findings.iter().take(most) {
            lines += &self.line(finding, &hidden);
            lines.push('\n');
        }
        print(&lines)?;
        if self.findings.len() > most {
            let more = self.findings.len() - most;
            say(&format!("and {more} more: `keyhole scan | less` shows all"));
        }
        let rules = self.lists.iter().map(|list| list.rules).sum();
        let rules = count(rules, "rule");
        say(&format!("{rules}, {}", self.scanned.in_words()));
        if self.findings.is_empty() {
            return Ok(NOTHING);
        }
        Ok(FOUND)
    }

    /// A finding as a line: `src/a.rs:14:3  Customers`.
    fn line(&self, finding: &Finding, hidden: &HashMap<PathBuf, usize>) -> String {
        let Finding { line, column, .. } = finding;
        let rule = rule(&finding.rule, self.reader);
        // Nothing that is scanned is a call.
        let Some(place) = &finding.place else {
            return rule;
        };
        let name = name(place, self.reader, |path| match hidden.get(path) {
            Some(column) => without_value(path, *column),
            None => shown(path),
        });
        if self.is_json {
            let row = json!({ "place": name, "line": line, "column": column, "rule": rule });
            return row.to_string();
        }
        let place = with_number(place, &name, &format!("{line}:{column}"));
        format!("{place}  {rule}")
    }

    /// The paths that have a value themselves, each with the number of the character at which the
    /// first value begins. None of them if a person reads the findings: a person may read these
    /// paths.
    fn hidden(&self) -> Result<HashMap<PathBuf, usize>, Uncompared> {
        let mut hidden = HashMap::new();
        if self.reader == Reader::Person {
            return Ok(hidden);
        }
        let mut paths = HashSet::new();
        for finding in &self.findings {
            if let Some(Place::Lines { path, .. } | Place::Path(path)) = &finding.place {
                paths.insert(path);
            }
        }
        let texts: Vec<Text> = paths.into_iter().map(|path| of_path(path)).collect();
        let end = Instant::now() + LONGEST;
        for list in &self.lists {
            for found in list.findings(&texts, end)? {
                if let Some(Place::Path(path)) = found.place {
                    let first = hidden.entry(path).or_insert(found.column);
                    *first = found.column.min(*first);
                }
            }
        }
        Ok(hidden)
    }
}

/// A path as a text itself.
fn of_path(path: &Path) -> Text {
    Text {
        place: Some(Place::Path(path.to_owned())),
        text: path.to_string_lossy().into_owned(),
    }
}

/// A path without the name that has a value at this character, and without all behind it.
fn without_value(path: &Path, column: usize) -> String {
    let text = path.to_string_lossy();
    let before: String = text.chars().take(column - 1).collect();
    match before.rsplit_once('/') {
        Some((folder, _)) => format!("a file in {}", shown(Path::new(folder))),
        None => "a file at the top".to_owned(),
    }
}

#[cfg(test)]
mod tests;
