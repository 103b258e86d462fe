//! The report for people.

use super::{EntryReport, Report, Warning, remedy};
use crate::{
    code::Code,
    map::MapError,
    printable::{printable, printable_text},
};
use anstyle::{AnsiColor, Style};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
};

/// Replaces a text that may be a key.
const HIDDEN: &str = "…";

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HEAD: Style = Style::new().bold();

impl Report {
    /// Writes the report as a table, or says which line of the map is wrong.
    ///
    /// The report has colours: write it to an `anstream`, which removes them if
    /// there is no terminal or if `NO_COLOR` is set. No control character from the
    /// map or from a file name reaches the terminal.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        self.write_outcome(out)?;
        self.write_wall(out)
    }

    fn write_outcome(&self, out: &mut impl Write) -> io::Result<()> {
        match &self.outcome {
            Ok(entries) => {
                self.write_entries(entries, out)?;
                self.write_bindings(out)
            }
            Err(error) => self.write_error(error, out),
        }
    }

    /// The position is only a line: a column could tell how long a key is.
    fn write_error(&self, error: &MapError, out: &mut impl Write) -> io::Result<()> {
        let (code, said) = (error.code().as_str(), self.said(error));
        writeln!(out, "{BAD}error{BAD:#}: {code}: {said}")?;
        let MapError::Parse { path, source } = error else {
            return Ok(());
        };
        writeln!(out, "  --> {}:{}", printable(path), source.line)?;
        match &source.help {
            Some(help) => writeln!(out, "  {HEAD}help{HEAD:#}: {help}"),
            None => Ok(()),
        }
    }

    fn write_entries(&self, entries: &[EntryReport], out: &mut impl Write) -> io::Result<()> {
        if let Some(map) = &self.map {
            writeln!(out, "map: {}", printable(map))?;
        }
        if entries.is_empty() {
            return writeln!(
                out,
                "\nThe map is valid and has no keys: every key is refused."
            );
        }
        // The path comes last, because its width on a terminal is unknown.
        let rows: Vec<[String; 3]> = entries
            .iter()
            .map(|entry| {
                let (result, bytes) = match entry.result {
                    Ok(bytes) => ("ok", bytes.to_string()),
                    Err(code) => (code.as_str(), "-".into()),
                };
                [result.into(), bytes, entry.line.to_string()]
            })
            .collect();
        let heads = ["RESULT", "BYTES", "LINE"];
        let [result, bytes, line] = std::array::from_fn(|column| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
            widest.max(heads.get(column).map_or(0, |head| head.len()))
        });
        let [h0, h1, h2] = heads;
        writeln!(
            out,
            "\n{HEAD}{h0:<result$}  {h1:>bytes$}  {h2:>line$}  PATH{HEAD:#}"
        )?;
        for (entry, [c0, c1, c2]) in entries.iter().zip(&rows) {
            let style = if entry.result.is_ok() { GOOD } else { BAD };
            let path = entry.path.as_deref().map_or(HIDDEN.into(), printable_text);
            writeln!(
                out,
                "{style}{c0:<result$}{style:#}  {c1:>bytes$}  {c2:>line$}  {path}"
            )?;
        }
        let failed: BTreeSet<Code> = entries
            .iter()
            .filter_map(|entry| entry.result.err())
            .collect();
        writeln!(out)?;
        for code in failed {
            writeln!(out, "{BAD}{}{BAD:#}: {}", code.as_str(), remedy(code))?;
        }
        for root in &self.roots {
            writeln!(
                out,
                "{WARNING}warning{WARNING:#}: no file in this root is served: {root}"
            )?;
        }
        if entries.iter().any(|entry| entry.path.is_none()) {
            writeln!(
                out,
                "{HIDDEN}: a path that holds a key, or does not end in .md, is not shown"
            )?;
        }
        let mut warnings: BTreeMap<Warning, Vec<u32>> = BTreeMap::new();
        for entry in entries {
            for warning in &entry.warnings {
                warnings.entry(*warning).or_default().push(entry.line);
            }
        }
        for (warning, at) in &warnings {
            writeln!(out, "{WARNING}warning{WARNING:#}: {warning}: {}", lines(at))?;
        }
        let served = entries.iter().filter(|entry| entry.result.is_ok()).count();
        writeln!(out, "{served} of {} would be served.", entries.len())?;
        let bound = entries.iter().filter(|entry| entry.is_bound);
        let bound: Vec<u32> = bound.map(|entry| entry.line).collect();
        if bound.is_empty() {
            return Ok(());
        }
        writeln!(
            out,
            "To its agents only, whose names cannot be checked here: {}.",
            lines(&bound)
        )
    }

    fn write_bindings(&self, out: &mut impl Write) -> io::Result<()> {
        let rows = self
            .bindings
            .iter()
            .map(|binding| (binding, binding.name.as_deref().unwrap_or(HIDDEN)));
        let Some(widest) = rows.clone().map(|(_, name)| name.chars().count()).max() else {
            return Ok(());
        };
        let line = "LINE".len();
        let width = widest.max("BINDING".len());
        writeln!(
            out,
            "\n{HEAD}{:>line$}  {:<width$}  RESULT{HEAD:#}",
            "LINE", "BINDING"
        )?;
        for (binding, name) in rows {
            let (style, result) = match (binding.is_served(), &binding.result) {
                (Some(false), Err(error)) => (BAD, error.to_string()),
                (_, Err(error)) => (WARNING, error.to_string()),
                (_, Ok(())) => (GOOD, "ok".to_owned()),
            };
            writeln!(
                out,
                "{:>line$}  {name:<width$}  {style}{result}{style:#}",
                binding.line
            )?;
        }
        Ok(())
    }
}

fn lines(lines: &[u32]) -> String {
    let word = if lines.len() == 1 { "line" } else { "lines" };
    let numbers: Vec<String> = lines.iter().map(u32::to_string).collect();
    format!("{word} {}", numbers.join(", "))
}
