//! Labels: the `Phone` of `Phone: 1 555 0100`.

/// What stands between a label and its value.
pub(crate) const LABEL_ENDS: [char; 4] = [':', '：', '=', '＝'];

/// Beside one of these, a `:` or `=` is a part of a longer sign, such as `=>` and `::`.
const SIGN_PARTS: [char; 5] = [':', '=', '>', '<', '!'];

/// No label goes on behind these: a list does, or a sentence, a URL, a command.
const NOT_IN_A_LABEL: [&str; 15] = [
    ",", ";", "，", "、", "；", "،", "؛", "\t", "–", "—", "·", " / ", "://", "?", " -",
];

/// The most words of a label.
const MAX_LABEL_WORDS: usize = 8;

/// The most words of a label that its value follows without a blank, as `phone:red`.
const MAX_GLUED_LABEL_WORDS: usize = 4;

/// A text, cut into a label and a value.
pub(crate) struct Labelled<'t> {
    /// The label with the mark that ends it: `Phone:`. Empty if the text has no label.
    pub(crate) label: &'t str,
    /// What stands behind the label: ` 1 555 0100`. Without a label, all of the text.
    pub(crate) value: &'t str,
}

/// A text, cut behind the `:` or `=` that ends its label: `Phone: 1 555 0100` is cut into `Phone:`
/// and ` 1 555 0100`.
///
/// The first mark that can end a label decides. An `=` can, and so can a colon
/// (`colon_can_end_label`), but not the one in `https://example.org`. No mark of a longer sign can,
/// as in `a => b`.
///
/// A text has no label if no mark within its first 256 bytes can end one; or if what stands before
/// that mark has not the form of a label: more than eight words, a comma as in `see a, b: c`, or an
/// open bracket as in `Theo (born: 1970)`.
pub(crate) fn labelled(text: &str) -> Labelled<'_> {
    // To look at all of a long line for each of its marks would take too long.
    let (start, _) = text.split_at(text.floor_char_boundary(256));
    for (at, mark) in start.match_indices(LABEL_ENDS) {
        let (name, _) = text.split_at(at);
        let (label, value) = text.split_at(at + mark.len());
        // In `::` or `=>`, the mark is a part of a longer sign.
        if name.ends_with(SIGN_PARTS) || value.starts_with(SIGN_PARTS) {
            continue;
        }
        if mark != ":" || colon_can_end_label(name, value) {
            if has_form_of_label(label) {
                return Labelled { label, value };
            }
            break;
        }
    }
    let (label, value) = text.split_at(0);
    Labelled { label, value }
}

/// Whether the colon between `name` and `value` can end a label.
///
/// With nothing behind it, or a blank, `**` or a tag, it can, as in `Phone: 1`; but not in
/// `Gul Sok. No: 14`, the number of a house. With anything else behind it, it can if `name` has at
/// most four words, ends with a word, and has no dot or colon, and if `value` begins with no slash:
/// in `phone:red` it can; in `10:20`, `C:\Users` and `a.md:12` it cannot.
fn colon_can_end_label(name: &str, value: &str) -> bool {
    if value.is_empty() || value.starts_with(is_unseen) {
        return !is_house_number(name);
    }
    // Behind another colon, it is a part of an address: `2001:db8:47a:9`.
    let is_in_path = name.contains(['.', ':']) || value.starts_with(['/', '\\']);
    let is_short = count_words(name) <= MAX_GLUED_LABEL_WORDS;
    let ends_with_word =
        name.ends_with(|c: char| !c.is_numeric() && !c.is_whitespace() && c != ':');
    !is_in_path && is_short && ends_with_word
}

/// Whether the text ends with an abbreviation and `No`, as a Turkish address does before the number
/// of a house: `Gul Sok. No`. `Cust. no.` does not, as it is a label.
fn is_house_number(text: &str) -> bool {
    let mut words = text.split_whitespace().rev();
    words.next() == Some("No") && words.next().is_some_and(|word| word.ends_with('.'))
}

/// Whether a reader sees no character here: a blank, a mark such as `**`, or the start of a tag.
fn is_unseen(c: char) -> bool {
    c.is_whitespace() || "*_`<".contains(c)
}

/// Whether a text with a mark at its end is a label: up to eight words, without an open bracket,
/// and without a comma or another mark of a list, sentence, URL or command.
fn has_form_of_label(text: &str) -> bool {
    let is_list = NOT_IN_A_LABEL.iter().any(|mark| text.contains(mark));
    count_words(text) <= MAX_LABEL_WORDS && !is_list && !has_open_bracket(text)
}

/// Whether the last bracket of the text is an opening one, as in `Theo (born`. False for
/// `Theo (born) in`, and without any bracket.
fn has_open_bracket(text: &str) -> bool {
    text.rfind(['(', '[', '（']) > text.rfind([')', ']', '）'])
}

/// How many words, as blanks set them apart.
pub(crate) fn count_words(text: &str) -> usize {
    text.split_whitespace().count()
}

/// Whether a label says that a rule's name follows: its letters and digits are `id`, `rule` or
/// `ruleid`, as in `id:` and `"Rule-ID"=`. `Ids:` does not.
pub(crate) fn is_rule_label(label: &str) -> bool {
    let name: String = label.chars().filter(|c| c.is_alphanumeric()).collect();
    matches!(&*name.to_lowercase(), "id" | "rule" | "ruleid")
}

/// The name of a rule at the start of `value`, which stands behind a label such as `id:`.
///
/// - In quotes, the name ends before the second quote, and keeps the first: `"R 7` of `"R 7", x`.
/// - Behind a blank, it ends before a comma, `;`, `}` or `(`, and may have blanks: ` full name` of
///   ` full name, high`.
/// - Else it ends before a blank, too: `phone` of `phone severity=high`.
///
/// In any case, it ends before a comment: ` full name` of ` full name # of a person`. Without an
/// end, all of `value` is the name.
pub(crate) fn rule_name(value: &str) -> &str {
    let (text, _comment) = value.split_once(" #").unwrap_or((value, ""));
    let end = match text.trim_start().chars().next() {
        Some(quote @ ('"' | '\'' | '`')) => text.match_indices(quote).nth(1).map(|(at, _)| at),
        _ if text.starts_with(' ') => text.find([',', ';', '}', '(']),
        _ => text.find([',', ';', '}', '(', ' ']),
    };
    let (name, _) = text.split_at(end.unwrap_or(text.len()));
    name
}
