//! A text on standard input: a difference, as `git diff` and `git log -p` print it, or any other.

use crate::compare::Text;
use keyhole_outgoing::{Hunk, Passage, unquoted_path};
use std::path::PathBuf;

/// What is said in place of a file's name.
const STREAM_NAME: &str = "standard input";

/// What of standard input would be published: of a difference, the added lines, names of new files
/// and messages; of any other text, all of it. A merge's difference, with its `@@@`, is taken as
/// any other text.
pub(crate) fn texts_of_stream(stream: String) -> Vec<Text> {
    let has_hunk = stream.lines().any(|line| Hunk::of(line).is_some());
    let has_merge = stream.lines().any(|line| line.starts_with("@@@"));
    if !has_hunk || has_merge {
        return vec![Text::of_lines(STREAM_NAME.into(), 1, stream)];
    }
    let mut reader = Reader::default();
    for (index, line) in stream.lines().enumerate() {
        reader.read(line, index + 1);
    }
    reader.texts
}

/// What is read so far of a difference.
#[derive(Default)]
struct Reader {
    /// The texts that would be published so far.
    texts: Vec<Text>,
    /// The file whose lines are read.
    path: PathBuf,
    /// Whether that file is new.
    is_new: bool,
    /// The number behind the last line that was added to a text, which may go on there.
    end_of_last: usize,
    /// The lines of the hunk that follow.
    hunk: Hunk,
}

impl Reader {
    /// Reads this line, which has the number `stream_line` on standard input, and adds what of it
    /// would be published. An indented line outside of a hunk is a message's. Other lines add
    /// nothing.
    fn read(&mut self, line: &str, stream_line: usize) {
        // The hunk is not over.
        if self.hunk.old.count + self.hunk.new.count > 0 {
            self.read_in_hunk(line);
        } else if let Some(hunk) = Hunk::of(line) {
            self.hunk = hunk;
            self.end_of_last = 0;
        } else if let Some(old) = line.strip_prefix("--- ") {
            self.is_new = old == "/dev/null";
        } else if let Some(new) = line.strip_prefix("+++ ") {
            self.read_name(new);
        } else if let Some(message) = line.strip_prefix("    ") {
            self.push(STREAM_NAME.into(), stream_line, message);
        } else {
            self.end_of_last = 0;
        }
    }

    /// Reads a line of a hunk: `+a` is added, `-a` is only in the old file, and ` a` is in both. A
    /// line with a backslash is of neither.
    fn read_in_hunk(&mut self, line: &str) {
        let Hunk { old, new } = &mut self.hunk;
        if line.starts_with('\\') {
            return;
        }
        if !line.starts_with('+') {
            old.count = old.count.saturating_sub(1);
        }
        if line.starts_with('-') {
            return;
        }
        let number = new.first;
        new.first += 1;
        new.count = new.count.saturating_sub(1);
        if let Some(added) = line.strip_prefix('+') {
            self.push(self.path.clone(), number, added);
        }
    }

    /// Reads the name behind `+++ `: `src/a.rs` of `b/src/a.rs`. If the file is new, its name would
    /// be published, too.
    fn read_name(&mut self, name: &str) {
        // A tab in the name itself stands in quotes, as `\t`.
        let printed = name.split('\t').next().unwrap_or_default();
        let path = unquoted_path(printed.as_bytes());
        self.path = path.strip_prefix("b").unwrap_or(&path).to_owned();
        if self.is_new {
            self.texts.push(Passage::of_path(&self.path).into());
        }
    }

    /// Adds the line with this number in the file `path`: to the last text if that ends right
    /// before this line, and else as a new text. The head of each hunk sets `end_of_last` to 0, so
    /// no line joins one of another hunk or file.
    fn push(&mut self, path: PathBuf, number: usize, line: &str) {
        match self.texts.last_mut() {
            Some(last) if self.end_of_last == number => {
                last.text.push('\n');
                last.text += line;
            }
            _ => {
                let text = Text::of_lines(path, number, line.to_owned());
                self.texts.push(text);
            }
        }
        self.end_of_last = number + 1;
    }
}

#[cfg(test)]
mod tests;
