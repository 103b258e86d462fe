//! Labels: the `Phone` of `Phone: 1 555 0100`.

/// What stands between a label and its value.
pub(crate) const ENDS_LABEL: [char; 4] = [':', '：', '=', '＝'];

/// A mark beside one of these is a part of a longer sign.
const OF_SIGNS: [char; 5] = [':', '=', '>', '<', '!'];

/// No label goes on behind these: a list does, or a sentence, a URL, a command.
const NOT_IN_A_LABEL: [&str; 15] = [
    ",", ";", "，", "、", "；", "،", "؛", "\t", "–", "—", "·", " / ", "://", "?", " -",
];

/// The most words of a label, and of one that its value follows without a blank.
const LABEL: usize = 8;
const GLUED_LABEL: usize = 4;

/// A label with the mark that ends it, and what stands behind it. A text may have no label.
pub(crate) struct Labelled<'t> {
    pub(crate) label: &'t str,
    pub(crate) value: &'t str,
}

/// The label of a text and its value: of `Phone: 1 555 0100`, the label is `Phone:`, and the
/// value ` 1 555 0100`.
///
/// `Theo (born: 1970)`, `https://example.org` and `see a, b: c` have no label.
pub(crate) fn labelled(text: &str) -> Labelled<'_> {
    // To look at all of a long line for each of its marks would take too long.
    let (start, _) = text.split_at(text.floor_char_boundary(256));
    for (at, mark) in start.match_indices(ENDS_LABEL) {
        let (name, _) = text.split_at(at);
        let (label, value) = text.split_at(at + mark.len());
        // `=>`, `==` and `::` are other signs.
        if name.ends_with(OF_SIGNS) || value.starts_with(OF_SIGNS) {
            continue;
        }
        // The first mark that ends a name decides. If no label stands before it, the text has none.
        if mark != ":" || is_end_of_label(name, value) {
            if is_label(label) {
                return Labelled { label, value };
            }
            break;
        }
    }
    let (label, value) = text.split_at(0);
    Labelled { label, value }
}

/// Whether the colon between `name` and `value` ends a label: in `Phone: 1` and `phone:red` it
/// does; in `10:20`, `C:\Users` and `a.md:12` it does not.
fn is_end_of_label(name: &str, value: &str) -> bool {
    if value.is_empty() || value.starts_with(is_unseen) {
        return !is_house_number(name);
    }
    // Behind another colon, it is a part of an address: `2001:db8:47a:9`.
    let is_path = name.contains(['.', ':']) || value.starts_with(['/', '\\']);
    let is_short = count_words(name) <= GLUED_LABEL;
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

/// Whether a text that such a mark ends is a label: up to eight words, without an open bracket,
/// and without a comma or another mark of a list, sentence, URL or command.
fn is_label(text: &str) -> bool {
    let is_list = NOT_IN_A_LABEL.iter().any(|mark| text.contains(mark));
    count_words(text) <= LABEL && !is_list && !has_open_bracket(text)
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
pub(crate) fn is_id(label: &str) -> bool {
    let name: String = label.chars().filter(|c| c.is_alphanumeric()).collect();
    matches!(&*name.to_lowercase(), "id" | "rule" | "ruleid")
}

/// The name of a rule at the start of what stands behind a label: `phone` of
/// `phone severity=high`. Of a name in quotes, the first quote goes with it.
///
/// Behind a blank, a name may have blanks: ` full name` is all of ` full name # of a person`.
pub(crate) fn rule_id(value: &str) -> &str {
    let (text, _comment) = value.split_once(" #").unwrap_or((value, ""));
    let end = match text.trim_start().chars().next() {
        Some(quote @ ('"' | '\'' | '`')) => text.match_indices(quote).nth(1).map(|(at, _)| at),
        _ if text.starts_with(' ') => text.find([',', ';', '}', '(']),
        _ => text.find([',', ';', '}', '(', ' ']),
    };
    let (id, _) = text.split_at(end.unwrap_or(text.len()));
    id
}
