//! Collects what a call would publish: the order of the steps, and the commands of git.

use crate::{
    Outgoing, Passage, Place, Repository, Sent, Uncollected, Wanted,
    budget::{Budget, MAX_COMMITS, MAX_FILES, at_most},
    diff::{Commit, FORMAT, Output},
    file,
    git::{DIFF, Git},
    refs::Refs,
    scratch::Scratch,
    taken::Taken,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
};

/// The bytes of a new file at most.
const NEW_FILE: usize = 2 << 20;

impl Repository {
    /// What a call in `folder` would publish of this repository. Git's own files are in a new
    /// folder beneath `scratch` meanwhile, which should be the user's own and on no project's path.
    ///
    /// It takes ten seconds at most. A caller that may be ended before leaves that folder.
    ///
    /// # Errors
    /// It tells all, or says why it cannot: see [`Uncollected`].
    pub fn collect(
        &self,
        folder: &Path,
        wanted: &Wanted,
        scratch: &Path,
    ) -> Result<Outgoing, Uncollected> {
        let mut budget = Budget::new();
        let refs = Refs::of(self)?;
        let format = refs.format();
        let own = Scratch::make(self, format, scratch, &mut budget)?;
        let git = Git {
            scratch: &own,
            top: self.top(),
            budget: &mut budget,
        };
        let mut collector = Collector {
            git,
            outgoing: Outgoing::default(),
        };
        let mut base = refs.head.clone();
        if wanted.amends
            && let Some(head) = &refs.head
        {
            base = collector.amended(head)?;
        }
        if let Some(checkout) = &self.checkout {
            let base_name = base.as_deref().unwrap_or(format.empty_tree);
            collector.staged(base_name)?;
            let taken = Taken::of(wanted, folder, checkout)?;
            if !taken.is_nothing() {
                collector.changed(&taken)?;
                collector.new_files(&taken)?;
            }
        }
        if let Some(sent) = &wanted.sends {
            collector.sent(&refs, &wanted.words, sent)?;
        }
        let Outgoing {
            staged,
            changed,
            new,
            ..
        } = collector.outgoing;
        at_most(staged + changed + new, MAX_FILES)?;
        Ok(collector.outgoing)
    }
}

/// What is collected so far, and what runs git.
struct Collector<'a> {
    git: Git<'a>,
    outgoing: Outgoing,
}

impl Collector<'_> {
    /// Tells the message of a commit that is made again, and returns its first parent.
    fn amended(&mut self, head: &str) -> Result<Option<String>, Uncollected> {
        let arguments = ["log", "--stdin", "--no-walk", "-s", "--no-mailmap", FORMAT];
        let output = self.git.run(&arguments, head)?;
        let commits = Output::new(&output).commits()?;
        let commit = commits.first().ok_or(Uncollected::Unreadable)?;
        self.message(commit);
        Ok(commit.parents.first().cloned())
    }

    /// Tells what differs between the index and this commit or tree.
    fn staged(&mut self, base: &str) -> Result<(), Uncollected> {
        let mut arguments = vec!["diff-index"];
        arguments.extend(DIFF);
        arguments.extend(["--cached", base, "--"]);
        let output = self.git.run(&arguments, "")?;
        for file in Output::new(&output).differences()? {
            self.outgoing.staged += 1;
            self.outgoing.passages.extend(file.passages(&output, None));
        }
        Ok(())
    }

    /// Tells what differs between the files and the index, of those that are taken.
    fn changed(&mut self, taken: &Taken) -> Result<(), Uncollected> {
        let mut arguments = vec!["diff-files"];
        arguments.extend(DIFF);
        arguments.extend(["-0", "--"]);
        let output = self.git.run(&arguments, "")?;
        for file in Output::new(&output).differences()? {
            let passages = file.passages(&output, None);
            // Git tells a file that was only written again, too.
            if taken.takes(&file.path) && !passages.is_empty() {
                self.outgoing.changed += 1;
                self.outgoing.passages.extend(passages);
            }
        }
        Ok(())
    }

    /// Tells the whole of each file that git does not have yet, or of which it has several versions
    /// since a merge, of those that are taken.
    fn new_files(&mut self, taken: &Taken) -> Result<(), Uncollected> {
        let arguments = [
            "ls-files",
            "-o",
            "-u",
            "-t",
            "-z",
            "--exclude-standard",
            "--",
        ];
        let output = self.git.run(&arguments, "")?;
        for (path, state) in listed(&output)? {
            if !taken.takes(&path) {
                continue;
            }
            self.git.budget.time()?;
            let Some(bytes) = whole(&self.git.top.join(&path))? else {
                continue;
            };
            self.git.budget.take(bytes.len())?;
            match state {
                State::New => {
                    self.outgoing.new += 1;
                    self.outgoing.passages.push(Passage::of_path(&path));
                }
                State::Unmerged => self.outgoing.changed += 1,
            }
            at_most(self.outgoing.new + self.outgoing.changed, MAX_FILES)?;
            self.outgoing.passages.push(Passage {
                place: Place::Lines {
                    path,
                    first: 1,
                    commit: None,
                },
                text: file::text(&bytes),
            });
        }
        Ok(())
    }

    /// Tells the names, commits and tags that a call with these words sends.
    fn sent(&mut self, refs: &Refs, words: &[String], sent: &Sent) -> Result<(), Uncollected> {
        let sending = refs.sent_by(words, sent);
        let published = refs.published(sent.remote.as_deref());
        let known: BTreeSet<&str> = published.iter().map(|branch| branch.name).collect();
        for named in &sending {
            if !known.contains(named.short()) {
                let text = named.short().to_owned();
                let place = Place::Branch(text.clone());
                self.outgoing.passages.push(Passage { place, text });
            }
        }
        let mut starts: BTreeSet<&str> = sending.iter().map(|named| named.object).collect();
        starts.extend(refs.head.as_deref());
        if !starts.is_empty() {
            let mut ends = String::new();
            for branch in published {
                ends.push_str(&format!("^{}\n", branch.object));
            }
            self.commits(&(lines(starts) + &ends))?;
        }
        let mut tags = Vec::new();
        for named in sending {
            if named.is_tag() {
                tags.push(Tag {
                    name: named.short().to_owned(),
                    object: named.object.to_owned(),
                });
            }
        }
        while !tags.is_empty() {
            tags = self.tags(&tags)?;
        }
        Ok(())
    }

    /// Tells the commits that these lines ask for, each by itself: an object's name for what leads
    /// to them, and one after `^` for what leads to others.
    fn commits(&mut self, names: &str) -> Result<(), Uncollected> {
        let most = format!("--max-count={}", MAX_COMMITS + 1);
        let mut arguments = vec!["log", "--stdin", &most, FORMAT, "-m"];
        arguments.extend(DIFF);
        arguments.extend(["--no-mailmap", "--no-notes", "--no-decorate"]);
        let output = self.git.run(&arguments, names)?;
        let commits = Output::new(&output).commits()?;
        at_most(commits.len(), MAX_COMMITS)?;
        self.outgoing.commits = commits.len();
        for commit in &commits {
            self.message(commit);
            for file in &commit.differences {
                let passages = file.passages(&output, Some(commit.short()));
                self.outgoing.passages.extend(passages);
            }
        }
        Ok(())
    }

    /// Tells the messages of those tags that have one, and returns the tags that they stand for.
    ///
    /// # Errors
    /// [`Uncollected::Unreadable`] if a tag is a file or a folder.
    fn tags(&mut self, tags: &[Tag]) -> Result<Vec<Tag>, Uncollected> {
        let names = lines(tags.iter().map(|tag| &*tag.object));
        let output = self.git.run(&["cat-file", "--batch"], &names)?;
        let mut printed = Output::new(&output);
        let mut next = Vec::new();
        for tag in tags {
            let object = printed.object()?;
            if object.kind == "commit" {
                continue;
            }
            let text = file::text(object.content);
            let (head, message) = text.split_once("\n\n").unwrap_or((&text, ""));
            let target = head
                .lines()
                .next()
                .and_then(|line| line.strip_prefix("object "));
            if object.kind != "tag" || target.is_none() {
                return Err(Uncollected::Unreadable);
            }
            let place = Place::TagMessage(tag.name.clone());
            let passage = Passage {
                place,
                text: message.to_owned(),
            };
            self.outgoing.passages.push(passage);
            next.extend(target.map(|found| Tag {
                name: tag.name.clone(),
                object: found.to_owned(),
            }));
        }
        Ok(next)
    }

    /// Tells a commit's message.
    fn message(&mut self, commit: &Commit) {
        self.outgoing.passages.push(Passage {
            place: Place::Message(commit.short().to_owned()),
            text: commit.message.clone(),
        });
    }
}

/// A tag, and what it stands for.
struct Tag {
    name: String,
    object: String,
}

/// Names in lines, as git reads them.
fn lines<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut text = String::new();
    for name in names {
        text.push_str(name);
        text.push('\n');
    }
    text
}

/// Why a file is told as a whole.
enum State {
    /// Git does not have it.
    New,
    /// A merge has left several versions of it.
    Unmerged,
}

/// The files that `git ls-files -o -u -t -z` prints: `? PATH` is new, and `M MODE NAME STAGE`, a
/// tabulator and the path is one version of an unmerged file.
fn listed(output: &[u8]) -> Result<BTreeMap<PathBuf, State>, Uncollected> {
    let mut files = BTreeMap::new();
    for line in output.split(|byte| *byte == 0) {
        let (state, name) = match line {
            [] => continue,
            [b'?', b' ', name @ ..] => (State::New, Some(name)),
            [b'M', b' ', rest @ ..] => {
                let tab = rest.iter().position(|byte| *byte == b'\t');
                (State::Unmerged, tab.and_then(|at| rest.get(at + 1..)))
            }
            _ => return Err(Uncollected::Unreadable),
        };
        let path = name.ok_or(Uncollected::Unreadable)?;
        // A repository in this one is a name with a slash. Only its commit's name leaves.
        if !path.ends_with(b"/") {
            files.insert(PathBuf::from(OsStr::from_bytes(path)), state);
        }
    }
    Ok(files)
}

/// All of a file in a checkout, or the target of a link. None if it is gone.
#[expect(clippy::disallowed_methods, reason = "a repository may be anybody's")]
fn whole(path: &Path) -> Result<Option<Vec<u8>>, Uncollected> {
    match fs::read_link(path) {
        Ok(target) => Ok(Some(target.into_os_string().into_vec())),
        // It is no link.
        Err(_) => file::contents(path, NEW_FILE),
    }
}
