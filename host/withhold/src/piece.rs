//! What stands in one line, item or cell of a document, and which of its words are values.

use crate::label::{LABEL_ENDS, Labelled, count_words, is_rule_label, labelled, rule_name};
use crate::list::{Rank, is_word_of_field};
use crate::markdown::without_marker;
use crate::parts::{first_part, parts};
use crate::values::{SHORT_PART_WORDS, Values};
use crate::words::{Word, words_in};

/// A label of more words is a sentence, such as `Never mention the two codes:`.
const MAX_FIELD_WORDS: usize = 4;

/// The most words of a term that an item explains.
const MAX_TERM_WORDS: usize = 5;

/// So many words behind a term, or more, explain it: `Bluebell: the second will`.
const MIN_EXPLANATION_WORDS: usize = 3;

/// What a line, item or cell is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It names what stands below or beside it, as `- Family` above `  - Theo`.
    Label,
    /// An item, cell or line of code, which may begin with a term and explain it: `- Bluebell: the
    /// second will`.
    Item,
    /// Any other line.
    Text,
}

/// Adds the values of this line, item or cell. Of `Phone: 1 555 0100`, the label is `Phone:`, and
/// the number is a value. In the role `Label`, all of the text is a label.
///
/// Of the label, these are values: codes of one word (`tblix42`), dates, and words that are enough
/// for a quotation, if all are like names (`Theo Wexel`). If the label is a sentence (a `:` or `=`
/// behind more than four words), each name in it is a value, too, and each code of several words
/// (`P-017`). If all words of the label, at least two, are like names, each name is a value.
///
/// Of the text behind the label, these are values: codes, dates and quotations; all of the text, if
/// it has at most twelve words and says enough; its parts (`add_parts`); and, in an `Item`, the
/// term that it explains (`add_term`).
///
/// Behind a label such as `id:`, the name of a rule is added: `R-7` of `id: R-7`.
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
    let has_only_names = label_words.len() > 1 && label_words.iter().all(Word::is_like_a_name);
    if is_sentence || has_only_names {
        values.add_names(label_words);
    }
    // A quotation that begins among the words of the label must have only names.
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
    // Codes of several words: `P-017` of `P-017: x` is a value only if the label is a sentence.
    let text_for_codes = if is_sentence { text } else { piece.value };
    add_joined_codes(values, &piece, text_for_codes);
    add_parts(values, &piece);
}

/// Adds the term that an item begins with and explains, as one value, and each name in it:
/// `Bluebell` of `Bluebell: the second will`, of `Bluebell – the second will` and of
/// `Bluebell (the second will)`. The term is the item's label, or without a label the first part of
/// its text.
///
/// Adds nothing if the term has more than five words or the explanation fewer than three
/// (`Bluebell: a will`); if the term neither begins with a capital, nor has a quote or a word that
/// may be a name (`old door: the second will`); or if it is the name of a field
/// (`Note: call before noon`).
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
    let may_be_term = has_capital || term.contains(is_quote) || words.iter().any(Word::may_be_name);
    if is_explained && may_be_term && !is_name_of_field(term, words) {
        values.add_value(words);
        values.add_names(words);
    }
}

/// Whether a term is the name of a field, as `Home address` or `Name of the client`. `words` are
/// those of the term.
///
/// The answer is no if no word is one of a field (`Bluebell`), or if a word behind the first one
/// tells more: it has a capital, says something, and is no word of a field, as `Strong` in
/// `Dr Strong`. In a term with quotes, a word behind a blank needs no capital: `"Doctor strong"`.
fn is_name_of_field(term: &str, words: &[Word]) -> bool {
    let is_quoted = term.contains(is_quote);
    let mut behind_first = words.iter().skip(1);
    let tells_more = behind_first.any(|word| {
        (word.is_capital || is_quoted && word.has_blank)
            && word.rank != Some(Rank::SaysNothing)
            && !is_word_of_field(&word.letters)
    });
    !tells_more && words.iter().any(|word| is_word_of_field(&word.letters))
}

/// A line, item or cell, cut into a label and a value.
struct Piece<'t> {
    /// All of its text: `Phone: 1 555 0100`.
    text: &'t str,
    /// The words of its text.
    words: Vec<Word>,
    /// The label: `Phone:`. Empty if there is none. Behind a label such as `id:`, the name of the
    /// rule belongs to the label: `id: R-7`.
    label: &'t str,
    /// The name of the rule behind a label such as `id:`. None behind any other label.
    rule: Option<&'t str>,
    /// What stands behind the label: ` 1 555 0100`. Without a label, all of the text.
    value: &'t str,
}

impl<'t> Piece<'t> {
    /// The text, cut into a label and the value behind it:
    ///
    /// - `Phone: 1 555`: the label is `Phone:`, and the value ` 1 555`.
    /// - `1 555`: the label is empty, and the value all of the text.
    /// - `id: R-7, Theo`: behind a label such as `id:`, the name of a rule follows up to a comma or
    ///   the like (`rule_name`). The label is `id: R-7`, the rule ` R-7`, and the value `, Theo`.
    /// - `id: R-7 Theo Blix`: the rule ends before a person's name (`up_to_person`), so the value
    ///   is `Theo Blix`.
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

    /// The name of a rule up to the first word, behind a blank and not the rule's first one, that
    /// is like a name: ` R-12 ` of ` R-12 Zaphod Wexel`. Without such a word, as in ` full name`,
    /// all of the name of the rule.
    fn up_to_person<'p>(&self, rule: &'p str) -> &'p str {
        let mut behind_first = self.words_of(rule).iter().skip(1);
        match behind_first.find(|word| word.has_blank && word.is_like_a_name()) {
            Some(name) => rule.split_at(name.at.start - self.start_of(rule)).0,
            None => rule,
        }
    }

    /// Where this part of the text starts, in bytes. `part` must be a slice of `self.text`: the
    /// addresses of the two are compared.
    fn start_of(&self, part: &str) -> usize {
        part.as_ptr() as usize - self.text.as_ptr() as usize
    }

    /// The words of the text that lie in this part as a whole. `part` must be a slice of
    /// `self.text`.
    fn words_of(&self, part: &str) -> &[Word] {
        let start = self.start_of(part);
        let end = start + part.len();
        let first = self.words.partition_point(|word| word.at.start < start);
        let behind = self.words.partition_point(|word| word.at.end <= end);
        self.words.get(first..behind).unwrap_or_default()
    }
}

/// Adds each code in `text` that has several words and no blank: a digit or a `_` makes it one.
/// `P-017` and `first_second` are added. `blue-door` is not, and neither is `v2.0:`, which is a
/// label.
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

/// Adds what the parts of a text are. The text is what stands behind the piece's label, and is cut
/// into parts at commas, quotes, `and` and the like.
///
/// - A quoted part is a value: of `we will sell a "blue door"`, only `blue door`.
/// - In a list, each part is a value: `Wren` and `old barn` of `Wren, old barn`. A text is a list
///   (`is_list`) if no part has more than three words, or if at most a third have and nothing is
///   quoted. If any part has more than three words, a part that is one ordinary word is no value.
/// - A part is a value without its own label: `Wren` of `cat: Wren`. A quoted part is one with its
///   label, too.
/// - A quoted label, such as `"phone":`, adds nothing.
/// - A part behind a label such as `id:`, or a quoted part behind a quoted `"id":`, is also the
///   name of a rule.
/// - Each name in a part is a value (`add_names`).
fn add_parts(values: &mut Values, piece: &Piece<'_>) {
    let parts: Vec<Part<'_>> = parts(piece.value)
        .into_iter()
        .map(|part| Part::of(piece, part))
        .collect();
    let long_parts = parts.iter().filter(|part| part.is_long()).count();
    let is_list = is_list(&parts, long_parts, piece.value);
    // Whether the last quoted part was the label of a rule, such as `"id":`.
    let mut rule_follows = false;
    for part in &parts {
        if part.quotes == Quotes::Label {
            rule_follows = is_rule_label(part.text);
            continue;
        }
        // The words without the part's own label.
        let words = piece.words_of(part.value);
        let is_quoted = part.quotes == Quotes::Value;
        // As `R-7` in `id: R-7`, or in `"id": "R-7"`.
        if is_rule_label(part.label) || is_quoted && rule_follows {
            values.add_rule_unless_number(words);
        }
        // With a long part, the list may be a sentence, such as `look in drafts, precedents and the
        // names of all files`. There, `drafts` is no value.
        let is_listed = is_list && (long_parts == 0 || !is_ordinary_word(words));
        if is_listed || is_quoted {
            values.add_value(words);
        }
        if is_quoted {
            // All of the quoted text, with its own label.
            values.add_value(piece.words_of(part.text));
            rule_follows = false;
        }
        values.add_names(words);
    }
}

/// A part of a piece. It may have a label of its own: `id: phone`.
struct Part<'t> {
    /// All of it: `id: phone`.
    text: &'t str,
    /// What stands before the value: `id:`. Empty if the part has no label.
    label: &'t str,
    /// What stands behind the label, without a mark of a list: `phone`.
    value: &'t str,
    quotes: Quotes,
}

/// Which quotes stand around a part.
#[derive(PartialEq, Eq)]
enum Quotes {
    /// No quotes.
    No,
    /// Quotes, and no `:` or `=` behind them: `b` in `"a":"b"`.
    Value,
    /// Quotes with a `:` or `=` behind them: `a` in `"a":"b"`.
    Label,
}

impl<'t> Part<'t> {
    /// This part of the piece, cut into a label and a value. Before the value, a mark of a list is
    /// left out: of `pets: - Wren`, the label is `pets:`, and the value `Wren`.
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
    /// Which quotes stand around this part of the piece. In `"a":"b" c`, `a` is a quoted label, as
    /// `:` or `=` is behind its quotes; `b` is a quoted value; and `c` is not quoted.
    ///
    /// In `"a" and "b"`, quotes stand on both sides of ` and `, too. A part with a blank at an end
    /// is not quoted, unless the quotes are those of French, which have blanks within: `« a »`.
    fn around(piece: &Piece<'_>, part: &str) -> Self {
        let start = piece.start_of(part);
        let before = piece.text.get(..start).unwrap_or_default();
        let after = piece.text.get(start + part.len()..).unwrap_or_default();
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

/// Whether this is a quotation mark of some language, or one of Markdown's. `'` is none: it may be
/// an apostrophe.
fn is_quote(c: char) -> bool {
    "\"`“”„«»‹›「」『』｢｣＂〝〞〟﹁﹂﹃﹄《》【】״".contains(c)
}

/// Whether the `parts` of this text are those of a list. They are if no part is long (more than
/// three words), as in `Wren, old barn`; or if at most a third are, and the text has no quote, as
/// in `Wren, Tansy, the barn behind the mill`. `call us, as we agreed last week` is no list.
/// `long_parts` is how many of the parts are long.
fn is_list(parts: &[Part<'_>], long_parts: usize, text: &str) -> bool {
    long_parts == 0 || long_parts * 3 <= parts.len() && !text.contains(is_quote)
}

/// Whether these words are one English word without a capital, as `drafts` in
/// `look for these in drafts, precedents and file names`. `Drafts`, `wexel` and `file names` are
/// not.
fn is_ordinary_word(words: &[Word]) -> bool {
    match words {
        [word] => !word.is_capital && word.rank.is_some(),
        _ => false,
    }
}
