//! Words: runs of letters and digits, in one case and one Unicode form.

use crate::escapes::decoded;
use crate::letters::{as_letter, is_ideograph, is_invisible, is_unspaced, push_folded};
use crate::list::{Rank, rank};
use crate::run::TextHash;
use std::mem;
use std::ops::Range;

/// The points of a word that says nothing by itself.
pub(crate) const POINTS_OF_NOTHING: usize = 1;

/// Without a country's code, a phone number has so many digits.
pub(crate) const PHONE_DIGITS: usize = 8;

/// The most digits of a country's code, with the zero before it.
const COUNTRY_CODE_DIGITS: usize = 4;

/// A run of letters and digits in a text.
#[derive(Debug, Default)]
pub(crate) struct Word {
    /// Where it stands in the text.
    pub(crate) at: Range<usize>,
    /// What counts of it, without case, accents and width.
    pub(crate) letters: String,
    /// The hash of the word as it is written.
    pub(crate) written_hash: TextHash,
    /// How much it says: a name or a number more than another word.
    pub(crate) points: usize,
    /// What the list says of it, if it is there.
    pub(crate) rank: Option<Rank>,
    /// How many characters it has, and how many digits.
    pub(crate) char_count: usize,
    pub(crate) digit_count: usize,
    /// Whether all its characters are digits.
    pub(crate) is_number: bool,
    /// Whether it begins with a capital letter.
    pub(crate) is_capital: bool,
    /// Whether its first letter is of a script without capitals, as Hebrew or Korean.
    pub(crate) is_caseless: bool,
    /// Whether it is one letter of a script that puts no blanks between words.
    pub(crate) is_unspaced: bool,
    /// Whether anything stands between it and the word before, and whether a blank does.
    pub(crate) has_gap: bool,
    pub(crate) has_blank: bool,
}

impl Word {
    /// Whether it can be a name: it has four letters or more, or three without capitals as in
    /// Korean, and the list does not have it. `larkspur` and `Koen` can; `house`, `ida` and `ida7`
    /// cannot.
    pub(crate) fn may_be_name(&self) -> bool {
        let least = if self.is_caseless { 3 } else { 4 };
        let is_long = self.char_count >= least;
        self.rank.is_none() && self.digit_count == 0 && !self.is_unspaced && is_long
    }

    /// Whether it can be a name, and has the capital of one: `Larkspur`.
    pub(crate) fn is_like_a_name(&self) -> bool {
        self.is_capital && self.may_be_name()
    }

    /// Its letters and, of a number that may have a country's code, also those behind its first
    /// digit, its first two, and so on: `0551234`, `551234`, `51234`, `1234`, `234`.
    pub(crate) fn compared_forms(&self) -> impl Iterator<Item = &str> {
        let mut most = 0;
        if self.is_number && (self.char_count > PHONE_DIGITS || self.letters.starts_with('0')) {
            most = COUNTRY_CODE_DIGITS.min(self.letters.len().saturating_sub(1));
        }
        (0..=most).map(|size| self.letters.get(size..).unwrap_or_default())
    }

    /// The rank of this word, which is written as `text`. One letter alone says nothing.
    fn rank_of(&self, text: &str) -> Option<Rank> {
        if self.char_count < 2 {
            return Some(Rank::SaysNothing);
        }
        // The list has no word with a digit or an accent.
        if self.digit_count > 0 || !text.is_ascii() {
            return None;
        }
        rank(text)
    }

    /// The points of this word, which is written as `text`: 1 for `the`, 2 for `house` and for
    /// `木`, 3 for `House` and for `47`.
    fn points_of(&self, text: &str) -> usize {
        if text.starts_with(is_ideograph) {
            POINTS_OF_NOTHING + 1
        } else if self.rank == Some(Rank::SaysNothing) {
            POINTS_OF_NOTHING
        } else if self.digit_count > 0 || self.is_capital {
            POINTS_OF_NOTHING + 2
        } else {
            POINTS_OF_NOTHING + 1
        }
    }
}

/// How many digits these words have together.
pub(crate) fn count_digits(words: &[Word]) -> usize {
    words.iter().map(|word| word.digit_count).sum()
}

/// The words of `text`: `harbor`, `pine` and `7` of `HarborPine (7)`. Marks are no words.
pub(crate) fn words_in(text: &str) -> Vec<Word> {
    let chars = text.char_indices();
    cut_into_words(text, chars.map(|(at, c)| (c, at..at + c.len_utf8())))
}

/// The words of `text` if its escapes are read: `harbor` and `pine` of `harbor%20pine`.
pub(crate) fn decoded_words_in(text: &str) -> Vec<Word> {
    cut_into_words(text, decoded(text))
}

/// The words of `text`, each with its rank in the list of common words (None for a word that is not
/// in the list), and its points: how much it counts towards a quotation. `chars` are the characters
/// of the text, perhaps with escapes decoded, and where each stands.
fn cut_into_words(text: &str, chars: impl Iterator<Item = (char, Range<usize>)>) -> Vec<Word> {
    let mut cutter = Cutter::default();
    for (c, at) in chars {
        cutter.push(c, at);
    }
    let mut words = cutter.words;
    for word in &mut words {
        let written = text.get(word.at.clone()).unwrap_or_default();
        word.rank = word.rank_of(written);
        word.points = word.points_of(written);
    }
    words
}

/// Takes the characters of a text one by one, and puts them together to words.
#[derive(Default)]
struct Cutter {
    /// The words so far.
    words: Vec<Word>,
    /// Whether anything stands behind the last word, and whether a blank does.
    has_gap: bool,
    has_blank: bool,
    /// The letter before, if the next one may belong to its word.
    letter_before: Option<char>,
}

impl Cutter {
    /// Takes the next character, which stands at this place. An invisible one counts as nothing; a
    /// letter or digit (`as_letter`) goes to a word; and any other character is a gap, as is a
    /// raised digit behind a letter.
    fn push(&mut self, c: char, at: Range<usize>) {
        if is_invisible(c) {
            // Directly behind a word, it goes with the word.
            if !self.has_gap
                && let Some(word) = self.words.last_mut()
            {
                word.at.end = at.end;
            }
            return;
        }
        // A raised digit behind a letter is the number of a note, and no part of the word.
        let is_note =
            self.letter_before.is_some_and(char::is_alphabetic) && "⁰¹²³⁴⁵⁶⁷⁸⁹".contains(c);
        match as_letter(c) {
            Some(letter) if !is_note => self.push_letter(letter, at),
            _ => {
                self.has_gap = true;
                self.has_blank |= c.is_whitespace();
                self.letter_before = None;
            }
        }
    }

    /// Adds a letter to the last word, or begins a word with it: behind a gap, as the first one,
    /// and as a capital behind a small letter, like the `P` in `harborPine`. In a script that puts
    /// no blanks between words, as Chinese, each letter is a word.
    fn push_letter(&mut self, c: char, at: Range<usize>) {
        let is_unspaced = is_unspaced(c);
        if is_unspaced || self.begins_word(c) {
            self.words.push(Word {
                at: at.clone(),
                // Until a letter comes that is no digit.
                is_number: true,
                is_capital: c.is_uppercase(),
                is_caseless: c.is_alphabetic() && !c.is_uppercase() && !c.is_lowercase(),
                is_unspaced,
                has_gap: mem::take(&mut self.has_gap),
                has_blank: mem::take(&mut self.has_blank),
                ..Word::default()
            });
        }
        // Behind a letter that is a word by itself, the next one begins a word.
        self.letter_before = if is_unspaced { None } else { Some(c) };
        if let Some(word) = self.words.last_mut() {
            word.at.end = at.end;
            word.char_count += 1;
            if c.is_numeric() {
                word.digit_count += 1;
            } else {
                word.is_number = false;
            }
            word.written_hash.add(c.encode_utf8(&mut [0; 4]));
            push_folded(c, &mut word.letters);
        }
    }

    /// Whether a word begins with this letter: the first one behind a gap does, and so does the
    /// `P` in `harborPine`.
    fn begins_word(&self, c: char) -> bool {
        match self.letter_before {
            Some(before) => before.is_lowercase() && c.is_uppercase(),
            None => true,
        }
    }
}
