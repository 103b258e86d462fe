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
    /// Whether it begins with a capital letter.
    is_capital: bool,
    /// How much it says: a name or a number more than another word.
    pub(crate) points: usize,
    /// How many digits it has.
    pub(crate) digits: usize,
    /// Whether it is all digits.
    pub(crate) is_number: bool,
    /// What stands between it and the word before it.
    pub(crate) gap: Gap,
}

/// What stands between two words.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gap {
    /// Nothing, if false: some scripts write words without blanks.
    pub(crate) is_seen: bool,
    /// A colon, as in `file:12:34`.
    pub(crate) has_colon: bool,
    /// The end of a line.
    pub(crate) has_line_end: bool,
}

/// The words of `text`, and their letters, one word's after the other's. With `decode`, what
/// JSON, HTML and URLs write in place of a character counts as that character.
pub(crate) fn words(text: &str, decode: bool) -> (String, Vec<Word>) {
    let (mut letters, mut words): (_, Vec<Word>) = (String::with_capacity(text.len()), Vec::new());
    let mut gap = Gap::default();
    let mut is_inside = false;
    let mut next = 0;
    while let Some(rest) = text.get(next..).filter(|rest| !rest.is_empty()) {
        let plain = || rest.chars().next().map(|c| (c, c.len_utf8()));
        let escaped = decode.then(|| escaped(rest)).flatten();
        let Some((c, size)) = escaped.or_else(plain) else {
            break;
        };
        let at = next..next + size;
        next = at.end;
        if is_invisible(c) {
            continue;
        }
        if !c.is_alphanumeric() {
            gap.is_seen = true;
            gap.has_colon |= matches!(c, ':' | '：');
            gap.has_line_end |= c == '\n';
            is_inside = false;
            continue;
        }
        let is_alone = is_without_blanks(c);
        if !is_inside || is_alone {
            words.push(Word {
                at: at.clone(),
                letters: letters.len()..letters.len(),
                is_capital: c.is_uppercase(),
                points: NOTHING,
                digits: 0,
                is_number: true,
                gap,
            });
            gap = Gap::default();
        }
        is_inside = !is_alone;
        if let Some(word) = words.last_mut() {
            word.at.end = at.end;
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
        _ if text.len() < 2 => NOTHING,
        _ if COMMON.binary_search(&text).is_ok() => NOTHING,
        Some('\u{3400}'..='\u{9fff}') => NOTHING + 1,
        Some(c) if is_without_blanks(c) => NOTHING,
        _ if word.is_capital || word.digits > 0 => NOTHING + 2,
        _ => NOTHING + 1,
    }
}

/// Adds the letters that `c` counts as: without case, accents and width.
fn fold(c: char, letters: &mut String) {
    if c.is_ascii() {
        return letters.push(c.to_ascii_lowercase());
    }
    decompose_compatible(c, |c| {
        // By way of the capital: ß and SS are then the same, and so are both small sigmas.
        let folded = c.to_uppercase().flat_map(char::to_lowercase);
        letters.extend(folded.filter(|c| c.is_alphanumeric() && !is_combining_mark(*c)));
    });
}

/// What a reader does not see between two letters, and an accent that is a character of its
/// own.
fn is_invisible(c: char) -> bool {
    !c.is_ascii()
        && (matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
            || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}')
            || is_combining_mark(c))
}

/// Whether its script puts no blanks between words: Thai to Myanmar, Khmer, Chinese, Japanese.
/// Then each letter counts as a word.
fn is_without_blanks(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}')
        || matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
        || matches!(c, '\u{20000}'..='\u{3ffff}')
}

/// The character that an escape at the beginning of `rest` stands for, and the escape's size.
fn escaped(rest: &str) -> Option<(char, usize)> {
    match rest.as_bytes().first()? {
        b'\\' => backslash(rest),
        b'%' => percent(rest),
        b'&' => entity(rest),
        _ => None,
    }
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
