//! The values of a document, and which words are worth to be one.

use crate::dates::{Days, date_at};
use crate::run::{LONG_NUMBER_DIGITS, Name, Names, Run, Runs, TextHash};
use crate::words::{PHONE_DIGITS, POINTS_OF_NOTHING, Word, count_digits, words_in};
use std::collections::HashSet;
use std::{mem, slice};

/// The most words that are compared as one value. Of a longer line, its parts are values.
pub(crate) const MAX_WORDS: usize = 12;

/// A part of a line, if it is at most so many words, may be a value.
pub(crate) const SHORT_PART_WORDS: usize = 3;

/// Words of a longer line are a value if they have so many points together.
const QUOTATION_POINTS: usize = 6;

/// A number, or a code such as `P-017`, is a value from so many characters on.
const SHORT_CODE_CHARS: usize = 4;

/// A word with digits is a code by itself from so many characters on: `tblix42`, not `sha256`.
const LONG_CODE_CHARS: usize = 7;

#[derive(Default)]
pub(crate) struct Values {
    /// What a report must not quote.
    pub(crate) values: Runs,
    /// Names that a report must not have with an ending either.
    pub(crate) names: Names,
    /// Days that a report must not have in any order either.
    pub(crate) days: Days,
    /// Names of rules that are given as such: headings, ids.
    pub(crate) rules: Runs,
    /// The hash of the first word of each short name as the document writes it.
    pub(crate) short_names: HashSet<TextHash>,
    /// The sections of the document, of which the last one is being read. The first one is what
    /// stands above all headings, and has none.
    pub(crate) sections: Vec<Section>,
    /// How many words are compared, and how many lines are not: those below `Notes`.
    pub(crate) compared_words: usize,
    pub(crate) lines_of_notes: usize,
    /// Whether the line, item or cell that is being read has a value.
    has_value: bool,
}

/// What stands below one heading, up to the next one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Section {
    /// The heading.
    pub(crate) heading: String,
    /// The level of the heading, from 1.
    level: usize,
    /// Whether a heading of a deeper level follows it.
    pub(crate) is_before_deeper_heading: bool,
    /// How many lines, items and cells have a value.
    pub(crate) pieces_with_value: usize,
}

impl Values {
    /// Adds the name of a rule, if it has at most 12 words.
    pub(crate) fn add_rule(&mut self, words: &[Word]) {
        if let Some(run) = run_of(words) {
            let section = self.section_number();
            run.add_to(&mut self.rules, section);
        }
    }

    /// Adds the name of a rule, unless it has a long number: that may be a person's.
    pub(crate) fn add_rule_unless_number(&mut self, words: &[Word]) {
        if count_digits(words) < LONG_NUMBER_DIGITS {
            self.add_rule(words);
        }
    }

    /// Adds these words as one value, unless they say nothing or are too many: `Theo Blix` is one,
    /// `the` and `12` are none.
    pub(crate) fn add_value(&mut self, words: &[Word]) {
        if says_enough(words) {
            self.add_run(words);
        }
    }

    /// Adds all these words as one value, unless they are none or more than [`MAX_WORDS`].
    fn add_run(&mut self, words: &[Word]) {
        let Some(run) = run_of(words) else {
            return;
        };
        let section = self.section_number();
        run.add_to(&mut self.values, section);
        if run.is_short_name() {
            self.short_names.insert(run.first_written_hash);
        }
        self.has_value = true;
    }

    /// Begins the section below this heading. Its `level` is 1 for `# Customers`.
    pub(crate) fn begin_section(&mut self, heading: &str, level: usize) {
        if let Some(last) = self.sections.last_mut() {
            last.is_before_deeper_heading = level > last.level;
        }
        self.sections.push(Section {
            heading: heading.to_owned(),
            level,
            ..Section::default()
        });
    }

    /// Ends a line, item or cell: it counts in its section if it had a value.
    pub(crate) fn end_piece(&mut self) {
        let had_value = mem::take(&mut self.has_value);
        if had_value && let Some(section) = self.sections.last_mut() {
            section.pieces_with_value += 1;
        }
    }

    /// Counts a line below `Notes`, unless it is blank.
    pub(crate) fn count_note(&mut self, text: &str) {
        if !text.is_empty() {
            self.lines_of_notes += 1;
        }
    }

    /// The number of the section that is being read. The first one is 0.
    fn section_number(&self) -> usize {
        self.sections.len().saturating_sub(1)
    }

    /// Adds each of these words that is a name, as a value and to `names`. A name passes
    /// `may_be_name` (four letters or more, no digit, not in the list of English words), and has a
    /// capital or stands in a text of at most three words: of such a text, fewer than three words
    /// have a blank before them.
    ///
    /// Of `for O'Wexel`, `Wexel` is a name. An apostrophe joins `O` to it, so both words together
    /// are a value as well.
    pub(crate) fn add_names(&mut self, words: &[Word]) {
        let blanks = words.iter().skip(1).filter(|word| word.has_blank).count();
        let is_short_text = blanks < SHORT_PART_WORDS;
        for (index, word) in words.iter().enumerate() {
            let is_name = word.may_be_name() && (word.is_capital || is_short_text);
            if !is_name {
                continue;
            }
            self.add_run(slice::from_ref(word));
            // A decoded letter may have been several, as `ae` for `ä`: the longer form counts.
            let name = Name {
                letter_count: word.char_count.max(word.letters.chars().count()),
                section: self.section_number(),
            };
            self.names
                .entry(TextHash::of(&word.letters))
                .or_insert(name);
            // Something is between it and the word before, such as an apostrophe, but no blank.
            let is_joined = word.has_gap && !word.has_blank;
            if is_joined && index > 0 {
                let both = words.get(index - 1..=index).unwrap_or_default();
                self.add_run(both);
            }
        }
    }

    /// Adds as a value, from each of these words on, the fewest words that are a quotation. The
    /// first `label_words` words are a label: a quotation that begins there is added only if all
    /// its words are like names (`is_like_a_name`: with a capital, and not in the list of English
    /// words).
    pub(crate) fn add_quotations(&mut self, words: &[Word], label_words: usize) {
        for start in 0..words.len() {
            let rest = words.get(start..).unwrap_or_default();
            let Some(quotation) = shortest_quotation(rest) else {
                continue;
            };
            if start >= label_words || quotation.iter().all(Word::is_like_a_name) {
                self.add_value(quotation);
            }
        }
    }

    /// Adds the dates among these words: of `born 12 March 2011`, one.
    pub(crate) fn add_dates(&mut self, words: &[Word]) {
        let section = self.section_number();
        for start in 0..words.len() {
            let date = words.get(start..).and_then(date_at);
            for day in date.into_iter().flat_map(|date| date.days) {
                self.days.entry(day).or_insert(section);
                self.has_value = true;
            }
        }
    }

    /// Adds the numbers and codes among these words: each run of words with digits.
    pub(crate) fn add_codes(&mut self, words: &[Word]) {
        for code in words.split(|word| word.digit_count == 0) {
            self.add_code(code);
        }
    }

    /// Adds the values among these words, each of which has a digit:
    ///
    /// - all as one, if they have six digits or more, or if a word is a long code: `0551 23 40 55`
    ///   and `tblix42 7`, not `47 11`;
    /// - each long code, such as `tblix42`;
    /// - a single number of four or five digits that is no year: `4711`, not `1984`;
    /// - a phone number with and without its country's code, if all are numbers.
    fn add_code(&mut self, words: &[Word]) {
        if count_digits(words) >= LONG_NUMBER_DIGITS || words.iter().any(is_long_code) {
            self.add_value(words);
        }
        for word in words {
            if is_long_code(word) {
                self.add_value(slice::from_ref(word));
            }
        }
        if words.iter().all(is_short_code) && words.len() == 1 {
            self.add_value(words);
        }
        if words.iter().all(|word| word.is_number) {
            self.add_phone(words);
        }
    }

    /// Adds a phone number as it is, and without its first one, two or three digits, which may be
    /// the country's code: `551234055` of `0049 551 234055`. Each form is without zeros before it.
    ///
    /// A number of fewer than [`PHONE_DIGITS`] (eight) digits is not added, and each digit of a
    /// code needs one digit more. A form of fewer than [`LONG_NUMBER_DIGITS`] (six) is not added.
    fn add_phone(&mut self, words: &[Word]) {
        let digits = count_digits(words);
        let number: String = words.iter().map(|word| &*word.letters).collect();
        let with_code = number.trim_start_matches('0');
        // With a code of 0 digits, this is the number as it is.
        for code_digits in 0..4 {
            if digits < PHONE_DIGITS + code_digits {
                break;
            }
            let behind_code = with_code.get(code_digits..).unwrap_or_default();
            let rest = behind_code.trim_start_matches('0');
            if rest.len() >= LONG_NUMBER_DIGITS {
                self.add_run(&words_in(rest));
            }
        }
    }
}

/// All these words as one run. No words make none, and neither do more than [`MAX_WORDS`].
fn run_of(words: &[Word]) -> Option<Run> {
    if words.is_empty() || words.len() > MAX_WORDS {
        return None;
    }
    let mut run = Run::default();
    for word in words {
        run.push(&word.letters, word);
    }
    Some(run)
}

/// Whether these words together are worth to be a value. They are if one of these holds:
///
/// - They have four digits or more.
/// - They have a digit, four characters or more, and no blank between them: `P-017`.
/// - They are two or more, with a capital each: `Theo Blix`.
/// - They say enough (`how_much_it_says`): `larkspur`, and not `the 12`.
///
/// One or two letters, as `rs`, are no value by the last two, unless their script has no capitals.
fn says_enough(words: &[Word]) -> bool {
    let digits = count_digits(words);
    let size: usize = words.iter().map(|word| word.char_count).sum();
    let is_joined = words.len() > 1 && words.iter().skip(1).all(|word| !word.has_blank);
    let is_code = digits > 0 && is_joined;
    let has_capitals = words.len() > 1 && words.iter().all(|word| word.is_capital);
    if digits >= SHORT_CODE_CHARS || is_code && size >= SHORT_CODE_CHARS {
        return true;
    }
    // Two letters end the name of a file: `.rs`, `.py`. In Chinese, they may be a person.
    if digits == 0 && size <= 2 && words.iter().all(|word| !word.is_caseless) {
        return false;
    }
    if has_capitals {
        return true;
    }
    // Two points are enough: one word that is more than `the`.
    words.iter().map(how_much_it_says).sum::<usize>() > 1
}

/// How much a word of a short value says: nothing if it is a number, `the` or `q7`, 1 if it is a
/// character such as `木` or `김`, 2 or 4 if it is another word. Two are enough.
fn how_much_it_says(word: &Word) -> usize {
    if word.is_number || word.digit_count > 0 && word.char_count < 3 {
        0
    } else if word.is_unspaced || word.is_caseless && word.char_count == 1 {
        1
    } else {
        2 * (word.points - POINTS_OF_NOTHING)
    }
}

/// Whether this is a word of letters and digits, at least seven: `tblix42`. `sha256` and `4711` are
/// not.
fn is_long_code(word: &Word) -> bool {
    !word.is_number && word.char_count >= LONG_CODE_CHARS
}

/// Whether this is a number of four or five digits, as a PIN or a house, and no year: `4711`, not
/// `1984`.
fn is_short_code(word: &Word) -> bool {
    let century = word.letters.get(..2);
    let is_year = word.digit_count == 4 && matches!(century, Some("19" | "20"));
    word.is_number && (SHORT_CODE_CHARS..LONG_NUMBER_DIGITS).contains(&word.digit_count) && !is_year
}

/// The fewest words at the start of these that are a quotation (`is_quotation`): `Blue Door` of
/// `Blue Door closes`. None if the first twelve words are not enough, and for `in Blue Door`: `in`
/// says nothing, so it begins none.
fn shortest_quotation(words: &[Word]) -> Option<&[Word]> {
    let first = words.first()?;
    // A word that says nothing may begin one if it is joined to the next word, as the `n` in
    // `nDigits`; but not in a script without blanks (`is_unspaced`), where all words are joined.
    let is_separate = words.get(1).is_none_or(|next| next.has_gap);
    let says_nothing = first.points == POINTS_OF_NOTHING && !first.is_number;
    if says_nothing && (first.is_unspaced || is_separate) {
        return None;
    }
    (1..=MAX_WORDS)
        .map_while(|size| words.get(..size))
        .find(|run| is_quotation(run))
}

/// Whether these words of a longer line are enough for a quotation. If all are numbers, they are
/// enough with more than six digits, or with six in one number.
///
/// Other words need six points (`QUOTATION_POINTS`), four of them from words that say something, of
/// which one is no number. `the` has 1 point and says nothing; `house` has 2; `House` and `47` have
/// 3. So three words such as `house` are enough, and two such as `House`. A common word (one that has a
/// `rank` in the list of English words) with a short number, as `PIN 5519`, is not enough: there,
/// the number is a value by itself.
fn is_quotation(words: &[Word]) -> bool {
    if words.iter().all(|word| word.is_number) {
        let digits = count_digits(words);
        // Six digits in two numbers may be a year and a month.
        return digits > LONG_NUMBER_DIGITS || digits == LONG_NUMBER_DIGITS && words.len() == 1;
    }
    if let [word, number] = words
        && word.rank.is_some()
        && is_short_code(number)
    {
        return false;
    }
    let points: usize = words.iter().map(|word| word.points).sum();
    // The points of the words that say something. Of the six, two may come from other words.
    let mut telling_points = 0;
    let mut has_word = false;
    for word in words {
        if word.points > POINTS_OF_NOTHING {
            telling_points += word.points;
            has_word |= !word.is_number;
        }
    }
    points >= QUOTATION_POINTS && telling_points >= QUOTATION_POINTS - 2 && has_word
}
