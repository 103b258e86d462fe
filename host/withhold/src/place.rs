//! What stays in a report: places in files, and paths that the report's reader knows.

use crate::run::Run;
use std::ops::Range;

/// Only so many characters before a number are looked at, to see whether it is a place in a file.
/// To look at all would take too long.
const LOOK_BACK_CHARS: usize = 128;

/// The most characters of a file's extension, as in `a.jsonl`.
const MAX_EXTENSION_CHARS: usize = 5;

/// Whether this run of the report is a number that says a place in a file:
///
/// - behind a file's name and a mark, as `4711` in `a.md:4711`. A number of six digits or more
///   needs a colon in it, as a line and a column have: `4711:22` in `a.md:4711:22` is a place, and
///   `551234` in `a.md:551234` is none;
/// - of fewer than six digits, in a path, as in `src/4711/a.md` and `4711.md`.
///
/// `4711` in `room 4711` is no place, and neither is a run with a letter.
pub(crate) fn is_place(report: &str, run: &Run) -> bool {
    if !run.is_number() {
        return false;
    }
    let (up_to_end, after) = report.split_at(run.at.end);
    let (before, number) = up_to_end.split_at(run.at.start);
    let just_before = end_of(before);
    if ends_with_file_and_mark(just_before) && (run.is_short_number() || number.contains(':')) {
        return true;
    }
    run.is_short_number() && (is_in_path(just_before) || is_before_extension(after))
}

/// The last 128 characters of the text ([`LOOK_BACK_CHARS`]). A shorter text is returned as it is.
fn end_of(text: &str) -> &str {
    let mut starts = text.char_indices().rev();
    let start = starts.nth(LOOK_BACK_CHARS - 1).map_or(0, |(at, _)| at);
    text.split_at(start).1
}

/// Whether the text ends with a file's name and a mark (`:`, `-` or `(`), as `grep` prints them
/// before a line: `in a.md:`. Numbers of lines may stand before the mark, and quotes around the
/// name: `a.md:12-`, `"a.md":`. `note:` has no extension, and `a.md ` no mark: both do not.
fn ends_with_file_and_mark(text: &str) -> bool {
    let Some(name_and_lines) = text.strip_suffix([':', '-', '(']) else {
        return false;
    };
    let name = name_and_lines
        .trim_end_matches(|c: char| ":-".contains(c) || c.is_ascii_digit())
        .trim_end_matches(['`', '*', '"']);
    match end_of_path(name).rsplit_once('.') {
        Some((_, extension)) => is_file_extension(extension),
        None => false,
    }
}

/// Whether the text ends with the start of a path: `in src/` does. `in src` has no slash, and
/// `on 3/` no letter, as it may be the start of a date: both do not.
fn is_in_path(text: &str) -> bool {
    let path = end_of_path(text);
    path.contains(['/', '\\']) && path.contains(char::is_alphabetic)
}

/// Whether the text begins with a dot and a file's extension: `.md is missing` does, and `. The`
/// and `.Md` do not.
fn is_before_extension(text: &str) -> bool {
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

/// Whether this may be a file's extension: at most five small letters and digits, with a letter
/// first. `md` and `mp3` may be one; `Blix`, `7z` and `larkspur` may not.
fn is_file_extension(text: &str) -> bool {
    text.len() <= MAX_EXTENSION_CHARS
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
}

/// Where `path` stands in the report, alone or in a longer path: `/home/theo` stands in
/// `/home/theo/a.md`, and not in `/home/theodor`, where a letter or digit is beside it. The path
/// `/` would be found everywhere, so it is never found.
pub(crate) fn places_of_path(report: &str, path: &str) -> Vec<Range<usize>> {
    let folder = path.trim_end_matches(['/', '\\']);
    let mut places = Vec::new();
    if folder.is_empty() {
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

/// Whether a path goes on in this character: a letter or digit does that, as the `d` in
/// `/home/theodor`. Letters of Thai and of scripts behind it in Unicode do not: a word of theirs
/// may follow a path without a blank.
fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() && c < '\u{e00}'
}
