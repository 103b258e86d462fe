//! What of a file's change the user is shown: each line that goes or comes.

use keyhole_claude::PLUGIN;
use keyhole_walk::printable::printable_text;

/// A file's text after an edit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Edited {
    /// The new text. It is the old one with what is shown, and nothing else.
    pub(crate) text: String,
    /// The lines that come and go, for the user. Empty if there are none.
    pub(crate) shown: String,
}

/// These lines, which are taken out of a file, as the user is shown them: `  - path = "a"` for
/// `path = "a"`. See `signed` for `place`.
pub(crate) fn lines_that_go(place: &str, lines: &str) -> String {
    signed('-', place, lines)
}

/// These lines, which are added to a file, as the user is shown them: `  + path = "a"` for
/// `path = "a"`. See `signed` for `place`.
pub(crate) fn lines_that_come(place: &str, lines: &str) -> String {
    signed('+', place, lines)
}

/// These lines, each behind the sign. Empty lines are left out. If `place` is not empty, such as
/// `permissions.deny`, a line `  in permissions.deny:` comes first.
///
/// The reader may be an agent that only looks. So a line that names a key is shown as `[keys.…]`,
/// unless the key is the plugin's, which is public.
fn signed(sign: char, place: &str, lines: &str) -> String {
    let mut text = String::new();
    if !place.is_empty() {
        text += &format!("  in {place}:\n");
    }
    // A string that is added to a list has `, ` before it, which is not shown.
    let whole = lines.trim_start_matches(", ").lines();
    for line in whole.filter(|line| !line.trim().is_empty()) {
        text += &format!("  {sign} {}\n", printable_text(without_key(line)));
    }
    text
}

/// The line, without the key of a user that it names.
fn without_key(line: &str) -> &str {
    if line.starts_with("[keys.") && !line.contains(PLUGIN.key) {
        "[keys.…]"
    } else {
        line
    }
}
