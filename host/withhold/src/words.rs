//! Words: runs of letters and digits, in one case and one Unicode form.

use crate::escapes::decoded;
use crate::letters::{as_letter, is_ideograph, is_invisible, is_unspaced, push_folded};
use crate::list::{Rank, rank};
use crate::run::TextHash;
use std::mem;
use std::ops::Range;

/// The points of a word that says nothing by itself, as `the`. See [`Word::points`].
pub(crate) const POINTS_OF_NOTHING: usize = 1;

/// A phone number without a country's code has at least so many digits.
pub(crate) const PHONE_DIGITS: usize = 8;

/// The most digits of a country's code, with the zeros before it: `0049`.
const COUNTRY_CODE_DIGITS: usize = 4;

/// A run of letters and digits in a text.
#[derive(Debug, Default)]
pub(crate) struct Word {
    /// Where the word stands in the text, in bytes.
    pub(crate) at: Range<usize>,
    /// The word as it is compared, without case, accents and width: `cafe` for `Café`.
    pub(crate) letters: String,
    /// The hash of the word as it is written: `Café`.
    pub(crate) written_hash: TextHash,
    /// How much the word says: 1 if it says nothing (`the`), 2 if it is another word (`house`),
    /// and 3 if it has a capital or a digit (`House`, `47`).
    pub(crate) points: usize,
    /// How common the word is. None if the list of English words lacks it, as `Larkspur`.
    pub(crate) rank: Option<Rank>,
    /// How many letters and digits the word has, as it is written: one for `ß`, of which `letters`
    /// has two, `ss`.
    pub(crate) char_count: usize,
    /// How many of these are digits.
    pub(crate) digit_count: usize,
    /// Whether all of these are digits.
    pub(crate) is_number: bool,
    /// Whether the word begins with a capital letter.
    pub(crate) is_capital: bool,
    /// Whether its first letter is of a script without capitals, as Hebrew or Korean.
    pub(crate) is_caseless: bool,
    /// Whether the word is one letter of a script that puts no blanks between words, as `木`.
    pub(crate) is_unspaced: bool,
    /// Whether any character stands between this word and the word before: in `blue-door` one
    /// does, and in `blueDoor` (two words as well) none does.
    pub(crate) has_gap: bool,
    /// Whether one of the characters between the two is a blank or the end of a line.
    pub(crate) has_blank: bool,
}

impl Word {
    /// Whether the word can be a name: it has four letters or more, or three in a script without
    /// capitals, as Korean; it has no digit; and the list of English words lacks it. `larkspur` and
    /// `Koen` can be names; `house`, `ida` and `ida7` cannot.
    pub(crate) fn may_be_name(&self) -> bool {
        let least = if self.is_caseless { 3 } else { 4 };
        let is_long = self.char_count >= least;
        self.rank.is_none() && self.digit_count == 0 && !self.is_unspaced && is_long
    }

    /// Whether the word can be a name, and has a capital: `Larkspur`.
    pub(crate) fn is_like_a_name(&self) -> bool {
        self.is_capital && self.may_be_name()
    }

    /// The letters of the word. A number that begins with 0, or has more than eight digits, may
    /// have a country's code: then also the number without its first digit, and without its first
    /// two, three and four. `0551234` is compared as `0551234`, `551234`, `51234`, `1234` and
    /// `234`.
    pub(crate) fn compared_forms(&self) -> impl Iterator<Item = &str> {
        let mut most_left_out = 0;
        if self.is_number && (self.char_count > PHONE_DIGITS || self.letters.starts_with('0')) {
            most_left_out = COUNTRY_CODE_DIGITS.min(self.letters.len().saturating_sub(1));
        }
        (0..=most_left_out).map(|left_out| self.letters.get(left_out..).unwrap_or_default())
    }

    /// How common this word is, which is written as `text`. One letter or digit alone says nothing.
    /// None for a word with a digit or a letter that is not ASCII, and for any other that the list
    /// lacks.
    fn rank_of(&self, text: &str) -> Option<Rank> {
        if self.char_count < 2 {
            return Some(Rank::SaysNothing);
        }
        if self.digit_count > 0 || !text.is_ascii() {
            return None;
        }
        rank(text)
    }

    /// The points of this word, which is written as `text`: 2 for a Chinese character (`木`); 1 for
    /// a word that says nothing (`the`, `The`, `x`, `7`); 3 for a word with a digit or a capital
    /// (`47`, `House`); and 2 for any other word (`house`).
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

/// How many digits these words have together: six for `tblix42 4711`.
pub(crate) fn count_digits(words: &[Word]) -> usize {
    words.iter().map(|word| word.digit_count).sum()
}

/// The words of `text`: of `HarborPine (7)`, these are `harbor`, `pine` and `7`.
pub(crate) fn words_in(text: &str) -> Vec<Word> {
    let chars = text.char_indices();
    cut_into_words(text, chars.map(|(at, c)| (c, at..at + c.len_utf8())))
}

/// The words of `text` with its escapes decoded: `harbor` and `pine` of `harbor%20pine`, of
/// which [`words_in`] makes `harbor` and `20pine`.
pub(crate) fn decoded_words_in(text: &str) -> Vec<Word> {
    cut_into_words(text, decoded(text))
}

/// The words of `text`. `chars` are the characters of the text and where each stands: of `a%20b`,
/// all five; or, with the escape decoded, `a` at 0..1, a blank at 1..4 and `b` at 4..5. A text
/// without letters and digits has no words.
fn cut_into_words(text: &str, chars: impl Iterator<Item = (char, Range<usize>)>) -> Vec<Word> {
    let mut cutter = Cutter::default();
    for (c, at) in chars {
        cutter.push(c, at);
    }
    let mut words = cutter.words;
    // How much a word says depends on the whole word, so this comes last.
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
    /// The words so far. The last one may still grow.
    words: Vec<Word>,
    /// Whether a character stands behind the last word that belongs to no word, as `-`.
    has_gap: bool,
    /// Whether such a character is a blank or the end of a line.
    has_blank: bool,
    /// The character before, if it is a letter or digit of a word that may still grow. None behind
    /// a gap, and behind a letter that is a word by itself, as `木`.
    letter_before: Option<char>,
}

impl Cutter {
    /// Takes the next character of the text, which stands at this place:
    ///
    /// - An invisible one, as a soft hyphen, changes no word. Directly behind a word, its place
    ///   belongs to the word.
    /// - A letter or digit goes to a word, and so does a sign that counts as one (`℃` as `C`).
    /// - A raised digit behind a letter, as the number of a note in `Blix²`, is a gap.
    /// - So is any other character, as `-` or a blank.
    fn push(&mut self, c: char, at: Range<usize>) {
        if is_invisible(c) {
            // So the character is withheld together with the word.
            if !self.has_gap
                && let Some(word) = self.words.last_mut()
            {
                word.at.end = at.end;
            }
            return;
        }
        let is_note =
            self.letter_before.is_some_and(char::is_alphabetic) && "⁰¹²³⁴⁵⁶⁷⁸⁹".contains(c);
        // None if the character counts neither as a letter nor as a digit.
        match as_letter(c) {
            Some(letter) if !is_note => self.push_letter(letter, at),
            _ => {
                self.has_gap = true;
                self.has_blank |= c.is_whitespace();
                self.letter_before = None;
            }
        }
    }

    /// Adds a letter or digit to the last word. In these cases, it begins a new word:
    ///
    /// - it is the first letter of the text, or stands behind a gap: the `P` in `harbor Pine`;
    /// - it is a capital behind a small letter: the `P` in `harborPine`;
    /// - it is of a script that puts no blanks between words: each letter of `木星`;
    /// - it stands behind a letter of such a script: the `a` in `木a`.
    fn push_letter(&mut self, c: char, at: Range<usize>) {
        let is_unspaced = is_unspaced(c);
        if is_unspaced || self.begins_word(c) {
            self.words.push(Word {
                at: at.clone(),
                // A letter sets this to false below.
                is_number: true,
                is_capital: c.is_uppercase(),
                is_caseless: c.is_alphabetic() && !c.is_uppercase() && !c.is_lowercase(),
                is_unspaced,
                has_gap: mem::take(&mut self.has_gap),
                has_blank: mem::take(&mut self.has_blank),
                ..Word::default()
            });
        }
        // Without a letter before, the next letter begins a word.
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

    /// Whether a word begins with this letter: without a letter before, as behind a gap, any letter
    /// does; else only a capital behind a small letter, as the `P` in `harborPine`.
    fn begins_word(&self, c: char) -> bool {
        match self.letter_before {
            Some(before) => before.is_lowercase() && c.is_uppercase(),
            None => true,
        }
    }
}
