//! The report for people.

use super::{BindingReport, EntryReport, Report, SHOWS_A_KEY, Warning, remedy};
use keyhole_core::{MapError, Refusal};
use keyhole_walk::printable::{printable, printable_text};
use keyhole_wall::WallStatus;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Write},
};

/// Replaces a text that may be a key.
const HIDDEN: &str = "…";
/// The result of a binding that is not served because clients show its words.
const REVEALS: &str = "shows-a-key";

impl Report {
    /// The report as a table, or which line of the map is wrong. It holds no control character
    /// of the map or of a file name. It says which walls stand if they do not all, or
    /// `is_verbose`.
    pub(crate) fn to_text(&self, is_verbose: bool) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = match &self.outcome {
            Ok(_) => self.write_entries(&mut text),
            Err(error) => self.write_error(error, &mut text),
        };
        let _ = self.write_rest(is_verbose, &mut text);
        text
    }

    /// The position is only a line: a column could tell how long a key is.
    fn write_error(&self, error: &MapError, out: &mut impl Write) -> fmt::Result {
        let (code, said) = (error.code().as_str(), self.said(error));
        writeln!(out, "error: {code}: {said}")?;
        if let MapError::Parse { source, .. } = error {
            let map = self.map.as_deref();
            let map = map.map_or_else(|| "the map".to_owned(), printable);
            writeln!(out, "  --> {map}:{}", source.line())?;
        }
        match &self.help {
            Some(help) => writeln!(out, "  help: {help}"),
            None => Ok(()),
        }
    }

    fn write_entries(&self, out: &mut impl Write) -> fmt::Result {
        let entries = self.outcome.as_deref().unwrap_or_default();
        if let Some(map) = &self.map {
            writeln!(out, "map: {}", printable(map))?;
        }
        if entries.is_empty() && self.bindings.is_empty() {
            // The plugin's agents have keys of their own, so no fresh one helps them.
            let how = match self.agents.is_empty() {
                true => " `keyhole setup key FILE` prints one.",
                false => "",
            };
            return writeln!(
                out,
                "\nThe map is valid and has no keys: every key is refused.{how}"
            );
        }
        let bound = self.bindings.iter().map(|binding| &binding.file);
        let mut all: Vec<_> = entries.iter().chain(bound).collect();
        all.sort_by_key(|entry| entry.line);
        self.write_tables(entries, out)?;
        let failed: BTreeSet<Refusal> = all.iter().filter_map(|entry| entry.result.err()).collect();
        writeln!(out)?;
        let details = |code: Option<Refusal>| -> String {
            let of_code = all.iter().filter(|entry| entry.result.err() == code);
            let told = of_code.filter_map(|entry| Some((entry.line, entry.detail.as_ref()?)));
            told.map(|(line, detail)| format!("  line {line}: {detail}\n"))
                .collect()
        };
        for code in failed {
            writeln!(out, "{}: {}", code.as_str(), remedy(code))?;
            out.write_str(&details(Some(code)))?;
        }
        let shown = self.bindings.iter().filter(|binding| binding.shows_a_key);
        let shown: Vec<u32> = shown.map(|binding| binding.file.line).collect();
        if !shown.is_empty() {
            writeln!(out, "{REVEALS}: {SHOWS_A_KEY}: {}", lines(&shown))?;
        }
        for root in &self.roots {
            writeln!(out, "warning: no file in this root is served: {root}")?;
        }
        if self.unabridged.is_none() && all.iter().any(|entry| entry.path.is_none()) {
            writeln!(
                out,
                "{HIDDEN}: a path that holds a key, or does not end in .md, is not shown"
            )?;
        }
        let mut warnings: BTreeMap<Warning, Vec<u32>> = BTreeMap::new();
        for entry in &all {
            for warning in &entry.warnings {
                warnings.entry(*warning).or_default().push(entry.line);
            }
        }
        if let Some(at) = warnings.remove(&Warning::GuessableKey) {
            let said = Warning::GuessableKey;
            writeln!(out, "error: {said}: {}", lines(&at))?;
        }
        let long = warnings.remove(&Warning::LongForClaude);
        for (warning, at) in &warnings {
            writeln!(out, "warning: {warning}: {}", lines(at))?;
        }
        out.write_str(&details(None))?;
        let served = entries.iter().filter(|entry| entry.result.is_ok()).count()
            + self
                .bindings
                .iter()
                .filter(|binding| binding.is_served())
                .count();
        let but = long.map_or_else(String::new, |at| {
            format!("; but {}: {}", Warning::LongForClaude, lines(&at))
        });
        writeln!(out, "{served} of {} would be served{but}.", all.len())?;
        let bound = all
            .iter()
            .filter(|entry| entry.is_bound && entry.result != Err(Refusal::UnknownKey));
        let bound: Vec<u32> = bound.map(|entry| entry.line).collect();
        if bound.is_empty() || !self.agents.is_empty() {
            return Ok(());
        }
        writeln!(
            out,
            "To its agents only, whose names cannot be checked here: {}.",
            lines(&bound)
        )
    }

    /// The entries, and below them the bindings.
    fn write_tables(&self, entries: &[EntryReport], out: &mut impl Write) -> fmt::Result {
        let result = |entry: &EntryReport| entry.result.err().map_or("ok", Refusal::as_str);
        let of_binding = |binding: &BindingReport| match binding.shows_a_key {
            true => REVEALS,
            false => result(&binding.file),
        };
        let results = entries.iter().map(result);
        let results = results.chain(self.bindings.iter().map(of_binding));
        let wide = results.map(str::len).max().unwrap_or(0).max("RESULT".len());
        let name =
            |binding: &BindingReport| binding.name.clone().unwrap_or_else(|| HIDDEN.to_owned());
        let names = self.bindings.iter().map(|b| name(b).chars().count());
        let longest = names.max().unwrap_or(0).max("BINDING".len());
        let row = |result: &str, bytes: &str, line: &str| {
            format!("{result:<wide$}  {bytes:>7}  {line:>4}")
        };
        let head = row("RESULT", "BYTES", "LINE");
        // The path comes last, because its width on a terminal is unknown.
        let line = |result: &str, entry: &EntryReport, name: &str| {
            let bytes = entry.result.map_or("-".into(), |bytes| bytes.to_string());
            let row = row(result, &bytes, &entry.line.to_string());
            let path = entry.path.as_deref().map_or(HIDDEN.into(), printable_text);
            format!("{row}  {name}{path}")
        };
        if !entries.is_empty() {
            writeln!(out, "\n{head}  PATH")?;
        }
        for entry in entries {
            writeln!(out, "{}", line(result(entry), entry, ""))?;
        }
        if !self.bindings.is_empty() {
            writeln!(out, "\n{head}  {:<longest$}  PATH", "BINDING")?;
        }
        for binding in &self.bindings {
            let name = format!("{:<longest$}  ", name(binding));
            writeln!(out, "{}", line(of_binding(binding), &binding.file, &name))?;
        }
        Ok(())
    }

    fn write_rest(&self, is_verbose: bool, out: &mut impl Write) -> fmt::Result {
        for agent in &self.unguarded {
            writeln!(out, "unguarded: {agent}")?;
        }
        for note in &self.notes {
            writeln!(out, "warning: {note}")?;
        }
        if let Some(more) = &self.of_older {
            writeln!(out, "{more}")?;
        }
        if let Some(command) = &self.unabridged {
            writeln!(
                out,
                "No path is shown to a session. In a terminal of your own: {command}"
            )?;
        }
        for agent in &self.agents {
            writeln!(out, "{}: {}", agent.agent, agent.said)?;
        }
        match self.wall {
            Some(wall) if wall.is_whole() => match is_verbose {
                true => writeln!(
                    out,
                    "wall: a server cannot write, make sockets, start programs or reach other processes, and reads {} ({wall})",
                    match wall.roots {
                        true => "in the roots only",
                        false => "whatever you may",
                    }
                ),
                false => Ok(()),
            },
            Some(wall) if cfg!(target_os = "linux") && wall != WallStatus::default() => {
                writeln!(out, "wall: not whole on this system ({wall})")
            }
            Some(_) => writeln!(
                out,
                "wall: none on this system; only the sandbox holds a call"
            ),
            None => Ok(()),
        }
    }
}

fn lines(lines: &[u32]) -> String {
    let word = if lines.len() == 1 { "line" } else { "lines" };
    let numbers: Vec<String> = lines.iter().map(u32::to_string).collect();
    format!("{word} {}", numbers.join(", "))
}
