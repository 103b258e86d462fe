//! The report for people, and for programs.

use super::{Asker, EntryReport, Finding, Report, entry::means_plugins_agent};
use crate::keys::MapKeys;
use keyhole_claude::PLUGIN;
use keyhole_core::Refusal;
use keyhole_serve::session::SHOWS_A_KEY;
use keyhole_walk::printable::{is_visible, printable, printable_text};
use keyhole_wall::WallStatus;
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    env,
    io::{self, IsTerminal as _},
};

/// Stands for a path or a name that is not shown.
const HIDDEN: &str = "…";
/// The result of a binding that is not served because clients would show a key in its words.
const RESULT_IF_KEY_SHOWN: &str = "shows-a-key";

/// What begins a line of a report, and the same in red, yellow and green.
const COLOURS: [(&str, &str); 3] = [
    ("\nerror:", "\n\x1b[31merror:\x1b[0m"),
    ("\nwarning:", "\n\x1b[33mwarning:\x1b[0m"),
    ("\nok ", "\n\x1b[32mok\x1b[0m "),
];

/// The text as standard output shows it: with the words of [`COLOURS`] in colour on a terminal. The
/// text stays as it is if standard output is no terminal, if `TERM` is `dumb` or not set, or if
/// `NO_COLOR` is set and not empty.
pub(crate) fn in_colour(text: String) -> String {
    let terminal = env::var_os("TERM").unwrap_or_else(|| "dumb".into());
    let no_color = env::var_os("NO_COLOR").unwrap_or_default();
    if !io::stdout().is_terminal() || terminal == "dumb" || !no_color.is_empty() {
        return text;
    }
    // Each word of the table begins with an end of line. So one is put before the first line, and
    // taken away at the end.
    let mut coloured = format!("\n{text}");
    for (word, shown) in COLOURS {
        coloured = coloured.replace(word, shown);
    }
    coloured.split_off(1)
}

impl Report {
    /// The report for people, without control characters and keys. The lines are, in this order:
    /// what is said of the entries ([`Self::say_entries`]), or why the map cannot be used and what
    /// to do; the findings that are not about a single entry; the closing lines.
    pub(crate) fn to_text(&self) -> String {
        let path = self.map_path.as_deref().map(printable);
        let mut said = Vec::new();
        match &self.entries_or_why {
            Ok(entries) => {
                said.extend(path.map(|shown| format!("map: {shown}")));
                self.say_entries(entries, &mut said);
            }
            // Only the line of a mistake is told: a column could tell how long a key is.
            Err(why) => {
                said.push(format!("error: {}: {}", why.code, why.message));
                let map = path.unwrap_or_else(|| "the map".to_owned());
                said.extend(why.line.map(|line| format!("  --> {map}:{line}")));
                said.extend(why.help.iter().map(|help| format!("  help: {help}")));
            }
        }
        for finding in &self.findings {
            said.push(format!("{}: {finding}", finding.severity().as_str()));
        }
        said.extend(self.closing_lines.clone());
        self.keys.text_without_keys(&(said.join("\n") + "\n"))
    }

    /// Adds to `said` what the report says of the entries, each in the order of the map's lines: a
    /// table; why some are refused; that some paths are not shown; what was found in the entries;
    /// the advice on served files; how many values are compared; how many entries would be served;
    /// and whose agents cannot be checked.
    ///
    /// If the map has no entry, only one line says so. It names the command that makes an entry
    /// with a fresh key, unless the report has a verdict on the plugin's agent (`plugins_agent`):
    /// this agent has a key of its own, and the verdict says what to do.
    fn say_entries(&self, entries: &[EntryReport], said: &mut Vec<String>) {
        said.push(String::new());
        if entries.is_empty() {
            let how = if self.plugins_agent.is_some() {
                ""
            } else {
                " `keyhole setup key FILE` prints one."
            };
            said.push(format!(
                "The map is valid and has no keys: every key is refused.{how}"
            ));
            return;
        }
        let mut all: Vec<_> = entries.iter().collect();
        all.sort_by_key(|entry| entry.line);
        say_table(&all, said);
        say_refusals(&all, said);
        // If the report shows no paths, this line would tell nothing.
        if self.map_path.is_some() && all.iter().any(|one| one.path.is_none()) {
            said.push(format!(
                "{HIDDEN}: a key, or a path that does not end in .md, is not shown"
            ));
        }
        said.extend(lines_on_findings(&all));
        // None: only entries that are not refused. Such an entry has advice if others may read its
        // file.
        said.extend(advice_lines(&all, None));
        said.extend(all.iter().filter_map(|one| line_on_values(one)));
        said.push(line_on_count(&all));
        said.extend(line_on_unchecked_agents(&all));
    }

    /// The report as JSON, without keys, and with escapes for characters that a terminal would not
    /// show.
    ///
    /// The form is stable: fields may be added, but no field is renamed, removed or given another
    /// meaning. Every field is always there. It is `null` if it does not apply, or if its text may
    /// be a key. Each `line` is one of the map, from 1. Each `message` and `help` is for people,
    /// and may be reworded.
    pub(crate) fn to_json(&self) -> String {
        // None if the map cannot be used. Then each list is `null`.
        let all = self.entries_or_why.as_ref().ok();
        let mut entries_with_keys = Vec::new();
        let mut bindings = Vec::new();
        // Why an entry is not served is told by its `code`, and not among the warnings.
        let mut warnings = Vec::new();
        for one in all.into_iter().flatten() {
            if one.is_binding {
                bindings.push(json_of_entry(one));
            } else {
                entries_with_keys.push(json_of_entry(one));
            }
            let findings = one.findings.iter();
            warnings.extend(findings.map(|finding| json_of_finding(finding, Some(one.line))));
        }
        let findings = self.findings.iter();
        warnings.extend(findings.map(|finding| json_of_finding(finding, None)));
        let mut report = json!({
            // `null` if `--map` names it and no readable file is there, or if it is not UTF-8.
            "map": self.map_path.as_ref().and_then(|path| path.to_str()),
            // Whether the exit code is 0.
            "ok": self.exit_code() == 0,
            "entries": all.map(|_| entries_with_keys),
            "bindings": all.map(|_| bindings),
            // The agent of Claude Code's plugin, if that asks, or the map has its key.
            "agents": self.plugins_agent.iter().map(|agent| json!({
                "name": PLUGIN.agent, "ok": agent.is_served, "message": agent.text,
            })).collect::<Value>(),
            "warnings": all.map(|_| warnings),
            // What is wrong with the map itself.
            "error": self.entries_or_why.as_ref().err(),
            // What a server with this map gives up on this system.
            "second_wall": {
                "landlock": self.wall.landlock,
                "system_calls": self.wall.system_calls,
                "roots": self.wall.roots,
            },
        });
        hide_keys(&mut report, &self.keys);
        with_escapes(&format!("{report:#}\n"))
    }
}

/// The line that says what confines a server on this system: the whole wall (Landlock and the
/// filter of system calls), a part of it, or none. None if the whole wall stands, and the asker did
/// not type `--verbose`.
pub(super) fn line_on_wall(wall: WallStatus, asker: &Asker) -> Option<String> {
    if wall.is_whole() {
        if !asker.is_verbose {
            return None;
        }
        let reads = if wall.roots {
            "in the roots only"
        } else {
            "whatever you may"
        };
        return Some(format!(
            "wall: a server cannot write, make sockets, start programs or reach other processes, and reads {reads} ({wall})"
        ));
    }
    // In the default status, no part of the wall stands.
    if cfg!(target_os = "linux") && wall != WallStatus::default() {
        return Some(format!("wall: not whole on this system ({wall})"));
    }
    Some("wall: none on this system; only the sandbox holds a call".to_owned())
}

/// Replaces each key by `…` in all texts of a JSON value. The names of fields stay: no key is in
/// them.
fn hide_keys(value: &mut Value, keys: &MapKeys) {
    match value {
        Value::String(text) => *text = keys.text_without_keys(text),
        Value::Array(all) => all.iter_mut().for_each(|one| hide_keys(one, keys)),
        Value::Object(fields) => fields.values_mut().for_each(|one| hide_keys(one, keys)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A text of JSON, with an escape such as `\u001b` for each character that a terminal would not
/// show as itself. The ends of lines stay. A character beyond U+FFFF has two escapes, as JSON wants
/// it.
fn with_escapes(json: &str) -> String {
    let mut text = String::new();
    for c in json.chars() {
        if c == '\n' || is_visible(c) {
            text.push(c);
        } else {
            let units = c.encode_utf16(&mut [0; 2]).to_vec();
            text.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    text
}

/// A finding, as `--json` tells it. `line` is the line of the map with the entry that the finding
/// is about. It is None if the finding is not about one entry.
fn json_of_finding(finding: &Finding, line: Option<u32>) -> Value {
    json!({
        // An id keeps its meaning: docs/check.md has all ids.
        "id": finding.id(),
        "severity": finding.severity().as_str(),
        "line": line,
        "message": finding.to_string(),
    })
}

/// One entry of the map, as `--json` tells it. Most fields are the same for all entries. Beside
/// these, a binding has the field `name`, and an entry with a key the field `weak_key`.
fn json_of_entry(one: &EntryReport) -> Value {
    let mut value = json!({
        "line": one.line,
        // As written in the map; `null` if it does not end in `.md`, or is not to be shown.
        "path": one.path,
        // Whether only the agents that the entry names may have the file.
        "bound": !one.agents.is_empty(),
        "ok": one.is_served(),
        "bytes": one.shown_size(),
        // Why it is not served. `null` if it is, and for a binding whose words show a key: then
        // only the message says why.
        "code": one.size_or_refusal.err().map(Refusal::as_str),
        "message": one.message(),
        // How many lines with values stand above all headings and below each, and how many lines
        // of notes are not compared. `null` if the entry has no `withhold`, if its file is not
        // served, or if the numbers are not to be shown.
        "values": one.summary.as_ref().map(|summary| json!({
            "above": summary.values_without_heading,
            "below": summary.values_by_heading,
            "notes": summary.lines_of_notes,
        })),
    });
    if one.is_binding {
        value["name"] = json!(one.name);
    } else {
        value["weak_key"] = json!(one.has_guessable_key);
    }
    value
}

/// Adds to `said` a table with a row for each entry and binding: its result, size, line and path,
/// as in `not-found        -     3  ~/private/a.md`. The path comes last: its width on a terminal
/// is unknown. A size or path that is not shown is `-` or `…`.
fn say_table(all: &[&EntryReport], said: &mut Vec<String>) {
    let lengths = all.iter().map(|one| result_of(one).len());
    let wide = lengths.fold("RESULT".len(), usize::max);
    said.push(format!("{:<wide$}    BYTES  LINE  PATH", "RESULT"));
    for one in all {
        let size = one.shown_size();
        let bytes = size.map_or("-".into(), |bytes| bytes.to_string());
        let mut path = one.path.as_deref().map_or(HIDDEN.into(), printable_text);
        if one.is_binding {
            path += &format!(" (binding {})", one.name.as_deref().unwrap_or(HIDDEN));
        }
        let result = result_of(one);
        said.push(format!(
            "{result:<wide$}  {bytes:>7}  {:>4}  {path}",
            one.line
        ));
    }
    said.push(String::new());
}

/// The result of an entry: [`RESULT_IF_KEY_SHOWN`] for a binding whose title or description has a
/// key of the map; else the code with which its file is refused, or `ok`.
fn result_of(one: &EntryReport) -> &'static str {
    match one.size_or_refusal {
        _ if one.shows_a_key => RESULT_IF_KEY_SHOWN,
        Err(code) => code.as_str(),
        Ok(_) => "ok",
    }
}

/// Adds to `said` why entries are not served. For each code with which files are refused, a line
/// says what the code means, and below it stands the advice for these files:
/// `not-found: Restore it, …`, then `  line 3: nothing is at /home/theo/a.md; …`. At the end, a
/// line names the bindings whose title or description has a key of the map. Adds nothing if all are
/// served.
fn say_refusals(all: &[&EntryReport], said: &mut Vec<String>) {
    let codes: BTreeSet<Refusal> = all
        .iter()
        .filter_map(|one| one.size_or_refusal.err())
        .collect();
    for code in codes {
        said.push(format!("{}: {}", code.as_str(), code.remedy()));
        said.extend(advice_lines(all, Some(code)));
    }
    if let Some(at) = lines_in_words(all, |one| one.shows_a_key) {
        said.push(format!("{RESULT_IF_KEY_SHOWN}: {SHOWS_A_KEY}: {at}"));
    }
}

/// A line for each entry that has advice and is refused with this code; or if `code` is None, for
/// each that has advice and is not refused.
fn advice_lines(all: &[&EntryReport], code: Option<Refusal>) -> impl Iterator<Item = String> {
    all.iter()
        .filter(move |one| one.size_or_refusal.err() == code)
        .filter_map(|one| Some(format!("  line {}: {}", one.line, one.advice.as_ref()?)))
}

/// The line that says how many entries would be served, and which of them are too long for Claude
/// Code: `2 of 3 would be served.`
fn line_on_count(all: &[&EntryReport]) -> String {
    let served = all.iter().filter(|one| one.is_served()).count();
    let long = Finding::LongForClaudeCode {};
    let but = match lines_in_words(all, |one| one.findings.contains(&long)) {
        Some(at) => format!("; but {long}: {at}"),
        None => String::new(),
    };
    format!("{served} of {} would be served{but}.", all.len())
}

/// The line that names the entries with agents whose names cannot be checked here: any agent of a
/// binding, and of an entry with a key any agent but the plugin's. None if no entry has such an
/// agent. An entry that is refused as `unknown-key` is left out: none of its agents can ask for a
/// key, and the code says that.
fn line_on_unchecked_agents(all: &[&EntryReport]) -> Option<String> {
    let at = lines_in_words(all, |one| {
        let mut agents = one.agents.iter();
        one.size_or_refusal != Err(Refusal::UnknownKey)
            && agents.any(|agent| one.is_binding || !means_plugins_agent(agent))
    })?;
    Some(format!(
        "To its agents only, whose names cannot be checked here: {at}."
    ))
}

/// A line for each kind of finding about these entries. The line names the map's lines with an
/// entry that has this finding: `warning: the file is empty, …: lines 3, 8`.
/// [`Finding::LongForClaudeCode`] is left out: [`line_on_count`] tells it.
fn lines_on_findings(all: &[&EntryReport]) -> Vec<String> {
    let mut kinds: Vec<&Finding> = all.iter().flat_map(|one| &one.findings).collect();
    // A finding about an entry has no fields, so two of one kind are equal. Sorted by kind, they
    // stand together, and `dedup` leaves one.
    kinds.sort_by_key(|finding| finding.rank());
    kinds.dedup();
    kinds.retain(|finding| **finding != Finding::LongForClaudeCode {});
    let mut said = Vec::new();
    for finding in kinds {
        if let Some(at) = lines_in_words(all, |one| one.findings.contains(finding)) {
            said.push(format!("{}: {finding}: {at}", finding.severity().as_str()));
        }
    }
    said
}

/// The line that says how many values of the entry's file are compared with reports. For a file
/// with headings, the line is `line 3, values for withhold below each heading: 4, 0, 2`, and for
/// one without `line 3, values for withhold: 6`. If the file has lines of notes, the line also says
/// how many: they are not compared.
///
/// None if the report has no `summary`: the entry has no `withhold`, its file is not served, or the
/// main conversation reads the report.
fn line_on_values(one: &EntryReport) -> Option<String> {
    let summary = one.summary.as_ref()?;
    let mut said = format!("line {}, values for withhold", one.line);
    if summary.values_by_heading.is_empty() {
        said += &format!(": {}", summary.values_without_heading);
    } else {
        let counts: Vec<String> = summary
            .values_by_heading
            .iter()
            .map(usize::to_string)
            .collect();
        said += &format!(" below each heading: {}", counts.join(", "));
    }
    if summary.lines_of_notes > 0 {
        said += &format!(
            "; lines of notes, which are not compared: {}",
            summary.lines_of_notes
        );
    }
    Some(said)
}

/// The map's lines with the entries for which `is_meant` is true: `lines 3, 8`, or `line 3`. None
/// if there is no such entry.
fn lines_in_words(all: &[&EntryReport], is_meant: impl Fn(&EntryReport) -> bool) -> Option<String> {
    let these = all.iter().filter(|one| is_meant(one));
    let numbers: Vec<String> = these.map(|one| one.line.to_string()).collect();
    let listed = numbers.join(", ");
    match numbers.len() {
        0 => None,
        1 => Some(format!("line {listed}")),
        _ => Some(format!("lines {listed}")),
    }
}
