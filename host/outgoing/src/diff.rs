//! Reads what git prints of differences and commits.
//!
//! A difference tells in its head how many lines follow, and a message ends at a NUL, which it
//! cannot hold. So no file and no message can pass for something else. What is not understood is
//! an error.

use crate::{
    Uncollected,
    difference::{Difference, Run},
    file,
    hunk::Hunk,
    quoted::{path_if_same, unquoted_path},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// How `git log` prints the head of a commit: name, parents, author, committer, message.
pub(crate) const FORMAT: &str = "--format=%x00%H%x00%P%x00%an <%ae>%x00%cn <%ce>%x00%B%x00";

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
