//! Collects what a call would publish: the order of the steps, and the commands of git.

use crate::{
    Outgoing, Passage, Place, Repository, Uncollected, Wanted,
    budget::{Budget, MAX_COMMITS, MAX_FILES, at_most},
    diff::{Commit, FORMAT, Output},
    encodings, excludes, file,
    git::{DIFF_OPTIONS, Git},
    reach::Reach,
    refs::{Named, Refs, object_name},
    scratch::Scratch,
    settings::{self, PushSettings, SettingsFiles},
    taken::Taken,
};
use keyhole_walk::Handle;
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

/// The bytes of a new file at most.
const MAX_NEW_FILE: usize = 8 << 20;

/// Where git prepares a commit's message.
const PREPARED_MESSAGES: [&str; 2] = ["MERGE_MSG", "SQUASH_MSG"];

/// The file with the number of the patch that `git am` applies next, or has stopped at.
const NEXT_PATCH: &str = "rebase-apply/next";

/// The bytes of this file at most.
const MAX_NUMBER: usize = 20;

/// Git's command that looks at each file again, also at those that the index calls unchanged
/// (`--assume-unchanged`).
const REFRESH_INDEX: [&str; 5] = [
    "update-index",
    "-q",
    "--unmerged",
    "--ignore-submodules",
    "--really-refresh",
];

impl Repository {
    /// What a call in `folder` would publish of this repository, if `wanted` says what the call
    /// takes and sends: the message of HEAD's commit if the call amends it; what is staged, and the
    /// changed and new files that the call takes, unless it publishes only commits; and what it
    /// sends.
    ///
    /// Git's own files are meanwhile in a new folder beneath `scratch`, which should be the user's
    /// own and on no project's path. The look takes ten seconds at most. A caller that is ended
    /// before leaves that new folder.
    ///
    /// # Errors
    /// If something is unknown, nothing is told but why: see [`Uncollected`].
    pub fn collect(
        &self,
        folder: &Path,
        wanted: &Wanted,
        scratch: &Path,
    ) -> Result<Outgoing, Uncollected> {
        let mut budget = Budget::new();
        let refs = Refs::of(self, &budget)?;
        let format = refs.format();
        let git_folder = Scratch::make(self, format, scratch, &mut budget)?;
        // The folders that git and we may read: on Linux, the kernel refuses all others.
        let reach = Reach::of(self, git_folder.path())?;
        let mut git = Git {
            scratch: &git_folder,
            top: self.top(),
            reach: &reach,
            budget: &mut budget,
        };
        let mut files = SettingsFiles::default();
        settings::check_checkout(self, &mut files, &mut git)?;
        let mut push = None;
        if wanted.sends.is_some() {
            push = Some(settings::of_push(self, &mut files, &mut git)?);
        }
        if !wanted.only_committed && !wanted.forces {
            excludes::add_users(self, &mut files, &mut git)?;
        }
        let collector = Collector {
            git,
            top: file::folder(self.top())?,
            outgoing: Outgoing::default(),
        };
        // The user's own files are read by now. From here on, what we read ourselves lies beneath
        // the same folders as what git reads: a project chooses the names.
        reach.run_within(|| Ok(collector.collect(self, folder, wanted, &refs, push.as_ref())))?
    }
}

/// What is collected so far, and what runs git.
struct Collector<'a> {
    git: Git<'a>,
    /// The checkout's folder. It is opened once: a link may take its place meanwhile.
    top: Handle,
    outgoing: Outgoing,
}

impl Collector<'_> {
    /// What [`Repository::collect`] says. `push` is what git's settings say of a push, if the call
    /// sends something.
    fn collect(
        mut self,
        repository: &Repository,
        folder: &Path,
        wanted: &Wanted,
        refs: &Refs,
        push: Option<&PushSettings>,
    ) -> Result<Outgoing, Uncollected> {
        // The commit from which the staged files differ: HEAD's, or its parent if HEAD's is
        // amended.
        let mut base = refs.head.clone();
        if wanted.amends
            && let Some(head) = &refs.head
        {
            base = self.add_amended(head)?;
        }
        if !wanted.only_committed {
            let base_name = base.as_deref().unwrap_or(refs.format().empty_tree);
            self.add_uncommitted(repository, folder, wanted, base_name)?;
        }
        if let (Some(sent), Some(settings)) = (&wanted.sends, push) {
            let sending = refs.sent_by(&wanted.words, sent, settings.extra);
            let published = refs.published(&sent.remote, settings);
            let head = refs.head.as_deref().filter(|_| refs.sends_head(sent));
            self.add_sent(head, sending, &published)?;
        }
        let Outgoing {
            staged,
            changed,
            new,
            ..
        } = self.outgoing;
        at_most(staged + changed + new, MAX_FILES)?;
        encodings::check(&self.outgoing.passages, &repository.common, &mut self.git)?;
        Ok(self.outgoing)
    }

    /// Adds the message of the commit `head`, which the call amends. Returns the name of its first
    /// parent, or None if it is the first commit.
    ///
    /// # Errors
    /// Those of git; [`Uncollected::Unreadable`] if git does not print the commit.
    fn add_amended(&mut self, head: &str) -> Result<Option<String>, Uncollected> {
        let arguments = ["log", "--stdin", "--no-walk", "-s", "--no-mailmap", FORMAT];
        let output = self.git.run(&arguments, head)?;
        let commits = Output::new(&output).commits()?;
        let commit = commits.first().ok_or(Uncollected::Unreadable)?;
        let objects = self.objects([head])?;
        self.add_message(commit, &mut Output::new(&objects))?;
        Ok(commit.parents.first().cloned())
    }

    /// Adds what is in no commit yet: the files that are staged, by their difference from the commit
    /// or tree `base`; the messages that git has prepared; and the changed and new files that
    /// `wanted` takes, for a call in `folder`. A bare repository has nothing of this. If `wanted`
    /// takes no file, no file of the checkout is looked at.
    ///
    /// # Errors
    /// Those of git, of [`Taken::of`] and of the functions that add each of these.
    fn add_uncommitted(
        &mut self,
        repository: &Repository,
        folder: &Path,
        wanted: &Wanted,
        base: &str,
    ) -> Result<(), Uncollected> {
        let Some(checkout) = &repository.checkout else {
            return Ok(());
        };
        let staged = ["diff-index", "--cached", base];
        self.outgoing.staged = self.add_diffs(&staged, None)?;
        self.add_prepared_messages(repository)?;
        let taken = Taken::of(wanted, folder, checkout, self.git.budget)?;
        if taken.is_nothing() {
            return Ok(());
        }
        self.git.run(&REFRESH_INDEX, "")?;
        let changed = ["diff-files", "-0"];
        self.outgoing.changed = self.add_diffs(&changed, Some(&taken))?;
        self.add_new_files(&taken, repository)
    }

    /// Adds the messages that git has prepared for the next commit, after a merge or a squash; and
    /// while `git am` or `git rebase --apply` is not over, each patch that is left, whole:
    /// `rebase-apply/0003` and those after it, if 3 is the next.
    ///
    /// # Errors
    /// [`Uncollected::Unreadable`] if one is a link or no regular file, or if the number of the next
    /// patch is none; [`Uncollected::TooMuch`] if one has more than [`MAX_NEW_FILE`] bytes, or all
    /// are more than the budget.
    fn add_prepared_messages(&mut self, repository: &Repository) -> Result<(), Uncollected> {
        for name in PREPARED_MESSAGES {
            self.add_prepared(repository, name)?;
        }
        let Some(bytes) = file::contents(&repository.git.join(NEXT_PATCH), MAX_NUMBER)? else {
            return Ok(());
        };
        let digits = String::from_utf8_lossy(&bytes);
        let parsed = digits.trim().parse::<u32>();
        let next = parsed.map_err(|_| Uncollected::Unreadable)?;
        for number in next..=u32::MAX {
            self.git.budget.time_left()?;
            let patch = format!("rebase-apply/{number:04}");
            if !self.add_prepared(repository, &patch)? {
                break;
            }
        }
        Ok(())
    }

    /// Adds the text of the file `name` in git's folder. Returns whether there is such a file.
    fn add_prepared(&mut self, repository: &Repository, name: &str) -> Result<bool, Uncollected> {
        let file = repository.git.join(name);
        let Some(bytes) = file::contents(&file, MAX_NEW_FILE)? else {
            return Ok(false);
        };
        self.git.budget.take_bytes(bytes.len())?;
        let path = Path::new(".git").join(name);
        let passage = Passage::of_lines(&path, 1, None, &bytes);
        self.outgoing.passages.push(passage);
        Ok(true)
    }

    /// Adds what leaves of the files that this command of git's prints as different: of each file
    /// that `taken` takes, or without `taken`, of all files. Returns how many files added
    /// something. With `diff-files -0` and a file of which one line has changed, these are its
    /// passage and 1.
    ///
    /// # Errors
    /// Those of git and of the budget; [`Uncollected::Unreadable`] if git's output is not
    /// understood.
    fn add_diffs(&mut self, command: &[&str], taken: Option<&Taken>) -> Result<usize, Uncollected> {
        let mut arguments = command.to_vec();
        arguments.extend(DIFF_OPTIONS);
        arguments.push("--");
        let output = self.git.run(&arguments, "")?;
        let mut count = 0;
        for file in Output::new(&output).differences()? {
            self.git.budget.time_left()?;
            let passages = file.passages(&output, None, self.git.budget)?;
            let is_taken = taken.is_none_or(|some| some.takes_changed(&file.path));
            // Git also prints a file of which nothing leaves, as one that only lost lines.
            if is_taken && !passages.is_empty() {
                count += 1;
                self.outgoing.passages.extend(passages);
            }
        }
        Ok(count)
    }

    /// Adds the whole of each file that `taken` takes and that is new (git does not have it), or
    /// unmerged (a merge has left several versions of it). Of a new file, adds its path as well.
    /// Counts both kinds. An ignored file counts as new only if `taken.forces`.
    ///
    /// # Errors
    /// [`Uncollected::TooMuch`] if one has more than [`MAX_NEW_FILE`] bytes, or if there are more
    /// than [`MAX_FILES`]; and those of git and of [`file::contents_or_target`].
    fn add_new_files(&mut self, taken: &Taken, repository: &Repository) -> Result<(), Uncollected> {
        let mut arguments = vec!["ls-files", "-o", "-u", "-t", "-z"];
        if !taken.forces {
            arguments.push("--exclude-standard");
        }
        arguments.push("--");
        let output = self.git.run(&arguments, "")?;
        for (path, state) in new_and_unmerged(&output)? {
            self.git.budget.time_left()?;
            let is_taken = match state {
                WholeFile::New | WholeFile::Repository => taken.takes_new(&path),
                WholeFile::Unmerged => taken.takes_changed(&path),
            };
            if !is_taken {
                continue;
            }
            if state == WholeFile::Repository {
                repository.require_other(&self.git.top.join(&path))?;
                self.outgoing.passages.push(Passage::of_path(&path));
                continue;
            }
            // A file that is no longer there adds nothing.
            let Some(bytes) = file::contents_or_target(&self.top, &path, MAX_NEW_FILE)? else {
                continue;
            };
            self.git.budget.take_bytes(bytes.len())?;
            if state == WholeFile::New {
                self.outgoing.new += 1;
                self.outgoing.passages.push(Passage::of_path(&path));
            } else {
                self.outgoing.changed += 1;
            }
            at_most(self.outgoing.new + self.outgoing.changed, MAX_FILES)?;
            let passage = Passage::of_lines(&path, 1, None, &bytes);
            self.outgoing.passages.push(passage);
        }
        Ok(())
    }

    /// Adds what a call sends with the branches and tags `names` and with HEAD's commit, or None if
    /// there is none or the call does not send HEAD: each name that is not published yet; the
    /// commits that are not published yet; and the messages of the tags. Published are the branches
    /// `published`, each by its name on its remote, and all commits before them.
    fn add_sent(
        &mut self,
        head: Option<&str>,
        names: Vec<Named>,
        published: &[Named],
    ) -> Result<(), Uncollected> {
        let published_names: BTreeSet<&str> =
            published.iter().map(|branch| &*branch.name).collect();
        let mut sent_objects: BTreeSet<&str> = head.into_iter().collect();
        for named in &names {
            sent_objects.insert(&named.object);
            if !published_names.contains(named.short_name()) {
                let text = named.short_name().to_owned();
                let place = Place::Branch(text.clone());
                self.outgoing.passages.push(Passage { place, text });
            }
        }
        if !sent_objects.is_empty() {
            let mut lines = one_per_line(sent_objects);
            // `^` leaves out the commits that are published.
            for branch in published {
                lines.push_str(&format!("^{}\n", branch.object));
            }
            self.add_commits(&lines)?;
        }
        let mut tags = names;
        tags.retain(Named::is_tag);
        while !tags.is_empty() {
            // These are what the tags stand for: mostly commits, which end this, or tags again.
            tags = self.add_tag_messages(&tags)?;
        }
        Ok(())
    }

    /// Adds the messages and differences of the commits that these lines ask git for, and sets how
    /// many commits there are. A line with an object's name asks for the commit of this name and
    /// all before it; with `^` before the name, it leaves these out.
    ///
    /// # Errors
    /// [`Uncollected::TooMuch`] if there are more than [`MAX_COMMITS`]; and those of git.
    fn add_commits(&mut self, lines: &str) -> Result<(), Uncollected> {
        // One more than is allowed, to see that there are too many.
        let most = format!("--max-count={}", MAX_COMMITS + 1);
        let mut arguments = vec!["log", "--stdin", &most, FORMAT, "-m"];
        arguments.extend(DIFF_OPTIONS);
        arguments.extend(["--no-mailmap", "--no-notes", "--no-decorate"]);
        let output = self.git.run(&arguments, lines)?;
        let commits = Output::new(&output).commits()?;
        at_most(commits.len(), MAX_COMMITS)?;
        self.outgoing.commits = commits.len();
        let objects = self.objects(commits.iter().map(|commit| &*commit.name))?;
        let mut printed = Output::new(&objects);
        for commit in &commits {
            self.git.budget.time_left()?;
            self.add_message(commit, &mut printed)?;
            for file in &commit.differences {
                let commit = Some(commit.short_name());
                let passages = file.passages(&output, commit, self.git.budget)?;
                self.outgoing.passages.extend(passages);
            }
        }
        Ok(())
    }

    /// Adds the message of each of these tags that has an object of its own (an annotated tag), and
    /// returns what each annotated tag stands for, under the tag's name. This may be a tag again. A
    /// tag whose object is a commit (a lightweight tag) has no message, and adds and returns
    /// nothing.
    ///
    /// # Errors
    /// [`Uncollected::Unreadable`] if the object of one of `tags` is a file or a folder, or if an
    /// annotated tag does not say what it stands for.
    fn add_tag_messages(&mut self, tags: &[Named]) -> Result<Vec<Named>, Uncollected> {
        let output = self.objects(tags.iter().map(|tag| &*tag.object))?;
        let mut printed = Output::new(&output);
        let mut targets = Vec::new();
        for tag in tags {
            let object = printed.next_object()?;
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
            self.outgoing.passages.push(Passage {
                place: Place::TagMessage(tag.short_name().to_owned()),
                text: message.to_owned(),
            });
            if let Some(found) = target {
                let name = tag.name.clone();
                let object = object_name(found)?;
                targets.push(Named { name, object });
            }
        }
        Ok(targets)
    }

    /// The objects of these names, one after another, as git prints them for
    /// [`Output::next_object`].
    ///
    /// # Errors
    /// Those of git.
    fn objects<'n>(
        &mut self,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Result<Vec<u8>, Uncollected> {
        self.git.run(&["cat-file", "--batch"], one_per_line(names))
    }

    /// Adds the message of a commit, and the message as git shows it if that differs: git shows one
    /// in the encoding that the commit says it has. The commit's object is the next one of
    /// `output`, which git has printed.
    ///
    /// # Errors
    /// [`Uncollected::Unreadable`] if no object follows.
    fn add_message(&mut self, commit: &Commit, output: &mut Output<'_>) -> Result<(), Uncollected> {
        let object = output.next_object()?;
        for text in commit.messages(&object) {
            let place = Place::Message(commit.short_name().to_owned());
            self.outgoing.passages.push(Passage { place, text });
        }
        Ok(())
    }
}

/// These names, each with a line's end behind it: of `a` and `b`, the text `a\nb\n`.
fn one_per_line<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut text = String::new();
    for name in names {
        text.push_str(name);
        text.push('\n');
    }
    text
}

/// A file of which the whole is added, and why.
#[derive(PartialEq, Eq)]
enum WholeFile {
    /// Git does not have it.
    New,
    /// A merge has left several versions of it.
    Unmerged,
    /// It is a folder with a repository of its own, of which git takes only a commit's name.
    Repository,
}

/// The files that `git ls-files -o -u -t -z` prints, with a NUL behind each line, and whether each
/// is new or unmerged. `? a.rs` is new. `M 100644 NAME 1`, a tabulator and the path are one version
/// of an unmerged file. A path with a slash at its end is a repository. An empty line is left out.
///
/// # Errors
/// [`Uncollected::Unreadable`] if there is any other line.
fn new_and_unmerged(output: &[u8]) -> Result<BTreeMap<PathBuf, WholeFile>, Uncollected> {
    let mut files = BTreeMap::new();
    for line in output.split(|byte| *byte == 0) {
        let (state, name) = match line {
            [] => continue,
            [b'?', b' ', name @ ..] => (WholeFile::New, Some(name)),
            [b'M', b' ', rest @ ..] => {
                let tab = rest.iter().position(|byte| *byte == b'\t');
                (WholeFile::Unmerged, tab.and_then(|at| rest.get(at + 1..)))
            }
            _ => return Err(Uncollected::Unreadable),
        };
        let path = name.ok_or(Uncollected::Unreadable)?;
        let found = if path.ends_with(b"/") {
            WholeFile::Repository
        } else {
            state
        };
        files.insert(PathBuf::from(OsStr::from_bytes(path)), found);
    }
    Ok(files)
}
