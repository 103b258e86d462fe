//! How much of the catalogs in benches/withhold is found. Their README says what the marks mean.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test reads its own files, reports and fails"
)]

use keyhole_withhold::withheld;
use std::{fs, ops::Range, path::PathBuf};

/// What a mark says of the passage behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Whole,
    Part,
    /// A place or the name of a rule, which must stay.
    Stays,
}

/// A text without its marks, and what was marked.
struct Marked {
    text: String,
    passages: Vec<(Mark, Range<usize>)>,
}

impl Marked {
    fn of(raw: &str) -> Self {
        let mut marked = Self {
            text: String::new(),
            passages: Vec::new(),
        };
        let mut rest = raw;
        while let Some((before, behind)) = rest.split_once('⟦') {
            marked.text += before;
            let (passage, next) = behind.split_once('⟧').expect("a mark that ends");
            let (mark, passage) = match passage.chars().next() {
                Some('~') => (Mark::Part, passage.trim_start_matches('~')),
                Some('@' | '§') => (Mark::Stays, passage.trim_start_matches(['@', '§'])),
                _ => (Mark::Whole, passage),
            };
            let start = marked.text.len();
            marked.text += passage;
            marked.passages.push((mark, start..marked.text.len()));
            rest = next;
        }
        marked.text += rest;
        marked
    }
}

/// How many letters and digits of this passage there are, and how many are in one of the ranges.
fn letters(text: &str, passage: &Range<usize>, ranges: &[Range<usize>]) -> (usize, usize) {
    let (mut all, mut covered) = (0, 0);
    for (at, c) in text[passage.clone()].char_indices() {
        let at = passage.start + at;
        if c.is_alphanumeric() {
            all += 1;
            covered += usize::from(ranges.iter().any(|range| range.contains(&at)));
        }
    }
    (all, covered)
}

#[derive(Debug, Default)]
struct Score {
    values: usize,
    found: usize,
    whole: usize,
    whole_found: usize,
    words: usize,
    words_taken: usize,
    ordinary: usize,
    ordinary_touched: usize,
    stays: usize,
    broken: usize,
}

impl Score {
    fn add(&mut self, catalog: &str, kind: &str, report: &Marked) {
        let gone = withheld(catalog, &report.text, &[]);
        for (mark, passage) in &report.passages {
            let (all, covered) = letters(&report.text, passage, &gone);
            let is_found = covered * 4 >= all * 3;
            match mark {
                Mark::Stays => {
                    self.stays += 1;
                    self.broken += usize::from(covered > 0);
                }
                Mark::Whole | Mark::Part => {
                    self.values += 1;
                    self.found += usize::from(is_found);
                }
            }
            if *mark == Mark::Whole {
                self.whole += 1;
                self.whole_found += usize::from(is_found);
            }
        }
        let taken = self.count_words(report, &gone);
        if matches!(kind, "ordinary" | "places") {
            self.ordinary += 1;
            self.ordinary_touched += usize::from(taken > 0);
        }
    }

    /// Counts the words that nothing marks, and returns how many of them are gone.
    fn count_words(&mut self, report: &Marked, gone: &[Range<usize>]) -> usize {
        let mut taken = 0;
        for word in report.text.split(|c: char| !c.is_alphanumeric()) {
            let start = word.as_ptr() as usize - report.text.as_ptr() as usize;
            let at = start..start + word.len();
            let marked: Vec<_> = report.passages.iter().map(|one| one.1.clone()).collect();
            if word.is_empty() || letters(&report.text, &at, &marked).1 > 0 {
                continue;
            }
            self.words += 1;
            taken += usize::from(letters(&report.text, &at, gone).1 > 0);
        }
        self.words_taken += taken;
        taken
    }
}

#[test]
fn as_much_is_found_as_the_page_says() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../benches/withhold");
    let mut score = Score::default();
    let mut catalogs = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "txt") {
            continue;
        }
        catalogs += 1;
        let catalog = fs::read_to_string(path.with_extension("md")).unwrap();
        let catalog = Marked::of(&catalog).text;
        let reports = fs::read_to_string(&path).unwrap();
        for report in reports.split("\n=== ") {
            let (head, body) = report.split_once('\n').unwrap();
            let kind = head.split_whitespace().last().unwrap();
            score.add(&catalog, kind, &Marked::of(body));
        }
    }
    println!("{score:#?}");
    assert_eq!(catalogs, 10);
    assert!(score.found * 100 >= score.values * 94, "{score:?}");
    assert!(score.whole_found * 100 >= score.whole * 97, "{score:?}");
    assert!(score.words_taken * 200 <= score.words, "{score:?}");
    assert!(score.ordinary_touched * 4 <= score.ordinary, "{score:?}");
    assert!(score.broken * 100 <= score.stays, "{score:?}");
}
