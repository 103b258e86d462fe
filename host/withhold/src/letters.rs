//! What a character counts as: a letter, a mark between words, or nothing.

use std::ops::RangeInclusive;
use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// The letter or digit that `c` counts as: `c` itself, if it is a letter or digit (`é`); or the one
/// that it is made of in Unicode: `C` for `℃`. None for `-`, which is made of none; for `㎏`, which
/// is made of two; and for an apostrophe, even one that is a letter in Unicode (`ʼ`).
pub(crate) fn as_letter(c: char) -> Option<char> {
    if is_apostrophe(c) {
        return None;
    }
    if c.is_alphanumeric() {
        return Some(c);
    }
    let mut letters = Vec::new();
    decompose_compatible(c, |part| {
        if part.is_alphanumeric() {
            letters.push(part);
        }
    });
    match *letters {
        [only] => Some(only),
        _ => None,
    }
}

/// Whether people see an apostrophe or a dot in what Unicode calls a letter: `ʼ` and `ㆍ`. False for
/// `'`, which is no letter anyway.
fn is_apostrophe(c: char) -> bool {
    matches!(c, '\u{2b9}'..='\u{2bf}' | '\u{a78b}' | '\u{a78c}' | 'ㆍ')
}

/// Adds to `letters`, those of a word so far, the letters that `c` is compared as: without case,
/// accents and width. `É` adds `e`, `ß` adds `ss`, and `٧` adds `7`.
pub(crate) fn push_folded(c: char, letters: &mut String) {
    if c.is_ascii() {
        push_unless_umlaut(c.to_ascii_lowercase(), letters);
    } else if let Some(digit) = digit(c) {
        push_unless_umlaut(digit, letters);
    } else {
        decompose_compatible(c, |part| fold_part(part, letters));
    }
}

/// Adds the letter, but not an `e` behind `a`, `o` or `u`: people write `ae` for `ä`, and both are
/// compared as `a`.
fn push_unless_umlaut(letter: char, letters: &mut String) {
    if letter != 'e' || !letters.ends_with(['a', 'o', 'u']) {
        letters.push(letter);
    }
}

/// Adds to `letters` the letters that `part` is compared as. `part` is one of the characters that
/// another one is made of in Unicode: of `É`, these are `E` and an accent.
///
/// `E` adds `e`, `ł` adds `l`, `ς` and `Σ` add `σ`, and `þ` adds `th`. An accent or a sign adds
/// nothing, and neither does an `e` behind `a`, `o` or `u`.
fn fold_part(part: char, letters: &mut String) {
    if is_combining_mark(part) {
        return;
    }
    // Small, capital, and small again: in capitals, `ß` is `SS`, and `ς` is `Σ` as `σ` is. The
    // first step is for `ẞ`, which is a capital already: only `ß` becomes `SS`.
    let small = part
        .to_lowercase()
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase);
    for c in small {
        match c {
            'þ' => letters.push_str("th"),
            _ if c.is_alphanumeric() => push_unless_umlaut(without_stroke(c), letters),
            _ => {}
        }
    }
}

/// The zeros of scripts that have digits of their own. In Unicode, 1 to 9 follow each zero.
const ZEROS: &str = "٠۰०০੦૦୦௦౦೦൦๐໐༠၀០᠐";

/// The ASCII digit for one of another script: `7` for `٧`. None for `七` and for a letter.
fn digit(c: char) -> Option<char> {
    ZEROS.chars().find_map(|zero| {
        let value = u32::from(c).checked_sub(zero.into())?;
        char::from_digit(value, 10)
    })
}

/// The letter that `c` is compared as: `l` for `ł`, which Unicode does not make of `l` and a
/// stroke. A letter that is not listed here is returned as it is.
fn without_stroke(c: char) -> char {
    match c {
        'ł' => 'l',
        'ø' | 'œ' => 'o',
        'æ' => 'a',
        'đ' | 'ð' => 'd',
        'ħ' => 'h',
        'ŧ' => 't',
        'ȷ' => 'j',
        'ĸ' => 'k',
        'ı' => 'i',
        'ґ' => 'г',
        'ی' | 'ى' => 'ي',
        'ک' => 'ك',
        other => other,
    }
}

/// Whether `c` separates two parts of a line.
///
/// Of ASCII, only these do: a comma, semicolon, round or square bracket, bar, `"` and
/// "`". Beyond ASCII, each sign does (`•`, `“`, `①`), but no letter, no sign that counts as one
/// (`℃` as `C`), no blank, nothing invisible, and no apostrophe or hyphen (`’`, `‐`).
pub(crate) fn is_separator(c: char) -> bool {
    if c.is_ascii() {
        return ",;()[]|\"`".contains(c);
    }
    // In Unicode, `①` is a number, and `ㆍ` a letter.
    if matches!(c, '①'..='⒛' | 'ㆍ') {
        return true;
    }
    let is_joint = "‘’‛′＇՚׳‐‑‒־֊－＿་".contains(c);
    let is_blank = c.is_whitespace() || is_invisible(c);
    !is_joint && !is_blank && !c.is_alphanumeric() && as_letter(c).is_none()
}

/// Whether a reader does not see `c` between two letters, or sees no character of its own there: a
/// soft hyphen, an accent, a filler. These are what Rust's `escape_debug` escapes, and accents. A
/// blank ends a word, and a character for private use may be an icon, so both are visible.
pub(crate) fn is_invisible(c: char) -> bool {
    let is_private_use = matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..);
    if c.is_ascii_graphic() || c.is_whitespace() || is_private_use {
        return false;
    }
    FILLERS.contains(c) || is_combining_mark(c) || c.escape_debug().len() > 1
}

/// Invisible characters that Rust does not escape: a line in a word, fillers of Hangul and braille,
/// half marks of kana, and the mark of an object.
const FILLERS: &str = "\u{640}\u{115f}\u{1160}\u{2800}\u{3164}\u{ff9e}\u{ff9f}\u{ffa0}\u{fffc}";

/// Scripts that put no blanks between words.
const UNSPACED_SCRIPTS: [RangeInclusive<char>; 8] = [
    // Thai and Lao.
    '\u{e00}'..='\u{eff}',
    // Burmese.
    '\u{1000}'..='\u{109f}',
    // Khmer.
    '\u{1780}'..='\u{17ff}',
    // Hiragana and katakana, and katakana of half a width.
    '\u{3040}'..='\u{30ff}',
    '\u{ff66}'..='\u{ff9d}',
    // Chinese characters.
    '\u{3400}'..='\u{9fff}',
    '\u{f900}'..='\u{faff}',
    '\u{20000}'..='\u{3ffff}',
];

/// Whether each letter is a word, as in Thai or Chinese: `木`, but no letter of Korean.
pub(crate) fn is_unspaced(c: char) -> bool {
    !c.is_ascii() && UNSPACED_SCRIPTS.iter().any(|script| script.contains(&c))
}

/// Whether `c` is a Chinese character. One that is there for older texts only counts as none.
pub(crate) fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}')
}
