//! `keyhole scan`: tells a person, or a job of CI, where something that is about to be published
//! has a value of a list.

use crate::{
    compare::{Finding, List, Text},
    error::Uncompared,
    gather::{forbidden_lists, read_text, text_of},
    said::{FOR_MODELS, Reader, place_name, printable_path, rule_name, with_number},
    stream::texts_of_stream,
};
use keyhole_core::{LiveMap, Refusal, Target, limits::MAX_MAX_BYTES};
use keyhole_outgoing::{Passage, Place, Repository, Sent, Takes, Uncollected, Wanted};
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
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// So many findings are shown on a terminal.
const MAX_ON_TERMINAL: usize = 10;

/// The bytes of a file or of standard input that are compared: as many as of a repository.
const MAX_TEXT_BYTES: usize = 64 << 20;

/// Nobody waits longer for a comparison.
const MAX_TIME: Duration = Duration::from_secs(600);

/// Its exit codes.
const EXIT_NOTHING_FOUND: u8 = 0;
const EXIT_FOUND: u8 = 1;
const EXIT_NOT_COMPARED: u8 = 2;

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
        return EXIT_NOT_COMPARED;
    }
    let comparison_or_why = compare(scan).map_err(|why| why.to_string());
    let done = comparison_or_why.and_then(|comparison| comparison.print());
    done.unwrap_or_else(|why| {
        say(&why);
        EXIT_NOT_COMPARED
    })
}

/// What was found, in what, and who reads it.
struct Comparison {
    scanned: Scanned,
    lists: Vec<List>,
    findings: Vec<Finding>,
    is_json: bool,
    reader: Reader,
}

/// Collects what is to be compared, and then reads the lists and compares it with them. A list is
/// read only after git is done: what has read one can start no program.
fn compare(scan: Scan) -> Result<Comparison, Uncompared> {
    let scanned = Scanned::of(&scan)?;
    let lists = match &scan.list {
        Some(file) => vec![load_list_in(file)?],
        None => load_lists_of(scan.map, scanned.repository.as_ref())?,
    };
    let deadline = Instant::now() + MAX_TIME;
    let mut findings = Vec::new();
    for list in &lists {
        findings.extend(list.findings(&scanned.texts, deadline)?);
    }
    Ok(Comparison {
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
    /// Gathers the texts of the files that the user named; if none is named, what the repository
    /// here would publish.
    ///
    /// # Errors
    /// If a file or the repository cannot be read, or is too large.
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
            takes: Takes::All,
            sends: Some(Sent::default()),
            ..Wanted::default()
        };
        let outgoing = repository.collect(folder, &wanted, scratch)?;
        self.commits = outgoing.commits;
        self.texts
            .extend(outgoing.passages.into_iter().map(Text::from));
        Ok(())
    }

    /// Adds the text of this file, or the texts of standard input for `-`.
    ///
    /// # Errors
    /// [`Uncompared::File`] if it cannot be read; [`Uncollected::TooMuch`] if it has more than 64
    /// MiB.
    fn add_file(&mut self, file: &Path) -> Result<(), Uncompared> {
        if file == Path::new("-") {
            let stream = text_of(Waiting(io::stdin()), MAX_TEXT_BYTES)?;
            self.texts.extend(texts_of_stream(stream));
        } else {
            let text = read_text(file, MAX_TEXT_BYTES)?;
            self.texts.push(Text::of_lines(file.to_owned(), 1, text));
        }
        Ok(())
    }

    /// What was compared, in words: `41 added lines in 5 files, 2 commits`.
    fn in_words(&self) -> String {
        let mut line_count = 0;
        let mut paths_seen = HashSet::new();
        for text in &self.texts {
            if let Some(Place::Lines { path, .. }) = &text.place {
                line_count += text.text.lines().count();
                paths_seen.insert(path);
            }
        }
        let lines = count(line_count, "added line");
        let files = count(paths_seen.len(), "file");
        format!("{lines} in {files}, {}", count(self.commits, "commit"))
    }
}

/// A number of these, in words: `1 file`, `2 files`.
pub(crate) fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

/// The list in this file, which is read after the process has given up all other rights.
///
/// # Errors
/// [`Uncompared::Unreadable`] if it cannot be read or is no UTF-8; [`Uncollected::TooMuch`] if it
/// has more than 8 MiB; [`Uncompared::List`] if the rights cannot be given up; and those of
/// [`List::new`].
fn load_list_in(file: &Path) -> Result<List, Uncompared> {
    restrict_process::<File, _>(Rights::Read, None, || (None, ()))
        .map_err(|_| Refusal::OutOfResources)?;
    let text = match read_text(file, MAX_MAX_BYTES as usize) {
        Err(Uncompared::File) => return Err(Uncompared::Unreadable),
        read => read?,
    };
    // It stands for bytes that are no UTF-8.
    if text.contains(char::REPLACEMENT_CHARACTER) {
        return Err(Uncompared::Unreadable);
    }
    List::new(text)
}

/// The lists of the map that the repository must not publish. Without a repository, those of all
/// entries with `publish_only_in`.
///
/// # Errors
/// [`Uncompared::NoList`] if no entry has the field; otherwise if the map or a list does not load.
fn load_lists_of(
    map: Result<LiveMap, String>,
    repository: Option<&Repository>,
) -> Result<Vec<List>, Uncompared> {
    let live = map.map_err(|_| Refusal::MapMissing)?;
    let map = live.current().map_err(|error| error.code())?;
    let entries = map.entries();
    if entries.iter().all(|(_, it)| it.publish_only_in.is_none()) {
        return Err(Uncompared::NoList);
    }
    let to_load = forbidden_lists(&map, repository);
    let loading = Loading::start(Ok(live))?;
    let mut loaded = Vec::new();
    for one in to_load {
        loaded.push(List::new(
            loading.load(Target::OperatorsKey(one.key), one.caller)?,
        )?);
    }
    Ok(loaded)
}

impl Comparison {
    /// Prints the findings, at most [`MAX_ON_TERMINAL`] for a person, and says what was compared.
    /// Returns the exit code.
    fn print(&self) -> Result<u8, String> {
        let hidden_paths = self.hidden_paths().map_err(|why| why.to_string())?;
        let mut lines = String::new();
        let max_lines = if self.reader == Reader::Person && !self.is_json {
            MAX_ON_TERMINAL
        } else {
            self.findings.len()
        };
        for finding in self.findings.iter().take(max_lines) {
            lines += &self.line_of(finding, &hidden_paths);
            lines.push('\n');
        }
        print(&lines)?;
        if self.findings.len() > max_lines {
            let more = self.findings.len() - max_lines;
            say(&format!("and {more} more: `keyhole scan | less` shows all"));
        }
        let rule_count = self.lists.iter().map(|list| list.rule_count).sum();
        let rules = count(rule_count, "rule");
        say(&format!("{rules}, {}", self.scanned.in_words()));
        if self.findings.is_empty() {
            return Ok(EXIT_NOTHING_FOUND);
        }
        Ok(EXIT_FOUND)
    }

    /// A finding as a line: `src/a.rs:14:3  Customers`, or JSON. `hidden_paths` has each path that
    /// has a value itself, which the reader must not see, with the first value's column in it. Of
    /// such a path, only the folder before the value is told.
    fn line_of(&self, finding: &Finding, hidden_paths: &HashMap<PathBuf, usize>) -> String {
        let Finding { line, column, .. } = finding;
        let rule = rule_name(&finding.rule, self.reader);
        // Only a finding in a call has no place, and a call is never scanned.
        let Some(place) = &finding.place else {
            return rule;
        };
        let name = place_name(place, self.reader, |path| match hidden_paths.get(path) {
            Some(value_column) => without_value(path, *value_column),
            None => printable_path(path),
        });
        if self.is_json {
            let row = json!({ "place": name, "line": line, "column": column, "rule": rule });
            return row.to_string();
        }
        let numbered = with_number(place, &name, &format!("{line}:{column}"));
        format!("{numbered}  {rule}")
    }

    /// The paths of findings in whose own name a list finds a value, each with the number of the
    /// character at which the first value begins. None of them if a person reads the findings: a
    /// person may read these paths.
    fn hidden_paths(&self) -> Result<HashMap<PathBuf, usize>, Uncompared> {
        let mut hidden_paths = HashMap::new();
        if self.reader == Reader::Person {
            return Ok(hidden_paths);
        }
        let mut paths = HashSet::new();
        for finding in &self.findings {
            if let Some(Place::Lines { path, .. } | Place::Path(path)) = &finding.place {
                paths.insert(path);
            }
        }
        let names = paths.into_iter().map(|path| Passage::of_path(path).into());
        let texts: Vec<Text> = names.collect();
        let deadline = Instant::now() + MAX_TIME;
        for list in &self.lists {
            for found in list.findings(&texts, deadline)? {
                if let Some(Place::Path(path)) = found.place {
                    let first_column = hidden_paths.entry(path).or_insert(found.column);
                    *first_column = found.column.min(*first_column);
                }
            }
        }
        Ok(hidden_paths)
    }
}

/// A path without the name that has a value at this character, and without all behind it.
fn without_value(path: &Path, column: usize) -> String {
    let text = path.to_string_lossy();
    let before: String = text.chars().take(column - 1).collect();
    match before.rsplit_once('/') {
        Some((folder, _)) => format!("a file in {}", printable_path(Path::new(folder))),
        None => "a file at the top".to_owned(),
    }
}

#[cfg(test)]
mod tests;
