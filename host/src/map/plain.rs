//! The plain lines of a map, `"KEY" = "PATH"`, which need no parser of TOML.
//!
//! A map of 100,000 keys is nearly all such lines, and the parser takes ten times
//! as long for them as reading them does. So they are cut out, and the parser gets
//! what is left. It still decides everything: the lines that were cut count only if
//! what it says of the rest proves that each of them stood where an entry stands.
//!
//! The proof goes line by line. The parser found the header `[keys]` exactly where
//! the first cut line has it before itself, so the next line begins a statement. A
//! plain line, a comment and a blank line end where the line ends. Of any other line
//! the parser must have found a name of `[keys]` at its beginning, and its value must
//! have ended on the line. So the next line begins a statement as well. The run ends
//! before the next line that begins with `[`.
//!
//! Whatever does not fit, and each mistake, leads back to the parser with the whole
//! text. So no error is told from here.

use std::ops::Range;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};
use zeroize::Zeroizing;

/// The name of the table of keys.
const KEYS: &str = "keys";
const HEADER: &[u8] = b"[keys]";

/// A map's text in two parts.
pub(super) struct Split {
    /// What the parser has to read. It may hold keys.
    pub(super) rest: Zeroizing<String>,
    /// The plain lines, in order.
    pub(super) lines: Vec<Line>,
    /// Where in `rest` something was cut out, and how many bytes are missing from
    /// there on.
    cuts: Vec<(usize, usize)>,
    /// Where `[keys]` stands.
    header: Range<usize>,
    /// Lines in between that are not plain, in `rest`: each must be one entry.
    between: Vec<Range<usize>>,
}

/// An entry that is a plain line, by its places in the text.
pub(super) struct Line {
    pub(super) key: Place,
    pub(super) path: Place,
    /// Where the name begins, with its quote.
    pub(super) start: u32,
    /// From 1.
    pub(super) number: u32,
}

/// A range in half the memory.
#[derive(Clone, Copy)]
pub(super) struct Place {
    start: u32,
    end: u32,
}

impl Place {
    fn new(range: Range<usize>) -> Option<Self> {
        Some(Self {
            start: range.start.try_into().ok()?,
            end: range.end.try_into().ok()?,
        })
    }

    pub(super) const fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl Split {
    /// None means that there is nothing to cut out.
    pub(super) fn of(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let mut all = Lines {
            bytes,
            at: 0,
            number: 0,
        };
        let header = all.find_map(|(line, _)| is_header(bytes, line))?;
        let mut split = Self {
            rest: Zeroizing::new(String::new()),
            lines: Vec::new(),
            cuts: Vec::new(),
            header,
            between: Vec::new(),
        };
        // The rest is the text without its plain lines: what was kept up to here.
        let (mut kept, mut cut) = (0, 0);
        loop {
            // Where plain lines come one after another, none is looked at twice.
            let begin = all.at;
            while let Some((line, end)) = plain(bytes, all.at, all.number.saturating_add(1)) {
                split.lines.push(line);
                (all.at, all.number) = (end, all.number.saturating_add(1));
            }
            if all.at > begin {
                split.rest.push_str(text.get(kept..begin)?);
                kept = all.at;
                cut += all.at - begin;
                split.cuts.push((split.rest.len(), cut));
            }
            let Some((line, _)) = all.next() else {
                break;
            };
            let content = trimmed(bytes, line);
            match bytes.get(content.start) {
                _ if content.is_empty() => {}
                Some(b'#') => {}
                Some(b'[') => break,
                _ => split.between.push(content.start - cut..content.end - cut),
            }
        }
        split.rest.push_str(text.get(kept..)?);
        (!split.lines.is_empty()).then_some(split)
    }

    /// Whether `document`, which is `rest` parsed, proves that each plain line is an
    /// entry of `[keys]`.
    pub(super) fn is_proven(&self, document: &DeTable<'_>) -> bool {
        let Some(value) = document.get(KEYS) else {
            return false;
        };
        let DeValue::Table(keys) = value.get_ref() else {
            return false;
        };
        if value.span() != self.header {
            return false;
        }
        let mut found: Vec<(usize, usize)> = match self.between.is_empty() {
            true => Vec::new(),
            false => keys.iter().map(of_entry).collect(),
        };
        found.sort_unstable();
        self.between.iter().all(|line| {
            found
                .binary_search_by_key(&line.start, |(start, _)| *start)
                .ok()
                .and_then(|index| found.get(index))
                .is_some_and(|(_, end)| *end <= line.end)
        })
    }

    /// The place in the text of a place in `rest`.
    pub(super) fn place(&self, at: usize) -> usize {
        let cuts = self.cuts.partition_point(|(cut, _)| *cut <= at);
        let missing = cuts.checked_sub(1).and_then(|last| self.cuts.get(last));
        at + missing.map_or(0, |(_, missing)| *missing)
    }
}

/// Where an entry begins, and where its value ends.
fn of_entry(
    (name, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>),
) -> (usize, usize) {
    (name.span().start, value.span().end)
}

/// The lines of a text, each without its end, with its number from 1.
struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
    number: u32,
}

impl Iterator for Lines<'_> {
    type Item = (Range<usize>, u32);

    fn next(&mut self) -> Option<Self::Item> {
        let left = self.bytes.get(self.at..).filter(|left| !left.is_empty())?;
        let start = self.at;
        let end = left.iter().position(|byte| *byte == b'\n');
        self.at = end.map_or(self.bytes.len(), |end| start + end + 1);
        self.number = self.number.saturating_add(1);
        let mut end = end.map_or(self.bytes.len(), |end| start + end);
        // Only before a line feed is it a part of the line's end.
        if end < self.at && end > start && self.bytes.get(end - 1) == Some(&b'\r') {
            end -= 1;
        }
        Some((start..end, self.number))
    }
}

const fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Without the blanks on both sides.
fn trimmed(bytes: &[u8], line: Range<usize>) -> Range<usize> {
    let content = bytes.get(line.clone()).unwrap_or_default();
    let before = content.iter().take_while(|byte| is_blank(byte)).count();
    let content = content.get(before..).unwrap_or_default();
    let after = content.iter().rev().take_while(|byte| is_blank(byte));
    let start = line.start + before;
    start..start + content.len() - after.count()
}

/// Where `[keys]` stands, if the line is that, with or without a comment.
fn is_header(bytes: &[u8], line: Range<usize>) -> Option<Range<usize>> {
    let content = trimmed(bytes, line);
    let after = bytes.get(content.clone())?.strip_prefix(HEADER)?;
    let end = content.start + HEADER.len();
    matches!(after.iter().find(|byte| !is_blank(byte)), None | Some(b'#'))
        .then_some(content.start..end)
}

/// The line that begins here, if it is key and path and no more, and where the next
/// begins. What stands in quotes has no escapes and no control characters.
fn plain(bytes: &[u8], at: usize, number: u32) -> Option<(Line, usize)> {
    let start = skip(bytes, at, BLANK);
    let (key, at) = match bytes.get(start)? {
        b'"' | b'\'' => quoted(bytes, start)?,
        _ => {
            let end = skip(bytes, start, BARE);
            (start..end, end)
        }
    };
    let at = skip(bytes, at, BLANK);
    if at == start || bytes.get(at) != Some(&b'=') {
        return None;
    }
    let (path, at) = quoted(bytes, skip(bytes, at + 1, BLANK))?;
    let at = skip(bytes, at, BLANK);
    let next = match (bytes.get(at), bytes.get(at + 1)) {
        (None, _) => at,
        (Some(b'\n'), _) => at + 1,
        (Some(b'\r'), Some(b'\n')) => at + 2,
        _ => return None,
    };
    let line = Line {
        key: Place::new(key)?,
        path: Place::new(path)?,
        start: start.try_into().ok()?,
        number,
    };
    Some((line, next))
}

/// What stands in the quotes that begin here, and where they have ended.
fn quoted(bytes: &[u8], at: usize) -> Option<(Range<usize>, usize)> {
    let (quote, of) = match bytes.get(at)? {
        b'"' => (b'"', IN_DOUBLE),
        b'\'' => (b'\'', IN_SINGLE),
        _ => return None,
    };
    let end = skip(bytes, at + 1, of);
    (bytes.get(end) == Some(&quote)).then_some((at + 1..end, end + 1))
}

/// The next place where a byte stands that is not of this kind.
fn skip(bytes: &[u8], at: usize, kind: u8) -> usize {
    let left = bytes.get(at..).unwrap_or_default();
    let other = left.iter().position(|byte| {
        KINDS
            .get(usize::from(*byte))
            .is_none_or(|of| of & kind == 0)
    });
    at + other.unwrap_or(left.len())
}

const BLANK: u8 = 1;
/// In a name without quotes.
const BARE: u8 = 2;
/// In quotes of either kind, standing for itself. Bytes beyond ASCII are parts of
/// characters: the text is UTF-8.
const IN_DOUBLE: u8 = 4;
const IN_SINGLE: u8 = 8;

/// What each byte can be.
const KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut at = 0;
    while at < kinds.len() {
        let byte = at as u8;
        let mut kind = 0;
        if matches!(byte, b' ' | b'\t') {
            kind |= BLANK;
        }
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') {
            kind |= BARE;
        }
        let itself = byte >= b' ' && byte != 0x7f && byte != b'\\';
        if itself && byte != b'"' {
            kind |= IN_DOUBLE;
        }
        if itself && byte != b'\'' {
            kind |= IN_SINGLE;
        }
        kinds[at] = kind;
        at += 1;
    }
    kinds
};
