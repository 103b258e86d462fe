//! Where a report quotes a document.

use crate::dates::{date_at, section_of_date};
use crate::escapes::ESCAPES;
use crate::place::{is_place, places_of_path};
use crate::run::{Run, section_of_name};
use crate::values::{MAX_WORDS, Values};
use crate::words::{Word, decoded_words_in, words_in};
use std::ops::Range;

/// The most words of a report that are compared as one value: more than a value has, as a number
/// may be in more pieces.
const MAX_RUN_WORDS: usize = 2 * MAX_WORDS;

/// A value in a text.
#[derive(Debug)]
pub(crate) struct Quotation {
    pub(crate) at: Range<usize>,
    /// The section of the document that has the value.
    pub(crate) section: usize,
}

/// What the compared text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextKind {
    /// A report of an agent. Names in it have any case.
    Report,
    /// Code, or whatever else is published. Short names count only as the document writes them.
    Code,
}

/// Where the report quotes one of these values, sorted by where each quotation starts. Of
/// `Theo Blix`, there may be one for each name, and one for both. Escapes such as `%20` are read,
/// too.
///
/// What lies in one of the `known` paths or in the name of a rule is no quotation: these places are
/// collected in `allowed`, and what lies in them is left out at the end.
pub(crate) fn quotations(
    report: &str,
    kind: TextKind,
    values: &Values,
    known: &[&str],
) -> Vec<Quotation> {
    let mut comparison = Comparison {
        report,
        kind,
        values,
        quoted: Vec::new(),
        allowed: Vec::new(),
    };
    for path in known {
        comparison.allowed.extend(places_of_path(report, path));
    }
    // This adds the values to `quoted`, and the names of rules to `allowed`.
    comparison.compare(&words_in(report));
    if report.contains(ESCAPES) {
        comparison.compare(&decoded_words_in(report));
    }
    comparison.quotations_not_allowed()
}

/// A report that is compared with a document's values, and what was found in it so far.
struct Comparison<'c> {
    report: &'c str,
    kind: TextKind,
    values: &'c Values,
    quoted: Vec<Quotation>,
    /// Names of rules and known paths. A quotation inside one stays.
    allowed: Vec<Range<usize>>,
}

impl Comparison<'_> {
    /// Notes what these words quote: each word that is a name of the document, perhaps with an
    /// ending; each date; and each run that is a value. Each run that is the name of a rule is
    /// noted as allowed. From each word on, the runs are one word, two, and so on, up to
    /// [`MAX_RUN_WORDS`].
    fn compare(&mut self, words: &[Word]) {
        for (index, word) in words.iter().enumerate() {
            if let Some(section) = section_of_name(&word.letters, &self.values.names) {
                let at = word.at.clone();
                self.quoted.push(Quotation { at, section });
            }
            self.note_date(words.get(index..).unwrap_or_default());
            let behind = words.get(index + 1..).unwrap_or_default();
            // A number is compared without a country's code, too: `0551234` also as `551234`.
            for first in word.compared_forms() {
                let mut run = Run::default();
                run.push(first, word);
                self.note_run(&run);
                for next in behind.iter().take(MAX_RUN_WORDS - 1) {
                    run.push(&next.letters, next);
                    self.note_run(&run);
                }
            }
        }
    }

    /// Notes where the date stands that these words begin with, if it is one of the values.
    fn note_date(&mut self, words: &[Word]) {
        if self.values.days.is_empty() {
            return;
        }
        if let Some(date) = date_at(words)
            && let Some(section) = section_of_date(&date, &self.values.days)
        {
            let at = date.at;
            self.quoted.push(Quotation { at, section });
        }
    }

    /// Notes where this run stands: in `quoted` if it is a value, and in `allowed` if it is the
    /// name of a rule. A value that is only a word of code (`is_word_of_code`) or a place in a file
    /// (`a.md:12`) is no quotation.
    fn note_run(&mut self, run: &Run) {
        if let Some(known) = run.known_in(&self.values.values)
            && !self.is_word_of_code(run)
            && !is_place(self.report, run)
        {
            self.quoted.push(Quotation {
                at: run.at.clone(),
                section: known.section,
            });
        }
        if run.known_in(&self.values.rules).is_some() {
            self.allowed.push(run.at.clone());
        }
    }

    /// Whether this run is only a word of code: a short name that the document writes otherwise, or
    /// that begins a longer identifier, as `max` and `MaxSize` if the document has `Max`. A report
    /// has no words of code.
    fn is_word_of_code(&self, run: &Run) -> bool {
        if self.kind == TextKind::Report || !run.is_short_name() {
            return false;
        }
        let behind = self.report.get(run.at.end..).unwrap_or_default();
        let is_written_so = self.values.short_names.contains(&run.first_written_hash);
        !is_written_so || behind.starts_with(char::is_alphanumeric)
    }

    /// The quotations that do not lie in one of the allowed places as a whole, sorted by where they
    /// start.
    fn quotations_not_allowed(mut self) -> Vec<Quotation> {
        self.quoted
            .sort_unstable_by_key(|quotation| quotation.at.start);
        self.allowed.sort_unstable_by_key(|place| place.start);
        let mut allowed = self.allowed.into_iter().peekable();
        // The furthest end of the allowed places that do not start behind the quotation's start.
        let mut allowed_to = 0;
        self.quoted.retain(|quotation| {
            while let Some(place) = allowed.next_if(|place| place.start <= quotation.at.start) {
                allowed_to = allowed_to.max(place.end);
            }
            quotation.at.end > allowed_to
        });
        self.quoted
    }
}
