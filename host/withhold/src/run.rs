//! Words that follow one another, and whether they are the same as others.

use crate::list::Rank;
use crate::words::Word;
use std::collections::HashMap;
use std::ops::Range;

/// A number with fewer digits is compared as written: `47:11` may be a place in a file.
pub(crate) const LONG_NUMBER_DIGITS: usize = 6;

/// A name of so many letters may have an ending, of at most so many, or a letter before it.
const LONG_NAME_LETTERS: usize = 5;
const MAX_NAME_ENDING: usize = 3;

/// In a code of so many letters and digits, gaps do not count.
const LONG_CODE_BYTES: usize = 10;

/// In code, a name of at most so many bytes counts only as the document writes it: `max` is a word
/// of code, and `Max` a person.
const SHORT_NAME_BYTES: usize = 4;

/// The gaps within the first so many bytes of a run's letters are compared.
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

/// Names by the hash of their letters.
pub(crate) type Names = HashMap<TextHash, Name>;

/// What is known of a name.
pub(crate) struct Name {
    /// How many letters it has: as they are written, five for `Joëls`; or as they count, if these
    /// are more. A syllable of Korean has two or three.
    pub(crate) letter_count: usize,
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

/// If this word is a known name of five letters or more, alone or with an ending of up to three
/// letters (`wexel`, `wexels`): the section of the document in which the name stands. Else None.
/// Names are looked up by the hash of their letters.
fn section_of_start(word: &str, names: &Names) -> Option<usize> {
    let size = word.chars().count();
    let mut start = TextHash::default();
    for (index, c) in word.chars().enumerate() {
        start.add(c.encode_utf8(&mut [0; 4]));
        let length = index + 1;
        // The rest of the word is an ending: it has at most so many letters.
        if length + MAX_NAME_ENDING >= size
            && let Some(name) = names.get(&start)
            && name.letter_count >= LONG_NAME_LETTERS
        {
            return Some(name.section);
        }
    }
    None
}

/// What is known of the runs with the same letters, by the hash of these.
pub(crate) type Runs = HashMap<TextHash, Known>;

/// What is known of runs with the same letters.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Where the runs have their gaps.
    gaps: Gaps,
    /// Whether one of the runs has a telling word, or three words or more: then capitals do not
    /// matter.
    ignores_capitals: bool,
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
    /// The hash of the letters of its words, without what stands between them.
    letters_hash: TextHash,
    /// How many bytes these letters have.
    byte_count: usize,
    word_count: usize,
    digit_count: usize,
    /// The hash of its first word as it is written.
    pub(crate) first_written_hash: TextHash,
    /// Whether a word of it is no number.
    has_letters: bool,
    /// Whether a word is of a script with capitals, or a number.
    has_cased_script: bool,
    /// Whether its last letter is a digit.
    ends_with_digit: bool,
    /// Whether a word tells more than an ordinary one.
    has_telling_word: bool,
    /// Whether a word does not begin with a capital letter.
    lacks_capital: bool,
    /// Whether a blank stands between two of its words.
    has_blank: bool,
    /// The places between two words, also where nothing is between them, as in `harborPine`.
    gaps: Gaps,
    /// Those of the `gaps` that something is in, and that are not between two digits: of
    /// `theo-blix`, one, and of `12-34`, none.
    gaps_that_count: Gaps,
}

impl Run {
    /// Adds `word` to the end of this run. `letters` are those of the word that are compared: of a
    /// number that begins the run, perhaps without a country's code (see [`Word::compared_forms`]).
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
        // A word tells more if it is rare, if the list of words lacks it, or if its script has no
        // capitals.
        let is_ordinary = matches!(word.rank, Some(Rank::SaysNothing | Rank::Ordinary));
        self.has_telling_word |= !is_ordinary || word.is_caseless;
        self.has_cased_script |= !word.is_caseless;
        self.lacks_capital |= !word.is_capital;
    }

    /// Notes the gap between this run and `word`, which has these letters: in `gaps`, and also in
    /// `gaps_that_count` if something is in the gap (`has_gap`), and it is not between two digits.
    /// A gap behind the first [`MAX_GAP_PLACE`] bytes is not noted, but for a blank in it.
    fn push_gap(&mut self, letters: &str, word: &Word) {
        self.has_blank |= word.has_blank;
        if self.byte_count >= MAX_GAP_PLACE {
            return;
        }
        let here = 1 << self.byte_count;
        self.gaps |= here;
        let is_in_number = self.ends_with_digit && letters.starts_with(char::is_numeric);
        if word.has_gap && !is_in_number {
            self.gaps_that_count |= here;
        }
    }

    /// Whether each of its words is a number.
    pub(crate) fn is_number(&self) -> bool {
        !self.has_letters
    }

    /// Whether it is a number that is compared as it is written.
    pub(crate) fn is_short_number(&self) -> bool {
        self.is_number() && self.digit_count < LONG_NUMBER_DIGITS
    }

    /// Whether it has a digit and is long, as an IBAN: people write it in groups, or in one piece.
    fn is_long_code(&self) -> bool {
        self.digit_count > 0 && self.byte_count >= LONG_CODE_BYTES
    }

    /// Whether it has at most [`SHORT_NAME_BYTES`] letters: `Max` and `IdA`, and not `47`.
    pub(crate) fn is_short_name(&self) -> bool {
        self.has_letters && self.byte_count <= SHORT_NAME_BYTES
    }

    /// Adds this run, which stands in this section, unless its letters are known.
    pub(crate) fn add_to(&self, runs: &mut Runs, section: usize) {
        let known = runs.entry(self.letters_hash).or_insert_with(|| Known {
            section,
            ..Known::default()
        });
        known.gaps |= self.gaps;
        known.ignores_capitals |= self.has_telling_word || self.word_count > 2;
    }

    /// What is known of the `runs` that have the same letters as this one. None if there are none,
    /// or in two more cases:
    ///
    /// - A word here lacks its capital, and these runs have at most two words, which are ordinary.
    ///   Words without a blank between them need no capitals: `Blue Door` and `blue-door` are
    ///   `Blue Door`, and `blue door` is not.
    /// - A gap here counts, and none of these runs has a gap there. In a short number (fewer than
    ///   six digits), each gap counts; in a long code, or a script without capitals, none does;
    ///   else a gap counts if something is in it, and it is not between two digits.
    pub(crate) fn known_in<'r>(&self, runs: &'r Runs) -> Option<&'r Known> {
        let known = runs.get(&self.letters_hash)?;
        let is_glued = self.word_count > 1 && !self.has_blank;
        // Capitals do not matter for three words, or a word that is not ordinary.
        if self.lacks_capital && !is_glued && !known.ignores_capitals {
            return None;
        }
        let compared_gaps = if self.is_short_number() {
            self.gaps
        } else if self.is_long_code() || !self.has_cased_script {
            0
        } else {
            self.gaps_that_count
        };
        if compared_gaps & !known.gaps == 0 {
            Some(known)
        } else {
            None
        }
    }
}
