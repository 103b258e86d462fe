//! What JSON, HTML and URLs write in place of a character.

use std::iter;
use std::ops::Range;

/// An escape begins with one of these.
pub(crate) const ESCAPES: [char; 3] = ['\\', '%', '&'];

/// A character that counts as nothing, as each one that a reader does not see.
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

/// The first character, decoded if an escape stands for it, and what is behind it. An empty text
/// has none.
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

/// The character of `\n`, `\u00e9`, `\u{e9}` or `\xe9`, also with a backslash before each
/// backslash, and what is behind it. `\d` has none.
///
/// Where UTF-16 has two units for a character, so may the text: `\ud83d\ude00`. One of the two
/// alone is no character.
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

/// The number of the escape that the text begins with, and what is behind it: 0xe9 for `\xe9`,
/// `\u00e9`, `\u{e9}` and `\U000000e9`, and a blank's number for `\n`, `\t` or the like. Up to
/// eight backslashes may stand in place of one.
///
/// None for a text without a backslash at its start, for `\u00e`, which is too short, and for `\d`,
/// which is no escape.
fn code_unit(text: &str) -> Option<(u32, &str)> {
    // Of more than eight backslashes, the last eight count. To look at all of them for each of them
    // would take too long.
    let slashes = text.bytes().take(8).take_while(|b| *b == b'\\').count();
    if slashes == 0 {
        return None;
    }
    let kind = text.as_bytes().get(slashes)?;
    let rest = text.get(slashes + 1..)?;
    let digits_wanted = match kind {
        b'n' | b'r' | b't' | b'b' | b'f' | b'v' => return Some((' '.into(), rest)),
        b'u' if rest.starts_with('{') => {
            let brace = rest.bytes().take(12).position(|byte| byte == b'}')?;
            return Some((hex(rest.get(1..brace)?)?, rest.get(brace + 1..)?));
        }
        b'x' => 2,
        b'u' => 4,
        b'U' => 8,
        _ => return None,
    };
    let (digits, behind) = rest.split_at_checked(digits_wanted)?;
    Some((hex(digits)?, behind))
}

/// The number with these digits: 0xe9 for `e9`. `g` is none.
fn hex(digits: &str) -> Option<u32> {
    u32::from_str_radix(digits, 16).ok()
}

/// The character whose bytes a URL writes so, and what is behind it: `é` for `%C3%A9`. `%C3` alone
/// is none.
fn percent(text: &str) -> Option<(char, &str)> {
    // A character has up to four bytes.
    let bytes: Vec<u8> = (0..4)
        .map_while(|index| percent_byte(text.get(3 * index..)?))
        .collect();
    let c = bytes.utf8_chunks().next()?.valid().chars().next()?;
    Some((c, text.get(3 * c.len_utf8()..)?))
}

/// The byte that the text begins with: 0xc3 for `%C3`. `%G1` is none.
fn percent_byte(text: &str) -> Option<u8> {
    let digits = text.strip_prefix('%')?.get(..2)?;
    u8::from_str_radix(digits, 16).ok()
}

/// The character of `&#233;`, `&#xe9;` or `&eacute;`, and what is behind it. `&eacute` is none: it
/// has no end.
fn entity(text: &str) -> Option<(char, &str)> {
    let end = text.bytes().take(16).position(|byte| byte == b';')?;
    let name = text.get(1..end)?;
    let c = match name.strip_prefix('#') {
        Some(number) => numbered(number)?,
        None => named(name)?,
    };
    Some((c, text.get(end + 1..)?))
}

/// The character with this number: `é` for `233` and `xe9`. `x110000` is too large.
fn numbered(number: &str) -> Option<char> {
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) => hex(digits),
        None => number.parse().ok(),
    };
    char::from_u32(code?)
}

/// The character with this name in HTML: `ß` for `szlig`. Of a letter with an accent, it is the
/// letter, as accents do not count: `e` for `eacute`. For a character that nobody sees, as `shy`,
/// it is [`UNSEEN`]. Any other name of ASCII letters and digits counts as a blank, as `nbsp` is.
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
            if is_accent(behind) {
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

/// Whether HTML names an accent so, behind the letter that has it: `acute` of `eacute`.
fn is_accent(name: &str) -> bool {
    ACCENTS.contains(&name)
}

const ACCENTS: [&str; 20] = [
    "acute", "apos", "breve", "caron", "cedil", "circ", "dblac", "dot", "grave", "green", "macr",
    "math", "midot", "nodot", "ogon", "ring", "slash", "strok", "tilde", "uml",
];
