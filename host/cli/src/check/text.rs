//! The report for people.

use super::{EntryReport, Report, Warning, entry::SHOWS_A_KEY};
use keyhole_core::{MapError, Refusal};
use keyhole_setup::PLUGIN;
use keyhole_walk::printable::{printable, printable_text};
use keyhole_wall::WallStatus;
use std::collections::BTreeSet;

/// Replaces a text that may be a key.
const HIDDEN: &str = "…";
/// The result of a binding that is not served because clients show its words.
const REVEALS: &str = "shows-a-key";

impl Report {
    /// The report as a table, or which line of the map is wrong. It holds no control character
    /// of the map or of a file name. It says which walls stand if they do not all, or
    /// `is_verbose`.
    pub(crate) fn to_text(&self, is_verbose: bool) -> String {
        let mut said = match &self.outcome {
            Ok(entries) => self.of_entries(entries),
            Err(error) => self.of_error(error),
        };
        said.extend(self.faults.iter().map(|fault| format!("error: {fault}")));
        said.extend(self.notes.iter().map(|note| format!("warning: {note}")));
        said.extend(self.of_older.clone());
        said.extend(self.unabridged.iter().map(|command| {
            format!("No path is shown to a session. In a terminal of your own: {command}")
        }));
        let agent = self.agent.iter();
        said.extend(agent.map(|(_, said)| format!("{}: {said}", PLUGIN.0)));
        said.extend(self.of_wall(is_verbose));
        said.join("\n") + "\n"
    }

    /// The position is only a line: a column could tell how long a key is.
    fn of_error(&self, error: &MapError) -> Vec<String> {
        let (code, why) = (error.code().as_str(), self.said(error));
        let mut said = vec![format!("error: {code}: {why}")];
        if let MapError::Parse { source, .. } = error {
            let map = self.map.as_deref();
            let map = map.map_or_else(|| "the map".to_owned(), printable);
            said.push(format!("  --> {map}:{}", source.line()));
        }
        said.extend(self.help.iter().map(|help| format!("  help: {help}")));
        said
    }

    fn of_entries(&self, entries: &[EntryReport]) -> Vec<String> {
        let map = self.map.as_deref().map(printable);
        let mut said: Vec<String> = map.iter().map(|map| format!("map: {map}")).collect();
        said.push(String::new());
        if entries.is_empty() {
            // The plugin's agent has a key of its own, so no fresh one helps it.
            let how = self
                .agent
                .as_ref()
                .map_or(" `keyhole setup key FILE` prints one.", |_| "");
            said.push(format!(
                "The map is valid and has no keys: every key is refused.{how}"
            ));
            return said;
        }
        let mut all: Vec<_> = entries.iter().collect();
        all.sort_by_key(|entry| entry.line);
        said.extend(table(&all));
        let details = |code: Option<Refusal>| {
            let of_code = all.iter().filter(move |one| one.result.err() == code);
            of_code.filter_map(|one| Some(format!("  line {}: {}", one.line, one.detail.as_ref()?)))
        };
        let failed: BTreeSet<Refusal> = all.iter().filter_map(|one| one.result.err()).collect();
        for code in failed {
            said.push(format!("{}: {}", code.as_str(), code.remedy()));
            said.extend(details(Some(code)));
        }
        let at = lines(&all, |one| one.shows_a_key);
        said.extend(at.map(|at| format!("{REVEALS}: {SHOWS_A_KEY}: {at}")));
        let roots = self.roots.iter();
        said.extend(roots.map(|root| format!("warning: no file in this root is served: {root}")));
        if self.unabridged.is_none() && all.iter().any(|one| one.path.is_none()) {
            said.push(format!(
                "{HIDDEN}: a path that holds a key, or does not end in .md, is not shown"
            ));
        }
        let warnings: BTreeSet<Warning> = all.iter().flat_map(|one| one.warnings.clone()).collect();
        let mut but = String::new();
        for warning in warnings {
            let at = lines(&all, |one| one.warnings.contains(&warning)).unwrap_or_default();
            match warning {
                Warning::LongForClaude => but = format!("; but {warning}: {at}"),
                Warning::GuessableKey => said.push(format!("error: {warning}: {at}")),
                _ => said.push(format!("warning: {warning}: {at}")),
            }
        }
        said.extend(details(None));
        let served = all.iter().filter(|one| one.is_served()).count();
        said.push(format!("{served} of {} would be served{but}.", all.len()));
        let is_known = |one: &EntryReport| one.result != Err(Refusal::UnknownKey);
        let bound = lines(&all, |one| {
            one.is_bound && is_known(one) && self.agent.is_none()
        });
        said.extend(
            bound
                .map(|at| format!("To its agents only, whose names cannot be checked here: {at}.")),
        );
        said
    }

    fn of_wall(&self, is_verbose: bool) -> Option<String> {
        let wall = self.wall;
        let reads = if wall.roots {
            "in the roots only"
        } else {
            "whatever you may"
        };
        if wall.is_whole() {
            is_verbose.then(|| format!(
                "wall: a server cannot write, make sockets, start programs or reach other processes, and reads {reads} ({wall})"
            ))
        } else if cfg!(target_os = "linux") && wall != WallStatus::default() {
            Some(format!("wall: not whole on this system ({wall})"))
        } else {
            Some("wall: none on this system; only the sandbox holds a call".to_owned())
        }
    }
}

/// The entries and bindings. The path comes last: its width on a terminal is unknown.
fn table(all: &[&EntryReport]) -> Vec<String> {
    let mut rows = vec![["RESULT", "BYTES", "LINE", "PATH"].map(str::to_owned)];
    rows.extend(all.iter().map(|one| {
        let result = match one.result {
            _ if one.shows_a_key => REVEALS,
            Err(code) => code.as_str(),
            Ok(_) => "ok",
        };
        let bytes = one.result.map_or("-".into(), |bytes| bytes.to_string());
        let mut path = one.path.as_deref().map_or(HIDDEN.into(), printable_text);
        if one.is_binding {
            path += &format!(" (binding {})", one.name.as_deref().unwrap_or(HIDDEN));
        }
        [result.to_owned(), bytes, one.line.to_string(), path]
    }));
    let wide = rows
        .iter()
        .map(|[result, ..]| result.len())
        .max()
        .unwrap_or(0);
    let rows = rows.iter().map(|[result, bytes, line, path]| {
        format!("{result:<wide$}  {bytes:>7}  {line:>4}  {path}")
    });
    rows.chain([String::new()]).collect()
}

/// The lines of those that are so. None if there is none.
fn lines(all: &[&EntryReport], is: impl Fn(&EntryReport) -> bool) -> Option<String> {
    let these = all.iter().filter(|one| is(one));
    let numbers: Vec<String> = these.map(|one| one.line.to_string()).collect();
    let word = if numbers.len() == 1 { "line" } else { "lines" };
    (!numbers.is_empty()).then(|| format!("{word} {}", numbers.join(", ")))
}
