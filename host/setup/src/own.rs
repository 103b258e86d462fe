//! What of a client's file setup has written: all of it, or the lines of our server and hook.

use crate::{clients::Part, recipe::Recipe};

/// The texts that may stand before the program in a client's file, in the order in which they are
/// looked for.
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

/// The value behind the first `start` in the text: for `command: `, it is `/bin/a` in
/// `command: /bin/a`, and `/b c` in `command: "/b c"`. None if `start` is not in the text, if
/// nothing follows, or if quotes are not closed.
fn value_after(text: &str, start: &str) -> Option<String> {
    let (_, behind) = text.split_once(start)?;
    if !behind.starts_with('"') {
        return Some(behind.split_whitespace().next()?.to_owned());
    }
    let mut values = serde_json::Deserializer::from_str(behind).into_iter();
    values.next()?.ok()
}

impl Recipe<'_> {
    /// What setup would write into the file of this part now, but with the program and the folder
    /// for tickets that `text`, an older text of the file, names. None if the client does not take
    /// the recipe's name or agent.
    pub(crate) fn as_setup_writes(self, part: &Part, text: &str) -> Option<String> {
        let Started { program, tickets } = Started::in_text(text);
        let filled = self.filled_with(&program, Some(&tickets));
        Some(filled.ok()?.fill(part.text))
    }

    /// The text that a client's file is to have, which has the text `old`:
    ///
    /// - `new`, if setup wrote all of `old`, for whatever program and folder for tickets;
    /// - `old`, if the lines of our server and hook are those of `new`, and others are not;
    /// - None, if the lines of our server and hook are others, too.
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

/// The entries of a client's file that start our server or guard: those with `"--bind"` in them,
/// such as `mcpServers`.
pub(crate) fn own_entries(text: &str) -> Vec<String> {
    let mut entries = entries(text);
    entries.retain(|entry| entry.contains("\"--bind\""));
    entries
}

/// Whether `text` has the entries of `new` that start our server and guard, line by line, and each
/// only once. All else in `text` may be different. False if `new` has no such entry.
pub(crate) fn has_same_server_and_hook(text: &str, new: &str) -> bool {
    let there = entries(text);
    let wanted = own_entries(new);
    !wanted.is_empty() && wanted.iter().all(|entry| is_only_one(entry, &there))
}

/// Whether an entry is in the list `there`, and is the only one with its key: of two, the client
/// may take either.
fn is_only_one(entry: &str, there: &[String]) -> bool {
    let mut same_key = there.iter().filter(|one| key(one) == key(entry));
    same_key.next().is_some_and(|one| one == entry) && same_key.next().is_none()
}

/// The entries of a file. An entry is a line that does not begin with a blank or a `-`, such as
/// `hooks:`, with the lines below that do, such as `  - a`. Comments and empty lines are left out.
///
/// If the file begins with a line `---`, as an agent's file does, only the entries of its head are
/// returned: those above the next line `---`.
pub(crate) fn entries(text: &str) -> Vec<String> {
    let written = text.trim_start_matches('\u{feff}').trim_start();
    let mut lines = written.lines().peekable();
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

/// A line of YAML without its comment: `a: "b # c" # d` becomes `a: "b # c"`. A `#` begins a
/// comment at the line's start or behind a blank, but not in double quotes. Empty if the line is
/// nothing but a comment. A line without a comment stays as it is.
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

/// Whether a line begins or ends the head of an agent's file: it is `---`.
fn is_head_border(line: &str) -> bool {
    line.trim_end() == "---"
}

/// The key of an entry: `hooks` of `hooks: {}`, and of `"hooks" = 1`. If the entry has neither `:`
/// nor `=`, all of it.
pub(crate) fn key(entry: &str) -> &str {
    let end = entry.find([':', '=']).unwrap_or(entry.len());
    entry[..end].trim_end().trim_matches(['"', '\''])
}
