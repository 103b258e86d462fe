//! The parts of a line, and what sets them apart.

use crate::letters::is_separator;

/// Signs between two parts, beside [`is_separator`]. Behind ` #` and ` ^`, Obsidian has a tag or an
/// id.
const SEPARATING_SIGNS: [&str; 12] = [
    "->", "==>", "=>", "  ", " #", " ^", "\t", " //", " --", "<!--", " <", "<br>",
];

/// Words and signs between two parts, with a blank on each side.
const JOINING_WORDS: [&[&str]; 19] = [
    &["-", "/", "&", "&&", "+", "·"],
    // English and German.
    &["and", "or", "vs.", "aka", "alias"],
    &["und", "oder", "sowie", "bzw."],
    // French, Spanish, Italian, Romanian, Danish, Swedish, Dutch.
    &["et", "ou", "y", "e", "și", "og", "och", "en"],
    // Polish, Lithuanian, Albanian, Hungarian, Finnish, Basque, Irish.
    &["i", "oraz", "ir", "dhe", "és", "ja", "sekä", "eta", "agus"],
    // Turkish, Azerbaijani, Malay, Vietnamese.
    &["ve", "və", "dan", "và", "với", "hoặc"],
    // Russian and Ukrainian, Greek.
    &["и", "или", "та", "і", "й", "або"],
    &["και", "ή"],
    // Armenian, Georgian, Amharic.
    &["և", "ու", "და", "እና"],
    // Hebrew, and what is written in Arabic letters.
    &["או", "و", "او", "اور", "أو", "ثم", "یا"],
    // Chinese, Japanese, Korean.
    &["和", "与", "與", "及", "以及", "或", "跟"],
    &["と", "や", "および", "及び", "または"],
    &["및", "그리고", "또는"],
    // Thai, Khmer, Lao, Burmese.
    &["และ", "หรือ", "กับ"],
    &["និង", "ແລະ", "နှင့်"],
    // Hindi, Marathi, Punjabi, Gujarati, Bengali.
    &["और", "या", "एवं", "तथा", "आणि", "किंवा"],
    &["ਅਤੇ", "ਜਾਂ", "અને", "અથવા", "ও", "এবং", "বা"],
    // Telugu, Kannada, Tamil, Sinhala.
    &["మరియు", "లేదా", "ಮತ್ತು", "ಅಥವಾ"],
    &["மற்றும்", "அல்லது", "සහ"],
];

/// The parts of a line between its separators: punctuation, and words such as `and`. Of
/// `Larkspur (old), Wren and Tansy`, these are `Larkspur `, `old`, ` Wren` and `Tansy`.
///
/// A part of blanks is left out. `Mary-Ann O'Hara` and `v1.2/beta` are one part.
pub(crate) fn parts(line: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = Some(line);
    while let Some(text) = rest {
        let (part, behind) = cut_at_first_separator(text);
        if !part.trim().is_empty() {
            parts.push(part);
        }
        rest = behind;
    }
    parts
}

/// The sentences of a line, without the full stops between them. A full stop ends a sentence if a
/// word of four letters or more stands before it, and a blank and a capital behind it.
/// `Gul Sok. No: 14` and `Dr. Strong` are one sentence each.
pub(crate) fn sentences(line: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for (at, mark) in line.match_indices(". ") {
        let (before, behind) = line.split_at(at);
        let last_word = before.rsplit(|c: char| !c.is_alphanumeric()).next();
        let is_long = last_word.is_some_and(|word| word.chars().count() >= 4);
        // The text behind the full stop and the blank.
        if is_long
            && behind
                .get(2..)
                .is_some_and(|next| next.starts_with(char::is_uppercase))
        {
            sentences.extend(line.get(start..at));
            start = at + mark.len();
        }
    }
    sentences.extend(line.get(start..));
    sentences
}

/// The first part of a text, and all that stands behind it. A text without a separator is one
/// part.
pub(crate) fn first_part(text: &str) -> (&str, &str) {
    let (part, rest) = cut_at_first_separator(text);
    (part, rest.unwrap_or_default())
}

/// The text up to its first separator, and what stands behind the separator. Without a separator:
/// all of the text, and None.
fn cut_at_first_separator(text: &str) -> (&str, Option<&str>) {
    for (at, c) in text.char_indices() {
        // No separator begins with a letter or digit of ASCII. Most characters are one.
        if c.is_ascii_alphanumeric() {
            continue;
        }
        let (part, rest) = text.split_at(at);
        if let Some(behind) = behind_separator(rest) {
            return (part, Some(behind));
        }
    }
    (text, None)
}

/// What stands behind the separator that this text begins with: `old)` of `(old)`. `-Ann` begins
/// with none.
fn behind_separator(text: &str) -> Option<&str> {
    SEPARATING_SIGNS
        .iter()
        .find_map(|sign| text.strip_prefix(sign))
        .or_else(|| text.strip_prefix(is_separator))
        .or_else(|| behind_and(text))
        .or_else(|| behind_number(text))
        .or_else(|| behind_slash(text))
}

/// `Tansy` of ` and Tansy`. ` but Tansy` has no such word.
fn behind_and(text: &str) -> Option<&str> {
    let (word, behind) = text.strip_prefix(' ')?.split_once(' ')?;
    let mut ands = JOINING_WORDS.iter().copied().flatten();
    if ands.any(|and| and.eq_ignore_ascii_case(word)) {
        Some(behind)
    } else {
        None
    }
}

/// `木` of `.木`: behind a list's number, a word of a script without blanks may stand so. `.md` is
/// an ending.
fn behind_number(text: &str) -> Option<&str> {
    text.strip_prefix('.')
        .filter(|behind| behind.starts_with(|c: char| !c.is_ascii()))
}

/// `Tansy` of `/Tansy`. `/tansy` may be a path.
fn behind_slash(text: &str) -> Option<&str> {
    text.strip_prefix('/')
        .filter(|behind| behind.starts_with(|c: char| !c.is_ascii() || c.is_uppercase()))
}
