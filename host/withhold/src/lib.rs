//! Takes out of an agent's report what quotes its document.
//!
//! docs/withhold.md has the rule in words, and `cases.toml` by example. `words` turns a text into
//! words, with `letters`, `escapes` and `list`, `run` compares words that follow one another, and `document` says which of the document's
//! words are values: it reads lines with `markdown`, `piece` one line with `label` and `parts`, and
//! `values` says which words are worth to be one. The time is linear in both texts. Nothing here reads a file.
#![forbid(unsafe_code)]

mod document;
mod escapes;
mod label;
mod letters;
mod list;
mod markdown;
mod parts;
mod piece;
mod run;
mod values;
mod words;

use escapes::ESCAPES;
use run::{Run, has_name};
use std::ops::Range;
use values::MAX_WORDS;
use words::{decoded_words_in, words_in};

/// What stands in place of a quotation.
pub const MARK: &str = "[withheld]";

/// The `report`, with [`MARK`] in place of what quotes the `document`.
///
/// `known` are paths that the reader of the report knows, such as the folder of its session.
/// A quotation inside such a path stays, and so does one inside a heading's text or a rule's id.
pub fn withhold(document: &str, report: &str, known: &[&str]) -> String {
    let values = document::read(document);
    let mut quoted = Vec::new();
    let mut allowed: Vec<_> = known.iter().flat_map(|path| paths(report, path)).collect();
    let mut forms = vec![words_in(report)];
    if report.contains(ESCAPES) {
        forms.push(decoded_words_in(report));
    }
    for words in forms {
        for (start, word) in words.iter().enumerate() {
            if has_name(&word.letters, &values.names) {
                quoted.push(word.at.clone());
            }
            for first in word.starts() {
                let mut run = Run::default();
                // Of more words than a value has: a number may be in more pieces.
                let others = words.iter().skip(start + 1).take(2 * MAX_WORDS - 1);
                let others = others.map(|word| (&*word.letters, word));
                for (letters, word) in [(first, word)].into_iter().chain(others) {
                    run.push(letters, word);
                    if run.is_one_of(&values.values) && !is_place(report, &run) {
                        quoted.push(run.at.clone());
                    }
                    if run.is_one_of(&values.rules) {
                        allowed.push(run.at.clone());
                    }
                }
            }
        }
    }
    replace(report, quoted, allowed)
}

/// Whether nothing, or next to nothing, of the document is a value: less than one for ten words.
pub fn has_few_values(document: &str) -> bool {
    document::read(document).values.len() * 10 < words_in(document).len()
}

/// Whether this is a number of a place in a file, such as `a.md:12:4`, or a part of a path.
fn is_place(report: &str, run: &Run) -> bool {
    let (before, after) = report.split_at(run.at.end);
    let (before, text) = before.split_at(run.at.start);
    // A look at all that is before would take too long.
    let start = before.char_indices().rev().nth(127);
    let before = before.split_at(start.map_or(0, |(at, _)| at)).1;
    // A file's name may be marked as code, and several lines may follow.
    let file = before.strip_suffix([':', '-', '(']).unwrap_or_default();
    let file = file.trim_end_matches(|c: char| ":-".contains(c) || c.is_ascii_digit());
    let file = end_of_path(file.trim_end_matches(['`', '*', '"']));
    let is_after_file = file.rsplit_once('.').is_some_and(|it| is_ending(it.1));
    let near = end_of_path(before);
    let is_in_path = near.contains(['/', '\\']) && near.contains(char::is_alphabetic);
    let behind = after.strip_prefix('.').unwrap_or_default();
    let ending = behind.split(|c: char| !c.is_alphanumeric()).next();
    let is_file = ending.is_some_and(is_ending);
    run.is_short_number() && (is_after_file || is_in_path || is_file)
        || is_after_file && run.is_number() && text.contains(':')
}

fn end_of_path(text: &str) -> &str {
    let is_other = |c: char| c.is_whitespace() || "\"'`,;()[]{}<>|=".contains(c);
    text.rsplit(is_other).next().unwrap_or_default()
}

/// Whether a file's name may end so, behind the dot.
fn is_ending(text: &str) -> bool {
    let is_known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_word = text.starts_with(|c: char| c.is_ascii_lowercase());
    is_word && text.len() < 6 && text.chars().all(is_known)
}

/// Where `path` stands in the report, alone or with the rest of a path behind it.
fn paths<'r>(report: &'r str, path: &'r str) -> impl Iterator<Item = Range<usize>> {
    // From Thai on, there may be no blank between a path and a word.
    let is_of_word = |c: char| c.is_alphanumeric() && c < '\u{e00}';
    let found = report.match_indices(path.trim_end_matches(['/', '\\']));
    found.filter_map(move |(at, path)| {
        let end = at + path.len();
        let is_in_word =
            report.get(..at)?.ends_with(is_of_word) || report.get(end..)?.starts_with(is_of_word);
        // An empty path would be found everywhere.
        (!path.is_empty() && !is_in_word).then_some(at..end)
    })
}

/// The report with the quotations replaced that lie in none of the `allowed` places. Two with
/// nothing but blanks between them become one.
fn replace(report: &str, mut quoted: Vec<Range<usize>>, mut allowed: Vec<Range<usize>>) -> String {
    quoted.sort_unstable_by_key(|quotation| quotation.start);
    allowed.sort_unstable_by_key(|place| place.start);
    let mut allowed = allowed.into_iter().peekable();
    let mut kept = String::with_capacity(report.len());
    // Where the last quotation ends, and the last of the allowed places that begin before here.
    let (mut done, mut allowed_to) = (None, 0);
    for Range { start, end } in quoted {
        while let Some(place) = allowed.next_if(|place| place.start <= start) {
            allowed_to = allowed_to.max(place.end);
        }
        if end <= allowed_to {
            continue;
        }
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
