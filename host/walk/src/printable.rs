//! Text from outside, in a form that is safe on a terminal.

use std::path::Path;

/// The path as a text, if a terminal shows each of its characters as itself. None if the path is
/// not UTF-8, or if [`is_visible`] is false for a character, such as a line end: a text with that
/// character may move the cursor, end the line, or be read as another path.
pub fn visible(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| text.chars().all(is_visible))
}

/// The path, such as `/a/b`, if a reader sees all of it. Otherwise, for example for a path with a
/// line end or a no-break space, the words `a path with a character that is not shown`.
/// Nothing is escaped, since an escaped path would be another path.
pub fn printable(path: &Path) -> String {
    let shown = match visible(path) {
        Some(text) if !has_unseen(text) => text,
        _ => "a path with a character that is not shown",
    };
    shown.to_owned()
}

/// A text on one line. Each character that is not shown as itself is escaped: a line end becomes
/// `\n`, and U+200B becomes `\u{200b}`.
pub fn printable_text(text: &str) -> String {
    let mut printed = String::new();
    for c in text.chars() {
        if is_visible(c) {
            printed.push(c);
        } else {
            printed.extend(c.escape_default());
        }
    }
    printed
}

/// Whether a terminal shows this character as itself. Blanks are visible here, also a no-break
/// space; line ends and tabs are not.
pub fn is_visible(c: char) -> bool {
    !is_unprintable(c) && !is_ignorable(c)
}

/// Whether this text has a character that nobody sees, such as U+200B, or a blank other than a
/// space, tab or CR. A line end counts too.
pub fn has_unseen(text: &str) -> bool {
    text.contains(is_unseen)
}

/// Whether nobody sees this character, and it is no space, tab or CR.
fn is_unseen(c: char) -> bool {
    !matches!(c, ' ' | '\t' | '\r') && leaves_no_mark(c)
}

/// Whether a reader sees nothing of this text: it is empty, or has blanks, control characters
/// and characters that are not shown, and nothing else.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(leaves_no_mark)
}

/// Whether a reader sees nothing where this character stands: it is a blank, or is not shown as
/// itself.
fn leaves_no_mark(c: char) -> bool {
    c.is_whitespace() || !is_visible(c)
}

/// Whether a terminal may show nothing for this character: Unicode's
/// `Default_Ignorable_Code_Point`, annotations, and signs and letters of single scripts that have
/// no form of their own.
fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        | '\u{13430}'..='\u{1343f}' | '\u{16fe4}' | '\u{1d159}')
}

/// Whether this is a control character, a line separator, or a mark that reorders text.
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}'
            | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests;
