//! Reads what git prints of differences and commits.
//!
//! A difference tells in its head how many lines follow, and a message ends at a NUL, which it
//! cannot hold. So no file and no message can pass for something else. What is not understood is
//! an error.

use crate::{Passage, Uncollected, budget::Budget, file};
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    ops::Range,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
};

/// How `git log` prints the head of a commit: name, parents, author, committer, message.
pub(crate) const FORMAT: &str = "--format=%x00%H%x00%P%x00%an <%ae>%x00%cn <%ce>%x00%B%x00";

/// The bytes of memory that a passage takes besides its text and its path: some 100.
const PLACE_BYTES: usize = 100;

/// How many digits of a commit's name are told.
const SHORT_DIGITS: usize = 7;

/// Lines of a difference that tell nothing of what leaves.
const SKIPPED_LINES: [&[u8]; 13] = [
    b"index ",
    b"mode ",
    b"old mode ",
    b"new mode ",
    b"deleted file mode ",
    b"similarity index ",
    b"dissimilarity index ",
    b"rename from ",
    b"copy from ",
    b"--- ",
    b"+++ ",
    b"\\ ",
    b"* Unmerged path ",
];

/// A file that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Its path, relative to the top.
    pub(crate) path: PathBuf,
    /// Whether nothing had this path before: the file is new, or has a new name.
    pub(crate) is_new: bool,
    /// The added lines, from the first to the last.
    added: Vec<Run>,
}

/// Added lines that follow one another.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    /// The number of the first, from 1.
    first: usize,
    /// How many there are.
    count: usize,
    /// Where they are in git's output, each with a `+` before it.
    bytes: Range<usize>,
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    /// Its name.
    pub(crate) name: String,
    /// The names of its parents.
    pub(crate) parents: Vec<String>,
    /// From how many parents git has printed the difference: all, or fewer if the commit is the
    /// same as a parent.
    parents_compared: usize,
    /// Its author and its committer, as `NAME <ADDRESS>`.
    people: [String; 2],
    /// Its message as git shows it. Git decodes it first, if the commit names an encoding.
    shown_message: String,
    /// What it adds: of a merge, what none of its parents has.
    pub(crate) differences: Vec<Difference>,
}

/// An object of git's.
#[derive(Debug)]
pub(crate) struct Object<'a> {
    /// `commit`, `tag` or the like.
    pub(crate) kind: String,
    /// All that it holds.
    pub(crate) content: &'a [u8],
}

/// Git's output, and how far it is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output<'a> {
    /// All of the output.
    bytes: &'a [u8],
    /// The number of the bytes that are read.
    read: usize,
}

impl<'a> Output<'a> {
    /// All of git's output.
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, read: 0 }
    }

    /// The commits that `git log -m -p -U0` prints in [`FORMAT`], each with what it adds. Git
    /// prints a merge once for each parent from which it differs. What a merge adds are the lines
    /// that no parent has: those that each of its differences has. If a merge is the same as a
    /// parent, git prints no difference from that one, and the merge adds nothing.
    ///
    /// # Errors
    /// [`Uncollected::Unreadable`] if something is not understood.
    pub(crate) fn commits(mut self) -> Result<Vec<Commit>, Uncollected> {
        let mut commits: Vec<Commit> = Vec::new();
        while !self.unread().is_empty() {
            let commit = self.next_commit()?;
            match commits.last_mut() {
                Some(last) if last.name == commit.name => last.keep_common(&commit, self.bytes),
                _ => commits.push(commit),
            }
        }
        for commit in &mut commits {
            // Git has printed no difference from one of the parents.
            if commit.parents_compared < commit.parents.len() {
                commit.differences.clear();
            }
        }
        Ok(commits)
    }

    /// The next object that `git cat-file --batch` has printed: a line `NAME KIND SIZE`, then SIZE
    /// bytes, and the end of a line.
    ///
    /// # Errors
    /// [`Uncollected::ObjectMissing`] if git prints no size, as it does for an object that it does
    /// not have; [`Uncollected::Unreadable`] if the output ends before the object does.
    pub(crate) fn next_object(&mut self) -> Result<Object<'a>, Uncollected> {
        let line = String::from_utf8_lossy(self.read_until(b'\n')?);
        let mut words = line.split(' ').skip(1);
        let kind = words.next().unwrap_or_default().to_owned();
        let size = words.next().and_then(|word| word.parse().ok());
        // `NAME missing` has no size.
        let length: usize = size.ok_or(Uncollected::ObjectMissing)?;
        let content = self.unread().get(..length).ok_or(Uncollected::Unreadable)?;
        self.read += length;
        self.read_until(b'\n')?;
        Ok(Object { kind, content })
    }

    /// The next commit in [`FORMAT`], with the differences from one parent that follow it. Before
    /// each of its five texts stands a NUL, and one behind the last.
    ///
    /// # Errors
    /// [`Uncollected::Unreadable`] if something stands before the first NUL, if a NUL is missing,
    /// or if a difference is not understood.
    fn next_commit(&mut self) -> Result<Commit, Uncollected> {
        if !self.read_until(0)?.is_empty() {
            return Err(Uncollected::Unreadable);
        }
        let name = self.read_text()?;
        let parents = self.read_text()?;
        // Its author and its committer.
        let people = [self.read_text()?, self.read_text()?];
        let shown_message = self.read_text()?;
        Ok(Commit {
            name,
            parents: parents.split_whitespace().map(str::to_owned).collect(),
            parents_compared: 1,
            people,
            shown_message,
            differences: self.differences()?,
        })
    }

    /// The files that differ, each with the lines that it adds, up to the next commit (a NUL) or
    /// the end of the output. A line `diff --git` begins a file. An empty line, and one of
    /// [`SKIPPED_LINES`], is passed by. Any other line is about the file before it.
    ///
    /// # Errors
    /// [`Uncollected::Unreadable`] if such a line stands before all files, or is refused by
    /// [`Self::read_line_of`].
    pub(crate) fn differences(&mut self) -> Result<Vec<Difference>, Uncollected> {
        let mut differences: Vec<Difference> = Vec::new();
        while self.unread().first().is_some_and(|byte| *byte != 0) {
            let line = self.read_until(b'\n')?;
            if let Some(names) = line.strip_prefix(b"diff --git ") {
                differences.push(Difference {
                    path: path_if_same(names),
                    is_new: false,
                    added: Vec::new(),
                });
            } else if line.is_empty() || SKIPPED_LINES.iter().any(|header| line.starts_with(header))
            {
                continue;
            } else {
                let last = differences.last_mut().ok_or(Uncollected::Unreadable)?;
                self.read_line_of(last, line)?;
            }
        }
        Ok(differences)
    }

    /// Notes in `file` what this line of its difference tells: `new file mode` that the file is
    /// new; `rename to PATH` that it has this new path; and the head of a hunk that added lines
    /// follow, which are read. Any other line is refused.
    fn read_line_of(&mut self, file: &mut Difference, line: &[u8]) -> Result<(), Uncollected> {
        if line.starts_with(b"new file mode ") {
            file.is_new = true;
        } else if let Some(name) = line.strip_prefix(b"rename to ") {
            file.is_new = true;
            file.path = unquoted_path(name);
        } else if let Some(hunk) = Hunk::of(&String::from_utf8_lossy(line)) {
            file.added.extend(self.added_run(&hunk)?);
        } else {
            return Err(Uncollected::Unreadable);
        }
        Ok(())
    }

    /// Reads the rest of a hunk, whose head was read before, and returns its added lines. None if it
    /// adds none. The lost lines come first (each with a `-` before it), and then the added ones (each
    /// with a `+`). Git prints no unchanged lines (`-U0`).
    ///
    /// # Errors
    /// [`Uncollected::Unreadable`] if fewer of these lines follow than the head says.
    fn added_run(&mut self, Hunk { old, new }: &Hunk) -> Result<Option<Run>, Uncollected> {
        self.skip_lines(b'-', old.count)?;
        // A lost line without an end is followed by `\ No newline at end of file`.
        if self.unread().starts_with(b"\\ ") {
            self.read_until(b'\n')?;
        }
        let start = self.read;
        self.skip_lines(b'+', new.count)?;
        if new.count == 0 {
            return Ok(None);
        }
        Ok(Some(Run {
            first: new.first,
            count: new.count,
            bytes: start..self.read,
        }))
    }

    /// Skips `count` lines that begin with `sign`. Any other line is refused.
    fn skip_lines(&mut self, sign: u8, count: usize) -> Result<(), Uncollected> {
        for _ in 0..count {
            if !self.read_until(b'\n')?.starts_with(&[sign]) {
                return Err(Uncollected::Unreadable);
            }
        }
        Ok(())
    }

    /// The text up to the next NUL.
    fn read_text(&mut self) -> Result<String, Uncollected> {
        let bytes = self.read_until(0)?;
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }

    /// The bytes up to the next `end`, which is read too. Refused if there is none.
    fn read_until(&mut self, end: u8) -> Result<&'a [u8], Uncollected> {
        let rest = self.unread();
        let found = rest.iter().position(|byte| *byte == end);
        let length = found.ok_or(Uncollected::Unreadable)?;
        self.read += length + 1;
        rest.get(..length).ok_or(Uncollected::Unreadable)
    }

    /// What is not read yet.
    fn unread(&self) -> &'a [u8] {
        self.bytes.get(self.read..).unwrap_or_default()
    }
}

/// What the head of a hunk says of the lines that follow.
#[derive(Debug, Default)]
pub struct Hunk {
    /// The lines of the old file.
    pub old: Span,
    /// The lines of the new file.
    pub new: Span,
}

impl Hunk {
    /// What this line says: of `@@ -3 +4,2 @@`, one line of the old file follows, and two of the
    /// new one. None if the line is no head of a hunk.
    pub fn of(line: &str) -> Option<Self> {
        let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
        let (new, _) = rest.split_once(" @@")?;
        Some(Self {
            old: Span::of(old)?,
            new: Span::of(new)?,
        })
    }
}

/// Lines of a file, as the head of a hunk counts them.
#[derive(Debug, Default)]
pub struct Span {
    /// The number of the first line, from 1.
    pub first: usize,
    /// How many lines there are.
    pub count: usize,
}

impl Span {
    /// What `3,2` stands for, two lines from the third on, or `3`, which is one line. A number has
    /// at most 32 bits, so that no sum is too large.
    fn of(word: &str) -> Option<Self> {
        let (first, count) = word.split_once(',').unwrap_or((word, "1"));
        Some(Self {
            first: first.parse::<u32>().ok()? as usize,
            count: count.parse::<u32>().ok()? as usize,
        })
    }
}

impl Commit {
    /// The first seven digits of its name.
    pub(crate) fn short_name(&self) -> &str {
        self.name.get(..SHORT_DIGITS).unwrap_or(&self.name)
    }

    /// Its message as the commit's object has it, and as git shows it if that differs. Both are
    /// without the lines that name its own author or committer.
    pub(crate) fn messages(&self, object: &Object<'_>) -> BTreeSet<String> {
        let text = file::text(object.content);
        let (_, message) = text.split_once("\n\n").unwrap_or_default();
        let both = [message, &self.shown_message];
        both.map(|one| without_own_lines(one, &self.people)).into()
    }

    /// Keeps only the files and added lines that `other` has, too. Both compare one merge with
    /// parents: `self` with all parents so far, `other` with one more. A file without lines in
    /// common stays if both have it. `output` is what git printed, in which both have their lines.
    fn keep_common(&mut self, other: &Self, output: &[u8]) {
        self.parents_compared += 1;
        let mut by_path: BTreeMap<&Path, &Difference> = BTreeMap::new();
        for difference in &other.differences {
            by_path.insert(&difference.path, difference);
        }
        let mut common = Vec::new();
        for difference in &self.differences {
            if let Some(other_difference) = by_path.get(&*difference.path) {
                common.push(difference.common(other_difference, output));
            }
        }
        self.differences = common;
    }
}

impl Difference {
    /// This difference with only the lines that `other` adds, too. Both are of one file of one
    /// merge, from two of its parents: so the same number means the same line in both. The path is
    /// new if it is new in both.
    fn common(&self, other: &Self, output: &[u8]) -> Self {
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

/// PATH of `a/PATH b/PATH`, where both are the same. If they are not, this is any path: the file
/// has a new name, and a line `rename to` tells it.
fn path_if_same(names: &[u8]) -> PathBuf {
    let half = names.get(..names.len() / 2).unwrap_or_default();
    let first = unquoted_path(half);
    first.strip_prefix("a").unwrap_or(&first).to_owned()
}

/// The path that git prints: as it is, or in quotes as in C, if the path has a character such as a
/// quote or a line's end. What is behind the closing quote does not count.
pub fn unquoted_path(printed: &[u8]) -> PathBuf {
    let Some(quoted) = printed.strip_prefix(b"\"") else {
        return OsStr::from_bytes(printed).into();
    };
    let mut bytes = Vec::new();
    let mut rest = quoted.iter().copied();
    while let Some(byte) = rest.next()
        && byte != b'"'
    {
        bytes.push(match byte {
            b'\\' => unescaped(&mut rest),
            other => other,
        });
    }
    OsString::from_vec(bytes).into()
}

/// The byte that is meant by what stands behind a backslash. A letter means what it does in C (`n`
/// is a line's end), and three octal digits mean the byte of this number. Any other byte means
/// itself. A backslash with nothing behind it means itself, too.
fn unescaped(rest: &mut impl Iterator<Item = u8>) -> u8 {
    match rest.next().unwrap_or(b'\\') {
        b'a' => 7,
        b'b' => 8,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 11,
        b'f' => 12,
        b'r' => b'\r',
        first @ b'0'..=b'3' => rest
            .take(2)
            .fold(first & 7, |number, digit| number * 8 + (digit & 7)),
        other => other,
    }
}

/// The message without the lines such as `Signed-off-by: NAME <ADDRESS>` that name one of these
/// people, who are the commit's own. A line stays if it names another person, or if the word before
/// its colon does not end with `-by`.
fn without_own_lines(message: &str, people: &[String]) -> String {
    let mut kept = String::new();
    for line in message.split_inclusive('\n') {
        let (key, person) = line.split_once(':').unwrap_or_default();
        let is_trailer = key.to_ascii_lowercase().ends_with("-by") && !key.contains(' ');
        let is_own = people.iter().any(|own| own == person.trim());
        if !(is_trailer && is_own) {
            kept.push_str(line);
        }
    }
    kept
}

#[cfg(test)]
mod tests;
