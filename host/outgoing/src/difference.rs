//! A file that differs, and what of it leaves.

use crate::{Passage, Uncollected, budget::Budget};
use std::{ops::Range, path::PathBuf};

/// The bytes of memory that a passage takes besides its text and its path: some 100.
const PLACE_BYTES: usize = 100;

/// A file that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Its path, relative to the top.
    pub(crate) path: PathBuf,
    /// Whether nothing had this path before: the file is new, or has a new name.
    pub(crate) is_new: bool,
    /// The added lines, from the first to the last.
    pub(crate) added: Vec<Run>,
}

/// Added lines that follow one another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// The number of the first, from 1.
    pub(crate) first: usize,
    /// How many there are.
    pub(crate) count: usize,
    /// Where they are in git's output, each with a `+` before it.
    pub(crate) bytes: Range<usize>,
}

impl Difference {
    /// This difference with only the lines that `other` adds, too. Both are of one file of one
    /// merge, from two of its parents: so the same number means the same line in both. The path is
    /// new if it is new in both.
    pub(crate) fn common(&self, other: &Self, output: &[u8]) -> Self {
        let mut added: Vec<Run> = Vec::new();
        for run in &self.added {
            let mut start = run.bytes.start;
            let bytes = output.get(run.bytes.clone()).unwrap_or_default();
            let lines = bytes.split_inclusive(|byte| *byte == b'\n');
            for (number, line) in (run.first..).zip(lines) {
                let end = start + line.len();
                if other.adds_line(number) {
                    // The line goes to the last run if it stands right behind it, or begins a run.
                    match added.last_mut() {
                        Some(last) if last.bytes.end == start => {
                            last.bytes.end = end;
                            last.count += 1;
                        }
                        _ => added.push(Run {
                            first: number,
                            count: 1,
                            bytes: start..end,
                        }),
                    }
                }
                start = end;
            }
        }
        Self {
            path: self.path.clone(),
            is_new: self.is_new && other.is_new,
            added,
        }
    }

    /// Whether the line with this number is an added one.
    fn adds_line(&self, number: usize) -> bool {
        let runs_up_to_it = self.added.partition_point(|run| run.first <= number);
        let run = runs_up_to_it
            .checked_sub(1)
            .and_then(|last| self.added.get(last));
        run.is_some_and(|found| number - found.first < found.count)
    }

    /// What leaves with this file, one passage for each: its path, if that is new, and each run of
    /// added lines, without the `+` before each line. `output` is what git printed. `commit` is the
    /// short name of the commit that adds the lines, or None if they are in no commit yet.
    ///
    /// # Errors
    /// [`Uncollected::TooMuch`] if the passages' places take more bytes than the budget has: each
    /// place repeats the path.
    pub(crate) fn passages(
        &self,
        output: &[u8],
        commit: Option<&str>,
        budget: &mut Budget,
    ) -> Result<Vec<Passage>, Uncollected> {
        let each = PLACE_BYTES + self.path.as_os_str().len();
        budget.take_bytes(each.saturating_mul(self.added.len()))?;
        let mut passages = Vec::new();
        if self.is_new {
            passages.push(Passage::of_path(&self.path));
        }
        for run in &self.added {
            let mut bytes = Vec::new();
            let printed = output.get(run.bytes.clone()).unwrap_or_default();
            for line in printed.split_inclusive(|byte| *byte == b'\n') {
                bytes.extend_from_slice(line.get(1..).unwrap_or_default());
            }
            passages.push(Passage::of_lines(&self.path, run.first, commit, &bytes));
        }
        Ok(passages)
    }
}
