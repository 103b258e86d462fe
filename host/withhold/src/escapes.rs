//! What JSON, HTML and URLs write in place of a character.

use std::iter;
use std::ops::Range;

/// An escape begins with one of these.
pub(crate) const ESCAPES: [char; 3] = ['\\', '%', '&'];

/// A soft hyphen. Like each character that a reader does not see, it counts as nothing.
const UNSEEN: char = '\u{ad}';

/// The characters of `text` and where each stands, with escapes decoded.
///
/// Of `a%2Db`, these are `a` at 0..1, `-` at 1..4 and `b` at 4..5. `100% sure` has no escape.
pub(crate) fn decoded(text: &str) -> impl Iterator<Item = (char, Range<usize>)> {
    let mut rest = text;
    iter::from_fn(move || {
        let (c, behind) = first_decoded(rest)?;
        let at = text.len() - rest.len()..text.len() - behind.len();
        rest = behind;
        Some((c, at))
    })
}

/// The first character of the text and what is behind it; or the character of the escape that the
/// text begins with, and what is behind the escape: `-` and `b` for `%2Db`, `1` and `00%` for
/// `100%`, and `%` and ` sure` for `% sure`. None for an empty text.
fn first_decoded(text: &str) -> Option<(char, &str)> {
    let mut chars = text.chars();
    let c = chars.next()?;
    let decoded = match c {
        '\\' => backslash(text),
        '%' => percent(text),
        '&' => entity(text),
        _ => None,
    };
    Some(decoded.unwrap_or((c, chars.as_str())))
}

/// The character of the escape with a backslash that the text begins with, and what is behind the
/// escape: `é` for `\u00e9`, `\u{e9}`, `\xe9` and `\\u00e9`, a blank for `\n`, and `😀` for
/// `\ud83d\ude00`, its two units in UTF-16.
///
/// None if the text begins with no escape (`\d`), with one of these two units alone, or with a
/// number that no character has (`\u{110000}`).
fn backslash(text: &str) -> Option<(char, &str)> {
    let (unit, behind) = code_unit(text)?;
    if let Some(c) = char::from_u32(unit) {
        return Some((c, behind));
    }
    let (second, behind_both) = code_unit(behind)?;
    let pair = [unit.try_into().ok()?, second.try_into().ok()?];
    let c = char::decode_utf16(pair).next()?.ok()?;
    Some((c, behind_both))
}

/// The number of the escape that the text begins with, and what is behind the escape: 0xe9 for
/// `\xe9`, `\u00e9`, `\u{e9}` and `\U000000e9`, and 0x20, a blank's, for `\n`, `\t` and the like.
/// Up to eight backslashes may stand in place of one.
///
/// None for a text without a backslash at its start, for `\u00e`, which is too short, for `\xeg`,
/// which has no hexadecimal number, and for `\d`, which is no escape.
fn code_unit(text: &str) -> Option<(u32, &str)> {
    // Each backslash of a long row is looked at in turn, and only eight from there on: to look at
    // all of them would take too long. Of more than eight, only the last eight are in the escape.
    let slashes = text.bytes().take(8).take_while(|b| *b == b'\\').count();
    if slashes == 0 {
        return None;
    }
    let kind = text.as_bytes().get(slashes)?;
    let behind_kind = text.get(slashes + 1..)?;
    let digits_wanted = match kind {
        b'n' | b'r' | b't' | b'b' | b'f' | b'v' => return Some((' '.into(), behind_kind)),
        b'u' if behind_kind.starts_with('{') => {
            let brace = behind_kind.bytes().take(12).position(|byte| byte == b'}')?;
            let digits = behind_kind.get(1..brace)?;
            return Some((hex(digits)?, behind_kind.get(brace + 1..)?));
        }
        b'x' => 2,
        b'u' => 4,
        b'U' => 8,
        _ => return None,
    };
    let (digits, behind) = behind_kind.split_at_checked(digits_wanted)?;
    Some((hex(digits)?, behind))
}

/// The number with these hexadecimal digits: 0xe9 for `e9`. None for `g` and for no digit.
fn hex(digits: &str) -> Option<u32> {
    u32::from_str_radix(digits, 16).ok()
}

/// The character of the escape of a URL that the text begins with, and what is behind the escape:
/// `é` for `%C3%A9`, its two bytes in UTF-8. None for `%C3` alone.
fn percent(text: &str) -> Option<(char, &str)> {
    // A character has up to four bytes.
    let bytes: Vec<u8> = (0..4)
        .map_while(|index| percent_byte(text.get(3 * index..)?))
        .collect();
    let c = bytes.utf8_chunks().next()?.valid().chars().next()?;
    Some((c, text.get(3 * c.len_utf8()..)?))
}

/// The byte that the text begins with: 0xc3 for `%C3`. None for `%G1`.
fn percent_byte(text: &str) -> Option<u8> {
    let digits = text.strip_prefix('%')?.get(..2)?;
    u8::from_str_radix(digits, 16).ok()
}

/// The character of the escape of HTML that the text begins with, and what is behind the escape:
/// `é` for `&#233;` and `&#xe9;`, and `e` for `&eacute;`. None for `&eacute`, which has no `;`
/// within 16 bytes.
fn entity(text: &str) -> Option<(char, &str)> {
    let end = text.bytes().take(16).position(|byte| byte == b';')?;
    let name = text.get(1..end)?;
    let c = match name.strip_prefix('#') {
        Some(number) => numbered(number)?,
        None => named(name)?,
    };
    Some((c, text.get(end + 1..)?))
}

/// The character with this number: `é` for `233` and `xe9`. None for `x110000`, which is too large.
fn numbered(number: &str) -> Option<char> {
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) => hex(digits),
        None => number.parse().ok(),
    };
    char::from_u32(code?)
}

/// The character with this name in HTML:
///
/// - `ß` for `szlig`, and other letters that have a name of their own, in any case;
/// - `e` for `eacute`: of a letter with an accent, the letter, as accents do not count;
/// - [`UNSEEN`], which counts as nothing, for a character that nobody sees, as `shy`;
/// - a blank for any other name of ASCII letters and digits, as `nbsp` and `quot`.
///
/// None for `a=1&b`, which is no name, and for an empty text.
fn named(name: &str) -> Option<char> {
    let c = match &*name.to_ascii_lowercase() {
        "szlig" => 'ß',
        "eth" => 'ð',
        "thorn" => 'þ',
        "aelig" => 'æ',
        "oelig" => 'œ',
        "eng" => 'ŋ',
        "ijlig" => 'ĳ',
        "filig" => 'ﬁ',
        "fflig" => 'ﬀ',
        "ffilig" => 'ﬃ',
        "fllig" => 'ﬂ',
        "ffllig" => 'ﬄ',
        "shy" | "zwj" | "zwnj" | "lrm" | "rlm" | "nobreak" | "zerowidthspace" => UNSEEN,
        _ => {
            let (letter, behind) = name.split_at_checked(1)?;
            if ACCENTS.contains(&behind) {
                letter.chars().next()?
            } else if name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                ' '
            } else {
                return None;
            }
        }
    };
    Some(c)
}

/// How HTML names accents, behind the letter that has the accent: `acute` in `eacute`.
const ACCENTS: [&str; 20] = [
    "acute", "apos", "breve", "caron", "cedil", "circ", "dblac", "dot", "grave", "green", "macr",
    "math", "midot", "nodot", "ogon", "ring", "slash", "strok", "tilde", "uml",
];
