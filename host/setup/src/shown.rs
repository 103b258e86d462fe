//! What of a file's change the user is shown: each line that goes or comes.

use keyhole_claude::PLUGIN;
use keyhole_walk::printable::printable_text;

/// The lines that go (`old`) and those that come (`new`), as the user is shown them. `place` says
/// where in the file they are, such as `permissions.deny`; it is empty if they are whole entries.
///
/// The reader may be an agent that only looks. So a line that names a key, `[keys.NAME]`, is shown
/// without it. The plugin's key is shown, since it is public.
pub(crate) fn lines_of(place: &str, old: &str, new: &str) -> String {
    let mut text = String::new();
    if !place.is_empty() {
        text += &format!("  in {place}:\n");
    }
    for (sign, side) in [('-', old), ('+', new)] {
        let lines = side.trim_start_matches(", ").lines();
        for line in lines.filter(|line| !line.trim().is_empty()) {
            text += &format!("  {sign} {}\n", printable_text(without_key(line)));
        }
    }
    text
}

/// The line, without the key of a user that it names.
fn without_key(line: &str) -> &str {
    if line.starts_with("[keys.") && !line.contains(PLUGIN.1) {
        "[keys.…]"
    } else {
        line
    }
}
