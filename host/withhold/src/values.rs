//! The values of a document, and which words are worth to be one.

use crate::dates::{Days, date_at};
use crate::run::{LONG_NUMBER_DIGITS, Name, Names, Run, Runs, TextHash};
use crate::words::{PHONE_DIGITS, POINTS_OF_NOTHING, Word, count_digits, words_in};
use std::collections::HashSet;
use std::{mem, slice};

/// The most words that are compared as one value. Of a longer line, only its parts are values.
pub(crate) const MAX_WORDS: usize = 12;

/// A part of a line that has at most so many words may be a value.
pub(crate) const SHORT_PART_WORDS: usize = 3;

/// Words of a longer line are a value if they have so many points together.
const QUOTATION_POINTS: usize = 6;

/// A number, or a code such as `P-017`, is a value from so many characters on.
const MIN_CODE_CHARS: usize = 4;

/// A word of letters and digits is a code by itself from so many characters on: `tblix42`, not
/// `sha256`.
const MIN_CODE_WORD_CHARS: usize = 7;

/// What was read of a document: its values, and the names of its rules.
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
    /// The first word of each value of at most four letters, as the document writes it: the hash of
    /// `Max`, and not that of `max`.
    pub(crate) short_names: HashSet<TextHash>,
    /// The sections of the document. The last one is being read. The first one stands above all
    /// headings, and its heading is empty.
    pub(crate) sections: Vec<Section>,
    /// How many words the document has, without those of lines below `Notes`.
    pub(crate) compared_words: usize,
    /// How many lines below `Notes` are not blank.
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

    /// Adds the name of a rule, unless it has six digits or more: that may be a person's number.
    pub(crate) fn add_rule_unless_number(&mut self, words: &[Word]) {
        if count_digits(words) < LONG_NUMBER_DIGITS {
            self.add_rule(words);
        }
    }

    /// Adds these words as one value if they say enough, as `Theo Blix`. Adds nothing for `the` and
    /// `12`, which say too little, and for more than twelve words.
    pub(crate) fn add_value(&mut self, words: &[Word]) {
        if says_enough(words) {
            self.add_run(words);
        }
    }

    /// Adds these words as one value, whatever they say. Adds nothing if there is no word, or if
    /// there are more than twelve.
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

    /// Begins the section below this heading. `level` is 1 for `# Customers`, and 2 for `## Names`:
    /// of these two, the first section is before a deeper heading.
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

    /// Ends a line, item or cell. If it had a value, its section counts one more.
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

    /// Adds each of these words that is a name, as a value and to `names`. A name has four letters
    /// or more, no digit, and is not in the list of English words (`may_be_name`). It has a
    /// capital, or the text is short: blanks cut it into three pieces at most. `Wexel` is a name in
    /// any text; `wexel` is one in `wexel of office`, and none in `see wexel of office`.
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
            // Folded letters may be fewer than the written ones (`ae` becomes `a`), or more (`þ`
            // becomes `th`): the longer form counts.
            let name = Name {
                letter_count: word.char_count.max(word.letters.chars().count()),
                section: self.section_number(),
            };
            self.names
                .entry(TextHash::of(&word.letters))
                .or_insert(name);
            // A sign such as an apostrophe stands between this word and the one before, and no
            // blank.
            let is_joined = word.has_gap && !word.has_blank;
            if is_joined && index > 0 {
                let both = words.get(index - 1..=index).unwrap_or_default();
                self.add_run(both);
            }
        }
    }

    /// Adds as a value, from each of these words on, the fewest words that are enough for a
    /// quotation (`is_quotation`): of `red house garden wall`, these are `red house garden` and
    /// `house garden wall`.
    ///
    /// The first `words_in_label` words are a label. Of quotations that begin there, only those are
    /// added whose words all are like names: `Theo Wexel`, and not `red house garden`.
    pub(crate) fn add_quotations(&mut self, words: &[Word], words_in_label: usize) {
        for start in 0..words.len() {
            let from_here = words.get(start..).unwrap_or_default();
            let Some(quotation) = shortest_quotation(from_here) else {
                continue;
            };
            if start >= words_in_label || quotation.iter().all(Word::is_like_a_name) {
                self.add_value(quotation);
            }
        }
    }

    /// Adds the dates among these words: of `born 12 March 2011`, one. `3/4/2011` adds two days,
    /// since either number may be the month.
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

    /// Adds the numbers and codes among these words. Words with digits that follow one another are
    /// one code: of `call 0551 234055 or tblix42`, there are two.
    pub(crate) fn add_codes(&mut self, words: &[Word]) {
        for code in words.split(|word| word.digit_count == 0) {
            self.add_code(code);
        }
    }

    /// Adds the values among these words, each of which has a digit:
    ///
    /// - all words as one value, if they have six digits or more together, or if one is a code by
    ///   itself (seven characters or more, with letters): `0551 23 40 55` and `tblix42 7`. `47 11`
    ///   and `p12 q7` are no values.
    /// - each word that is a code by itself: of `tblix42 7`, `tblix42`;
    /// - a number of four or five digits that is the only word, and no year: `4711`, not `1984`;
    /// - if all words are numbers, the forms of a phone number: `551234055` of `0049 551 234055`.
    fn add_code(&mut self, words: &[Word]) {
        if count_digits(words) >= LONG_NUMBER_DIGITS || words.iter().any(is_code_by_itself) {
            self.add_value(words);
        }
        for word in words {
            if is_code_by_itself(word) {
                self.add_value(slice::from_ref(word));
            }
        }
        if let [word] = words
            && is_pin(word)
        {
            self.add_value(words);
        }
        if words.iter().all(|word| word.is_number) {
            self.add_phone(words);
        }
    }

    /// Adds a phone number without the zeros before it, and also without its first one, two and
    /// three digits, which may be the country's code: of `0049 551 234055`, these are
    /// `49551234055`, `9551234055`, `551234055` and `51234055`.
    ///
    /// Nothing is added for a number of fewer than eight digits ([`PHONE_DIGITS`]). For each digit
    /// that is left out, the number needs one digit more: `0551 2340` has eight, so none is left
    /// out. A form of fewer than six digits ([`LONG_NUMBER_DIGITS`]) is not added.
    fn add_phone(&mut self, words: &[Word]) {
        let digits = count_digits(words);
        let number: String = words.iter().map(|word| &*word.letters).collect();
        let with_code = number.trim_start_matches('0');
        for code_digits in 0..4 {
            if digits < PHONE_DIGITS + code_digits {
                break;
            }
            let behind_code = with_code.get(code_digits..).unwrap_or_default();
            let form = behind_code.trim_start_matches('0');
            if form.len() >= LONG_NUMBER_DIGITS {
                self.add_run(&words_in(form));
            }
        }
    }
}

/// All these words as one run. None if there is no word, or if there are more than twelve
/// ([`MAX_WORDS`]).
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

/// Whether these words together say enough for a value. The first of these rules that fits decides:
///
/// 1. Four digits or more do: `47 11`.
/// 2. Two words or more do that have a digit, four characters, and no blank between them: `P-017`.
/// 3. One or two letters do not, as `rs` and `Bo`, unless a script without capitals has them.
/// 4. Two words or more with a capital each do: `Of The`.
/// 5. Words do that have two points together. `larkspur` has two, and `Larkspur` four. `the` and
///    `12` have none (`how_much_it_says`).
fn says_enough(words: &[Word]) -> bool {
    let digits = count_digits(words);
    let chars: usize = words.iter().map(|word| word.char_count).sum();
    let is_joined = words.len() > 1 && words.iter().skip(1).all(|word| !word.has_blank);
    let is_code = is_joined && digits > 0 && chars >= MIN_CODE_CHARS;
    if digits >= MIN_CODE_CHARS || is_code {
        return true;
    }
    // Two letters end the name of a file: `.rs`, `.py`. In Chinese, they may be a person.
    if digits == 0 && chars <= 2 && words.iter().all(|word| !word.is_caseless) {
        return false;
    }
    let has_capitals = words.len() > 1 && words.iter().all(|word| word.is_capital);
    has_capitals || words.iter().map(how_much_it_says).sum::<usize>() >= 2
}

/// How many points a word has towards a short value, which needs two: none for a number, for `q7`
/// (two characters with a digit) and for `the`; 1 for a character such as `木` or `김`; 2 for
/// `larkspur`; and 4 for `Larkspur` and `q75`.
fn how_much_it_says(word: &Word) -> usize {
    if word.is_number || word.digit_count > 0 && word.char_count < 3 {
        0
    } else if word.is_unspaced || word.is_caseless && word.char_count == 1 {
        1
    } else {
        2 * (word.points - POINTS_OF_NOTHING)
    }
}

/// Whether this word, which has a digit, is a code by itself: it has letters as well, and at least
/// seven characters. `tblix42` is one; `sha256` is too short, and `5512340` is a number.
fn is_code_by_itself(word: &Word) -> bool {
    !word.is_number && word.char_count >= MIN_CODE_WORD_CHARS
}

/// Whether this word may be a PIN, or the number of a house: it is a number of four or five digits
/// that does not look like a year. `4711` and `19845` may be PINs; `1984`, `2026`, `471` and
/// `551234` are not.
fn is_pin(word: &Word) -> bool {
    let century = word.letters.get(..2);
    let is_year = word.digit_count == 4 && matches!(century, Some("19" | "20"));
    word.is_number && (MIN_CODE_CHARS..LONG_NUMBER_DIGITS).contains(&word.digit_count) && !is_year
}

/// The fewest words at the start of these that are enough for a quotation (`is_quotation`):
/// `Blue Door` of `Blue Door closes`. None if the first twelve words are not enough. None also if
/// the first word says nothing and has a gap behind it, as in `in Blue Door`: a quotation may begin
/// at the next word.
fn shortest_quotation(words: &[Word]) -> Option<&[Word]> {
    let first = words.first()?;
    // A word that says nothing may begin a quotation if no gap is behind it, as the `n` in
    // `nDigits`. In a script without blanks (`is_unspaced`), no word has a gap behind it, so there
    // no such word may.
    let is_separate = words.get(1).is_none_or(|next| next.has_gap);
    let says_nothing = first.points == POINTS_OF_NOTHING && !first.is_number;
    if says_nothing && (first.is_unspaced || is_separate) {
        return None;
    }
    (1..=MAX_WORDS)
        .map_while(|count| words.get(..count))
        .find(|start| is_quotation(start))
}

/// Whether these words of a longer line are enough for a quotation:
///
/// - If all are numbers: with more than six digits (`551 2340`), or with six in one number
///   (`551234`). `2011 03`, six digits in two numbers, may be a year and a month.
/// - An English word and a number of four or five digits, as `PIN 5519`, are not: there, the number
///   is a value by itself.
/// - Other words need six points. `the` has 1 point, `house` has 2, `House` and `47` have 3 (see
///   [`Word::points`]). So `red house garden` and `Blue Door` are enough.
/// - At least four of these points come from words that say more than `the`, and one of these
///   words is no number. So `House of the in` is not enough, and neither is `the 47 12`.
fn is_quotation(words: &[Word]) -> bool {
    if words.iter().all(|word| word.is_number) {
        let digits = count_digits(words);
        return digits > LONG_NUMBER_DIGITS || digits == LONG_NUMBER_DIGITS && words.len() == 1;
    }
    if let [word, number] = words
        && word.rank.is_some()
        && is_pin(number)
    {
        return false;
    }
    let points: usize = words.iter().map(|word| word.points).sum();
    // The points of the words that say something. Two of the six may come from other words.
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
