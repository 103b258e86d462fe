//! Compares what would be published with a list.

use crate::error::Uncompared;
use keyhole_outgoing::{Passage, Place, Uncollected};
use keyhole_serve::resources::room_to_compare;
use keyhole_withhold::{Rule, places};
use std::{collections::HashSet, path::PathBuf, time::Instant};

/// So many bytes are compared at once, or one line more. It takes 128 times as much memory.
const BYTES_AT_ONCE: usize = 1 << 20;

/// A longer line is not compared: that would take a gigabyte of memory.
const MAX_LINE_BYTES: usize = 8 << 20;

/// How many findings are told at most: each has a path, which may have 4,096 bytes.
const MAX_FINDINGS: usize = 10_000;

/// A line between two texts, so that no value is found half in one and half in the other.
const LINE_BETWEEN: &str = "\nqzxkeyholeqzx\n";

/// A text that would be published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// Where it stands. None: in the call itself.
    pub place: Option<Place>,
    /// The text.
    pub text: String,
}

impl Text {
    /// Lines of a file, of which the first has the number `first`, from 1.
    pub(crate) fn of_lines(path: PathBuf, first: usize, text: String) -> Self {
        let place = Place::Lines {
            path,
            first,
            commit: None,
        };
        Self {
            place: Some(place),
            text,
        }
    }
}

impl From<Passage> for Text {
    fn from(passage: Passage) -> Self {
        Self {
            place: Some(passage.place),
            text: passage.text,
        }
    }
}

/// A list that is compared with what would be published.
pub struct List {
    text: String,
    /// How many of its headings have values beneath them.
    pub rule_count: usize,
}

/// A place where a value of a list would be published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Where the text stands. None: in the call itself.
    pub place: Option<Place>,
    /// The line, from 1: of the file, if the text has lines of one.
    pub line: usize,
    /// The character of the line, from 1.
    pub column: usize,
    /// The heading above the value in its list.
    pub rule: Rule,
}

impl List {
    /// The list of this text.
    ///
    /// # Errors
    /// [`Uncompared::List`] if there is too little memory; [`Uncompared::NoValues`] if the list
    /// does not even find its own values: then it would never find anything.
    pub fn new(text: String) -> Result<Self, Uncompared> {
        room_to_compare(2 * text.len())?;
        let found_in_itself = places(&text, &text);
        if found_in_itself.is_empty() {
            return Err(Uncompared::NoValues);
        }
        let rule_numbers: HashSet<usize> = found_in_itself
            .iter()
            .map(|found| found.rule.number)
            .collect();
        Ok(Self {
            text,
            rule_count: rule_numbers.len(),
        })
    }

    /// Where the texts have values of this list, in their order: the first 10,000. Of several values
    /// that overlap, the first one counts.
    ///
    /// # Errors
    /// [`Uncompared::Late`] if it is not done at `deadline`; others if there is too little memory,
    /// or a line has more than 8 MiB.
    pub fn findings(&self, texts: &[Text], deadline: Instant) -> Result<Vec<Finding>, Uncompared> {
        let mut findings = Vec::new();
        let mut joined = Joined::default();
        for text in texts {
            for (index, line) in text.text.split('\n').enumerate() {
                if line.len() > MAX_LINE_BYTES {
                    return Err(Uncollected::TooMuch.into());
                }
                joined.push(text, index, line);
                if findings.len() >= MAX_FINDINGS {
                    return Ok(findings);
                }
                if joined.text.len() >= BYTES_AT_ONCE {
                    joined.add_findings(self, deadline, &mut findings)?;
                    joined = Joined::default();
                }
            }
            joined.text += LINE_BETWEEN;
        }
        joined.add_findings(self, deadline, &mut findings)?;
        Ok(findings)
    }
}

/// Lines of several texts, joined as one text to compare.
#[derive(Default)]
struct Joined<'p> {
    text: String,
    lines: Vec<Line<'p>>,
}

/// A line in a joined text.
struct Line<'p> {
    /// Where it starts there.
    start: usize,
    /// The text that the line is of.
    origin: &'p Text,
    /// Its number in that text, from 0.
    index_in_origin: usize,
}

/// How many characters of a line are before a byte.
#[derive(Default)]
struct CountedTo {
    /// That byte, by its place in the joined text.
    byte: usize,
    characters: usize,
}

impl<'p> Joined<'p> {
    /// Adds this line, which has the number `index_in_origin` in the text `origin`, from 0.
    fn push(&mut self, origin: &'p Text, index_in_origin: usize, line: &str) {
        self.lines.push(Line {
            start: self.text.len(),
            origin,
            index_in_origin,
        });
        self.text += line;
        self.text.push('\n');
    }

    /// Adds a finding for each place where these lines have a value of the list. Of two values that
    /// overlap, only the first one counts.
    ///
    /// # Errors
    /// [`Uncompared::Late`] if `deadline` has come; [`Uncompared::List`] if there is too little
    /// memory.
    fn add_findings(
        &self,
        list: &List,
        deadline: Instant,
        findings: &mut Vec<Finding>,
    ) -> Result<(), Uncompared> {
        if Instant::now() >= deadline {
            return Err(Uncompared::Late);
        }
        room_to_compare(list.text.len() + self.text.len())?;
        let mut end_of_last = 0;
        let mut counted = CountedTo::default();
        for value in places(&list.text, &self.text) {
            if findings.len() >= MAX_FINDINGS {
                break;
            }
            // Otherwise it overlaps the last one.
            if value.at.start >= end_of_last {
                end_of_last = value.at.end;
                findings.extend(self.finding(value.at.start, value.rule, &mut counted));
            }
        }
        Ok(())
    }

    /// The finding of a value that begins at the byte `at` of the joined text. `counted` is what
    /// was counted for the finding before this one, and is moved on to `at`: so a long line with
    /// many values is read once. None if `at` is before that finding, or before all lines.
    fn finding(&self, at: usize, rule: Rule, counted: &mut CountedTo) -> Option<Finding> {
        let behind = self.lines.partition_point(|line| line.start <= at);
        let line = self.lines.get(behind.checked_sub(1)?)?;
        // The finding before was in an earlier line.
        if counted.byte < line.start {
            *counted = CountedTo {
                byte: line.start,
                characters: 0,
            };
        }
        counted.characters += self.text.get(counted.byte..at)?.chars().count();
        counted.byte = at;
        let first_number = match line.origin.place {
            Some(Place::Lines { first, .. }) => first,
            _ => 1,
        };
        Some(Finding {
            place: line.origin.place.clone(),
            line: first_number + line.index_in_origin,
            column: counted.characters + 1,
            rule,
        })
    }
}

#[cfg(test)]
mod tests;
