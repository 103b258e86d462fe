//! Words that follow one another, and whether they are the same as others.

use crate::list::Rank;
use crate::words::Word;
use std::collections::HashMap;
use std::ops::Range;

/// A number with fewer digits is compared with its gaps: `47:11` may be a place in a file, so it is
/// not `4711`.
pub(crate) const LONG_NUMBER_DIGITS: usize = 6;

/// A name of so many letters or more is also found with an ending, or with a letter before it.
const LONG_NAME_LETTERS: usize = 5;

/// The most letters of such an ending.
const MAX_NAME_ENDING: usize = 3;

/// In a code of so many letters and digits or more, gaps do not count.
const LONG_CODE_BYTES: usize = 10;

/// In code, a name of at most so many bytes counts only as the document writes it: `max` is a word
/// of code, and `Max` a person.
const SHORT_NAME_BYTES: usize = 4;

/// Only gaps within the first 128 bytes of a run's letters are compared: [`Gaps`] has so many bits.
const MAX_GAP_PLACE: usize = u128::BITS as usize;

/// A hash of a text, as FNV-1a makes it. Text may be added: after `add("ab")` and `add("c")`, the
/// hash is that of `abc`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct TextHash(u64);

impl TextHash {
    /// The hash of this text.
    pub(crate) fn of(text: &str) -> Self {
        let mut hash = Self::default();
        hash.add(text);
        hash
    }

    /// Adds `text` to the end of the text that is hashed.
    pub(crate) fn add(&mut self, text: &str) {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

/// The names of a document, by the hash of their letters.
pub(crate) type Names = HashMap<TextHash, Name>;

/// What is known of a name.
pub(crate) struct Name {
    /// How many letters it has: as they are written (four for `Joël`); or as they are compared, if
    /// these are more (a syllable of Korean, such as `김`, is compared as two or three letters).
    pub(crate) letter_count: usize,
    /// The section of the document in which it stands first.
    pub(crate) section: usize,
}

/// If this word is a name of the document with five letters or more: the section of the document in
/// which the name stands. Else None. The word may have up to three letters behind the name, and one
/// letter before it: if `wexel` is a name, `wexels`, `wexelish` and `twexel` are found. `unwexel`
/// and `wexelling` are not.
pub(crate) fn section_of_name(word: &str, names: &Names) -> Option<usize> {
    let mut behind_first = word.chars();
    behind_first.next();
    section_of_start(word, names).or_else(|| section_of_start(behind_first.as_str(), names))
}

/// If this word is a name of the document with five letters or more, perhaps with an ending of up
/// to three letters: the section of the document in which the name stands. Else None. If `wexel` is
/// a name, `wexel` and `wexels` are found. `wexelling` is not: its ending has four letters.
///
/// Each start of the word is looked up by its hash: of `wexels`, these are `wex`, `wexe` and so on.
fn section_of_start(word: &str, names: &Names) -> Option<usize> {
    let letter_count = word.chars().count();
    let mut start = TextHash::default();
    for (index, c) in word.chars().enumerate() {
        start.add(c.encode_utf8(&mut [0; 4]));
        let start_letters = index + 1;
        // What stands behind this start of the word must be short enough for an ending.
        if letter_count - start_letters <= MAX_NAME_ENDING
            && let Some(name) = names.get(&start)
            && name.letter_count >= LONG_NAME_LETTERS
        {
            return Some(name.section);
        }
    }
    None
}

/// The runs of a document, by the hash of their letters. `Theo Blix` and `theo-blix` have the same
/// letters, and share one [`Known`].
pub(crate) type Runs = HashMap<TextHash, Known>;

/// What is known of all runs of a document that have the same letters.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Where these runs have their gaps: each gap that one of them has.
    gaps: Gaps,
    /// Whether one of these runs has a telling word, or three words or more: then a report quotes
    /// it without its capitals, too.
    ignores_capitals: bool,
    /// The section of the document in which the first of these runs stands.
    pub(crate) section: usize,
}

/// Where one word of a run ends and the next one begins. Bit n is set if it is behind the first n
/// bytes of the run's letters: bit 2 for `ab-c`, and bits 1 and 2 for `1 2 x`.
type Gaps = u128;

/// Words of one text that follow one another.
#[derive(Debug, Default)]
pub(crate) struct Run {
    /// Where the run stands in its text, in bytes.
    pub(crate) at: Range<usize>,
    /// The hash of the letters of its words, without what stands between them: of `theoblix` for
    /// `Theo Blix`.
    letters_hash: TextHash,
    /// How many bytes these letters have.
    byte_count: usize,
    word_count: usize,
    digit_count: usize,
    /// The hash of its first word as the text writes it: of `Theo`.
    pub(crate) first_written_hash: TextHash,
    /// Whether a word of the run is no number.
    has_letters: bool,
    /// Whether a word is of a script with capitals, or is a number.
    has_cased_script: bool,
    /// Whether the last character is a digit.
    ends_with_digit: bool,
    /// Whether a word tells more than an ordinary one, such as `blue`.
    has_telling_word: bool,
    /// Whether a word does not begin with a capital letter. A number does not.
    lacks_capital: bool,
    /// Whether a blank stands between two of its words.
    has_blank: bool,
    /// All places between two words: bit 1 for `1-2` and `a-2`, and bit 6 for `harborPine`.
    gaps: Gaps,
    /// Those of the `gaps` that have a character in them, and do not lie between two digits: bit 1
    /// for `a-2`; none for `1-2` (two digits) and `harborPine` (no character).
    filled_gaps: Gaps,
}

impl Run {
    /// Adds `word` to the end of this run. `letters` are those of the word that are compared: all
    /// of them; but if a number begins the run, they may lack its first digits, which may be a
    /// country's code (see [`Word::compared_forms`]).
    pub(crate) fn push(&mut self, letters: &str, word: &Word) {
        if self.word_count == 0 {
            self.at = word.at.clone();
            self.first_written_hash = word.written_hash;
        } else {
            self.push_gap(letters, word);
        }
        self.letters_hash.add(letters);
        self.at.end = word.at.end;
        self.byte_count += letters.len();
        self.word_count += 1;
        self.digit_count += word.digit_count;
        self.has_letters |= !word.is_number;
        self.ends_with_digit = letters.ends_with(char::is_numeric);
        // A word tells more if it is rare (`Rank::Rare`), if the list of words lacks it (None), or
        // if its script has no capitals.
        let is_ordinary = matches!(word.rank, Some(Rank::SaysNothing | Rank::Ordinary));
        self.has_telling_word |= !is_ordinary || word.is_caseless;
        self.has_cased_script |= !word.is_caseless;
        self.lacks_capital |= !word.is_capital;
    }

    /// Notes the place between this run and the next `word`, which has these letters: in `gaps`,
    /// and also in `filled_gaps` if a character stands there, and not between two digits. So `a-2`
    /// has a filled gap, and `1-2` and `harborPine` have none. Behind 128 bytes of letters, only a
    /// blank is noted, in `has_blank`.
    fn push_gap(&mut self, letters: &str, word: &Word) {
        self.has_blank |= word.has_blank;
        if self.byte_count >= MAX_GAP_PLACE {
            return;
        }
        let here = 1 << self.byte_count;
        self.gaps |= here;
        let is_in_number = self.ends_with_digit && letters.starts_with(char::is_numeric);
        if word.has_gap && !is_in_number {
            self.filled_gaps |= here;
        }
    }

    /// Whether each of its words is a number: `47 11`.
    pub(crate) fn is_number(&self) -> bool {
        !self.has_letters
    }

    /// Whether it is a number of fewer than six digits, as `4711` and `47:11`.
    pub(crate) fn is_short_number(&self) -> bool {
        self.is_number() && self.digit_count < LONG_NUMBER_DIGITS
    }

    /// Whether it has a digit, and ten letters and digits or more, as an IBAN: people write it in
    /// groups, or in one piece.
    fn is_long_code(&self) -> bool {
        self.digit_count > 0 && self.byte_count >= LONG_CODE_BYTES
    }

    /// Whether its letters have at most four bytes, and not all are digits: `Max` and `IdA` are
    /// short names, `47` and `Theodor` are not.
    pub(crate) fn is_short_name(&self) -> bool {
        self.has_letters && self.byte_count <= SHORT_NAME_BYTES
    }

    /// Adds this run to the `runs` of a document. If a run of the same letters is there, its
    /// section stays, and its gaps and this run's are both allowed from now on.
    pub(crate) fn add_to(&self, runs: &mut Runs, section: usize) {
        let known = runs.entry(self.letters_hash).or_insert_with(|| Known {
            section,
            ..Known::default()
        });
        known.gaps |= self.gaps;
        known.ignores_capitals |= self.has_telling_word || self.word_count > 2;
    }

    /// What is known of those of the document's `runs` that this run of a report quotes. None if:
    ///
    /// - no run of the document has the same letters; or
    /// - a word of this run has no capital, and those of the document are only one or two ordinary
    ///   words. If the document has `Blue Door`, then `blue door` is no quotation. `blue-door` is
    ///   one: words without a blank between them need no capital; or
    /// - a gap counts, and no run of the document has a gap there. If the document has `4711` and
    ///   `larkspur`, then `47 11` and `lark-spur` are no quotations.
    ///
    /// In a number of fewer than six digits, each gap counts. In a code of ten characters or more,
    /// and if no word is of a script with capitals, no gap counts. In any other run, a gap counts
    /// if it has a character and does not stand between two digits: that of `lark-spur`
    /// (`filled_gaps`).
    pub(crate) fn known_in<'r>(&self, runs: &'r Runs) -> Option<&'r Known> {
        let known = runs.get(&self.letters_hash)?;
        let is_joined = self.word_count > 1 && !self.has_blank;
        if self.lacks_capital && !is_joined && !known.ignores_capitals {
            return None;
        }
        let gaps_that_count = if self.is_short_number() {
            self.gaps
        } else if self.is_long_code() || !self.has_cased_script {
            0
        } else {
            self.filled_gaps
        };
        // A bit for each gap that counts here, and that no run of the document has.
        let unknown_gaps = gaps_that_count & !known.gaps;
        if unknown_gaps == 0 { Some(known) } else { None }
    }
}
