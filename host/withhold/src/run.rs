//! Words that follow one another, and whether they are the same as others.

use crate::list::Rank;
use crate::words::Word;
use std::collections::HashMap;
use std::ops::Range;

/// A number with fewer digits is compared as written: `47:11` may be a place in a file.
pub(crate) const LONG_NUMBER: usize = 6;

/// A name of so many letters may have an ending, of at most so many, or a letter before it.
const LONG_NAME: usize = 5;
const ENDING: usize = 3;

/// In a code of so many letters and digits, gaps do not count.
const LONG_CODE: usize = 10;

/// In code, a name of at most so many bytes counts only as the document writes it: `max` is a word
/// of code, and `Max` a person.
const SHORT_NAME: usize = 4;

/// The gaps within the first so many bytes of a run's letters are compared.
const GAPS: usize = u128::BITS as usize;

/// The hash of the text, as FNV-1a makes it. `start` is 0, or the hash of what is before the text.
pub(crate) fn hash(start: u64, text: &str) -> u64 {
    let mut hash = start;
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }
    hash
}

/// Names by the hash of their letters.
pub(crate) type Names = HashMap<u64, Name>;

/// What is known of a name.
pub(crate) struct Name {
    /// How many letters it has: as they are written, five for `Joëls`; or as they count, if these
    /// are more. A syllable of Korean has two or three.
    pub(crate) size: usize,
    /// The section of the document in which it stands first.
    pub(crate) section: usize,
}

/// The section of the long name that this word is, alone, with an ending or with a letter before
/// it. If `wexel` is a name, `wexels` and `twexel` have it; `unwexel` and `wexelling` do not.
pub(crate) fn section_of_name(word: &str, names: &Names) -> Option<usize> {
    let mut letters = word.chars();
    letters.next();
    section_of_start(word, names).or_else(|| section_of_start(letters.as_str(), names))
}

/// The section of the long name that this word is, alone or with an ending: `wexel` or `wexels`.
fn section_of_start(word: &str, names: &Names) -> Option<usize> {
    let size = word.chars().count();
    let mut so_far = 0;
    for (index, c) in word.chars().enumerate() {
        so_far = hash(so_far, c.encode_utf8(&mut [0; 4]));
        let length = index + 1;
        // Any shorter start leaves a longer rest than an ending.
        if length + ENDING >= size
            && let Some(name) = names.get(&so_far)
            && name.size >= LONG_NAME
        {
            return Some(name.section);
        }
    }
    None
}

/// What is known of the runs with the same letters, by the hash of these.
pub(crate) type Runs = HashMap<u64, Known>;

#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Where the runs have their gaps.
    gaps: Gaps,
    /// Whether a run has more than one or two ordinary words.
    is_special: bool,
    /// The section of the document in which the first one stands.
    pub(crate) section: usize,
}

/// A bit for each gap of a run. It is at the number of bytes that the letters before the gap have:
/// of `ab-c`, it is bit 2.
type Gaps = u128;

/// Words that follow one another.
#[derive(Debug, Default)]
pub(crate) struct Run {
    /// Where it stands in its text.
    pub(crate) at: Range<usize>,
    hash: u64,
    /// How many bytes its letters have.
    size: usize,
    /// How many words it has, and how many digits.
    words: usize,
    digits: usize,
    /// The hash of its first word as it is written.
    pub(crate) written: u64,
    /// Whether a word of it is no number.
    has_letters: bool,
    /// Whether a word is of a script with capitals, or a number.
    has_case: bool,
    /// Whether its last letter is a digit.
    ends_with_digit: bool,
    /// Whether a word is not ordinary.
    has_special: bool,
    /// Whether a word does not begin with a capital letter.
    has_small: bool,
    /// Whether a blank stands between two of its words.
    has_blank: bool,
    /// The places between two words, also where nothing is between them, as in `harborPine`.
    gaps: Gaps,
    /// Those of the `gaps` that something is in, and that are not between two digits: of
    /// `theo-blix`, one, and of `12-34`, none.
    apart: Gaps,
}

impl Run {
    /// Adds the word that follows. `letters` are those of the word that are compared: of a first
    /// number, perhaps without a country's code (see [`Word::starts`]).
    pub(crate) fn push(&mut self, letters: &str, word: &Word) {
        if self.words == 0 {
            self.at = word.at.clone();
            self.written = word.written;
        } else {
            self.push_gap(letters, word);
        }
        self.hash = hash(self.hash, letters);
        self.at.end = word.at.end;
        self.size += letters.len();
        self.words += 1;
        self.digits += word.digits;
        self.has_letters |= !word.is_number;
        self.ends_with_digit = letters.ends_with(char::is_numeric);
        // A rare word, and one that the list does not have, is special. So is one of a script
        // without capitals.
        let is_ordinary = matches!(word.rank, Some(Rank::Empty | Rank::Ordinary));
        self.has_special |= !is_ordinary || word.is_caseless;
        self.has_case |= !word.is_caseless;
        self.has_small |= !word.is_capital;
    }

    /// Notes the gap before the word that follows, which has these letters: in `gaps`, and in
    /// `apart` if something is in the gap that is not between two digits. A gap that is not within
    /// the first [`GAPS`] bytes is not noted.
    fn push_gap(&mut self, letters: &str, word: &Word) {
        self.has_blank |= word.has_blank;
        if self.size >= GAPS {
            return;
        }
        let here = 1 << self.size;
        self.gaps |= here;
        let is_in_number = self.ends_with_digit && letters.starts_with(char::is_numeric);
        if word.has_gap && !is_in_number {
            self.apart |= here;
        }
    }

    /// Whether each of its words is a number.
    pub(crate) fn is_number(&self) -> bool {
        !self.has_letters
    }

    /// Whether it is a number that is compared as it is written.
    pub(crate) fn is_short_number(&self) -> bool {
        self.is_number() && self.digits < LONG_NUMBER
    }

    /// Whether it has a digit and is long, as an IBAN: people write it in groups, or in one piece.
    fn is_long_code(&self) -> bool {
        self.digits > 0 && self.size >= LONG_CODE
    }

    /// Whether it has at most [`SHORT_NAME`] letters: `Max` and `IdA`, and not `47`.
    pub(crate) fn is_short_name(&self) -> bool {
        self.has_letters && self.size <= SHORT_NAME
    }

    /// Adds this run, which stands in this section, unless its letters are known.
    pub(crate) fn add_to(&self, runs: &mut Runs, section: usize) {
        let known = runs.entry(self.hash).or_insert_with(|| Known {
            section,
            ..Known::default()
        });
        known.gaps |= self.gaps;
        known.is_special |= self.has_special || self.words > 2;
    }

    /// What is known of it if it is one of `runs`: it has the same letters, and no further gaps. If
    /// it is no short number, gaps with nothing in them do not count, and neither do those between
    /// two digits. In a long code, and in a script without capitals, no gap counts.
    ///
    /// One or two ordinary words must have a capital each, or be glued to each other: `Blue Door`
    /// and `blue-door` are `Blue Door`, and `blue door` is not.
    pub(crate) fn known_in<'r>(&self, runs: &'r Runs) -> Option<&'r Known> {
        let known = runs.get(&self.hash)?;
        let is_glued = self.words > 1 && !self.has_blank;
        if self.has_small && !is_glued && !known.is_special {
            return None;
        }
        let compared = if self.is_short_number() {
            self.gaps
        } else if self.is_long_code() || !self.has_case {
            0
        } else {
            self.apart
        };
        if compared & !known.gaps == 0 {
            Some(known)
        } else {
            None
        }
    }
}
