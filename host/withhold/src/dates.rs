//! Dates in any order: `12 March 2011`, `March 12, 2011` and `2011-03-12` are one day.

use crate::words::Word;
use std::collections::HashMap;
use std::ops::Range;

/// A day: a year of four digits, a month from 1 to 12, and a day of the month from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Day {
    year: u32,
    month: u32,
    day: u32,
}

/// Days, each with the section of the document in which it stands first.
pub(crate) type Days = HashMap<Day, usize>;

/// How the names of the months begin, from January on, without case and accents: in English,
/// German, French, Spanish, Italian, Portuguese, Dutch and Polish.
const MONTHS: [&[&str]; 12] = [
    &["jan", "ene", "gen", "sty"],
    &["feb", "fev", "lut"],
    &["mar", "maart"],
    &["apr", "abr", "avr", "kwi"],
    &["may", "mai", "mei", "mag", "maj"],
    &["jun", "giu", "juin", "cze"],
    &["jul", "lug", "juil", "lip"],
    &["aug", "ago", "aout", "sie"],
    &["sep", "set", "wrz"],
    &["oct", "okt", "ott", "out", "paz"],
    &["nov", "lis"],
    &["dec", "dez", "dic", "gru"],
];

/// A date in a text.
pub(crate) struct Date {
    /// Where it stands in the text, in bytes.
    pub(crate) at: Range<usize>,
    /// The day that it is. `3/4/2011` may be two days: 3 April and 4 March.
    pub(crate) days: Vec<Day>,
}

/// The date that the first three of these words are: `12 March 2011` of `12 March 2011 at noon`.
///
/// - Three numbers are a year, month and day; a day, month and year; or a month, day and year. Each
///   order that is possible gives a day: `2011-03-12` one, and `3/4/2011` two.
/// - A number and a word, in any order, and a year: `12 March 2011`, `March 12, 2011`. The word
///   must name a month.
/// - None for two words before the year (`at March 2011`), for three words that are no day
///   (`12 March at`, `12 blue 2011`, `32 March 2011`), and for fewer than three words.
pub(crate) fn date_at(words: &[Word]) -> Option<Date> {
    let [first, second, third, ..] = words else {
        return None;
    };
    let year = number(third);
    // Each is `day(YEAR, MONTH, DAY)`, and None if there is no such day, as the first one in
    // `12/3/2011`.
    let possible_days = match (number(first), number(second)) {
        (Some(a), Some(b)) => vec![
            day(Some(a), b, third),
            day(year, b, first),
            day(year, a, second),
        ],
        (Some(_), None) => vec![day(year, month(second)?, first)],
        (None, Some(_)) => vec![day(year, month(first)?, second)],
        (None, None) => return None,
    };
    let days: Vec<Day> = possible_days.into_iter().flatten().collect();
    if days.is_empty() {
        return None;
    }
    Some(Date {
        at: first.at.start..third.at.end,
        days,
    })
}

/// The section of the document that has one of the days of this date. None if it has none of them.
pub(crate) fn section_of_date(date: &Date, days: &Days) -> Option<usize> {
    date.days.iter().find_map(|day| days.get(day)).copied()
}

/// The value of a number of at most four digits: 7 for `07`. None for `20110` and `7th`.
fn number(word: &Word) -> Option<u32> {
    if word.is_number && word.digit_count <= 4 {
        word.letters.parse().ok()
    } else {
        None
    }
}

/// The number of the month that this word names: 3 for `March`, `Mar` and `mars`. None for `blue`.
fn month(word: &Word) -> Option<u32> {
    let index = MONTHS
        .iter()
        .position(|starts| starts.iter().any(|start| word.letters.starts_with(start)))?;
    u32::try_from(index + 1).ok()
}

/// The day of this month and year that `word` is: 12 March 2011 for 2011, 3 and `12`. None if the
/// year has not four digits, the month is not 1 to 12, or the word is no number from 1 to 31.
fn day(year: Option<u32>, month: u32, word: &Word) -> Option<Day> {
    let year = year.filter(|year| (1000..=9999).contains(year))?;
    let day = number(word).filter(|day| (1..=31).contains(day))?;
    if (1..=12).contains(&month) {
        Some(Day { year, month, day })
    } else {
        None
    }
}
