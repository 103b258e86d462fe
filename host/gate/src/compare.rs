//! Compares what would be published with a list.

use crate::error::Uncompared;
use keyhole_outgoing::{Passage, Place, Uncollected};
use keyhole_serve::resources::room_to_compare;
use keyhole_withhold::{Rule, places};
use std::{collections::HashSet, time::Instant};

/// So many bytes are compared at once, or one line more. It takes 128 times as much memory.
const AT_ONCE: usize = 1 << 20;

/// A longer line is not compared: that would take a gigabyte of memory.
const LONGEST_LINE: usize = 8 << 20;

/// A line between two texts, so that no value is found half in one and half in the other.
const BETWEEN: &str = "\nqzxkeyholeqzx\n";

/// A text that would be published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// Where it stands. None: in the call itself.
    pub place: Option<Place>,
    /// The text.
    pub text: String,
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
    pub rules: usize,
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
    /// [`Uncompared::NoValues`] if the list does not even find its own values: then it would never
    /// find anything.
    pub fn new(text: String) -> Result<Self, Uncompared> {
        room_to_compare(2 * text.len())?;
        let own = places(&text, &text);
        if own.is_empty() {
            return Err(Uncompared::NoValues);
        }
        let numbers: HashSet<usize> = own.iter().map(|found| found.rule.number).collect();
        Ok(Self {
            text,
            rules: numbers.len(),
        })
    }

    /// Where the texts have values of this list, in their order. Of several values that overlap,
    /// the first one counts.
    ///
    /// # Errors
    /// [`Uncompared::Late`] if it is not done at `end`; others if there is too little memory, or a
    /// line is too long.
    pub fn findings(&self, texts: &[Text], end: Instant) -> Result<Vec<Finding>, Uncompared> {
        let mut findings = Vec::new();
        let mut joined = Joined::default();
        for text in texts {
            for (index, line) in text.text.split('\n').enumerate() {
                if line.len() > LONGEST_LINE {
                    return Err(Uncollected::TooMuch.into());
                }
                joined.push(text, index, line);
                if joined.text.len() >= AT_ONCE {
                    joined.compare(self, end, &mut findings)?;
                    joined = Joined::default();
                }
            }
            joined.text += BETWEEN;
        }
        joined.compare(self, end, &mut findings)?;
        Ok(findings)
    }
}

/// Lines of several texts as one.
#[derive(Default)]
struct Joined<'p> {
    text: String,
    lines: Vec<Line<'p>>,
}

/// A line in a joined text.
struct Line<'p> {
    /// Where it starts there.
    start: usize,
    of: &'p Text,
    /// Its number in its text, from 0.
    index: usize,
}

/// How many characters of a line are counted.
#[derive(Default)]
struct Counted {
    /// The byte of the joined text to which they reach.
    to: usize,
    characters: usize,
}

impl<'p> Joined<'p> {
    /// Adds this line, which has the number `index` in the text `of`.
    fn push(&mut self, of: &'p Text, index: usize, line: &str) {
        self.lines.push(Line {
            start: self.text.len(),
            of,
            index,
        });
        self.text += line;
        self.text.push('\n');
    }

    /// Adds to the findings where these lines have a value of the list. Of two values that overlap,
    /// the first one counts.
    ///
    /// # Errors
    /// [`Uncompared::Late`] if `end` has come; and if there is too little memory.
    fn compare(
        &self,
        list: &List,
        end: Instant,
        findings: &mut Vec<Finding>,
    ) -> Result<(), Uncompared> {
        if Instant::now() >= end {
            return Err(Uncompared::Late);
        }
        room_to_compare(list.text.len() + self.text.len())?;
        let mut done = 0;
        let mut counted = Counted::default();
        for found in places(&list.text, &self.text) {
            if found.at.start >= done {
                done = found.at.end;
                findings.extend(self.finding(found.at.start, found.rule, &mut counted));
            }
        }
        Ok(())
    }

    /// The finding at this byte of the text, which is not before what is counted.
    fn finding(&self, at: usize, rule: Rule, counted: &mut Counted) -> Option<Finding> {
        let behind = self.lines.partition_point(|line| line.start <= at);
        let line = self.lines.get(behind.checked_sub(1)?)?;
        if counted.to < line.start {
            *counted = Counted {
                to: line.start,
                characters: 0,
            };
        }
        // A long line with many values is read once.
        counted.characters += self.text.get(counted.to..at)?.chars().count();
        counted.to = at;
        let first = match line.of.place {
            Some(Place::Lines { first, .. }) => first,
            _ => 1,
        };
        Some(Finding {
            place: line.of.place.clone(),
            line: first + line.index,
            column: counted.characters + 1,
            rule,
        })
    }
}

#[cfg(test)]
mod tests;
