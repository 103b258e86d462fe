//! What stays in a report: places in files, and paths that the report's reader knows.

use crate::run::Run;
use std::ops::Range;

/// So many characters before a number show whether it is a place: to look at all would take too
/// long.
const LOOK_BACK_CHARS: usize = 128;

/// The most characters of an ending of a file's name, as in `a.jsonl`.
const MAX_ENDING_CHARS: usize = 5;

/// Whether this run in the report is the number of a place in a file, as in `a.md:12` and
/// `a.md:12:4`, or a number in a path, as in `src/12/a.md` and `12.md`. In `room 12`, it is not. A
/// long number (six digits or more) counts only behind a file's name, and with a colon in it.
pub(crate) fn is_place(report: &str, run: &Run) -> bool {
    if !run.is_number() {
        return false;
    }
    let (up_to_end, after) = report.split_at(run.at.end);
    let (before, number) = up_to_end.split_at(run.at.start);
    let just_before = end_of(before);
    // A line and a column, as in `12:4`, may have more digits together.
    if ends_with_file_and_mark(just_before) && (run.is_short_number() || number.contains(':')) {
        return true;
    }
    run.is_short_number() && (is_in_path(just_before) || is_before_ending(after))
}

/// The last [`LOOK_BACK_CHARS`] characters of the text, or all.
fn end_of(text: &str) -> &str {
    let mut starts = text.char_indices().rev();
    let start = starts.nth(LOOK_BACK_CHARS - 1).map_or(0, |(at, _)| at);
    text.split_at(start).1
}

/// Whether the text ends as what `grep` prints before a line that it found: a file's name with an
/// extension, perhaps a line's number, and a mark. `a.md:` and `a.md:12-` do. `note:` does not: it
/// has no extension.
fn ends_with_file_and_mark(text: &str) -> bool {
    let Some(name_and_lines) = text.strip_suffix([':', '-', '(']) else {
        return false;
    };
    // Other numbers of lines may be before the mark, and marks of code or quotes around the name.
    let name = name_and_lines
        .trim_end_matches(|c: char| ":-".contains(c) || c.is_ascii_digit())
        .trim_end_matches(['`', '*', '"']);
    match end_of_path(name).rsplit_once('.') {
        Some((_, ending)) => is_file_extension(ending),
        None => false,
    }
}

/// Whether the text ends with the start of a path: `in src/` does. `on 3/` does not: it may be the
/// start of a date.
fn is_in_path(text: &str) -> bool {
    let path = end_of_path(text);
    path.contains(['/', '\\']) && path.contains(char::is_alphabetic)
}

/// Whether the text begins with a dot and the ending of a file's name: `.md is missing`. In
/// `. The`, and in `.Md`, it does not.
fn is_before_ending(text: &str) -> bool {
    let Some(behind) = text.strip_prefix('.') else {
        return false;
    };
    let mut words = behind.split(|c: char| !c.is_alphanumeric());
    words.next().is_some_and(is_file_extension)
}

/// What stands behind the last blank, quote, bracket or the like: `src/a.md` of `in (src/a.md`.
fn end_of_path(text: &str) -> &str {
    let mut paths = text.rsplit(|c: char| c.is_whitespace() || "\"'`,;()[]{}<>|=".contains(c));
    paths.next().unwrap_or_default()
}

/// Whether a file's name may end so, behind the dot: `md`, `mp3`. `Blix` and `7z` do not.
fn is_file_extension(text: &str) -> bool {
    text.len() <= MAX_ENDING_CHARS
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
}

/// Where `path` stands in the report, alone or in a longer path: `/home/theo` stands in
/// `/home/theo/a.md`, and not in `/home/theodor`, where a letter is beside it. The path `/` has no
/// place.
pub(crate) fn places_of_path(report: &str, path: &str) -> Vec<Range<usize>> {
    let folder = path.trim_end_matches(['/', '\\']);
    let mut places = Vec::new();
    if folder.is_empty() {
        // The path `/` would be found everywhere.
        return places;
    }
    for (start, found) in report.match_indices(folder) {
        let end = start + found.len();
        let (before, _) = report.split_at(start);
        let (_, after) = report.split_at(end);
        if !before.ends_with(is_of_word) && !after.starts_with(is_of_word) {
            places.push(start..end);
        }
    }
    places
}

/// Whether a path does not end before this character of a word. From Thai on, there may be no
/// blank between a path and a word.
fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() && c < '\u{e00}'
}
