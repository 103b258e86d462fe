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
use quotation::{TextKind, quotations};
use std::ops::Range;

/// What stands in place of a quotation.
pub const MARK: &str = "[withheld]";

/// The `report`, with [`MARK`] in place of what quotes the `document`: if the document has
/// `- Theo Blix`, then `ask Theo Blix` becomes `ask [withheld]`.
///
/// `known` are paths that the reader of the report knows, such as the folder of its session.
/// A quotation inside such a path stays, and so does one inside a heading's text or a rule's id.
pub fn withhold(document: &str, report: &str, known: &[&str]) -> String {
    replace(report, withheld(document, report, known))
}

/// Where the `report` quotes the `document`, sorted by where each quotation starts. `known` is as
/// for [`withhold`].
pub fn withheld(document: &str, report: &str, known: &[&str]) -> Vec<Range<usize>> {
    let values = document::read(document);
    let quotations = quotations(report, TextKind::Report, &values, known);
    quotations.into_iter().map(|found| found.at).collect()
}

/// What is found in a document, in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// How many lines, items and cells above all headings have a value.
    pub values_without_heading: usize,
    /// The same for each heading, in their order. A heading counts only what stands between it and
    /// the next heading, of any level.
    pub values_by_heading: Vec<usize>,
    /// How many lines stand below a heading `Notes`, without blank ones. They are not compared.
    pub lines_of_notes: usize,
    /// Whether a heading has no value below it, and the next heading is of no deeper level.
    pub has_empty_heading: bool,
    /// Whether the document has fewer than one value for ten words. Notes do not count.
    pub has_few_values: bool,
}

impl Summary {
    /// The numbers of this document. Of `- Wren\n# Names\n- Theo Blix\n# Codes\n`, there is one
    /// value without a heading (`Wren`), one below `Names` and none below `Codes`, so a heading is
    /// empty. In `# All\n## Names\n- Theo Blix`, no heading is empty: a deeper one follows `All`.
    ///
    /// An empty document has neither an empty heading nor few values.
    pub fn of(document: &str) -> Self {
        let read = document::read(document);
        // The first section stands above all headings.
        let mut below_headings = read.sections.iter().skip(1);
        let has_empty_heading = below_headings
            .any(|section| section.pieces_with_value == 0 && !section.is_before_deeper_heading);
        let mut values_by_section = read
            .sections
            .iter()
            .map(|section| section.pieces_with_value);
        Self {
            values_without_heading: values_by_section.next().unwrap_or_default(),
            values_by_heading: values_by_section.collect(),
            lines_of_notes: read.lines_of_notes,
            has_empty_heading,
            has_few_values: read.values.len() * 10 < read.compared_words,
        }
    }
}

/// The report with [`MARK`] in place of each quotation. `quotations` are where these stand, sorted
/// by where each starts. Two that overlap, or have only spaces between them, get one mark:
/// `ask Theo Blix` with a quotation at 4..8 and one at 9..13 becomes `ask [withheld]`.
fn replace(report: &str, quotations: Vec<Range<usize>>) -> String {
    let mut kept = String::with_capacity(report.len());
    // Where the last mark's quotations end. None before the first one.
    let mut marked_to = None;
    for Range { start, end } in quotations {
        // Two that overlap have nothing between them: `get` returns None for such a range.
        let between = report
            .get(marked_to.unwrap_or(0)..start)
            .unwrap_or_default();
        if marked_to.is_none() || !between.trim_matches(' ').is_empty() {
            kept += between;
            kept += MARK;
        }
        // A quotation within an earlier, longer one does not move the end back.
        marked_to = marked_to.max(Some(end));
    }
    kept += report.get(marked_to.unwrap_or(0)..).unwrap_or_default();
    kept
}

#[cfg(test)]
mod tests;
