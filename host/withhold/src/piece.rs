//! What stands in one line, item or cell of a document, and which of its words are values.

use crate::label::{ENDS_LABEL, Labelled, count_words, is_id, labelled, rule_id};
use crate::list::{Rank, is_field};
use crate::markdown::without_marker;
use crate::parts::{first_part, parts};
use crate::values::{SHORT_PART, Values};
use crate::words::{Word, words_in};

/// A label of more words is the start of a sentence, such as `Never mention the two codes:`.
const LABEL: usize = 4;

/// The most words of a term that an item explains.
const MAX_TERM: usize = 5;

/// So many words behind a term, or more, explain it: `Bluebell: the second will`.
const EXPLANATION: usize = 3;

/// What a line, item or cell is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It names what stands below or beside it: only names in it are values.
    Label,
    /// An item, cell or line of code, which may begin with a term and explain it.
    Item,
    /// Another line.
    Text,
}

/// Adds the values of this line, item or cell: of `Phone: 1 555 0100`, the number, but not the
/// label.
pub(crate) fn add_piece(values: &mut Values, text: &str, role: Role) {
    let piece = Piece::of(text);
    // Behind a label such as `id:`, a rule's name follows.
    if let Some(rule) = piece.rule {
        values.add_id(piece.words_of(rule));
    }
    let label_words = match role {
        Role::Label => &piece.words,
        Role::Item | Role::Text => piece.words_of(piece.label),
    };
    let is_sentence = count_words(piece.label) > LABEL;
    let is_name = label_words.len() > 1 && label_words.iter().all(Word::is_like_a_name);
    if is_sentence || is_name {
        values.add_names(label_words);
    }
    values.add_quotations(&piece.words, label_words.len());
    values.add_codes(&piece.words);
    values.add_dates(&piece.words);
    if role == Role::Label {
        return;
    }
    values.add_value(piece.words_of(piece.value));
    if role == Role::Item && !is_sentence {
        add_term(values, &piece);
    }
    let text_for_codes = if is_sentence { text } else { piece.value };
    add_joined_codes(values, &piece, text_for_codes);
    add_parts(values, &piece);
}

/// Adds the term that an item begins with and explains: `Bluebell` of `Bluebell: the second will`,
/// of `Bluebell – the second will` and of `Bluebell (the second will)`.
///
/// A term has at most five words, and its explanation three or more. It begins with a capital, has
/// quotes around it, or has a word that may be a name. The name of a field is none, as in
/// `Note: call before noon`.
fn add_term(values: &mut Values, piece: &Piece<'_>) {
    let (term, explanation) = if piece.label.is_empty() {
        first_part(piece.text)
    } else {
        (piece.label, piece.value)
    };
    let words = piece.words_of(term);
    let is_short = words.len() <= MAX_TERM && count_words(explanation) >= EXPLANATION;
    let is_marked = words.first().is_some_and(|word| word.is_capital) || term.contains(is_quote);
    let is_term = is_marked || words.iter().any(Word::may_be_name);
    let is_quoted = term.contains(is_quote);
    if is_short && is_term && !is_name_of_field(words, is_quoted) {
        values.add_value(words);
        values.add_names(words);
    }
}

/// Whether these words are the name of a field, as `Home address` or `Name of the client`.
/// `Dr Strong` is none: behind the field's word, a word with a capital says whose it is. If the
/// words stand in quotes (`is_quoted`), a word without a capital may say so as well.
fn is_name_of_field(words: &[Word], is_quoted: bool) -> bool {
    let behind_first = words.get(1..).unwrap_or_default();
    let says_whose = behind_first.iter().any(|word| {
        (word.is_capital || is_quoted && word.has_blank)
            && word.rank != Some(Rank::Empty)
            && !is_field(&word.letters)
    });
    !says_whose && words.iter().any(|word| is_field(&word.letters))
}

/// A line, item or cell, cut into a label and a value.
struct Piece<'t> {
    /// All of its text.
    text: &'t str,
    /// The words of its text.
    words: Vec<Word>,
    /// The label and, behind a label such as `id:`, the name of the rule.
    label: &'t str,
    rule: Option<&'t str>,
    /// What stands behind the label.
    value: &'t str,
}

impl<'t> Piece<'t> {
    /// Cuts the text into a label and a value. Behind a label such as `id:`, the rule's name goes
    /// to the label: of `id:R-7 Theo Blix`, the value is ` Theo Blix`. Behind a blank, a rule's
    /// name may have blanks itself.
    fn of(text: &'t str) -> Self {
        let Labelled { label, value } = labelled(text);
        let mut piece = Self {
            text,
            words: words_in(text),
            label,
            rule: None,
            value,
        };
        if is_id(label) {
            let rule = piece.without_names(rule_id(value));
            (piece.label, piece.value) = text.split_at(label.len() + rule.len());
            piece.rule = Some(rule);
        }
        piece
    }

    /// The name of a rule up to a name of somebody behind it: ` R-12` of ` R-12 Zaphod Wexel`. All
    /// of `full name` is a rule's.
    fn without_names<'p>(&self, rule: &'p str) -> &'p str {
        let mut behind_first = self.words_of(rule).iter().skip(1);
        match behind_first.find(|word| word.has_blank && word.is_like_a_name()) {
            Some(name) => rule.split_at(name.at.start - self.start_of(rule)).0,
            None => rule,
        }
    }

    /// Where this part of the text starts in it.
    fn start_of(&self, part: &str) -> usize {
        part.as_ptr() as usize - self.text.as_ptr() as usize
    }

    /// The words that stand in this part of the text. A word that is only in part there is none.
    fn words_of(&self, part: &str) -> &[Word] {
        let start = self.start_of(part);
        let end = start + part.len();
        let first = self.words.partition_point(|word| word.at.start < start);
        let behind = self.words.partition_point(|word| word.at.end <= end);
        self.words.get(first..behind).unwrap_or_default()
    }
}

/// Adds codes of several words without a blank: `P-017`, `first_second`. `blue-door` is none, and
/// neither is `v2.0:`, which is a label.
fn add_joined_codes(values: &mut Values, piece: &Piece<'_>, text: &str) {
    for chunk in text.split_whitespace() {
        let words = piece.words_of(chunk);
        let has_digits = words.iter().any(|word| word.digits > 0);
        let is_code = has_digits || chunk.contains('_');
        if is_code && words.len() > 1 && !chunk.ends_with(':') {
            values.add_value(words);
        }
    }
}

/// Adds the values among the parts of a piece's value: each part of a list, what is quoted, and
/// names in all of them. Of `we will sell a "blue door"`, only the quoted words are a value.
fn add_parts(values: &mut Values, piece: &Piece<'_>) {
    let parts: Vec<Part<'_>> = parts(piece.value)
        .into_iter()
        .map(|part| Part::of(piece, part))
        .collect();
    let long_parts = parts.iter().filter(|part| part.is_long()).count();
    let has_long_part = long_parts > 0;
    let is_list = is_list(&parts, long_parts, piece.value);
    // Whether the quoted part before is a label that says that a rule's name follows.
    let mut names_rule = false;
    for part in &parts {
        if part.quotes == Quotes::Label {
            names_rule = is_id(part.text);
            continue;
        }
        let words = piece.words_of(part.value);
        let is_quoted = part.quotes == Quotes::Value;
        if is_id(part.label) || is_quoted && names_rule {
            values.add_id(words);
        }
        let is_told = is_list && !(has_long_part && is_plain(words));
        if is_told || is_quoted {
            values.add_value(words);
        }
        if is_quoted {
            values.add_value(piece.words_of(part.text));
            names_rule = false;
        }
        values.add_names(words);
    }
}

/// A part of a piece, which may have a label of its own.
struct Part<'t> {
    text: &'t str,
    label: &'t str,
    value: &'t str,
    quotes: Quotes,
}

/// What stands around a part.
#[derive(PartialEq, Eq)]
enum Quotes {
    No,
    /// Quotes.
    Value,
    /// Quotes, and the mark of a label behind them, as in JSON.
    Label,
}

impl<'t> Part<'t> {
    /// This part of the piece, cut into a label and a value.
    fn of(piece: &Piece<'_>, text: &'t str) -> Self {
        let Labelled { label, value } = labelled(text);
        let value = without_marker(value.trim_start());
        let quotes = Quotes::around(piece, text);
        Self {
            text,
            label,
            value,
            quotes,
        }
    }

    /// Whether this part is too long to be a value by itself: it has more than three words.
    fn is_long(&self) -> bool {
        count_words(self.value) > SHORT_PART
    }
}

impl Quotes {
    /// What stands around this part of the piece: of `"a":"b" c`, `a` is a label, `b` is a quoted
    /// value, and `c` is not quoted.
    fn around(piece: &Piece<'_>, part: &str) -> Self {
        let start = piece.start_of(part);
        let before = piece.text.get(..start).unwrap_or_default();
        let after = piece.text.get(start + part.len()..).unwrap_or_default();
        // In French, blanks stand between « » and the quoted text. Elsewhere, a part with a blank
        // at an end stands between two quotations, as ` and ` does in `"a" and "b"`.
        let may_have_blanks = before.ends_with('«') && after.starts_with('»');
        let is_inside = may_have_blanks || part.trim() == part;
        let has_quotes = before.ends_with(is_quote) && after.starts_with(is_quote);
        if !is_inside || !has_quotes {
            return Self::No;
        }
        let behind = after.trim_start_matches(is_quote).trim_start();
        if behind.starts_with(ENDS_LABEL) {
            Self::Label
        } else {
            Self::Value
        }
    }
}

/// Whether this is a quotation mark of some language, or one of Markdown's.
fn is_quote(c: char) -> bool {
    "\"`“”„«»‹›「」『』｢｣＂〝〞〟﹁﹂﹃﹄《》【】״".contains(c)
}

/// Whether the parts of this text, of which so many are long, are those of a list: none is long, or
/// nothing is quoted and at most a third are. `call us, as we agreed last week` is no list.
fn is_list(parts: &[Part<'_>], long: usize, text: &str) -> bool {
    long == 0 || long * 3 <= parts.len() && !text.contains(is_quote)
}

/// Whether these words are one ordinary word without a capital, as `drafts` in
/// `look for these in drafts, precedents and file names`.
fn is_plain(words: &[Word]) -> bool {
    match words {
        [word] => !word.is_capital && word.rank.is_some(),
        _ => false,
    }
}
