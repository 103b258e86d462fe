//! How the lines under `[keys]` are read: as the events of the parser that `toml` is
//! built on, without a document of them in memory.
//!
//! A document of `toml` takes some fifty times the size of its text until all of it has
//! been read. For a map of 100,000 keys, asking the system for that much memory takes
//! longer than reading. So only the rest of the map, the *frame*, is a document.
//!
//! Nothing is parsed here. `toml_parser` finds the tokens, checks the grammar and decodes
//! names and texts, as it does for `toml`. What `toml` adds to it is which table a name
//! belongs to, and that no name stands twice. For these lines, that is little:
//!
//! - They begin under a header that names `keys` and nothing else, and end before the next
//!   header. So each name in them is a name in that table, unless a dot cuts it in two.
//! - `toml` reads the frame, with that header and without these lines. It refuses a map
//!   that has a table of this name twice, and the one that it finds is empty. So there are
//!   no other names in the table, and one that stands twice is found here.
//!
//! Tokens are given to the parser in parts that end with a line. If it finds no mistake in
//! a part, then nothing was open at its end, and the next part begins with a line of its
//! own: an array or a table that is still open is a mistake. For the same reason, several
//! threads can each read a part of a large map, if it ends with a line: a text that is still
//! open at its end is a mistake too.
//!
//! Whatever else there is, each mistake too, is left to reading all of the map as one
//! document. Tests compare the two on many texts, and so does the fuzzer.

use super::{
    Location, Said,
    entries::{Entries, KeyHasher, List},
    reader::{Reader, Value},
};
use crate::limits::DEFAULT_MAX_BYTES;
use memchr::memchr;
use std::{borrow::Cow, iter, mem, ops::Range, thread};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};
use toml_parser::{
    ErrorSink, ParseError, Source, Span,
    decoder::ScalarKind,
    lexer::{Lexer, Token, TokenKind},
    parser::{Event, EventKind, RecursionGuard, ValidateWhitespace, parse_document},
};
use zeroize::Zeroizing;

/// How many tokens are given to the parser at once, up to the end of their last line.
/// They, and their events, fit in the cache of one processor.
pub(super) const TOKENS: usize = 1 << 10;

/// How deep arrays and tables may be in each other, as in `toml`.
const DEPTH: u32 = 80;

/// The most threads that read one map, each a part of it. More save little: what one thread
/// does alone takes longer by then.
pub(super) const PARTS: usize = 4;

/// The smallest part that is worth a thread, in bytes.
pub(super) const PART: usize = 32 << 10;

/// Reads a map, with `most` tokens at once, in so many parts, each by a thread.
/// None if it is better read as one document: for one, if there is a mistake in it.
pub(super) fn read(text: &str, location: &Location, most: usize, parts: usize) -> Option<Said> {
    let (header, from) = Events::of(text, most).header()?;
    let mut reader = Reader::new(text, location.home().is_some());

    // A map's own fields stand above its first header, so this one is there.
    let above = DeTable::parse(text.get(..from)?).ok()?;
    let max_bytes = match above.get_ref().get("max_bytes") {
        Some(value) => reader.max_bytes(value)?,
        None => DEFAULT_MAX_BYTES,
    };
    let lines = Lines {
        text,
        most,
        max_bytes,
        has_home: reader.has_home,
    };
    let (entries, until) = lines.read_in(parts, from)?;

    let frame = Zeroizing::new([text.get(..from)?, text.get(until..)?].concat());
    let document = DeTable::parse(&frame).ok()?;
    let keys = document.get_ref().get("keys")?;
    let is_empty = matches!(keys.get_ref(), DeValue::Table(keys) if keys.is_empty());
    if !is_empty || keys.span().start != header {
        return None;
    }
    reader.is_further(from, until - from);
    let mut said = reader.map(document.get_ref());
    reader.into_entries().ok()?;
    said.entries = Entries::of(text, entries)?;
    Some(said)
}

/// The lines under the header.
#[derive(Clone, Copy)]
struct Lines<'a> {
    text: &'a str,
    most: usize,
    max_bytes: u64,
    has_home: bool,
}

impl Lines<'_> {
    /// Reads the lines in this part of the text, which begins with a line. Also returns
    /// where the next header begins, or the end of the part.
    fn read(self, part: Range<usize>, hasher: KeyHasher) -> Option<(List, usize)> {
        let lines = self.text.get(part.clone())?;
        // Only a document may begin with this mark.
        if lines.starts_with('\u{feff}') {
            return None;
        }
        let mut reader = Reader::new(self.text, self.has_home);
        reader.entries = List::hashed_by(hasher);
        reader.is_further(0, part.start);
        let mut events = Events::of(lines, self.most);
        let until = loop {
            let Some(event) = events.next()? else {
                break part.end;
            };
            match event.kind() {
                EventKind::Newline => {}
                EventKind::StdTableOpen | EventKind::ArrayTableOpen => {
                    break part.start + event.span().start();
                }
                EventKind::SimpleKey => {
                    let name = events.name(event)?;
                    match events.value()? {
                        Found::Text(text) => reader.entry(&name, &text, self.max_bytes)?,
                        Found::More(end) => {
                            let start = name.span().start;
                            let line = DeTable::parse(lines.get(start..end)?).ok()?;
                            reader.is_further(0, part.start + start);
                            for (name, value) in line.get_ref() {
                                reader.entry(name, value, self.max_bytes)?;
                            }
                            reader.is_further(0, part.start);
                        }
                    }
                }
                _ => return None,
            }
        };
        Some((reader.into_entries().ok()?, until))
    }

    /// As [`Self::read`], from `from` to the end of the text, in so many parts. This thread
    /// reads the first one, and those for which the system has no thread for us.
    fn read_in(self, parts: usize, from: usize) -> Option<(Vec<List>, usize)> {
        let hasher = KeyHasher::default();
        let read = &|part: &Range<usize>| self.read(part.clone(), hasher.clone());
        let parts = parts_of(self.text, from, parts);
        thread::scope(|scope| {
            let others: Vec<_> = parts
                .iter()
                .skip(1)
                .map(|part| {
                    let thread = thread::Builder::new().name("map".to_owned());
                    thread.spawn_scoped(scope, move || read(part)).ok()
                })
                .collect();
            let mut lists = Vec::new();
            for (part, other) in parts.iter().zip(iter::once(None).chain(others)) {
                let (list, until) = match other {
                    Some(other) => other.join().ok()??,
                    None => read(part)?,
                };
                lists.push(list);
                // What stands behind the next header is none of these lines.
                if until < part.end {
                    return Some((lists, until));
                }
            }
            Some((lists, self.text.len()))
        })
    }
}

/// The text from `from` to its end, in so many parts. They follow each other, are about as
/// long, and each ends with a line. If a part parses without a mistake, its last entry ends there
/// too.
fn parts_of(text: &str, from: usize, parts: usize) -> Vec<Range<usize>> {
    let mut start = from;
    (1..=parts)
        .map(|part| {
            let least = from + (text.len() - from) / parts * part;
            let rest = text.as_bytes().get(least..).unwrap_or_default();
            let end = match memchr(b'\n', rest) {
                Some(at) if part < parts => least + at + 1,
                _ => text.len(),
            };
            mem::replace(&mut start, end)..end
        })
        .collect()
}

/// What the parser says of a text. Whatever it says is None if there was a mistake.
struct Events<'a> {
    source: Source<'a>,
    lexer: Lexer<'a>,
    most: usize,
    tokens: Vec<Token>,
    /// Those of `tokens`, and how many of them have been taken.
    events: Vec<Event>,
    taken: usize,
}

impl<'a> Events<'a> {
    fn of(text: &'a str, most: usize) -> Self {
        let source = Source::new(text);
        Self {
            source,
            lexer: source.lex(),
            most,
            tokens: Vec::new(),
            events: Vec::new(),
            taken: 0,
        }
    }

    /// The next one, or None at the end. Blanks and comments are left out.
    fn next(&mut self) -> Option<Option<Event>> {
        loop {
            match self.events.get(self.taken).copied() {
                Some(event) => {
                    self.taken += 1;
                    if !matches!(event.kind(), EventKind::Whitespace | EventKind::Comment) {
                        return Some(Some(event));
                    }
                }
                None if self.parse_more()? => {}
                None => return Some(None),
            }
        }
    }

    /// Whether there was more.
    fn parse_more(&mut self) -> Option<bool> {
        self.tokens.clear();
        self.tokens.extend(self.lexer.by_ref().take(self.most));
        while let Some(last) = self.tokens.last()
            && last.kind() != TokenKind::Newline
            && let Some(token) = self.lexer.next()
        {
            self.tokens.push(token);
        }
        self.events.clear();
        self.taken = 0;
        let mut receiver = ValidateWhitespace::new(&mut self.events, self.source);
        let mut receiver = RecursionGuard::new(&mut receiver, DEPTH);
        without_mistake(|mistake| parse_document(&self.tokens, &mut receiver, mistake))?;
        Some(!self.tokens.is_empty())
    }

    /// Where the first header `[keys]` begins, and where its line ends.
    fn header(&mut self) -> Option<(usize, usize)> {
        loop {
            let opened = self.next()??;
            if opened.kind() != EventKind::StdTableOpen {
                continue;
            }
            let name = self.next()??;
            let closed = self.next()??;
            if closed.kind() == EventKind::StdTableClose && self.name(name)?.get_ref() == "keys" {
                let end = self.next()??;
                return Some((opened.span().start(), end.span().end()));
            }
        }
    }

    fn name(&self, event: Event) -> Option<Spanned<Cow<'a, str>>> {
        let raw = self.source.get(event)?;
        let mut name = Cow::Borrowed("");
        without_mistake(|mistake| raw.decode_key(&mut name, mistake))?;
        Some(Spanned::new(range(event.span()), name))
    }

    /// The value after a name, which no dot cuts in two.
    fn value(&mut self) -> Option<Found<'a>> {
        if self.next()??.kind() != EventKind::KeyValSep {
            return None;
        }
        let mut event = self.next()??;
        if event.kind() == EventKind::Scalar {
            let raw = self.source.get(event)?;
            let mut text = Cow::Borrowed("");
            let kind = without_mistake(|mistake| raw.decode_scalar(&mut text, mistake))?;
            let value = (kind == ScalarKind::String).then_some(DeValue::String(text))?;
            return Some(Found::Text(Spanned::new(range(event.span()), value)));
        }
        let mut open = 0_u32;
        loop {
            match event.kind() {
                EventKind::InlineTableOpen | EventKind::ArrayOpen => open += 1,
                EventKind::InlineTableClose | EventKind::ArrayClose => open -= 1,
                _ => {}
            }
            if open == 0 {
                return Some(Found::More(event.span().end()));
            }
            event = self.next()??;
        }
    }
}

/// What stands after a name.
enum Found<'a> {
    Text(Value<'a>),
    /// An array or a table, which ends there. The name and it are a document of their own.
    More(usize),
}

/// What `ask` returns, if it reports no mistake.
fn without_mistake<T>(ask: impl FnOnce(&mut dyn ErrorSink) -> T) -> Option<T> {
    let mut mistake: Option<ParseError> = None;
    let answer = ask(&mut mistake);
    mistake.is_none().then_some(answer)
}

fn range(span: Span) -> Range<usize> {
    span.start()..span.end()
}

#[cfg(test)]
mod tests;
