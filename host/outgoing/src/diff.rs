//! Reads what git prints of differences and commits.
//!
//! A difference tells in its head how many lines follow, and a message ends at a NUL, which it
//! cannot hold. So no file and no message can pass for something else. What is not understood is
//! an error.

use crate::{Passage, Uncollected, file};
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    ops::Range,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

/// How `git log` prints the head of a commit: name, parents, author, committer, message.
pub(crate) const FORMAT: &str = "--format=%x00%H%x00%P%x00%an <%ae>%x00%cn <%ce>%x00%B%x00";

/// How many digits of a commit's name are told.
const SHORT: usize = 7;

/// Lines of a difference that tell nothing of what leaves.
const HEADERS: [&[u8]; 13] = [
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
    /// From how many parents git has told a difference: from all, or from fewer if the commit is
    /// the same as a parent.
    told: usize,
    /// Its author and its committer, as `NAME <ADDRESS>`.
    people: [String; 2],
    /// Its message as git shows it. Git decodes it first, if the commit names an encoding.
    shown: String,
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
    at: usize,
}

impl<'a> Output<'a> {
    /// All of git's output.
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The commits that `git log -m -p -U0` tells in [`FORMAT`]. Git tells a merge once for each
    /// parent from which it differs. Of a merge, only the lines stay that no parent has. If it is
    /// the same as a parent, git leaves out that parent, and nothing stays.
    ///
    /// # Errors
    /// [`Uncollected::Unreadable`] if something is not understood.
    pub(crate) fn commits(mut self) -> Result<Vec<Commit>, Uncollected> {
        let mut commits: Vec<Commit> = Vec::new();
        while !self.rest().is_empty() {
            let commit = self.commit()?;
            match commits.last_mut() {
                Some(last) if last.name == commit.name => last.keep_common(&commit, self.bytes),
                _ => commits.push(commit),
            }
        }
        for commit in &mut commits {
            // Git has left out a parent: the merge is the same as that one.
            if commit.told < commit.parents.len() {
                commit.differences.clear();
            }
        }
        Ok(commits)
    }

    /// The next object that `git cat-file --batch` prints: its name, kind and size, and on the next
    /// line its bytes.
    ///
    /// # Errors
    /// [`Uncollected::ObjectMissing`] if git does not have it; [`Uncollected::Unreadable`].
    pub(crate) fn object(&mut self) -> Result<Object<'a>, Uncollected> {
        let line = String::from_utf8_lossy(self.until(b'\n')?);
        let mut words = line.split(' ').skip(1);
        let kind = words.next().unwrap_or_default().to_owned();
        let size = words.next().and_then(|word| word.parse().ok());
        let length: usize = size.ok_or(Uncollected::ObjectMissing)?;
        let content = self.rest().get(..length).ok_or(Uncollected::Unreadable)?;
        self.at += length;
        self.until(b'\n')?;
        Ok(Object { kind, content })
    }

    /// The next commit, with its differences from one parent.
    fn commit(&mut self) -> Result<Commit, Uncollected> {
        if !self.until(0)?.is_empty() {
            return Err(Uncollected::Unreadable);
        }
        let name = self.text()?;
        let parents = self.text()?;
        let people = [self.text()?, self.text()?];
        let shown = self.text()?;
        Ok(Commit {
            name,
            parents: parents.split_whitespace().map(str::to_owned).collect(),
            told: 1,
            people,
            shown,
            differences: self.differences()?,
        })
    }

    /// The files that differ, up to the next commit or the end.
    ///
    /// # Errors
    /// [`Uncollected::Unreadable`] if something is not understood.
    pub(crate) fn differences(&mut self) -> Result<Vec<Difference>, Uncollected> {
        let mut differences: Vec<Difference> = Vec::new();
        while self.rest().first().is_some_and(|byte| *byte != 0) {
            let line = self.until(b'\n')?;
            if let Some(names) = line.strip_prefix(b"diff --git ") {
                differences.push(Difference {
                    path: same_path(names),
                    is_new: false,
                    added: Vec::new(),
                });
            } else if line.is_empty() || HEADERS.iter().any(|header| line.starts_with(header)) {
                continue;
            } else {
                let last = differences.last_mut().ok_or(Uncollected::Unreadable)?;
                self.tell(last, line)?;
            }
        }
        Ok(differences)
    }

    /// Reads what this line of a difference tells of its `file`. A line that is none of these is
    /// refused.
    fn tell(&mut self, file: &mut Difference, line: &[u8]) -> Result<(), Uncollected> {
        if line.starts_with(b"new file mode ") {
            file.is_new = true;
        } else if let Some(name) = line.strip_prefix(b"rename to ") {
            file.is_new = true;
            file.path = path(name);
        } else if let Some(counts) = line.strip_prefix(b"@@ -") {
            file.added.extend(self.run(counts)?);
        } else {
            return Err(Uncollected::Unreadable);
        }
        Ok(())
    }

    /// The added lines that follow the head of a hunk, with counts such as `3,1 +4,2 @@`: here, one
    /// lost line comes first, and then two added ones. The hunk has no other lines (`-U0`). None if
    /// nothing is added.
    ///
    /// # Errors
    /// [`Uncollected::Unreadable`] if the counts are no numbers, or other lines follow.
    fn run(&mut self, counts: &[u8]) -> Result<Option<Run>, Uncollected> {
        let head = String::from_utf8_lossy(counts);
        let mut words = head.split(' ');
        let lost = words.next().and_then(Span::of);
        let added = words
            .next()
            .and_then(|word| Span::of(word.strip_prefix('+')?));
        let (Some(old), Some(new)) = (lost, added) else {
            return Err(Uncollected::Unreadable);
        };
        self.lines(b'-', old.count)?;
        // A lost line without an end is followed by `\ No newline at end of file`.
        if self.rest().starts_with(b"\\ ") {
            self.until(b'\n')?;
        }
        let start = self.at;
        self.lines(b'+', new.count)?;
        if new.count == 0 {
            return Ok(None);
        }
        Ok(Some(Run {
            first: new.first,
            count: new.count,
            bytes: start..self.at,
        }))
    }

    /// Reads `count` lines that begin with `sign`. Any other line is refused.
    fn lines(&mut self, sign: u8, count: usize) -> Result<(), Uncollected> {
        for _ in 0..count {
            if !self.until(b'\n')?.starts_with(&[sign]) {
                return Err(Uncollected::Unreadable);
            }
        }
        Ok(())
    }

    /// The text up to the next NUL.
    fn text(&mut self) -> Result<String, Uncollected> {
        let bytes = self.until(0)?;
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }

    /// The bytes up to the next `end`, which is read too. Refused if there is none.
    fn until(&mut self, end: u8) -> Result<&'a [u8], Uncollected> {
        let rest = self.rest();
        let found = rest.iter().position(|byte| *byte == end);
        let length = found.ok_or(Uncollected::Unreadable)?;
        self.at += length + 1;
        rest.get(..length).ok_or(Uncollected::Unreadable)
    }

    /// What is not read yet.
    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }
}

/// Lines of a file, as the head of a hunk counts them: from the line `first` on, `count` lines.
struct Span {
    first: usize,
    count: usize,
}

impl Span {
    /// What `3,2` stands for, two lines from the third on, or `3`, which is one line.
    fn of(word: &str) -> Option<Self> {
        let (first, count) = word.split_once(',').unwrap_or((word, "1"));
        Some(Self {
            first: first.parse().ok()?,
            count: count.parse().ok()?,
        })
    }
}

impl Commit {
    /// The first seven digits of its name.
    pub(crate) fn short(&self) -> &str {
        self.name.get(..SHORT).unwrap_or(&self.name)
    }

    /// Its message as the commit's object has it, and as git shows it if that differs. Both are
    /// without the lines that name its own author or committer.
    pub(crate) fn messages(&self, object: &Object<'_>) -> BTreeSet<String> {
        let text = file::text(object.content);
        let (_, message) = text.split_once("\n\n").unwrap_or_default();
        let both = [message, &self.shown];
        both.map(|one| without_own_lines(one, &self.people)).into()
    }

    /// Keeps of a merge what differs from another parent as well: of the files and of the lines,
    /// those that are also in `other`.
    fn keep_common(&mut self, other: &Self, output: &[u8]) {
        self.told += 1;
        let mut by_path: BTreeMap<&Path, &Difference> = BTreeMap::new();
        for difference in &other.differences {
            by_path.insert(&difference.path, difference);
        }
        let mut common = Vec::new();
        for difference in &self.differences {
            if let Some(same) = by_path.get(&*difference.path) {
                common.push(difference.common(same, output));
            }
        }
        self.differences = common;
    }
}

impl Difference {
    /// What both differences of a file have. They are from two parents of one merge, so a number
    /// means the same line of the merge in both. A line that only one of them adds is left out.
    fn common(&self, other: &Self, output: &[u8]) -> Self {
        let mut added: Vec<Run> = Vec::new();
        for run in &self.added {
            let mut start = run.bytes.start;
            let bytes = output.get(run.bytes.clone()).unwrap_or_default();
            let lines = bytes.split_inclusive(|byte| *byte == b'\n');
            for (number, line) in (run.first..).zip(lines) {
                let end = start + line.len();
                if other.adds(number) {
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

    /// Whether the line of this number is an added one.
    fn adds(&self, number: usize) -> bool {
        let after = self.added.partition_point(|run| run.first <= number);
        let run = after.checked_sub(1).and_then(|last| self.added.get(last));
        run.is_some_and(|found| number - found.first < found.count)
    }

    /// What leaves with this file: its name, if that is new, and its added lines, without the `+`
    /// before each. `commit` is the short name of the commit, if it is a commit's.
    pub(crate) fn passages(&self, output: &[u8], commit: Option<&str>) -> Vec<Passage> {
        let mut passages = Vec::new();
        if self.is_new {
            passages.push(Passage::of_path(&self.path));
        }
        for run in &self.added {
            let mut bytes = Vec::new();
            let told = output.get(run.bytes.clone()).unwrap_or_default();
            for line in told.split_inclusive(|byte| *byte == b'\n') {
                bytes.extend_from_slice(line.get(1..).unwrap_or_default());
            }
            passages.push(Passage::of_lines(&self.path, run.first, commit, &bytes));
        }
        passages
    }
}

/// The path in `a/PATH b/PATH`, where both are the same. If they are not, the file has a new name,
/// which another line tells.
fn same_path(names: &[u8]) -> PathBuf {
    let half = names.get(..names.len() / 2).unwrap_or_default();
    let whole = path(half);
    whole.strip_prefix("a").unwrap_or(&whole).to_owned()
}

/// The path that git prints: as it is, or, with a character such as a quote or a line's end, quoted
/// as in C.
fn path(printed: &[u8]) -> PathBuf {
    let quoted = printed
        .strip_prefix(b"\"")
        .and_then(|rest| rest.strip_suffix(b"\""));
    let bytes = quoted.map_or_else(|| printed.to_owned(), unquoted);
    PathBuf::from(OsStr::from_bytes(&bytes))
}

/// The bytes that stand for themselves or after a backslash, by a letter or by three octal digits.
fn unquoted(quoted: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = quoted.iter().copied();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let escape = rest.next().unwrap_or_default();
        bytes.push(match escape {
            b'a' => 7,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 11,
            b'f' => 12,
            b'r' => b'\r',
            b'0'..=b'3' => {
                let digits = [
                    escape,
                    rest.next().unwrap_or(b'0'),
                    rest.next().unwrap_or(b'0'),
                ];
                let value = digits
                    .iter()
                    .fold(0_u32, |sum, digit| sum * 8 + u32::from(digit & 7));
                u8::try_from(value).unwrap_or_default()
            }
            itself => itself,
        });
    }
    bytes
}

/// A message without the lines such as `Signed-off-by: NAME <ADDRESS>` that name one of these
/// people. A line that names another stays.
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
