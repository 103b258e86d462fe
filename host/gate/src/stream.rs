//! A text on standard input: a difference, as `git diff` and `git log -p` print it, or any other.

use crate::compare::Text;
use keyhole_outgoing::{Passage, unquoted_path};
use std::path::PathBuf;

/// What is said in place of a file's name.
const STREAM_NAME: &str = "standard input";

/// What of standard input would be published: of a difference, the added lines, names of new files
/// and messages; of any other text, all of it. A merge's difference, with its `@@@`, is taken as
/// any other text.
pub(crate) fn texts_of_stream(stream: String) -> Vec<Text> {
    let has_hunk = stream.lines().any(|line| line.starts_with("@@ -"));
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
    /// The number of the next line in the file.
    line_number: usize,
    /// The number behind the last line that was added to a text, which may go on there.
    end_of_last: usize,
    /// How many lines of the hunk follow, of the old file and of the new one.
    old_lines_left: usize,
    new_lines_left: usize,
}

impl Reader {
    /// Reads this line, which has the number `stream_line` on standard input, and adds what of it
    /// would be published. An indented line outside of a hunk is a message's. Other lines add
    /// nothing.
    fn read(&mut self, line: &str, stream_line: usize) {
        // The hunk is not over.
        if self.old_lines_left + self.new_lines_left > 0 {
            self.read_in_hunk(line);
        } else if let Some(header) = line.strip_prefix("@@ -") {
            self.read_hunk_head(header);
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
        if let Some(added) = line.strip_prefix('+') {
            self.push(self.path.clone(), self.line_number, added);
            self.line_number += 1;
            self.new_lines_left = self.new_lines_left.saturating_sub(1);
        } else if line.starts_with('-') {
            self.old_lines_left = self.old_lines_left.saturating_sub(1);
        } else if !line.starts_with('\\') {
            self.line_number += 1;
            self.old_lines_left = self.old_lines_left.saturating_sub(1);
            self.new_lines_left = self.new_lines_left.saturating_sub(1);
        }
    }

    /// Reads the head of a hunk such as `1,2 +3,4 @@`: two lines of the old file follow, and four
    /// of the new one from its third on.
    fn read_hunk_head(&mut self, header: &str) {
        let mut ranges = header.split(" +");
        let old = ranges.next().unwrap_or_default();
        let new = ranges.next().unwrap_or_default();
        let (_, old_count) = first_and_count(old);
        (self.line_number, self.new_lines_left) =
            first_and_count(new.split(' ').next().unwrap_or_default());
        self.old_lines_left = old_count;
        self.end_of_last = 0;
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

/// The first line and the number of lines of `3,4`; of `3`, that is one line.
fn first_and_count(text: &str) -> (usize, usize) {
    let (first, count) = text.split_once(',').unwrap_or((text, "1"));
    (number(first), number(count))
}

/// A number of at most 32 bits, so that no sum is too large; 1 if it is none.
fn number(text: &str) -> usize {
    text.parse::<u32>().map_or(1, |number| number as usize)
}

#[cfg(test)]
mod tests;
