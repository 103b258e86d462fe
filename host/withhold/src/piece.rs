//! What stands in one line, item or cell of a document, and which of its words are values.

use crate::label::{ENDS_LABEL, Labelled, count_words, is_id, labelled, rule_id};
use crate::markdown::without_marker;
use crate::parts::parts;
use crate::values::{SHORT_PART, Values};
use crate::words::{Word, words_in};

/// A label of more words is the start of a sentence, such as `Never mention the two codes:`.
const LABEL: usize = 4;

/// What a line, item or cell is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It names what stands below or beside it: only names in it are values.
    Label,
    Content,
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
        Role::Content => piece.words_of(piece.label),
    };
    let is_sentence = count_words(piece.label) > LABEL;
    let is_name = label_words.len() > 1 && label_words.iter().all(Word::is_like_a_name);
    if is_sentence || is_name {
        values.add_names(label_words);
    }
    values.add_quotations(&piece.words, label_words.len());
    values.add_codes(&piece.words);
    if role == Role::Label {
        return;
    }
    values.add_value(piece.words_of(piece.value));
    let text_for_codes = if is_sentence { text } else { piece.value };
    add_joined_codes(values, &piece, text_for_codes);
    add_parts(values, &piece);
}

/// A line, item or cell, cut into a label and a value.
struct Piece<'t> {
    text: &'t str,
    words: Vec<Word>,
    /// The label and, behind a label such as `id:`, the name of the rule.
    label: &'t str,
    rule: Option<&'t str>,
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
            let rule = rule_id(value);
            (piece.label, piece.value) = text.split_at(label.len() + rule.len());
            piece.rule = Some(rule);
        }
        piece
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
    let is_list = is_list(&parts, piece.value);
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
        if is_list || is_quoted {
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
}

impl Quotes {
    /// What stands around this part of the piece: of `"a":"b" c`, `a` is a label, `b` is a quoted
    /// value, and `c` is not quoted.
    fn around(piece: &Piece<'_>, part: &str) -> Self {
        let start = piece.start_of(part);
        let before = piece.text.get(..start).unwrap_or_default();
        let after = piece.text.get(start + part.len()..).unwrap_or_default();
        // French puts blanks there. Otherwise, the part may be between two quotations.
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

fn is_quote(c: char) -> bool {
    "\"`“”„«»‹›「」『』｢｣＂〝〞〟﹁﹂﹃﹄《》【】״".contains(c)
}

/// Whether the parts of this text are those of a list: all are short, or nothing is quoted and at
/// most a third are longer than three words. `call us, as we agreed last week` is no list.
fn is_list(parts: &[Part<'_>], text: &str) -> bool {
    let long = parts
        .iter()
        .filter(|part| count_words(part.value) > SHORT_PART)
        .count();
    long == 0 || long * 3 <= parts.len() && !text.contains(is_quote)
}
