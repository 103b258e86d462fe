//! Rust's text as tokens, and what they say of how much a line holds.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter::Sum,
    ops::Add,
};

/// A line with so many tokens, or more, is heavy.
const HEAVY: usize = 24;

/// What is counted of Rust files. Comments and blank lines count nowhere.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Measure {
    /// Words, numbers, literals, lifetimes, and each other character by itself.
    pub(crate) tokens: usize,
    /// Lines with a token, or a part of one.
    pub(crate) lines: usize,
    /// Lines with [`HEAVY`] tokens or more.
    pub(crate) heavy: usize,
    /// Closures that a `let` binds.
    pub(crate) closures: usize,
    /// `then_some`, and an index by `usize::from`.
    pub(crate) tricks: usize,
    /// Names that a `let` binds again from themselves, as in `let x = x.trim();`. A call of a
    /// function of that name is none.
    pub(crate) again: usize,
}

impl Measure {
    /// What is in this text of a Rust file.
    pub(crate) fn of(text: &str) -> Self {
        let tokens = tokens(text);
        // Of each line of code, the number of tokens that begin there.
        let mut lines = BTreeMap::<usize, usize>::new();
        for token in &tokens {
            *lines.entry(token.line).or_default() += 1;
            for line in 1..=token.text.matches('\n').count() {
                lines.entry(token.line + line).or_default();
            }
        }
        let words: Vec<&str> = tokens.iter().map(|token| token.text).collect();
        let starts = || (0..words.len()).map(|start| &words[start..]);
        Self {
            tokens: tokens.len(),
            lines: lines.len(),
            heavy: lines.values().filter(|count| **count >= HEAVY).count(),
            closures: starts().filter(|words| binds_closure(words)).count(),
            tricks: starts().filter(|words| is_trick(words)).count(),
            again: starts().filter(|words| binds_again(words)).count(),
        }
    }

    /// Tokens in a line of code.
    pub(crate) fn per_line(&self) -> f64 {
        self.share(self.tokens, 1.0)
    }

    /// How many there are of `count` in so many lines of code.
    pub(crate) fn share(&self, count: usize, lines: f64) -> f64 {
        lines * count as f64 / self.lines.max(1) as f64
    }
}

impl Add for Measure {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            tokens: self.tokens + other.tokens,
            lines: self.lines + other.lines,
            heavy: self.heavy + other.heavy,
            closures: self.closures + other.closures,
            tricks: self.tricks + other.tricks,
            again: self.again + other.again,
        }
    }
}

impl Sum for Measure {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}

/// The numbers of the lines on which the token `word` is, from 1 on.
pub(crate) fn lines_with(text: &str, word: &str) -> BTreeSet<usize> {
    let found = tokens(text).into_iter().filter(|token| token.text == word);
    found.map(|token| token.line).collect()
}

/// Whether these tokens begin with a `let` that binds a closure.
fn binds_closure(words: &[&str]) -> bool {
    let value = bound(words).map(|(_, value)| value);
    matches!(value, Some(["move", "|", ..] | ["|", ..]))
}

/// Whether these tokens begin with a `let` that binds a name again from itself.
fn binds_again(words: &[&str]) -> bool {
    match bound(words) {
        Some((name, [first, second, ..])) => name == *first && *second != "(",
        _ => false,
    }
}

fn is_trick(words: &[&str]) -> bool {
    matches!(
        words,
        ["then_some", ..] | ["[", "usize", ":", ":", "from", ..]
    )
}

/// If these tokens begin with a `let` of one name: the name, and the tokens of its value.
fn bound<'a>(words: &'a [&'a str]) -> Option<(&'a str, &'a [&'a str])> {
    let (name, rest) = match words {
        ["let", "mut", name, rest @ ..] | ["let", name, rest @ ..] => (*name, rest),
        _ => return None,
    };
    let end_of_type = match rest {
        ["=", ..] => 0,
        [":", ..] => rest.iter().position(|word| *word == "=")?,
        _ => return None,
    };
    Some((name, &rest[end_of_type + 1..]))
}

/// One token, and the line on which it begins.
struct Token<'a> {
    text: &'a str,
    line: usize,
}

/// The tokens of a Rust file, without its comments.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    let mut line = 1;
    while !rest.is_empty() {
        let (part, after) = rest.split_at(length(rest));
        let is_comment = part.starts_with("//") || part.starts_with("/*");
        if !is_comment && !part.trim().is_empty() {
            tokens.push(Token { text: part, line });
        }
        line += part.matches('\n').count();
        rest = after;
    }
    tokens
}

/// The length, in bytes, of the token, the comment or the blank character with which `rest`
/// begins.
fn length(rest: &str) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return rest.find("*/").map_or(rest.len(), |end| end + 2);
    }
    for prefix in ["r", "br", "cr"] {
        if let Some(length) = rest.strip_prefix(prefix).and_then(raw_string) {
            return prefix.len() + length;
        }
    }
    for prefix in ["", "b", "c"] {
        if let Some(length) = rest.strip_prefix(prefix).and_then(string) {
            return prefix.len() + length;
        }
    }
    for prefix in ["", "b"] {
        if let Some(length) = rest.strip_prefix(prefix).and_then(character) {
            return prefix.len() + length;
        }
    }
    let Some(first) = rest.chars().next() else {
        return 0;
    };
    if first.is_ascii_digit() {
        return number(rest);
    }
    if first == '\'' {
        return 1 + word(&rest[1..]);
    }
    // Any other character is a token by itself.
    word(rest).max(first.len_utf8())
}

/// The length of a raw string, from its hashes or its quote on.
fn raw_string(text: &str) -> Option<usize> {
    let body = text.trim_start_matches('#');
    let hashes = &text[..text.len() - body.len()];
    let end = format!("\"{hashes}");
    let length = body.strip_prefix('"')?.find(&end)?;
    Some(hashes.len() + 1 + length + end.len())
}

/// The length of a string, with its quotes.
fn string(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (place, c) in text.strip_prefix('"')?.char_indices() {
        if c == '"' && !is_escaped {
            return Some(1 + place + 1);
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    None
}

/// The length of a character, with its quotes. A lifetime is none.
fn character(text: &str) -> Option<usize> {
    let body = text.strip_prefix('\'')?;
    let mut places = body.char_indices();
    let (_, first) = places.next()?;
    if first == '\\' {
        places.next()?;
        let (after, _) = places.next()?;
        let length = after + body[after..].find('\'')?;
        return Some(1 + length + 1);
    }
    let (length, second) = places.next()?;
    if second != '\'' {
        return None;
    }
    Some(1 + length + 1)
}

/// The length of a number, with what follows its point if that is a digit.
fn number(text: &str) -> usize {
    let whole = word(text);
    match &text.as_bytes()[whole..] {
        [b'.', digit, ..] if digit.is_ascii_digit() => whole + 1 + word(&text[whole + 1..]),
        _ => whole,
    }
}

/// The length of the word with which `text` begins.
fn word(text: &str) -> usize {
    let is_outside = |c: char| !c.is_alphanumeric() && c != '_';
    text.find(is_outside).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::{Measure, tokens};

    fn texts(text: &str) -> Vec<&str> {
        tokens(text).iter().map(|token| token.text).collect()
    }

    #[test]
    fn a_literal_is_one_token_and_a_comment_is_none() {
        for literal in [
            r#""a \" b // c""#,
            r##"r#"a " b"#"##,
            r#"br"a\""#,
            r#"c"a""#,
            r"'\''",
            r"b'\\'",
            r"'\u{41}'",
            "'\"'",
            "'static",
            "1_000.5e3",
            "0xff",
            "\"a\nb\"",
        ] {
            let text = format!("f({literal}) /* g( */ // h(");
            assert_eq!(texts(&text), ["f", "(", literal, ")"]);
        }
        assert_eq!(texts("0..9"), ["0", ".", ".", "9"]);
        assert_eq!(texts("r#type"), ["r", "#", "type"]);
        assert_eq!(texts("a::b"), ["a", ":", ":", "b"]);
    }

    #[test]
    fn each_thing_that_is_counted_is_found_and_no_other() {
        let lines = |text| Measure::of(text).lines;
        assert_eq!(lines("// a\n\nlet a = \"\n\n\";\n"), 3);
        let heavy = |text: &str| Measure::of(text).heavy;
        assert_eq!(heavy(&"x ".repeat(23)), 0);
        assert_eq!(heavy(&"x ".repeat(24)), 1);

        let closures = |text| Measure::of(text).closures;
        assert_eq!(closures("let f = |x| x;"), 1);
        assert_eq!(closures("let mut f: &dyn Fn() = move || 1;"), 1);
        assert_eq!(closures("let f = any(|x| x); let (g, h) = (1, 2);"), 0);

        let again = |text| Measure::of(text).again;
        assert_eq!(again("let x = x.trim();"), 1);
        assert_eq!(again("let mut x: &str = x;"), 1);
        assert_eq!(again("let x = x(1); let x = xs.len(); let y = x;"), 0);

        let tricks = |text| Measure::of(text).tricks;
        assert_eq!(tricks("a.then_some(b); [1, 2][usize::from(c)]"), 2);
        assert_eq!(tricks("a.then(|| b); usize::from(c)"), 0);
    }
}
