//! Words that follow one another, and whether they are the same as others.

use crate::list::Rank;
use crate::words::Word;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// A number with fewer digits is compared as written: `47:11` may be a place in a file.
pub(crate) const LONG_NUMBER: usize = 6;

/// A name of so many letters may have an ending, of at most so many, or a letter before it.
const LONG_NAME: usize = 5;
const ENDING: usize = 3;

/// As FNV-1a does it.
pub(crate) fn hash(start: u64, text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    text.bytes().fold(start, step)
}

/// Whether this word is a long one of `names`, alone, with an ending or with a letter before it.
pub(crate) fn is_name_of(word: &str, names: &HashSet<u64>) -> bool {
    let size = word.chars().count();
    [0, 1].into_iter().any(|first| {
        let (mut letters, mut so_far) = ([0; 4], 0);
        word.chars().enumerate().skip(first).any(|(index, c)| {
            so_far = hash(so_far, c.encode_utf8(&mut letters));
            let is_long = index + 1 >= first + LONG_NAME && index + 1 + ENDING >= size;
            is_long && names.contains(&so_far)
        })
    })
}

pub(crate) type Runs = HashMap<u64, Value>;

/// Where a run has its gaps, as bits: at which letter. No run is compared beyond the 128th.
#[derive(Debug, Default)]
pub(crate) struct Value {
    gaps: u128,
    /// Whether it has more than one or two ordinary words.
    is_special: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Run {
    pub(crate) at: Range<usize>,
    hash: u64,
    size: usize,
    words: usize,
    digits: usize,
    pub(crate) has_letters: bool,
    ends_with_digit: bool,
    /// Whether a word is not ordinary, or does not begin with a capital letter.
    has_special: bool,
    has_small: bool,
    has_blank: bool,
    gaps: u128,
    /// The gaps that are not between two digits.
    apart: u128,
}

impl Run {
    /// Adds the word that follows, with these of its letters.
    pub(crate) fn push(&mut self, letters: &str, word: &Word) {
        if self.words == 0 {
            self.at = word.at.clone();
        } else {
            let here = u128::from(self.size < 128) << (self.size % 128);
            self.gaps |= here;
            self.has_blank |= word.has_blank;
            let is_in_number = self.ends_with_digit && letters.starts_with(char::is_numeric);
            self.apart |= here * u128::from(word.has_gap && !is_in_number);
        }
        self.hash = hash(self.hash, letters);
        self.at.end = word.at.end;
        self.size += letters.len();
        self.words += 1;
        self.digits += word.digits;
        self.has_letters |= !word.is_number;
        self.ends_with_digit = letters.ends_with(char::is_numeric);
        self.has_special |= !matches!(word.rank, Some(Rank::Empty | Rank::Ordinary));
        self.has_small |= !word.is_capital;
    }

    /// Whether it is a number that is compared as it is written.
    pub(crate) fn is_short_number(&self) -> bool {
        !self.has_letters && self.digits < LONG_NUMBER
    }

    pub(crate) fn add_to(&self, runs: &mut Runs) {
        let value = runs.entry(self.hash).or_default();
        value.gaps |= self.gaps;
        value.is_special |= self.has_special || self.words > 2;
    }

    /// Whether it is one of `runs`: it has the same letters, and no further gaps, unless it is a
    /// number. One or two ordinary words must have a capital each, or be glued to each other.
    pub(crate) fn is_one_of(&self, runs: &Runs) -> bool {
        let is_name = !self.has_small || self.words > 1 && !self.has_blank;
        runs.get(&self.hash).is_some_and(|value| {
            let fits = |gaps: u128| gaps & !value.gaps == 0;
            let is_same = fits(self.gaps) || !self.is_short_number() && fits(self.apart);
            (is_name || value.is_special) && is_same
        })
    }
}
