//! The report for people.

use super::{EntryReport, Report, remedy};
use crate::{
    Code,
    map::{Excerpt, Key, MapError, ParseError, is_unprintable, printable, printable_text},
};
use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};
use anstyle::{AnsiColor, Style};
use std::{
    collections::BTreeSet,
    io::{self, Write},
    ops::Range,
};

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HEAD: Style = Style::new().bold();

impl Report {
    /// Writes the report as a table, or shows the place where the map is wrong.
    ///
    /// It is coloured: write to an `anstream`, which removes colours where there
    /// is no terminal or `NO_COLOR` is set. Nothing from the map or a file name
    /// reaches the terminal as a control character.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        match &self.outcome {
            Ok(entries) => {
                self.write_entries(entries, out)?;
                self.write_bindings(out)
            }
            Err(MapError::Parse { source, .. }) => {
                writeln!(out, "{}", self.diagnosis(source))?;
                if self.show_keys || source.excerpt.is_none() {
                    return Ok(());
                }
                writeln!(
                    out,
                    "The text of the line is hidden, since it may hold a key; --show-keys shows it."
                )
            }
            Err(error) => writeln!(out, "{BAD}error{BAD:#}: {}: {error}", error.code().as_str()),
        }
    }

    fn write_entries(&self, entries: &[EntryReport], out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "map: {}", printable(&self.map))?;
        if entries.is_empty() {
            return writeln!(
                out,
                "\nThe map is valid and has no keys: every key is refused."
            );
        }
        // Keys are visible ASCII or redacted, so that characters are columns. The
        // path comes last: nobody knows how wide a terminal shows it.
        let rows: Vec<[String; 4]> = entries
            .iter()
            .map(|entry| {
                let (result, bytes) = match entry.result {
                    Ok(bytes) => ("ok", bytes.to_string()),
                    Err(code) => (code.as_str(), "-".into()),
                };
                [
                    result.into(),
                    bytes,
                    entry.line.to_string(),
                    entry.key.clone(),
                ]
            })
            .collect();
        let heads = ["RESULT", "BYTES", "LINE", "KEY"];
        let [result, bytes, line, key] = std::array::from_fn(|column| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
            widest.max(heads.get(column).map_or(0, |head| head.len()))
        });
        let [h0, h1, h2, h3] = heads;
        writeln!(
            out,
            "\n{HEAD}{h0:<result$}  {h1:>bytes$}  {h2:>line$}  {h3:<key$}  PATH{HEAD:#}"
        )?;
        for (entry, [c0, c1, c2, c3]) in entries.iter().zip(&rows) {
            let style = if entry.result.is_ok() { GOOD } else { BAD };
            let path = printable_text(&entry.path);
            writeln!(
                out,
                "{style}{c0:<result$}{style:#}  {c1:>bytes$}  {c2:>line$}  {c3:<key$}  {path}"
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
        let weak: Vec<String> = entries
            .iter()
            .filter(|entry| entry.weak_key)
            .map(|entry| entry.line.to_string())
            .collect();
        if !weak.is_empty() {
            let lines = if weak.len() == 1 { "line" } else { "lines" };
            writeln!(
                out,
                "{WARNING}warning{WARNING:#}: a key of fewer than {} characters, or fewer than {} different ones, may be guessed: {lines} {}",
                Key::STRONG_LEN,
                Key::STRONG_CHARS,
                weak.join(", ")
            )?;
        }
        let served = entries.iter().filter(|entry| entry.result.is_ok()).count();
        writeln!(out, "{served} of {} would be served.", entries.len())?;
        let bound: Vec<String> = entries
            .iter()
            .filter_map(|entry| {
                let agents = entry.agents.as_ref()?.join(", ");
                Some(format!("line {} ({agents})", entry.line))
            })
            .collect();
        if bound.is_empty() {
            return Ok(());
        }
        writeln!(
            out,
            "To its agents only, whose names cannot be checked here: {}.",
            bound.join("; ")
        )
    }

    fn write_bindings(&self, out: &mut impl Write) -> io::Result<()> {
        let names = self.bindings.iter().map(|binding| binding.name.len());
        let Some(widest) = names.max() else {
            return Ok(());
        };
        let line = "LINE".len();
        let name = widest.max("BINDING".len());
        writeln!(
            out,
            "\n{HEAD}{:>line$}  {:<name$}  RESULT{HEAD:#}",
            "LINE", "BINDING"
        )?;
        for binding in &self.bindings {
            let (style, result) = match (binding.is_served(), binding.result) {
                (Some(false), Err(error)) => (BAD, error.to_string()),
                (_, Err(error)) => (WARNING, error.to_string()),
                (_, Ok(())) => (GOOD, "ok".to_owned()),
            };
            writeln!(
                out,
                "{:>line$}  {:<name$}  {style}{result}{style:#}",
                binding.line, binding.name
            )?;
        }
        Ok(())
    }

    /// Points at the place in the map.
    fn diagnosis(&self, error: &ParseError) -> String {
        let path = printable(&self.map);
        let title = format!("{}: {}", Code::MapInvalid.as_str(), error.message);
        let group = Level::ERROR.primary_title(&title);
        let group = match &error.excerpt {
            Some(excerpt) => {
                let (text, span) = if self.show_keys {
                    tame(excerpt)
                } else {
                    mask(excerpt)
                };
                group.element(
                    Snippet::source(text)
                        .line_start(error.line)
                        .path(&path)
                        .annotation(AnnotationKind::Primary.span(span)),
                )
            }
            None => group.element(
                Origin::path(&path)
                    .line(error.line)
                    .char_column(error.column),
            ),
        };
        let group = match &error.help {
            Some(help) => group.element(Level::HELP.message(help)),
            None => group,
        };
        Renderer::styled().render(&[group])
    }
}

/// What of a map's line tells its structure and nothing else.
const STRUCTURE: &[char] = &['=', '[', ']', '{', '}', ',', '"', '\'', ' ', '\t'];

/// The line with every word hidden, and the place in it. Only what separates
/// words is kept, and it does not matter what a word is: in a map that is wrong,
/// anything may be a key.
fn mask(excerpt: &Excerpt) -> (String, Range<usize>) {
    replace(excerpt, |c| if STRUCTURE.contains(&c) { c } else { '*' })
}

/// The line without control characters, and the place in it.
fn tame(excerpt: &Excerpt) -> (String, Range<usize>) {
    replace(excerpt, |c| {
        if c != '\t' && is_unprintable(c) {
            '?'
        } else {
            c
        }
    })
}

fn replace(excerpt: &Excerpt, by: impl Fn(char) -> char) -> (String, Range<usize>) {
    let part = |range: Range<usize>| -> String {
        excerpt
            .text
            .get(range)
            .unwrap_or_default()
            .chars()
            .map(&by)
            .collect()
    };
    let before = part(0..excerpt.span.start);
    let fault = part(excerpt.span.clone());
    let after = part(excerpt.span.end..excerpt.text.len());
    let start = before.len();
    // An empty place is pointed at by the character that stands there.
    let end = match after.chars().next() {
        Some(next) if fault.is_empty() => start + next.len_utf8(),
        _ => start + fault.len(),
    };
    (before + &fault + &after, start..end)
}
