//! Words: runs of letters and digits, in one case and one Unicode form.

use std::ops::Range;
use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// What begins an escape.
pub(crate) const ESCAPES: [char; 3] = ['\\', '%', '&'];

/// The points of a word that says nothing by itself.
pub(crate) const NOTHING: usize = 1;

/// Words that say nothing by themselves: the commonest of English, and those of every report.
const COMMON: [&str; 138] = [
    "a", "about", "above", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be",
    "because", "been", "before", "below", "but", "by", "can", "column", "could", "critical", "do",
    "does", "each", "error", "every", "false", "file", "files", "finding", "findings", "first",
    "folder", "for", "found", "from", "had", "has", "have", "he", "her", "here", "high", "his",
    "how", "i", "if", "in", "info", "into", "is", "it", "its", "last", "like", "line", "lines",
    "low", "major", "many", "match", "matches", "may", "medium", "minor", "more", "most", "must",
    "my", "name", "names", "never", "new", "no", "none", "not", "nothing", "number", "numbers",
    "of", "on", "one", "only", "or", "other", "our", "out", "over", "report", "row", "rule",
    "rules", "same", "see", "severity", "she", "should", "so", "some", "such", "text", "than",
    "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to",
    "true", "two", "under", "unless", "up", "use", "value", "was", "we", "were", "what", "when",
    "where", "which", "who", "why", "will", "with", "without", "would", "yes", "you", "your",
];

/// A word of a text.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    /// Where it stands in the text.
    pub(crate) at: Range<usize>,
    /// Where it stands among the words' letters.
    pub(crate) letters: Range<usize>,
    /// How much it says: a name or a number more than another word.
    pub(crate) points: usize,
    /// How many characters it has.
    pub(crate) size: usize,
    /// Whether it is one letter of a script that puts no blanks between words.
    pub(crate) is_alone: bool,
    /// How many digits it has.
    pub(crate) digits: usize,
    /// Whether it is all digits.
    pub(crate) is_number: bool,
    /// Whether anything stands between it and the word before it.
    pub(crate) has_gap: bool,
    /// Whether a colon does, as in `file:12:34`.
    pub(crate) has_colon: bool,
}

/// The characters of `text`, and where each stands. With `decode`, what JSON, HTML and URLs write
/// in place of a character counts as that character.
pub(crate) fn chars(text: &str, decode: bool) -> impl Iterator<Item = (char, Range<usize>)> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let rest = text.get(next..)?;
        let plain = || rest.chars().next().map(|c| (c, c.len_utf8()));
        let escaped = match rest.as_bytes().first()? {
            b'\\' if decode => backslash(rest),
            b'%' if decode => percent(rest),
            b'&' if decode => entity(rest),
            _ => None,
        };
        let (c, size) = escaped.or_else(plain)?;
        let at = next..next + size;
        next = at.end;
        Some((c, at))
    })
}

/// The words of `text`, and their letters, one word's after the other's.
pub(crate) fn words(text: &str, decode: bool) -> (String, Vec<Word>) {
    let (mut letters, mut words): (_, Vec<Word>) = (String::with_capacity(text.len()), Vec::new());
    let (mut has_gap, mut has_colon, mut is_inside) = (false, false, false);
    for (c, at) in chars(text, decode) {
        if !c.is_ascii() && is_invisible(c) {
            let word = words.last_mut().filter(|_| !has_gap);
            word.into_iter().for_each(|word| word.at.end = at.end);
            continue;
        }
        if !c.is_alphanumeric() {
            (has_gap, is_inside) = (true, false);
            has_colon |= matches!(c, ':' | '：');
            continue;
        }
        let is_alone = is_without_blanks(c);
        if !is_inside || is_alone {
            words.push(Word {
                at: at.clone(),
                letters: letters.len()..letters.len(),
                points: NOTHING + 1 + usize::from(c.is_uppercase()),
                size: 0,
                is_alone,
                digits: 0,
                is_number: true,
                has_gap,
                has_colon,
            });
            (has_gap, has_colon) = (false, false);
        }
        is_inside = !is_alone;
        if let Some(word) = words.last_mut() {
            word.at.end = at.end;
            word.size += 1;
            word.digits += usize::from(c.is_numeric());
            word.is_number &= c.is_numeric();
            fold(c, &mut letters);
            word.letters.end = letters.len();
        }
    }
    for word in &mut words {
        word.points = points(&letters, word);
    }
    (letters, words)
}

fn points(letters: &str, word: &Word) -> usize {
    let text = letters.get(word.letters.clone()).unwrap_or_default();
    match text.chars().next() {
        Some('\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}') => NOTHING + 1,
        _ if word.size < 2 => NOTHING,
        _ if COMMON.binary_search(&text).is_ok() => NOTHING,
        _ if word.digits > 0 => NOTHING + 2,
        _ => word.points,
    }
}

/// Adds the letters that `c` counts as: without case, accents and width.
fn fold(c: char, letters: &mut String) {
    if c.is_ascii() {
        return letters.push(c.to_ascii_lowercase());
    }
    decompose_compatible(c, |c| {
        // Unicode has no accent for a stroke.
        let c = match c {
            'Ł' | 'ł' => 'l',
            'Ø' | 'ø' => 'o',
            'Đ' | 'đ' => 'd',
            c => c,
        };
        // By way of the capital: ß and SS are then the same, and so are both small sigmas.
        let folded = c.to_uppercase().flat_map(char::to_lowercase);
        letters.extend(folded.filter(|c| c.is_alphanumeric() && !is_combining_mark(*c)));
    });
}

/// What a reader does not see between two letters, and an accent that is a character of its
/// own.
fn is_invisible(c: char) -> bool {
    is_combining_mark(c)
        || matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{feff}'
        )
        || matches!(c, '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{ff9e}'..='\u{ffa0}' | '\u{fff9}'..='\u{fffb}')
        || matches!(c, '\u{e0000}'..='\u{e0fff}')
}

/// Whether its script puts no blanks between words: Thai to Myanmar, Khmer, Chinese, Japanese.
/// Then each letter counts as a word.
pub(crate) fn is_without_blanks(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}')
        || matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
        || matches!(c, '\u{ff66}'..='\u{ff9d}' | '\u{20000}'..='\u{3ffff}')
}

/// `\n`, `\u00e9`, `\u{e9}`, `\xe9`, also with a backslash before each backslash. Where UTF-16 has
/// two units for a character, so may the text.
fn backslash(rest: &str) -> Option<(char, usize)> {
    let (unit, size) = code_unit(rest)?;
    if let Some(c) = char::from_u32(unit) {
        return Some((c, size));
    }
    let (second, more) = code_unit(rest.get(size..)?)?;
    let pair = [u16::try_from(unit).ok()?, u16::try_from(second).ok()?];
    let c = char::decode_utf16(pair).next()?.ok()?;
    Some((c, size + more))
}

fn code_unit(rest: &str) -> Option<(u32, usize)> {
    // Of more backslashes, the last ones count: without a limit, each would look at all the others.
    let slashes = rest.bytes().take(8).take_while(|b| *b == b'\\').count();
    let kind = rest.as_bytes().get(slashes).filter(|_| slashes > 0)?;
    let before = slashes + 1;
    let digits = rest.get(before..)?;
    let hex = |size: usize| Some((number(digits.get(..size)?, 16)?, before + size));
    match kind {
        b'n' | b'r' | b't' | b'b' | b'f' | b'v' => Some((u32::from(' '), before)),
        b'x' => hex(2),
        b'U' => hex(8),
        b'u' if digits.starts_with('{') => {
            let digits = digits.get(1..)?;
            let size = digits.find(|c: char| !c.is_ascii_hexdigit())?;
            let is_closed = digits.get(size..)?.starts_with('}');
            let code = number(digits.get(..size)?, 16).filter(|_| is_closed)?;
            Some((code, before + size + 2))
        }
        b'u' => hex(4),
        _ => None,
    }
}

/// `%C3%A9`
fn percent(rest: &str) -> Option<(char, usize)> {
    let byte = |index: usize| {
        let digits = rest.get(3 * index..)?.strip_prefix('%')?.get(..2)?;
        u8::from_str_radix(digits, 16).ok()
    };
    let bytes: Vec<_> = (0..4).map_while(byte).collect();
    let c = bytes.utf8_chunks().next()?.valid().chars().next()?;
    Some((c, 3 * c.len_utf8()))
}

/// `&#233;`, `&#xe9;`, `&eacute;`
fn entity(rest: &str) -> Option<(char, usize)> {
    let name = rest.get(1..)?;
    let size = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '#')?;
    let is_closed = name.get(size..)?.starts_with(';');
    let name = name.get(..size).filter(|_| is_closed)?;
    let c = match name.strip_prefix('#') {
        Some(digits) => char::from_u32(match digits.strip_prefix(['x', 'X']) {
            Some(digits) => number(digits, 16)?,
            None => number(digits, 10)?,
        })?,
        None => named(name),
    };
    Some((c, size + 2))
}

/// An accent does not count, so the letter before its name does. Other names are punctuation, or
/// not worth a table.
fn named(name: &str) -> char {
    match name {
        "shy" | "zwj" | "zwnj" | "lrm" | "rlm" => '\u{ad}',
        "quot" => '"',
        "szlig" => 'ß',
        _ => match name.get(1..) {
            Some(
                "acute" | "breve" | "caron" | "cedil" | "circ" | "grave" | "macr" | "ogon" | "ring"
                | "slash" | "strok" | "tilde" | "uml",
            ) => name.chars().next().unwrap_or(' '),
            _ => ' ',
        },
    }
}

fn number(digits: &str, radix: u32) -> Option<u32> {
    u32::from_str_radix(digits, radix).ok()
}
