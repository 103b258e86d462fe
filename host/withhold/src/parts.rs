//! The parts of a line, and what sets them apart.

use crate::letters::is_separator;

/// Signs that separate two parts, beside those of [`is_separator`]. Behind ` #` and ` ^`, notes of
/// Obsidian have a tag or an id.
const SEPARATING_SIGNS: [&str; 12] = [
    "->", "==>", "=>", "  ", " #", " ^", "\t", " //", " --", "<!--", " <", "<br>",
];

/// Words and signs that separate two parts if a blank stands on each side.
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
/// A part of blanks is left out. Nothing in `Mary-Ann O'Hara` and `v1.2/beta` separates: each is
/// one part.
pub(crate) fn parts(line: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut uncut = Some(line);
    while let Some(text) = uncut {
        // `behind` is None for the last part, which no separator ends.
        let (part, behind) = cut_at_first_separator(text);
        if !part.trim().is_empty() {
            parts.push(part);
        }
        uncut = behind;
    }
    parts
}

/// The sentences of a line, without the full stops between them: of `Ask Wren. Then call Theo.`,
/// these are `Ask Wren` and `Then call Theo.`.
///
/// A full stop ends a sentence if a word of four letters or more stands before it, and a blank and
/// a capital behind it. `Dr. Strong` (two letters before it), `Gul Sok. No: 14` (three) and
/// `at noon. not before` (no capital) are one sentence each.
pub(crate) fn sentences(line: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for (at, mark) in line.match_indices(". ") {
        let (before, _) = line.split_at(at);
        let (_, next_sentence) = line.split_at(at + mark.len());
        let mut words_from_end = before.rsplit(|c: char| !c.is_alphanumeric());
        let last_word = words_from_end.next().unwrap_or_default();
        if last_word.chars().count() >= 4 && next_sentence.starts_with(char::is_uppercase) {
            sentences.extend(line.get(start..at));
            start = at + mark.len();
        }
    }
    sentences.extend(line.get(start..));
    sentences
}

/// The first part of a text, and all that stands behind the separator: `Wren` and `Tansy, Theo` of
/// `Wren,Tansy, Theo`. Without a separator, all of the text, and an empty text.
pub(crate) fn first_part(text: &str) -> (&str, &str) {
    let (part, behind) = cut_at_first_separator(text);
    (part, behind.unwrap_or_default())
}

/// The text up to its first separator, and what stands behind the separator: `Wren` and ` Tansy` of
/// `Wren, Tansy`, and `Wren` and an empty text of `Wren,`. Without a separator: all of the text,
/// and None.
fn cut_at_first_separator(text: &str) -> (&str, Option<&str>) {
    for (at, c) in text.char_indices() {
        // No separator begins with a letter or digit of ASCII. Most characters are one.
        if c.is_ascii_alphanumeric() {
            continue;
        }
        let (part, from_here) = text.split_at(at);
        if let Some(behind) = behind_separator(from_here) {
            return (part, Some(behind));
        }
    }
    (text, None)
}

/// What stands behind the separator that this text begins with: `old)` of `(old)`, and `Tansy` of
/// ` and Tansy`. None for `-Ann`, which begins with no separator.
fn behind_separator(text: &str) -> Option<&str> {
    SEPARATING_SIGNS
        .iter()
        .find_map(|sign| text.strip_prefix(sign))
        .or_else(|| text.strip_prefix(is_separator))
        .or_else(|| behind_and(text))
        .or_else(|| behind_number(text))
        .or_else(|| behind_slash(text))
}

/// What stands behind the joining word that this text begins with: `Tansy` of ` and Tansy`. None
/// for ` but Tansy`.
fn behind_and(text: &str) -> Option<&str> {
    let (word, behind) = text.strip_prefix(' ')?.split_once(' ')?;
    let mut ands = JOINING_WORDS.iter().copied().flatten();
    if ands.any(|and| and.eq_ignore_ascii_case(word)) {
        Some(behind)
    } else {
        None
    }
}

/// What stands behind the dot of a list's number, if no blank is between, as in Chinese: `木` of
/// `.木`, the end of `1.木`. None for `.md`, the ending of a file's name.
fn behind_number(text: &str) -> Option<&str> {
    text.strip_prefix('.')
        .filter(|behind| behind.starts_with(|c: char| !c.is_ascii()))
}

/// What stands behind a slash that separates two names: `Tansy` of `/Tansy`. None for `/tansy`,
/// which may be a path.
fn behind_slash(text: &str) -> Option<&str> {
    text.strip_prefix('/')
        .filter(|behind| behind.starts_with(|c: char| !c.is_ascii() || c.is_uppercase()))
}
