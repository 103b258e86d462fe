//! How a large map is read: in pieces, each of them by the library that reads TOML.
//!
//! The library keeps some fifty times the size of what it reads in memory until it has
//! read all of it. For a map of 100,000 keys that is more than a processor's caches hold,
//! and asking the system for that much memory takes longer than reading. So the lines
//! beneath `[keys]` are cut into pieces that are documents of their own.
//!
//! No line is read here. That a piece means alone what it means in its place follows from
//! what the library says of each part, if it says yes to all of them:
//!
//! - What is before and after the lines beneath `[keys]` is read as one document, the
//!   *frame*. The table `keys` in it begins where the lines begin, so it was opened there
//!   by a header, and the line of a header ends with the line.
//! - A document that is whole and ends with a line ends between two expressions. So the
//!   first piece begins between two expressions, and each next one.
//! - A header begins a line with `[`. No line of a piece does, so that all its names are
//!   names in the table `keys`.
//! - A name that is cut in two by a dot, which could go on in another piece, is a
//!   mistake beneath `[keys]`, and so is a name that stands twice.
//!
//! Whatever else there is, each mistake too, is left to reading the map as a whole. That
//! both say the same of any text is tested on texts made to be cut at the wrong place.

use super::{
    Location, Map,
    parse::{Moved, Reader, lines_in},
};
use std::ops::Range;
use toml::de::{DeTable, DeValue};
use zeroize::Zeroizing;

/// Maps from this size on are read in pieces, in bytes.
pub(super) const FROM: usize = 64 << 10;

/// The size of a piece, in bytes. With what the library keeps of it, it fits in the cache
/// of one processor.
pub(super) const PIECE: usize = 8 << 10;

/// The header of the table that can be large.
const HEADER: &str = "[keys]";

/// Where a text is cut.
struct Cuts {
    /// Where the header stands.
    header: usize,
    /// Where the pieces begin and end, with the number of their lines.
    pieces: Vec<(Range<usize>, u32)>,
}

/// Reads a map in pieces of about `size` bytes. None if it is better read as a whole: for
/// one, if there is a mistake in it.
pub(super) fn read(text: &str, location: &Location, size: usize) -> Option<Map> {
    let cuts = Cuts::of(text, size)?;
    let (from, until) = (cuts.pieces.first()?.0.start, cuts.pieces.last()?.0.end);
    let lines = cuts.pieces.iter().map(|(_, lines)| lines).sum();

    let frame = Zeroizing::new([text.get(..from)?, text.get(until..)?].concat());
    let document = DeTable::parse(&frame).ok()?;
    let keys = document.get_ref().get("keys")?;
    if !matches!(keys.get_ref(), DeValue::Table(_)) || keys.span().start != cuts.header {
        return None;
    }
    let has_home = location.home().is_some();
    let moved = Moved {
        from,
        bytes: until - from,
        lines,
    };
    let mut reader = Reader::new(&frame, has_home, moved);
    let mut map = reader.map(document.get_ref(), location);
    if reader.into_first().is_some() {
        return None;
    }

    map.entries.reserve(usize::try_from(lines).ok()?);
    let mut moved = Moved {
        from: 0,
        bytes: 0,
        lines: u32::try_from(lines_in(text.get(..from)?.as_bytes())).ok()?,
    };
    for (piece, lines) in cuts.pieces {
        moved.bytes = piece.start;
        let piece = text.get(piece)?;
        let document = DeTable::parse(piece).ok()?;
        let mut reader = Reader::new(piece, has_home, moved);
        for (name, value) in document.get_ref() {
            let (key, entry) = reader.entry(name, value, map.max_bytes)?;
            if map.entries.insert(key, entry).is_some() {
                return None;
            }
        }
        moved.lines += lines;
    }
    Some(map)
}

impl Cuts {
    fn of(text: &str, size: usize) -> Option<Self> {
        let mut at = 0;
        let mut header = None;
        let mut pieces: Vec<(Range<usize>, u32)> = Vec::new();
        for line in text.split_inclusive('\n') {
            let start = at;
            at += line.len();
            if header.is_none() {
                header = (line.trim_end() == HEADER).then_some(start);
                continue;
            }
            if line.trim_start_matches([' ', '\t']).starts_with('[') {
                break;
            }
            match pieces.last_mut() {
                Some((piece, lines)) if piece.len() + line.len() <= size => {
                    piece.end = at;
                    *lines += 1;
                }
                // Only the document itself may begin with such a mark.
                _ if line.starts_with('\u{feff}') => return None,
                _ => pieces.push((start..at, 1)),
            }
        }
        Some(Self {
            header: header?,
            pieces,
        })
    }
}

#[cfg(test)]
mod tests;
