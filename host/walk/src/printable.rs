//! Text from outside, in a form that is safe on a terminal.

use std::path::Path;

/// A path in a form that is safe to show: control characters are escaped, so that a
/// file name cannot move the cursor, change colours or reverse the line.
pub fn printable(path: &Path) -> String {
    printable_text(&path.to_string_lossy())
}

/// Like [`printable`], but for text.
pub fn printable_text(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unprintable(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Control characters, line separators, and the marks that reorder text.
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests;
