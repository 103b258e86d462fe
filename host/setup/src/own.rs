//! What of a client's file setup has written: all of it, or the lines of our server and hook.

use crate::{clients::Part, recipe::Recipe};

/// What stands before the program in the files of the clients, in the order in which it is looked
/// for.
const BEFORE_PROGRAM: [&str; 4] = [
    "\"command\": ",
    "\n    command: ",
    "command: ",
    "command = ",
];

/// What a file of ours starts.
#[derive(Debug)]
pub(crate) struct Started {
    /// The program. Empty if the file names none.
    pub(crate) program: String,
    /// The folder for tickets. Empty if the file names none.
    pub(crate) tickets: String,
}

impl Started {
    /// What the file with this text starts.
    pub(crate) fn in_text(text: &str) -> Self {
        let mut starts = BEFORE_PROGRAM.iter();
        let program = starts.find_map(|start| value_after(text, start));
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
    /// What setup would write into the file of this part, with the program and the folder for
    /// tickets that `text` names. None if the client does not take the recipe's name or agent.
    pub(crate) fn as_setup_writes(self, part: &Part, text: &str) -> Option<String> {
        let Started { program, tickets } = Started::in_text(text);
        let filled = self.filled_with(&program, Some(&tickets));
        Some(filled.ok()?.fill(part.text))
    }

    /// A client's file as it is to be now: `new` if setup wrote all of `old`, for whatever
    /// program; `old` if somebody has changed it since, but not the lines of our server and hook.
    /// None if these are other lines now.
    pub(crate) fn renewed(self, part: &Part, old: &str, new: &str) -> Option<String> {
        if self.as_setup_writes(part, old)? == old {
            return Some(new.to_owned());
        }
        if has_same_server_and_hook(old, new) {
            return Some(old.to_owned());
        }
        None
    }
}

/// The entries of a file of ours that start our server and guard, each with its lines.
pub(crate) fn own_entries(text: &str) -> Vec<String> {
    let mut entries = entries(text);
    entries.retain(|entry| entry.contains("\"--bind\""));
    entries
}

/// Whether the lines of our server and hook in `text` are those in `new`, whatever else it holds.
pub(crate) fn has_same_server_and_hook(text: &str, new: &str) -> bool {
    let there = entries(text);
    let wanted = own_entries(new);
    !wanted.is_empty() && wanted.iter().all(|entry| is_only_one(entry, &there))
}

/// Whether an entry stands there, and no other one with its key: of two, the client may take
/// either.
fn is_only_one(entry: &str, there: &[String]) -> bool {
    let mut same_key = there.iter().filter(|one| key(one) == key(entry));
    same_key.next().is_some_and(|one| one == entry) && same_key.next().is_none()
}

/// The entries of a file: each line that does not begin with a blank or a `-`, such as
/// `mcpServers:`, with the lines below it that do. If the file begins with a line `---`, as an
/// agent's file, only the entries of its head: those before the next line `---`. Comments and empty
/// lines are left out.
pub(crate) fn entries(text: &str) -> Vec<String> {
    let mut lines = text.trim_start_matches('\u{feff}').lines().peekable();
    let has_head = lines.next_if(|line| is_head_border(line)).is_some();
    let mut entries: Vec<String> = Vec::new();
    for written in lines {
        if has_head && is_head_border(written) {
            break;
        }
        let line = without_comment(written);
        if line.trim().is_empty() {
            continue;
        }
        match entries.last_mut() {
            Some(entry) if line.starts_with([' ', '\t', '-']) => {
                entry.push('\n');
                entry.push_str(line);
            }
            _ => entries.push(line.to_owned()),
        }
    }
    entries
}

/// A line of YAML without its comment: a `#` begins one at the line's start or behind a blank, but
/// not in double quotes. Empty if the line is nothing but a comment.
fn without_comment(line: &str) -> &str {
    if line.trim_start().starts_with('#') {
        return "";
    }
    let mut is_quoted = false;
    let mut is_behind_blank = false;
    for (at, c) in line.char_indices() {
        if c == '#' && is_behind_blank && !is_quoted {
            return line[..at].trim_end();
        }
        if c == '"' {
            is_quoted = !is_quoted;
        }
        is_behind_blank = c == ' ';
    }
    line
}

/// Whether a line begins or ends the head of an agent's file.
fn is_head_border(line: &str) -> bool {
    line.trim_end() == "---"
}

/// The key of an entry, such as `mcpServers`.
pub(crate) fn key(entry: &str) -> &str {
    let end = entry.find([':', '=']).unwrap_or(entry.len());
    entry[..end].trim_end().trim_matches(['"', '\''])
}
