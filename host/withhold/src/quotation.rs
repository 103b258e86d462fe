//! Where a report quotes a document.

use crate::dates::{date_at, section_of_date};
use crate::escapes::ESCAPES;
use crate::place::{is_place, places_of_path};
use crate::run::{Run, section_of_name};
use crate::values::{MAX_WORDS, Values};
use crate::words::{Word, decoded_words_in, words_in};
use std::ops::Range;

/// The most words of a report that are compared as one value. A value has at most half as many, but
/// a report may write its numbers in more pieces.
const MAX_RUN_WORDS: usize = 2 * MAX_WORDS;

/// A value in a text.
#[derive(Debug)]
pub(crate) struct Quotation {
    /// Where it stands in the text, in bytes.
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

/// Where the report quotes one of these values, sorted by where each quotation starts. They may
/// overlap: of `Theo Blix`, there may be one for each name, and one for both. The report is
/// compared as it is, and also with its escapes decoded: `Theo%20Blix` quotes `Theo Blix`.
///
/// A quotation that lies as a whole in one of the `known` paths, or in the name of a rule, is left
/// out: if `/home/theo` is known, `theo` in `/home/theo/a.md` stays.
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
    /// Where the report has a value, also in an allowed place.
    quoted: Vec<Quotation>,
    /// Where the report has the name of a rule, or a known path. A quotation inside one stays.
    allowed: Vec<Range<usize>>,
}

impl Comparison<'_> {
    /// Notes what these words of the report quote:
    ///
    /// - in `quoted`: each word that is a name of the document, perhaps with an ending (`Wexels`);
    ///   each date; and each run that is a value;
    /// - in `allowed`: each run that is the name of a rule.
    ///
    /// At each word, runs of one word, two, and so on begin, up to 24 ([`MAX_RUN_WORDS`]): at
    /// `Theo` in `Theo Blix called`, these are `Theo`, `Theo Blix` and `Theo Blix called`.
    fn compare(&mut self, words: &[Word]) {
        for (index, word) in words.iter().enumerate() {
            if let Some(section) = section_of_name(&word.letters, &self.values.names) {
                let at = word.at.clone();
                self.quoted.push(Quotation { at, section });
            }
            self.note_date(words.get(index..).unwrap_or_default());
            let behind = words.get(index + 1..).unwrap_or_default();
            // A number is compared without a country's code, too: `0551234` also as `551234`. Any
            // other word has one form.
            for form in word.compared_forms() {
                let mut run = Run::default();
                run.push(form, word);
                self.note_run(&run);
                for next in behind.iter().take(MAX_RUN_WORDS - 1) {
                    run.push(&next.letters, next);
                    self.note_run(&run);
                }
            }
        }
    }

    /// Notes where the date stands that these words begin with, if the document has the same day:
    /// `2011-03-12`, if it has `12 March 2011`.
    fn note_date(&mut self, words: &[Word]) {
        if let Some(date) = date_at(words)
            && let Some(section) = section_of_date(&date, &self.values.days)
        {
            let at = date.at;
            self.quoted.push(Quotation { at, section });
        }
    }

    /// Notes where this run of the report stands:
    ///
    /// - in `quoted`, if it is a value. It does not count if it is only a word of code
    ///   (`is_word_of_code`), or the number of a place in a file, as `4711` in `a.md:4711`;
    /// - in `allowed`, if it is the name of a rule. A run may be both: then it stays.
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

    /// Whether this run is only a word of code: a name of at most four letters that the document
    /// writes otherwise, or that begins a longer identifier. If the document has `Max`, these are
    /// `max`, and `Max` in `MaxSize`. Always false for a report, and for a longer name.
    fn is_word_of_code(&self, run: &Run) -> bool {
        if self.kind == TextKind::Report || !run.is_short_name() {
            return false;
        }
        let behind = self.report.get(run.at.end..).unwrap_or_default();
        let document_writes_so = self.values.short_names.contains(&run.first_written_hash);
        !document_writes_so || behind.starts_with(char::is_alphanumeric)
    }

    /// The quotations without those that lie in an allowed place as a whole, sorted by where they
    /// start. If 0..10 is allowed, a quotation at 2..6 is left out, and one at 8..12 is not.
    fn quotations_not_allowed(mut self) -> Vec<Quotation> {
        self.quoted
            .sort_unstable_by_key(|quotation| quotation.at.start);
        self.allowed.sort_unstable_by_key(|place| place.start);
        let mut allowed = self.allowed.into_iter().peekable();
        // The furthest end of the allowed places that start before the quotation, or with it. Both
        // lists are sorted, so each place is looked at once.
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
