//! Labels: the `Phone` of `Phone: 1 555 0100`.

/// What stands between a label and its value.
pub(crate) const LABEL_ENDS: [char; 4] = [':', '：', '=', '＝'];

/// Beside one of these, a mark is a part of a longer sign, such as `=>` and `::`.
const SIGN_PARTS: [char; 5] = [':', '=', '>', '<', '!'];

/// No label goes on behind these: a list does, or a sentence, a URL, a command.
const NOT_IN_A_LABEL: [&str; 15] = [
    ",", ";", "，", "、", "；", "،", "؛", "\t", "–", "—", "·", " / ", "://", "?", " -",
];

/// The most words of a label, and of one that its value follows without a blank.
const MAX_LABEL_WORDS: usize = 8;
const MAX_GLUED_LABEL_WORDS: usize = 4;

/// A label with the mark that ends it, and what stands behind it. The label may be empty.
pub(crate) struct Labelled<'t> {
    pub(crate) label: &'t str,
    pub(crate) value: &'t str,
}

/// The label of a text, with the `:` or `=` that ends it, and the value behind it: of
/// `Phone: 1 555 0100`, the label is `Phone:`, and the value ` 1 555 0100`.
///
/// The first mark that can end a label decides. An `=` can, and a colon if `colon_can_end_label`:
/// the one in `https://example.org` cannot. If what stands before this mark does not have the form
/// of a label, the text has none: in `see a, b: c` a comma stands there, and in `Theo (born: 1970)`
/// an open bracket.
///
/// Without a label, or if it ends behind the first 256 bytes, the label is empty, and the value is
/// all of the text.
pub(crate) fn labelled(text: &str) -> Labelled<'_> {
    // To look at all of a long line for each of its marks would take too long.
    let (start, _) = text.split_at(text.floor_char_boundary(256));
    for (at, mark) in start.match_indices(LABEL_ENDS) {
        let (name, _) = text.split_at(at);
        let (label, value) = text.split_at(at + mark.len());
        // In `::` or `=>`, no mark ends a label.
        if name.ends_with(SIGN_PARTS) || value.starts_with(SIGN_PARTS) {
            continue;
        }
        if mark != ":" || colon_can_end_label(name, value) {
            // A label has at most eight words, and no comma or open bracket.
            if has_form_of_label(label) {
                return Labelled { label, value };
            }
            break;
        }
    }
    let (label, value) = text.split_at(0);
    Labelled { label, value }
}

/// Whether the colon between `name` and `value` can end a label: in `Phone: 1` and `phone:red` it
/// can; in `10:20`, `C:\Users` and `a.md:12` it cannot.
fn colon_can_end_label(name: &str, value: &str) -> bool {
    if value.is_empty() || value.starts_with(is_unseen) {
        return !is_house_number(name);
    }
    // Behind another colon, it is a part of an address: `2001:db8:47a:9`.
    let is_path = name.contains(['.', ':']) || value.starts_with(['/', '\\']);
    let is_short = count_words(name) <= MAX_GLUED_LABEL_WORDS;
    let ends_with_word =
        name.ends_with(|c: char| !c.is_numeric() && !c.is_whitespace() && c != ':');
    !is_path && is_short && ends_with_word
}

/// Whether the text ends with the `No` of a house in an address: `Gul Sok. No`. `Cust. no.` is a
/// label.
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

/// Whether the last bracket is an opening one: in `Theo (born`, and not in `Theo (born) in`.
fn has_open_bracket(text: &str) -> bool {
    text.rfind(['(', '[', '（']) > text.rfind([')', ']', '）'])
}

/// How many words, as blanks set them apart.
pub(crate) fn count_words(text: &str) -> usize {
    text.split_whitespace().count()
}

/// Whether a label says that a rule's name follows: `id:`, `"Rule-ID"=`. `Ids:` does not.
pub(crate) fn is_rule_label(label: &str) -> bool {
    let name: String = label.chars().filter(|c| c.is_alphanumeric()).collect();
    matches!(&*name.to_lowercase(), "id" | "rule" | "ruleid")
}

/// The name of a rule at the start of `value`, which stands behind a label: `phone` of
/// `phone severity=high`. It ends before a blank, comma, `;`, `}` or `(`. Of a name in quotes, the
/// first quote goes with it.
///
/// Behind a blank, a name may have blanks: of ` full name # of a person`, it is ` full name`.
pub(crate) fn rule_name(value: &str) -> &str {
    let (text, _comment) = value.split_once(" #").unwrap_or((value, ""));
    let end = match text.trim_start().chars().next() {
        Some(quote @ ('"' | '\'' | '`')) => text.match_indices(quote).nth(1).map(|(at, _)| at),
        _ if text.starts_with(' ') => text.find([',', ';', '}', '(']),
        _ => text.find([',', ';', '}', '(', ' ']),
    };
    let (id, _) = text.split_at(end.unwrap_or(text.len()));
    id
}
