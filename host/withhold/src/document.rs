//! Which words of a Markdown document are values: a report that has them quotes it.

use crate::{
    run::{LONG_NUMBER, Run, Runs},
    words::{ESCAPES, NOTHING, Word, chars, is_without_blanks, words as cut},
};

/// The most words that are compared as one value. Of a longer line, its parts are values.
pub(crate) const MAX_WORDS: usize = 12;

/// A run of words is a value if it has so many points.
const POINTS: usize = 6;

/// A number by itself is a value if it has so many digits.
const SHORT_NUMBER: usize = 4;

/// A word of letters and digits is a value from so many on: `sha256` is none.
const LONG_WORD: usize = 7;

/// So many letters of a script without blanks are a value that say little one by one.
const LONG_RUN: usize = 8;

/// A line whose parts are all of at most so many words is a list of values.
const SHORT_PART: usize = 3;

/// A line of at most so many words has a value before its first comma, bracket or dash.
const SHORT_LINE: usize = 8;

/// What ends a part of a line.
const BREAKS: [char; 15] = [
    ',', ';', '(', ')', '[', ']', '|', '"', '“', '”', '„', '«', '»', '–', '—',
];

/// What a reader does not see, and what begins a tag.
const MARKS: [char; 4] = ['*', '_', '`', '<'];

/// What stands around a text in quotes, or in code: in pairs.
const QUOTES: [char; 26] = [
    '`', '`', '"', '"', '\'', '\'', '“', '”', '„', '“', '„', '”', '‘', '’', '‚', '‘', '«', '»',
    '»', '«', '「', '」', '『', '』', '‹', '›',
];

/// What may also be an apostrophe, an inch, or a quote of the other kind.
const UNSURE: [char; 4] = ['"', '\'', '’', '«'];

/// What a report must not quote, and what it may.
#[derive(Default)]
pub(crate) struct Document {
    /// Runs of words that a report must not have.
    pub(crate) values: Runs,
    /// The headings: names of rules.
    pub(crate) headings: Runs,
}

impl Document {
    pub(crate) fn read(text: &str) -> Self {
        let mut document = Self::default();
        let mut fence = None;
        let mut lines = text.trim_start_matches('\u{feff}').lines().peekable();
        while let Some(line) = lines.next() {
            let indent = line.len() - line.trim_start().len();
            let content = line.trim_start_matches(['>', ' ', '\t']);
            let item = without_marker(content);
            let is_item = item.len() < content.len();
            match fence {
                Some(mark) if closes(content, mark) => fence = None,
                Some(_) => document.piece(content, false),
                None if fence_of(item).is_some() => fence = fence_of(item),
                None => match heading(content).filter(|_| indent < 4) {
                    Some(heading) => document.heading(heading),
                    None if !is_item && is_under_heading(lines.peek()) => document.heading(content),
                    // The names of a table's columns.
                    None if content.contains('|') && is_under_columns(lines.peek()) => {}
                    None => {
                        document.piece(item, is_item);
                        let cells = item.split('|').filter(|cell| cell.len() < item.len());
                        cells.for_each(|cell| document.piece(cell, true));
                    }
                },
            }
        }
        document
    }

    fn heading(&mut self, text: &str) {
        for part in [text].into_iter().chain(text.split(BREAKS).next()) {
            let (letters, words) = cut(part, false);
            add(&mut self.headings, &letters, &words);
        }
    }

    /// What stands in one line, item or cell, as it is and as a reader sees it.
    fn piece(&mut self, text: &str, is_item: bool) {
        self.text(text, is_item);
        if text.contains(MARKS) || text.contains(ESCAPES) {
            self.text(&plain(text), is_item);
        }
    }

    fn text(&mut self, text: &str, is_item: bool) {
        let (letters, words) = cut(text, false);
        self.value(&letters, &words);
        self.runs(&letters, &words);
        let of = |part: &str| {
            let start = part.as_ptr() as usize - text.as_ptr() as usize;
            let first = words.partition_point(|word| word.at.start < start);
            let end = words.partition_point(|word| word.at.end <= start + part.len());
            words.get(first..end).unwrap_or_default()
        };
        for quotes in QUOTES.as_chunks().0 {
            between(text, *quotes)
                .filter(|quoted| !quoted.ends_with(':'))
                .for_each(|quoted| self.value(&letters, of(quoted)));
        }
        if let Some(value) = labelled(text) {
            self.value(&letters, of(value));
        }
        let is_short = |part: &str| part.split_whitespace().count() <= SHORT_PART;
        let is_list = parts(text).all(is_short);
        let is_brief = match is_item {
            true => words.len() <= MAX_WORDS,
            false => words.len() <= SHORT_LINE && !text.trim_end().ends_with('.'),
        };
        for (index, part) in parts(text).enumerate() {
            if is_list || index == 0 && is_brief && is_short(part) {
                let parts = part.split(" and ").flat_map(|part| part.split(" or "));
                parts.for_each(|part| self.value(&letters, of(part)));
            } else if is_quotation(of(part)) {
                self.value(&letters, of(part));
            }
        }
    }

    /// Adds these words as a value, unless they say nothing or are too many.
    fn value(&mut self, letters: &str, words: &[Word]) {
        let says = |word: &Word| match word.is_alone {
            _ if word.is_number => 0,
            true => 1,
            false => 2 * (word.points - NOTHING),
        };
        let digits: usize = words.iter().map(|word| word.digits).sum();
        if words.iter().map(says).sum::<usize>() > 1 || digits >= SHORT_NUMBER {
            add(&mut self.values, letters, words);
        }
    }

    /// The shortest quotation that begins at each word, and the longest numbers.
    fn runs(&mut self, letters: &str, words: &[Word]) {
        let mut code = 0;
        for (start, word) in words.iter().enumerate() {
            let rest = words.get(start..).unwrap_or_default();
            if start >= code && word.digits > 0 {
                let size = rest.iter().take_while(|word| word.digits > 0).count();
                code = start + size;
                self.code(letters, rest.get(..size).unwrap_or_default());
            }
            if word.points == NOTHING && !word.is_number && !word.is_alone {
                continue;
            }
            let sizes = 1..=rest.len().min(MAX_WORDS);
            let mut runs = sizes.filter_map(|size| rest.get(..size));
            if let Some(run) = runs.find(|run| is_quotation(run)) {
                self.value(letters, run);
            }
        }
    }

    /// Words with digits, as long as they follow one another.
    fn code(&mut self, letters: &str, words: &[Word]) {
        let digits: usize = words.iter().map(|word| word.digits).sum();
        let is_long = |word: &Word| !word.is_number && word.size >= LONG_WORD;
        if digits >= LONG_NUMBER || words.iter().any(is_long) {
            self.value(letters, words);
        }
        for word in words.iter().filter(|word| is_long(word)) {
            self.value(letters, std::slice::from_ref(word));
        }
    }
}

/// Adds all these words as one run, if they are not too many.
fn add(runs: &mut Runs, letters: &str, words: &[Word]) {
    if (1..=MAX_WORDS).contains(&words.len()) {
        let mut run = Run::default();
        words.iter().for_each(|word| run.push(letters, word));
        run.add_to(runs);
    }
}

/// Whether these words of a longer line are as many as a quotation has.
fn is_quotation(words: &[Word]) -> bool {
    let little = |word: &Word| word.is_alone && word.points == NOTHING;
    if words.first().is_some_and(little) {
        return words.len() >= LONG_RUN && words.iter().all(|word| word.is_alone);
    }
    if words.iter().all(|word| word.is_number) {
        return words.iter().map(|word| word.digits).sum::<usize>() >= LONG_NUMBER;
    }
    let own = || words.iter().filter(|word| word.points > NOTHING);
    let of_own: usize = own().map(|word| word.points).sum();
    let of_others = NOTHING * (words.len() - own().count());
    of_own + of_others >= POINTS && of_own >= POINTS - 2 && own().any(|word| !word.is_number)
}

/// The parts of a line that punctuation sets apart, without labels; dashes only between blanks.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(BREAKS)
        .flat_map(|part| part.split(" - "))
        .flat_map(|part| part.split(" / "))
        .map(|part| labelled(part).unwrap_or(part))
}

/// What stands after a label.
fn labelled(text: &str) -> Option<&str> {
    text.char_indices().find_map(|(at, c)| {
        let value = text.get(at + c.len_utf8()..)?;
        let is_end = match c {
            ':' => value.starts_with(char::is_whitespace),
            _ => matches!(c, '：' | '='),
        };
        is_end.then_some(value)
    })
}

/// The texts between two quotes.
fn between(text: &str, [open, close]: [char; 2]) -> impl Iterator<Item = &str> {
    let is_unsure = UNSURE.contains(&close);
    let is_letter = move |c: char| is_unsure && c.is_alphanumeric() && !is_without_blanks(c);
    let is_empty = move |c: char| c == open || is_unsure && c.is_whitespace();
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let (before, after) = rest.split_once(open)?;
            rest = after;
            if before.ends_with(is_letter) || after.starts_with(is_empty) {
                continue;
            }
            let (end, quote) = after.match_indices(close).find(|(end, quote)| {
                let behind = after.get(end + quote.len()..);
                !behind.is_some_and(|behind| behind.starts_with(is_letter))
            })?;
            rest = after.get(end + quote.len()..)?;
            return after.get(..end);
        }
    })
}

/// The text without escapes, and without marks and tags.
fn plain(text: &str) -> String {
    let chars = chars(text, true).map(|(c, _)| c);
    let text: String = chars.filter(|c| *c == '<' || !MARKS.contains(c)).collect();
    let mut pieces = text.split('<');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        plain += if piece.starts_with("br") { ", " } else { " " };
        plain += piece.split_once('>').map_or(piece, |(_, behind)| behind);
    }
    plain
}

/// The text of a heading in this line.
fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    let is_heading = (1..=6).contains(&(line.len() - text.len()));
    (is_heading && text.starts_with([' ', '\t'])).then_some(text)
}

/// Whether the line after a text makes it a heading. A line of `-` may also be a rule between
/// two values, or the end of what is at the top of many files.
fn is_under_heading(next: Option<&&str>) -> bool {
    next.is_some_and(|next| next.contains('=') && next.trim().trim_matches('=').is_empty())
}

/// Whether the line after the first row of a table makes that the names of its columns.
fn is_under_columns(next: Option<&&str>) -> bool {
    let marks = ['|', '-', ':', ' ', '\t'];
    next.is_some_and(|next| {
        next.contains('|') && next.contains('-') && next.trim_matches(marks).is_empty()
    })
}

/// The mark of a fence that begins in this line.
fn fence_of(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let text = line.trim_start_matches(mark);
    let is_fence = line.len() - text.len() >= 3 && !(mark == '`' && text.contains('`'));
    line.get(..line.len() - text.len()).filter(|_| is_fence)
}

fn closes(line: &str, mark: &str) -> bool {
    let rest = line.strip_prefix(mark);
    rest.is_some_and(|rest| rest.trim_end().chars().all(|c| mark.starts_with(c)))
}

/// The line without the marks of a list: `-`, `1.`, `[x]`.
fn without_marker(mut line: &str) -> &str {
    loop {
        let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let numbered = digits
            .strip_prefix(['.', ')'])
            .filter(|_| digits.len() < line.len());
        let marked = line.strip_prefix(['-', '*', '+']).or(numbered);
        let Some(item) = marked.filter(|item| item.starts_with([' ', '\t'])) else {
            return line;
        };
        let item = item.trim_start();
        let boxed = ["[ ] ", "[x] ", "[X] "]
            .iter()
            .find_map(|mark| item.strip_prefix(mark));
        line = boxed.unwrap_or(item);
    }
}
