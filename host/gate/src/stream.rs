//! A text on standard input: a difference, as `git diff` and `git log -p` print it, or any other.

use crate::{compare::Text, gather::of_file};
use keyhole_outgoing::Place;
use std::path::PathBuf;

/// What is said in place of a file's name.
const STREAM: &str = "standard input";

/// What of this text would be published: of a difference, the added lines, names of new files and
/// messages; otherwise all of it. A merge's difference, with its `@@@`, counts as any text.
pub(crate) fn texts(stream: String) -> Vec<Text> {
    let has_hunk = stream.lines().any(|line| line.starts_with("@@ -"));
    let has_merge = stream.lines().any(|line| line.starts_with("@@@"));
    if !has_hunk || has_merge {
        return vec![of_file(STREAM.into(), stream)];
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
    number: usize,
    /// The number behind the last line that was added to a text, which may go on there.
    end: usize,
    /// How many lines of the hunk follow, of the old file and of the new one.
    old: usize,
    new: usize,
}

impl Reader {
    /// Reads this line, which has the number `index` in the stream.
    fn read(&mut self, line: &str, index: usize) {
        if self.old + self.new > 0 {
            self.read_in_hunk(line);
        } else if let Some(header) = line.strip_prefix("@@ -") {
            self.read_hunk(header);
        } else if let Some(old) = line.strip_prefix("--- ") {
            self.is_new = old == "/dev/null";
        } else if let Some(new) = line.strip_prefix("+++ ") {
            self.read_name(new);
        } else if let Some(message) = line.strip_prefix("    ") {
            self.push(STREAM.into(), index, message);
        } else {
            self.end = 0;
        }
    }

    /// Reads a line of a hunk: `+a` is added, `-a` is not.
    fn read_in_hunk(&mut self, line: &str) {
        if let Some(added) = line.strip_prefix('+') {
            self.push(self.path.clone(), self.number, added);
            self.number += 1;
            self.new = self.new.saturating_sub(1);
        } else if line.starts_with('-') {
            self.old = self.old.saturating_sub(1);
        } else if !line.starts_with('\\') {
            self.number += 1;
            self.old = self.old.saturating_sub(1);
            self.new = self.new.saturating_sub(1);
        }
    }

    /// Reads `1,2 +3,4 @@`: two lines of the old file, and four of the new one from its third on.
    fn read_hunk(&mut self, header: &str) {
        let mut ranges = header.split(" +");
        let old = ranges.next().unwrap_or_default();
        let new = ranges.next().unwrap_or_default();
        let (_, old_size) = range(old);
        (self.number, self.new) = range(new.split(' ').next().unwrap_or_default());
        self.old = old_size;
        self.end = 0;
    }

    /// Reads the name behind `+++ `: `src/a.rs` of `b/src/a.rs`. If the file is new, its name would
    /// be published, too.
    fn read_name(&mut self, name: &str) {
        let plain = match name.strip_prefix('"') {
            Some(quoted) => unquoted(quoted),
            None => name.split('\t').next().unwrap_or_default().to_owned(),
        };
        self.path = plain.strip_prefix("b/").unwrap_or(&plain).into();
        if self.is_new {
            self.texts.push(Text {
                text: self.path.to_string_lossy().into_owned(),
                place: Some(Place::Path(self.path.clone())),
            });
        }
    }

    /// Adds a line to the last text if that text ends right before this line, and else as a new
    /// text. Each hunk sets `end` to 0 first, so no line joins one of another hunk or file.
    fn push(&mut self, path: PathBuf, number: usize, line: &str) {
        match self.texts.last_mut() {
            Some(last) if self.end == number => {
                last.text.push('\n');
                last.text += line;
            }
            _ => {
                let place = Place::Lines {
                    path,
                    first: number,
                    commit: None,
                };
                self.texts.push(Text {
                    place: Some(place),
                    text: line.to_owned(),
                });
            }
        }
        self.end = number + 1;
    }
}

/// What git has in double quotes, without them: `é` of `\303\251"`. It writes a byte so that is
/// none of ASCII, and a character that its own lines have, as `\n`.
fn unquoted(quoted: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = quoted.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'"' => break,
            b'\\' => {
                let (escaped, behind) = escaped(after);
                bytes.push(escaped);
                rest = behind;
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The byte that stands behind a backslash, and what follows: three octal digits, or a letter of C.
fn escaped(text: &[u8]) -> (u8, &[u8]) {
    if let Some((octal, rest)) = text.split_at_checked(3)
        && let Ok(digits) = str::from_utf8(octal)
        && let Ok(byte) = u8::from_str_radix(digits, 8)
    {
        return (byte, rest);
    }
    let Some((&letter, rest)) = text.split_first() else {
        return (b'\\', text);
    };
    let byte = match letter {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        other => other,
    };
    (byte, rest)
}

/// The first line and the number of lines of `3,4`; of `3`, that is one line.
fn range(text: &str) -> (usize, usize) {
    let (first, size) = text.split_once(',').unwrap_or((text, "1"));
    (number(first), number(size))
}

/// A number of at most 32 bits, so that no sum is too large; 1 if it is none.
fn number(text: &str) -> usize {
    text.parse::<u32>().map_or(1, |number| number as usize)
}

#[cfg(test)]
mod tests;
