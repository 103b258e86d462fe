//! Which words of a Markdown document are values: a report that has them quotes it.

use crate::{
    run::{LONG_NUMBER, Run, Runs},
    words::{ESCAPES, NOTHING, Word, words as cut},
};

/// The most words that are compared as one value. Of a longer line, its parts are values.
pub(crate) const MAX_WORDS: usize = 12;

/// A run of words is a value if it has so many points.
const POINTS: usize = 6;

/// A number by itself is a value if it has so many digits.
const SHORT_NUMBER: usize = 4;

/// A word of letters and digits is a value from so many on: `sha256` is none.
const LONG_WORD: usize = 7;

/// A line whose parts are all of at most so many words is a list of values.
const SHORT_PART: usize = 3;

/// What ends a part of a line.
const BREAKS: [char; 15] = [
    ',', ';', '(', ')', '[', ']', '|', '"', '“', '”', '„', '«', '»', '–', '—',
];

/// What stands around a text in quotes, or in code.
const QUOTES: [[char; 2]; 5] = [['`', '`'], ['"', '"'], ['“', '”'], ['„', '“'], ['«', '»']];

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
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            let indent = line.len() - line.trim_start().len();
            let content = line.trim_start_matches(['>', ' ', '\t']);
            match fence {
                Some(mark) if closes(content, mark) => fence = None,
                Some(_) => document.piece(content),
                None if fence_of(content).is_some() => fence = fence_of(content),
                None => match heading(content).filter(|_| indent < 4) {
                    Some(heading) => document.heading(heading),
                    None if is_under_heading(lines.peek()) => document.heading(content),
                    // The names of a table's columns.
                    None if content.contains('|') && is_under_columns(lines.peek()) => {}
                    None => document.line(without_marker(content)),
                },
            }
        }
        document
    }

    fn heading(&mut self, text: &str) {
        for part in [text].into_iter().chain(parts(text)) {
            let (letters, words) = cut(part, false);
            if let Some(run) = whole(&letters, &words) {
                run.add_to(&mut self.headings);
            }
        }
    }

    fn line(&mut self, line: &str) {
        match line.contains('|') {
            true => {
                line.split('|').for_each(|cell| self.piece(cell));
                let (letters, words) = cut(line, false);
                self.runs(&letters, &words);
            }
            false => self.piece(line),
        }
    }

    /// What stands in one line, item or cell.
    fn piece(&mut self, text: &str) {
        let (letters, words) = cut(text, false);
        self.value(&letters, &words);
        self.runs(&letters, &words);
        if text.contains(ESCAPES) {
            let (letters, words) = cut(text, true);
            self.value(&letters, &words);
        }
        let of = |part: &str| {
            let start = part.as_ptr() as usize - text.as_ptr() as usize;
            let first = words.partition_point(|word| word.at.start < start);
            let end = words.partition_point(|word| word.at.end <= start + part.len());
            words.get(first..end).unwrap_or_default()
        };
        for quotes in QUOTES {
            between(text, quotes).for_each(|quoted| self.value(&letters, of(quoted)));
        }
        // `Label: value`
        let value = text.split_once(": ").or_else(|| text.split_once('：'));
        let value = value.map_or(text, |(_, value)| value);
        if value.len() < text.len() {
            self.value(&letters, of(value));
        }
        let is_short = |part: &str| part.split_whitespace().count() <= SHORT_PART;
        if parts(value).all(is_short) {
            let parts = parts(value).flat_map(|part| part.split(" and "));
            let parts = parts.flat_map(|part| part.split(" or "));
            parts.for_each(|part| self.value(&letters, of(part)));
        } else {
            let parts = parts(value).map(of);
            parts
                .filter(|part| is_quotation(part))
                .for_each(|part| self.value(&letters, part));
        }
    }

    /// Adds these words as a value, unless they say nothing or are too many.
    fn value(&mut self, letters: &str, words: &[Word]) {
        let has_word = words
            .iter()
            .any(|word| !word.is_number && word.points > NOTHING);
        let digits: usize = words.iter().map(|word| word.digits).sum();
        if has_word || digits >= SHORT_NUMBER {
            let run = whole(letters, words);
            run.inspect(|run| run.add_to(&mut self.values));
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
            if !word.is_number && word.points == NOTHING {
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
        let is_long = |word: &Word| !word.is_number && word.letters.len() >= LONG_WORD;
        if digits >= LONG_NUMBER || words.iter().any(is_long) {
            self.value(letters, words);
        }
        for word in words.iter().filter(|word| is_long(word)) {
            self.value(letters, std::slice::from_ref(word));
        }
    }
}

/// All these words as one run, if they are not too many.
fn whole(letters: &str, words: &[Word]) -> Option<Run> {
    let mut run = Run::default();
    words.iter().for_each(|word| run.push(letters, word));
    (1..=MAX_WORDS).contains(&words.len()).then_some(run)
}

/// Whether these words of a longer line are as many as a quotation has.
fn is_quotation(words: &[Word]) -> bool {
    if words.iter().all(|word| word.digits > 0) {
        return words.iter().map(|word| word.digits).sum::<usize>() >= LONG_NUMBER;
    }
    let own = || words.iter().filter(|word| word.points > NOTHING);
    let of_own: usize = own().map(|word| word.points).sum();
    let of_others = NOTHING * (words.len() - own().count());
    of_own + of_others >= POINTS && of_own >= POINTS - 2 && own().any(|word| !word.is_number)
}

/// The parts of a line that punctuation sets apart; colons and dashes only before blanks.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(BREAKS)
        .flat_map(|part| part.split(": "))
        .flat_map(|part| part.split(" - "))
}

/// The texts between two quotes.
fn between(text: &str, [open, close]: [char; 2]) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(open)?;
        let (quoted, after) = after.split_once(close)?;
        rest = after;
        Some(quoted)
    })
}

/// The text of a heading in this line.
fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    let is_heading = (1..=6).contains(&(line.len() - text.len()));
    (is_heading && text.starts_with([' ', '\t'])).then_some(text)
}

/// Whether the line after a text makes it a heading. A line of `-` does so too, but it also
/// ends what is at the top of many files.
fn is_under_heading(next: Option<&&str>) -> bool {
    next.is_some_and(|next| next.contains('=') && next.trim().trim_matches('=').is_empty())
}

/// Whether the line after the first row of a table makes that the names of its columns.
fn is_under_columns(next: Option<&&str>) -> bool {
    next.is_some_and(|next| {
        let mut bytes = next.bytes();
        next.contains('|')
            && next.contains('-')
            && bytes.all(|byte| matches!(byte, b'|' | b'-' | b':' | b' ' | b'\t'))
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
    let line = line.trim_end();
    line.starts_with(mark)
        && line
            .bytes()
            .all(|byte| mark.as_bytes().first() == Some(&byte))
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
