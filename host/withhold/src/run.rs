//! Words that follow one another, and whether they are the same as others.

use crate::words::Word;
use std::{collections::HashMap, ops::Range};

/// A number with fewer digits is compared as it is written: `47:11` and `4-711` are places in
/// a file as well.
pub(crate) const LONG_NUMBER: usize = 6;

/// Runs of words, by the hash of their letters.
pub(crate) type Runs = HashMap<u64, Value>;

/// Where a run has its gaps, as bits: at which letter. No run is compared beyond the 128th.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Value {
    gaps: u128,
    colons: u128,
}

/// Words that follow one another.
#[derive(Debug)]
pub(crate) struct Run {
    at: Range<usize>,
    hash: u64,
    size: usize,
    digits: usize,
    is_number: bool,
    ends_with_digit: bool,
    all: Value,
    /// The gaps that are not between two digits.
    apart: u128,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            at: 0..0,
            // FNV-1a.
            hash: 0xcbf2_9ce4_8422_2325,
            size: 0,
            digits: 0,
            is_number: true,
            ends_with_digit: false,
            all: Value::default(),
            apart: 0,
        }
    }
}

impl Run {
    /// Adds the word that follows, of those with these `letters`.
    pub(crate) fn push(&mut self, letters: &str, word: &Word) {
        let text = letters.get(word.letters.clone()).unwrap_or_default();
        if self.size == 0 {
            self.at = word.at.clone();
        } else {
            let here = 1_u128.checked_shl(self.size.try_into().unwrap_or(u32::MAX));
            let here = here.unwrap_or(0);
            self.all.gaps |= here;
            if word.has_colon {
                self.all.colons |= here;
            }
            let is_in_number = self.ends_with_digit && text.starts_with(char::is_numeric);
            if word.has_gap && (!is_in_number || word.has_colon) {
                self.apart |= here;
            }
        }
        for byte in text.bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        self.at.end = word.at.end;
        self.size += text.len();
        self.digits += word.digits;
        self.is_number &= word.is_number;
        self.ends_with_digit = text.ends_with(char::is_numeric);
    }

    /// Where it stands in the text.
    pub(crate) fn at(&self) -> Range<usize> {
        self.at.clone()
    }

    /// Adds it to `runs`.
    pub(crate) fn add_to(&self, runs: &mut Runs) {
        let value = runs.entry(self.hash).or_default();
        value.gaps |= self.all.gaps;
        value.colons |= self.all.colons;
    }

    /// Whether it is one of `runs`: the letters are the same, and where it has a gap, so has
    /// that one. Only a number may have further gaps, but no colons.
    pub(crate) fn is_one_of(&self, runs: &Runs) -> bool {
        let Some(value) = runs.get(&self.hash) else {
            return false;
        };
        let gaps = match self.is_number && self.digits < LONG_NUMBER {
            true => self.all.gaps,
            false => self.apart,
        };
        let colons = if self.is_number { self.all.colons } else { 0 };
        gaps & !value.gaps == 0 && colons & !value.colons == 0
    }
}
