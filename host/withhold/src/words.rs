//! Words: runs of letters and digits, in one case and one Unicode form.

use crate::list::rank;
use std::ops::Range;
use unicode_normalization::char::{decompose_compatible, is_combining_mark};

pub(crate) const ESCAPES: [char; 3] = ['\\', '%', '&'];

/// The points of a word that says nothing by itself.
pub(crate) const NOTHING: usize = 1;

/// Without a country's code, a phone number has so many digits.
pub(crate) const PHONE: usize = 8;

#[derive(Clone, Debug, Default)]
pub(crate) struct Word {
    /// Where it stands in the text.
    pub(crate) at: Range<usize>,
    /// What counts of it, without case, accents and width.
    pub(crate) letters: String,
    /// How much it says: a name or a number more than another word.
    pub(crate) points: usize,
    /// What the list says: less than `2` of an ordinary word.
    pub(crate) rank: Option<u8>,
    /// How many characters it has, and how many digits.
    pub(crate) size: usize,
    pub(crate) digits: usize,
    pub(crate) is_number: bool,
    pub(crate) is_capital: bool,
    /// Whether it is one letter of a script that puts no blanks between words.
    pub(crate) is_alone: bool,
    /// Whether anything stands before it, or a blank.
    pub(crate) has_gap: bool,
    pub(crate) has_blank: bool,
}

impl Word {
    /// Whether it can be a name: it has four letters or more, and the list does not have it.
    pub(crate) fn is_rare(&self) -> bool {
        let is_long = self.letters.len() > 3 && self.size > 2;
        self.rank.is_none() && self.digits == 0 && !self.is_alone && is_long
    }

    /// Its letters, and of a number also without zeros or a country's code: up to four digits.
    pub(crate) fn starts(&self) -> impl Iterator<Item = &str> {
        let is_long = self.is_number && (self.size > PHONE || self.letters.starts_with('0'));
        let most = usize::from(is_long) * 4.min(self.letters.len().saturating_sub(1));
        (0..=most).map(|size| self.letters.get(size..).unwrap_or_default())
    }

    fn rate(&mut self, text: &str) {
        self.rank = match self.size {
            0..2 => Some(b'0'),
            _ if self.digits > 0 || !text.is_ascii() => None,
            _ => rank(text),
        };
        self.points = match text.chars().next() {
            Some('\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}') => NOTHING + 1,
            _ if self.rank == Some(b'0') => NOTHING,
            _ if self.digits > 0 || self.is_capital => NOTHING + 2,
            _ => NOTHING + 1,
        };
    }
}

/// The characters of `text`, and where each stands. With `decode`, what JSON, HTML and URLs write
/// in place of a character counts as that character.
fn chars(text: &str, decode: bool) -> impl Iterator<Item = (char, Range<usize>)> {
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

pub(crate) fn words(text: &str, decode: bool) -> Vec<Word> {
    let mut words = Vec::<Word>::new();
    // What stands before the next word.
    let mut gap = Word::default();
    // The letter before, if the next one may belong to its word.
    let mut last = None::<char>;
    for (c, at) in chars(text, decode) {
        if is_invisible(c) {
            let word = words.last_mut().filter(|_| !gap.has_gap);
            word.into_iter().for_each(|word| word.at.end = at.end);
            continue;
        }
        let is_note = last.is_some_and(char::is_alphabetic) && "⁰¹²³⁴⁵⁶⁷⁸⁹".contains(c);
        let Some(c) = letter(c).filter(|_| !is_note) else {
            (gap.has_gap, last) = (true, None);
            gap.has_blank |= c.is_whitespace();
            continue;
        };
        let is_alone = is_without_blanks(c);
        let is_new = |last: char| last.is_lowercase() && c.is_uppercase();
        if is_alone || last.is_none_or(is_new) {
            let mut word = std::mem::take(&mut gap);
            (word.is_capital, word.is_alone, word.is_number) = (c.is_uppercase(), is_alone, true);
            word.at = at.clone();
            words.push(word);
        }
        last = Some(c).filter(|_| !is_alone);
        if let Some(word) = words.last_mut() {
            word.at.end = at.end;
            word.size += 1;
            word.digits += usize::from(c.is_numeric());
            word.is_number &= c.is_numeric();
            fold(c, &mut word.letters);
        }
    }
    for word in &mut words {
        word.rate(text.get(word.at.clone()).unwrap_or_default());
    }
    words
}

/// The letter or digit that `c` is, or the only one that it is made of. An apostrophe is none,
/// also where Unicode has a letter for it.
fn letter(c: char) -> Option<char> {
    if c.is_ascii() || c.is_alphanumeric() {
        let is_apostrophe = matches!(c, '\u{2b9}'..='\u{2bf}' | '\u{a78b}' | '\u{a78c}' | 'ㆍ');
        return Some(c).filter(|c| c.is_alphanumeric() && !is_apostrophe);
    }
    let mut letters = Vec::new();
    decompose_compatible(c, |c| letters.push(c));
    letters.retain(|c| c.is_alphanumeric());
    letters.pop().filter(|_| letters.is_empty())
}

/// The zeros of scripts that have digits of their own.
const ZEROS: &str = "٠۰०০੦૦୦௦౦೦൦๐໐༠၀០᠐";

/// Adds the letters that `c` counts as to those of its word: without case, accents and width. An
/// `e` behind `a`, `o` or `u` does not count: it may stand for two dots.
fn fold(c: char, letters: &mut String) {
    let mut add = |c: char| {
        if c != 'e' || !letters.ends_with(['a', 'o', 'u']) {
            letters.push(c);
        }
    };
    if c.is_ascii() {
        return add(c.to_ascii_lowercase());
    }
    let digit = |zero| char::from_digit(u32::from(c).checked_sub(zero)?, 10);
    if let Some(digit) = ZEROS.chars().map(u32::from).find_map(digit) {
        return add(digit);
    }
    decompose_compatible(c, |c| {
        // By way of the capital: ß and SS are then the same, and so are both small sigmas. Before
        // that, by way of the small letter: a capital ß is its own capital. Some accents have one.
        let folded = c.to_lowercase().flat_map(char::to_uppercase);
        let folded = folded.flat_map(char::to_lowercase);
        let folded = folded.filter(|small| small.is_alphanumeric() && !is_combining_mark(c));
        let mut shapes = SHAPES.0.chars().zip(SHAPES.1.chars());
        let shape = |c| shapes.find(|(from, _)| *from == c).map_or(c, |(_, to)| to);
        folded.map(shape).for_each(&mut add);
    });
}

/// Letters of another shape, and what each counts as. Unicode has no accent for a stroke.
const SHAPES: (&str, &str) = ("łøœæđħŧȷĸıґیىک", "looadhtjkiгييك");

/// Whether it ends a part of a line: no blank, apostrophe or hyphen does, and little of ASCII.
pub(crate) fn is_mark(c: char) -> bool {
    let is_joint = |c| "‘’‛′＇՚׳‐‑‒־֊－＿་".contains(c) || is_invisible(c) || c.is_whitespace();
    let is_other = |c: char| !c.is_ascii() && !c.is_alphanumeric() && letter(c).is_none();
    ",;()[]|\"`".contains(c) || matches!(c, '①'..='⒛' | 'ㆍ') || is_other(c) && !is_joint(c)
}

/// What a reader does not see between two letters: an accent, what Rust would not print but for
/// private use, such as an icon, then a line in a word, fillers of Hangul, and half marks of kana.
fn is_invisible(c: char) -> bool {
    let is_private = matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..);
    let is_other =
        "\u{640}\u{115f}\u{1160}\u{2800}\u{3164}\u{ff9e}\u{ff9f}\u{ffa0}\u{fffc}".contains(c);
    let is_mark = || is_other || is_combining_mark(c) || c.escape_debug().len() > 1;
    !c.is_ascii_graphic() && !c.is_whitespace() && !is_private && is_mark()
}

/// Whether its script puts no blanks between words, as Thai or Chinese: each letter is a word.
fn is_without_blanks(c: char) -> bool {
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
    Some((char::decode_utf16(pair).next()?.ok()?, size + more))
}

fn code_unit(rest: &str) -> Option<(u32, usize)> {
    // Of more backslashes, the last ones count: without a limit, each would look at all the others.
    let slashes = rest.bytes().take(8).take_while(|b| *b == b'\\').count();
    let kind = rest.as_bytes().get(slashes).filter(|_| slashes > 0)?;
    let digits = rest.get(slashes + 1..)?;
    let end = digits.bytes().take(12).position(|byte| byte == b'}');
    let at = match kind {
        b'n' | b'r' | b't' | b'b' | b'f' | b'v' => return Some((u32::from(' '), slashes + 1)),
        b'u' if digits.starts_with('{') => 1..end?,
        b'x' => 0..2,
        b'u' => 0..4,
        b'U' => 0..8,
        _ => return None,
    };
    // Where there is a brace before the digits, there is one behind them.
    let size = slashes + 1 + at.start + at.end;
    Some((u32::from_str_radix(digits.get(at)?, 16).ok()?, size))
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

/// `&#233;`, `&#xe9;`, `&eacute;`. An accent does not count, so the letter before its name does.
/// Other names are in a table, or count as a blank.
fn entity(rest: &str) -> Option<(char, usize)> {
    let size = rest.bytes().take(16).position(|byte| byte == b';')?;
    let (name, accent) = (rest.get(1..size)?, rest.get(2..size)?);
    let accents = "acute apos breve caron cedil circ dblac dot grave green macr math midot nodot ogon ring slash strok tilde uml";
    let names = "szlig eth thorn aelig oelig eng ijlig filig fflig ffilig fllig ffllig shy zwj zwnj lrm rlm NoBreak ZeroWidthSpace";
    let chars = "ßðþæœŋĳﬁﬀﬃﬂﬄ\u{ad}\u{ad}\u{ad}\u{ad}\u{ad}\u{ad}\u{ad}";
    let mut known = names.split(' ').zip(chars.chars());
    let known = known.find(|(known, _)| known.eq_ignore_ascii_case(name));
    let hex = name.strip_prefix("#x").or(name.strip_prefix("#X"));
    let code = match (hex, name.strip_prefix('#'), known) {
        (Some(digits), ..) => u32::from_str_radix(digits, 16).ok()?,
        (_, Some(digits), _) => digits.parse().ok()?,
        (.., Some((_, c))) => c.into(),
        _ if accents.split(' ').any(|known| known == accent) => name.chars().next()?.into(),
        _ => Some(0x20).filter(|_| name.bytes().all(|byte| byte.is_ascii_alphanumeric()))?,
    };
    Some((char::from_u32(code)?, size + 1))
}
