//! What a character counts as: a letter, a mark between words, or nothing.

use std::ops::RangeInclusive;
use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// The letter or digit that `c` counts as: a letter or digit as itself, as `é`, and a sign that is
/// made of one letter or digit as this one: `C` for `℃`. None for `-`, for `㎏`, which is made of
/// two letters, and for an apostrophe, even one that is a letter in Unicode.
pub(crate) fn as_letter(c: char) -> Option<char> {
    if is_apostrophe(c) {
        return None;
    }
    if c.is_alphanumeric() {
        return Some(c);
    }
    let (mut only, mut count) = (None, 0);
    decompose_compatible(c, |part| {
        if part.is_alphanumeric() {
            only = Some(part);
            count += 1;
        }
    });
    only.filter(|_| count == 1)
}

/// Whether people see an apostrophe or a dot where Unicode has a letter: `ʼ` and `ㆍ`. `'` is no
/// letter in Unicode either.
fn is_apostrophe(c: char) -> bool {
    matches!(c, '\u{2b9}'..='\u{2bf}' | '\u{a78b}' | '\u{a78c}' | 'ㆍ')
}

/// Adds the letters that `c` counts as to those of its word: without case, accents and width. For
/// `É` this is `e`, for `ß` it is `ss`.
pub(crate) fn push_folded(c: char, letters: &mut String) {
    if c.is_ascii() {
        push_unless_umlaut(c.to_ascii_lowercase(), letters);
    } else if let Some(digit) = digit(c) {
        push_unless_umlaut(digit, letters);
    } else {
        decompose_compatible(c, |part| fold_part(part, letters));
    }
}

/// Adds the letter, unless it is an `e` behind `a`, `o` or `u`: that may stand for two dots.
fn push_unless_umlaut(letter: char, letters: &mut String) {
    if letter != 'e' || !letters.ends_with(['a', 'o', 'u']) {
        letters.push(letter);
    }
}

/// Adds the letters that one character counts as, `part`, which is not made of other characters:
/// without case, and without the stroke of `ł`. For `þ`, these are `th`. An accent or a sign adds
/// nothing, and neither does an `e` behind `a`, `o` or `u`.
fn fold_part(part: char, letters: &mut String) {
    if is_combining_mark(part) {
        return;
    }
    // Small, capital, and small again. In capitals, ß and SS are the same, and so are both small
    // sigmas. A capital ß has no other capital, so it must be small before.
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

/// The zeros of scripts that have digits of their own.
const ZEROS: &str = "٠۰०০੦૦୦௦౦೦൦๐໐༠၀០᠐";

/// The ASCII digit for one of another script: `7` for `٧`. `七` has none.
fn digit(c: char) -> Option<char> {
    ZEROS.chars().find_map(|zero| {
        let value = u32::from(c).checked_sub(zero.into())?;
        char::from_digit(value, 10)
    })
}

/// The letter that `c` counts as: `l` for `ł`, since Unicode has no accent for a stroke. A letter
/// that is not listed here counts as itself.
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

/// Whether `c` separates two parts of a line, as `,` and `•` do. Of ASCII, few characters do, and
/// not `.`. Any other character does, unless it counts as a letter, is invisible, or is a blank, an
/// apostrophe or a hyphen.
pub(crate) fn is_separator(c: char) -> bool {
    if c.is_ascii() {
        return ",;()[]|\"`".contains(c);
    }
    // These do, although in Unicode `①` is a number, and `ㆍ` a letter.
    if matches!(c, '①'..='⒛' | 'ㆍ') {
        return true;
    }
    let is_joint = "‘’‛′＇՚׳‐‑‒־֊－＿་".contains(c);
    let is_blank = c.is_whitespace() || is_invisible(c);
    // `℃` counts as the letter `C`.
    !is_joint && !is_blank && !c.is_alphanumeric() && as_letter(c).is_none()
}

/// Whether a reader does not see `c` between two letters: an accent, or what Rust would not print
/// (but for private use, which may be an icon). A blank ends a word, so it is none of these.
pub(crate) fn is_invisible(c: char) -> bool {
    let is_private_use = matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..);
    if c.is_ascii_graphic() || c.is_whitespace() || is_private_use {
        return false;
    }
    FILLERS.contains(c) || is_combining_mark(c) || c.escape_debug().len() > 1
}

/// What Rust would print: a line in a word, fillers of Hangul and braille, half marks of kana, and
/// what stands for an object.
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
