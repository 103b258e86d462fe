//! Takes out of an agent's report what quotes its document.
//!
//! docs/withhold.md has the rule in words, and `cases.toml` by example. The time is linear in both
//! texts. Nothing here reads a file.
//!
//! - `words` turns a text into words. `letters` says which characters count, and `escapes` what
//!   the report's escapes stand for. `list` has common words.
//! - `document` reads a document line by line, with `markdown`; `piece` finds the values of a
//!   line, with `label` and `parts`; `values` says which words are worth to be one.
//! - `quotation` compares a report with these values, and `run` words that follow one another.
//!   `place` says what stays.
#![forbid(unsafe_code)]

mod dates;
mod document;
mod escapes;
mod label;
mod letters;
mod list;
mod markdown;
mod parts;
mod piece;
mod place;
mod places;
mod quotation;
mod run;
mod values;
mod words;

pub use places::{Found, Rule, places};
use quotation::{Quotation, TextKind, quotations};
use std::ops::Range;
use words::words_in;

/// What stands in place of a quotation.
pub const MARK: &str = "[withheld]";

/// The `report`, with [`MARK`] in place of what quotes the `document`.
///
/// `known` are paths that the reader of the report knows, such as the folder of its session.
/// A quotation inside such a path stays, and so does one inside a heading's text or a rule's id.
pub fn withhold(document: &str, report: &str, known: &[&str]) -> String {
    let values = document::read(document);
    replace(report, quotations(report, TextKind::Report, &values, known))
}

/// Whether nothing, or next to nothing, of the document is a value: less than one for ten words.
pub fn has_few_values(document: &str) -> bool {
    document::read(document).values.len() * 10 < words_in(document).len()
}

/// The report with [`MARK`] in place of these quotations, which are sorted by where they start.
/// Two with nothing but blanks between them become one.
fn replace(report: &str, quotations: Vec<Quotation>) -> String {
    let mut kept = String::with_capacity(report.len());
    // Where the quotations so far end, if there are any.
    let mut done = None;
    for Quotation { at, .. } in quotations {
        let Range { start, end } = at;
        // Nothing is between two that overlap.
        let between = report.get(done.unwrap_or(0)..start).unwrap_or_default();
        if done.is_none() || !between.trim_matches(' ').is_empty() {
            kept += between;
            kept += MARK;
        }
        done = done.max(Some(end));
    }
    kept += report.get(done.unwrap_or(0)..).unwrap_or_default();
    kept
}

#[cfg(test)]
mod tests;
