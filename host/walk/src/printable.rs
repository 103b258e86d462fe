//! Text from outside, in a form that is safe on a terminal.

use std::path::Path;

/// The path as a reader sees it. None if it is not UTF-8, or if a character is not shown as
/// itself: then a text with it may move the cursor, end the line, or name another path.
pub fn visible(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| text.chars().all(is_visible))
}

/// The path if a reader sees all of it, and words in its place if not. An escaped one would be
/// another path.
pub fn printable(path: &Path) -> String {
    let shown = match visible(path) {
        Some(text) if !has_unseen(text) => text,
        _ => "a path with a character that is not shown",
    };
    shown.to_owned()
}

/// A text on one line, with escapes for what is not shown as itself.
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

/// Whether this text has a character that nobody sees, or a blank other than a space, tab or CR.
pub fn has_unseen(text: &str) -> bool {
    text.contains(is_unseen)
}

/// Whether nobody sees this character, and no text needs it.
fn is_unseen(c: char) -> bool {
    !matches!(c, ' ' | '\t' | '\r') && leaves_no_mark(c)
}

/// Whether a reader sees nothing of this text: it is empty, or has blanks, control characters
/// and characters that are not shown, and nothing else.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(leaves_no_mark)
}

/// Whether a reader sees nothing where this character stands: a blank, or one that is not shown.
fn leaves_no_mark(c: char) -> bool {
    c.is_whitespace() || !is_visible(c)
}

/// What is not shown where nothing knows it: Unicode's `Default_Ignorable_Code_Point`,
/// annotations, and signs and letters of single scripts that have no form of their own.
fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        | '\u{13430}'..='\u{1343f}' | '\u{16fe4}' | '\u{1d159}')
}

/// Control characters, line separators, and the marks that reorder text.
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}'
            | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests;
