//! What of a client's file setup has written: all of it, or the lines of our server and hook.

use crate::{clients::Part, recipe::Recipe};

/// The program and the folder for tickets that a file of ours names. Empty if it names none.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Started {
    pub(crate) program: String,
    pub(crate) tickets: String,
}

impl Started {
    pub(crate) fn by(text: &str) -> Self {
        let starts = [
            "\"command\": ",
            "\n    command: ",
            "command: ",
            "command = ",
        ];
        let program = starts.iter().find_map(|start| value_after(text, start));
        let tickets = value_after(text, "\"--tickets\", ");
        Self {
            program: program.unwrap_or_default(),
            tickets: tickets.unwrap_or_default(),
        }
    }
}

/// The value that follows the first `start`: a text in double quotes, or one without blanks.
fn value_after(text: &str, start: &str) -> Option<String> {
    let (_, rest) = text.split_once(start)?;
    if !rest.starts_with('"') {
        return Some(rest.split_whitespace().next()?.to_owned());
    }
    let mut values = serde_json::Deserializer::from_str(rest).into_iter();
    values.next()?.ok()
}

impl Recipe<'_> {
    /// What setup would write there, with the program and the folder for tickets that `text` names.
    pub(crate) fn ours(self, part: &Part, text: &str) -> Option<String> {
        let Started { program, tickets } = Started::by(text);
        let filled = self.with(&program, Some(&tickets));
        Some(filled.ok()?.fill(part.text))
    }

    /// A client's file as it is to be now: `new` if setup wrote all of `old`, for whatever
    /// program; `old` if somebody has changed it since, but not the lines of our server and hook.
    /// None if these are other lines now.
    pub(crate) fn renewed(self, part: &Part, old: &str, new: &str) -> Option<String> {
        if self.ours(part, old)? == old {
            return Some(new.to_owned());
        }
        has_lines_of(old, new).then(|| old.to_owned())
    }
}

/// The entries of a file of ours that start our server and guard, each with its lines.
pub(crate) fn own_entries(text: &str) -> Vec<String> {
    let mut entries = entries(text);
    entries.retain(|entry| entry.contains("\"--bind\""));
    entries
}

/// Whether the lines of our server and hook in `text` are those in `new`, whatever else it holds.
pub(crate) fn has_lines_of(text: &str, new: &str) -> bool {
    let (there, wanted) = (entries(text), own_entries(new));
    let has = |wanted: &String| {
        // Of two entries with one key, the client may take either.
        let mut same_key = there.iter().filter(|one| key(one) == key(wanted));
        same_key.next() == Some(wanted) && same_key.next().is_none()
    };
    !wanted.is_empty() && wanted.iter().all(has)
}

/// The entries of a file, each with the lines below that belong to it; of an agent's file, those
/// of its head, which stands between two lines `---`. Without comments and empty lines.
pub(crate) fn entries(text: &str) -> Vec<String> {
    let is_border = |line: &&str| line.trim_end() == "---";
    let mut lines = text.trim_start_matches('\u{feff}').lines().peekable();
    let has_head = lines.next_if(is_border).is_some();
    let lines: Vec<&str> = lines
        .take_while(|line| !(has_head && is_border(line)))
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        .collect();
    let entries = lines.chunk_by(|_, line| line.starts_with([' ', '\t', '-']));
    entries.map(|lines| lines.join("\n")).collect()
}

/// The key of an entry, such as `mcpServers`.
pub(crate) fn key(entry: &str) -> &str {
    let key = entry.split([':', '=']).next().unwrap_or_default();
    key.trim_end().trim_matches(['"', '\''])
}
