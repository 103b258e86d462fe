//! Where a text that is about to be published has a value of a document.

use crate::document;
use crate::list::is_word_of_field;
use crate::quotation::{TextKind, quotations};
use crate::values::Section;
use crate::words::words_in;
use std::ops::Range;

/// A value in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it stands, in bytes.
    pub at: Range<usize>,
    /// The rule of the document above the value.
    pub rule: Rule,
}

/// A heading of a document, which is the name of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its number among the document's headings, from 1. A value above all headings has 0.
    pub number: usize,
    /// The text of the heading.
    pub name: String,
    /// Whether the heading may be a value itself, as `Bill Gates`. False for `Home address (high)`,
    /// of which each word stands in names of fields. True for a heading without words.
    pub is_telling: bool,
}

impl Rule {
    /// The rule of this section, the one with this number. Without a section, its name is empty.
    fn of(number: usize, section: Option<&Section>) -> Self {
        let name = section.map_or(String::new(), |section| section.heading.clone());
        let words = words_in(&name);
        let are_fields = words.iter().all(|word| is_word_of_field(&word.letters));
        Self {
            number,
            name,
            is_telling: words.is_empty() || !are_fields,
        }
    }
}

/// Where `text` has a value of the `document`, sorted, each with the heading above this value in
/// the document: of `# Name\n- Theo Blix`, `THEO_BLIX` is one, with the rule `Name`. Two that
/// overlap are one, with the heading of the first.
///
/// The text is code, or whatever else is published. A name of up to four letters counts only as the
/// document writes it: if the document has `Max`, then `max` is no value. As in a report, the name
/// of a rule and a place in a file (`a.md:4711`) are no values.
pub fn places(document: &str, text: &str) -> Vec<Found> {
    let values = document::read(document);
    let mut found: Vec<Found> = Vec::new();
    // No path is left out: none is known to all who read what is published.
    for quotation in quotations(text, TextKind::Code, &values, &[]) {
        match found.last_mut() {
            Some(last) if quotation.at.start < last.at.end => {
                last.at.end = last.at.end.max(quotation.at.end);
            }
            _ => found.push(Found {
                at: quotation.at,
                rule: Rule::of(quotation.section, values.sections.get(quotation.section)),
            }),
        }
    }
    found
}
