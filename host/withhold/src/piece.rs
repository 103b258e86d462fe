//! What stands in one line, item or cell of a document, and which of its words are values.

use crate::label::{LABEL_ENDS, Labelled, count_words, is_rule_label, labelled, rule_name};
use crate::list::{Rank, is_word_of_field};
use crate::markdown::without_marker;
use crate::parts::{first_part, parts};
use crate::values::{SHORT_PART_WORDS, Values};
use crate::words::{Word, words_in};

/// A label of more words is the start of a sentence, such as `Never mention the two codes:`.
const MAX_FIELD_WORDS: usize = 4;

/// The most words of a term that an item explains.
const MAX_TERM_WORDS: usize = 5;

/// So many words behind a term, or more, explain it: `Bluebell: the second will`.
const MIN_EXPLANATION_WORDS: usize = 3;

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
/// label. Behind a label such as `id:`, adds the name of a rule.
///
/// Of a label, only codes, dates and quotations of names are values; and each name in it, if the
/// label is a sentence (more than four words) or has two or more words that are all names. In the
/// role `Label`, all of the text is a label. In any other role, the text behind the label is one
/// value, and the values among its parts are added as well (`add_parts`); in the role `Item`, also
/// the term that it explains.
pub(crate) fn add_piece(values: &mut Values, text: &str, role: Role) {
    let piece = Piece::of(text);
    if let Some(rule) = piece.rule {
        values.add_rule_unless_number(piece.words_of(rule));
    }
    let label_words = match role {
        Role::Label => &piece.words,
        Role::Item | Role::Text => piece.words_of(piece.label),
    };
    let is_sentence = count_words(piece.label) > MAX_FIELD_WORDS;
    let label_is_name = label_words.len() > 1 && label_words.iter().all(Word::is_like_a_name);
    if is_sentence || label_is_name {
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
    // In a label that is a sentence, codes of several words count, too.
    let text_for_codes = if is_sentence { text } else { piece.value };
    add_joined_codes(values, &piece, text_for_codes);
    add_parts(values, &piece);
}

/// Adds the term that an item begins with and explains: `Bluebell` of `Bluebell: the second will`,
/// of `Bluebell – the second will` and of `Bluebell (the second will)`.
///
/// The term is the piece's label, or without a label the first part of its text. It has at most
/// five words, and its explanation three or more. It begins with a capital, has a quote, or has a
/// word that may be a name. The name of a field is no term: `Note` in `Note: call before noon`.
fn add_term(values: &mut Values, piece: &Piece<'_>) {
    let (term, explanation) = if piece.label.is_empty() {
        first_part(piece.text)
    } else {
        (piece.label, piece.value)
    };
    let words = piece.words_of(term);
    let is_explained =
        words.len() <= MAX_TERM_WORDS && count_words(explanation) >= MIN_EXPLANATION_WORDS;
    let has_capital = words.first().is_some_and(|word| word.is_capital);
    let is_quoted = term.contains(is_quote);
    let may_be_term = has_capital || is_quoted || words.iter().any(Word::may_be_name);
    if is_explained && may_be_term && !is_name_of_field(words, is_quoted) {
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
            && word.rank != Some(Rank::SaysNothing)
            && !is_word_of_field(&word.letters)
    });
    !says_whose && words.iter().any(|word| is_word_of_field(&word.letters))
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
    /// The text, cut into a label and the value behind it. Without a label, all of it is the value.
    ///
    /// Behind a label such as `id:`, a rule's name follows (`rule_name`), up to the name of a
    /// person if one is in it (`up_to_person`). The rule's name belongs to the label: of
    /// `id:R-7 Theo Blix`, the label is `id:R-7`, and the value ` Theo Blix`.
    fn of(text: &'t str) -> Self {
        let Labelled { label, value } = labelled(text);
        let mut piece = Self {
            text,
            words: words_in(text),
            label,
            rule: None,
            value,
        };
        if is_rule_label(label) {
            let rule = piece.up_to_person(rule_name(value));
            (piece.label, piece.value) = text.split_at(label.len() + rule.len());
            piece.rule = Some(rule);
        }
        piece
    }

    /// The name of a rule up to a person's name behind it: ` R-12` of ` R-12 Zaphod Wexel`. All of
    /// `full name` is a rule's.
    fn up_to_person<'p>(&self, rule: &'p str) -> &'p str {
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
        let has_digits = words.iter().any(|word| word.digit_count > 0);
        let is_code = has_digits || chunk.contains('_');
        if is_code && words.len() > 1 && !chunk.ends_with(':') {
            values.add_value(words);
        }
    }
}

/// Adds as a value each quoted part of the text behind the piece's label; and if that text is a
/// list, each of its parts. Of `we will sell a "blue door"`, only the quoted words are a value. A
/// part is added without its own label; a quoted one also with it.
///
/// A text is a list (`is_list`) if no part has more than three words, or if few have and nothing is
/// quoted.
///
/// Adds as the name of a rule the part that has a label such as `id:`, and the quoted part behind a
/// quoted label `"id":`. Adds each name in a part. A quoted label adds nothing by itself.
fn add_parts(values: &mut Values, piece: &Piece<'_>) {
    let parts: Vec<Part<'_>> = parts(piece.value)
        .into_iter()
        .map(|part| Part::of(piece, part))
        .collect();
    let long_parts = parts.iter().filter(|part| part.is_long()).count();
    let has_long_part = long_parts > 0;
    let is_list = is_list(&parts, long_parts, piece.value);
    // Whether the last quoted part was the label of a rule, such as `"id":`.
    let mut rule_follows = false;
    for part in &parts {
        if part.quotes == Quotes::Label {
            rule_follows = is_rule_label(part.text);
            continue;
        }
        // Without the part's own label.
        let words = piece.words_of(part.value);
        let is_quoted = part.quotes == Quotes::Value;
        if is_rule_label(part.label) || is_quoted && rule_follows {
            values.add_rule_unless_number(words);
        }
        // With a long part, the list may be a sentence: there, one ordinary word is no value.
        let is_listed = is_list && !(has_long_part && is_ordinary_word(words));
        if is_listed || is_quoted {
            values.add_value(words);
        }
        if is_quoted {
            values.add_value(piece.words_of(part.text));
            rule_follows = false;
        }
        values.add_names(words);
    }
}

/// A part of a piece, which may have a label of its own: `id: phone`.
struct Part<'t> {
    /// All of it: `id: phone`.
    text: &'t str,
    /// What stands before the value: `id:`. Empty if the part has no label.
    label: &'t str,
    /// What stands behind the label, without a mark of a list: `phone`.
    value: &'t str,
    quotes: Quotes,
}

/// What stands around a part.
#[derive(PartialEq, Eq)]
enum Quotes {
    /// No quotes.
    No,
    /// Quotes, and no mark of a label behind them.
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
        count_words(self.value) > SHORT_PART_WORDS
    }
}

impl Quotes {
    /// Whether this part of the piece stands in quotes, and whether the mark of a label (`:` or
    /// `=`) is behind them. In `"a":"b" c`, `a` is a quoted label, `b` is a quoted value, and `c`
    /// is not quoted.
    fn around(piece: &Piece<'_>, part: &str) -> Self {
        let start = piece.start_of(part);
        let before = piece.text.get(..start).unwrap_or_default();
        let after = piece.text.get(start + part.len()..).unwrap_or_default();
        // In French, blanks stand between « » and the quoted text. Elsewhere, a part with a blank
        // at an end stands between two quotations, as ` and ` does in `"a" and "b"`.
        let may_have_blanks = before.ends_with('«') && after.starts_with('»');
        let has_right_blanks = may_have_blanks || part.trim() == part;
        let has_quotes = before.ends_with(is_quote) && after.starts_with(is_quote);
        if !has_right_blanks || !has_quotes {
            return Self::No;
        }
        let behind = after.trim_start_matches(is_quote).trim_start();
        if behind.starts_with(LABEL_ENDS) {
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

/// Whether the parts of this text are those of a list: no part is long, or at most a third are and
/// nothing is quoted. `call us, as we agreed last week` is no list.
fn is_list(parts: &[Part<'_>], long_parts: usize, text: &str) -> bool {
    long_parts == 0 || long_parts * 3 <= parts.len() && !text.contains(is_quote)
}

/// Whether these words are one ordinary word without a capital, as `drafts` in
/// `look for these in drafts, precedents and file names`.
fn is_ordinary_word(words: &[Word]) -> bool {
    match words {
        [word] => !word.is_capital && word.rank.is_some(),
        _ => false,
    }
}
