//! Reads HEAD, and the names of branches, tags and what the remotes have, without git: so no
//! configuration decides where they are.

use crate::{
    Extra, Remote, Repository, Sent, Uncollected,
    budget::{Budget, MAX_FILES, at_most},
    file,
    settings::PushSettings,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
};

/// The bytes of a file that holds one name: a path of 4,096 bytes has room in it.
const MAX_REF_FILE: usize = 8 << 10;

/// The bytes of `packed-refs`: 50,000 names of 160 bytes.
const MAX_PACKED_REFS: usize = 8 << 20;

/// How many symbolic names in a row are followed, as in git (SYMREF_MAXDEPTH).
const MAX_LINKS: usize = 5;

/// What git takes for a blank in such a file. `str::trim` takes more.
const GIT_BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];

/// The folders with the names that each linked worktree has for itself. Git looks for no other name
/// there.
const WORKTREE_FOLDERS: [&str; 3] = ["refs/bisect", "refs/rewritten", "refs/worktree"];

/// The files that name a commit while a merge, a rebase or the like is not over.
const IN_PROGRESS: [&str; 7] = [
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "rebase-apply/autostash",
    "rebase-apply/orig-head",
    "rebase-merge/autostash",
    "rebase-merge/orig-head",
];

/// What HEAD says where the branches are a reftable, for programs that read it as a file.
const REFTABLE_HEAD: &str = "ref: refs/heads/.invalid";

/// How a repository names its objects.
#[derive(Debug)]
pub(crate) struct Format {
    /// Git's word for it.
    pub(crate) name: &'static str,
    /// The name of a folder without files. Git knows it without an object.
    pub(crate) empty_tree: &'static str,
}

/// All formats that git knows. In a repository without a commit, git says whether the index fits.
static FORMATS: [Format; 2] = [
    Format {
        name: "sha1",
        empty_tree: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    },
    Format {
        name: "sha256",
        empty_tree: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
    },
];

/// The names of a repository, and the objects that they stand for.
#[derive(Debug)]
pub(crate) struct Refs {
    /// The commit of HEAD. None before the first one.
    pub(crate) head: Option<String>,
    /// The full name of HEAD's branch.
    branch: Option<String>,
    /// All objects that have a name, such as `refs/heads/main`, in the order of their names.
    named: Vec<Named>,
    /// What a merge, a rebase or the like that is not over brings in.
    in_progress: Vec<Named>,
    /// Whether several commits are picked or reverted one after another, of which some are still to
    /// come.
    is_in_sequence: bool,
}

/// A branch or tag, and what it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    /// Its full name; of a remote's branch, the name that it has there.
    pub(crate) name: String,
    /// The object that it stands for.
    pub(crate) object: String,
}

impl Named {
    /// The name without `refs/heads/` or `refs/tags/`.
    pub(crate) fn short_name(&self) -> &str {
        for kind in ["refs/heads/", "refs/tags/"] {
            if let Some(rest) = self.name.strip_prefix(kind) {
                return rest;
            }
        }
        &self.name
    }

    /// Whether this is its full name, or the one without `refs/heads/` or `refs/tags/`.
    fn is_called(&self, name: &str) -> bool {
        self.name == name || self.short_name() == name
    }

    /// Whether it is a tag.
    pub(crate) fn is_tag(&self) -> bool {
        self.name.starts_with("refs/tags/")
    }
}

impl Refs {
    /// HEAD and all branches, tags and other refs of a repository, each with the object that it
    /// stands for. A ref that leads to no object is left out.
    ///
    /// # Errors
    /// [`Uncollected::Reftable`] if the refs are in a reftable, and not in files;
    /// [`Uncollected::Unreadable`] if there is no HEAD, or one of the files is no regular file or
    /// has neither an object's name nor that of a ref; [`Uncollected::TooMuch`] if there are more
    /// than 50,000 refs; [`Uncollected::TooSlow`].
    #[expect(clippy::disallowed_methods, reason = "a repository may be anybody's")]
    pub(crate) fn of(repository: &Repository, budget: &Budget) -> Result<Self, Uncollected> {
        let head_text = ref_text(&repository.git.join("HEAD"))?.ok_or(Uncollected::Unreadable)?;
        let has_reftable = fs::metadata(repository.common.join("reftable")).is_ok();
        if has_reftable || head_text == REFTABLE_HEAD {
            return Err(Uncollected::Reftable);
        }
        // The text of each ref: an object's name, or `ref:` and the name of another ref. A ref in a
        // file of its own (a loose one) takes the place of the same one in `packed-refs`.
        let mut texts = packed_refs(&repository.common, budget)?;
        add_loose_refs(&mut texts, &repository.common, &["refs"], budget)?;
        // A linked worktree has some refs of its own.
        if repository.git != repository.common {
            add_loose_refs(&mut texts, &repository.git, &WORKTREE_FOLDERS, budget)?;
        }
        let mut named = Vec::new();
        for (full_name, content) in &texts {
            budget.time_left()?;
            if let Some(object) = resolve(&texts, &repository.common, content)? {
                let name = full_name.clone();
                named.push(Named { name, object });
            }
        }
        Ok(Self {
            head: resolve(&texts, &repository.common, &head_text)?,
            branch: symref_target(&head_text).map(str::to_owned),
            named,
            in_progress: in_progress(&repository.git)?,
            is_in_sequence: fs::metadata(repository.git.join("sequencer")).is_ok(),
        })
    }

    /// How the objects are named: with SHA-256 if the name of HEAD's commit, or before the first
    /// commit the name of the first ref's object, has 64 digits; or else with SHA-1, also if there
    /// is neither.
    pub(crate) fn format(&self) -> &'static Format {
        let [sha1, sha256] = &FORMATS;
        let first = self.named.first().map(|named| &named.object);
        let any = self.head.as_ref().or(first);
        if any.is_some_and(|object| object.len() == sha256.empty_tree.len()) {
            return sha256;
        }
        sha1
    }

    /// The refs that a call with these words sends: HEAD's branch if HEAD
    /// [is sent](Self::sends_head); what is in progress; each ref that a word names; and what the
    /// call and git's settings add, the most of [`Sent::extra`] and `extra_by_settings`. In a
    /// sequence, these are at least all branches and tags, and the remotes' branches, as what is
    /// still to come may be of any. Any other ref is left out.
    ///
    /// A word names a ref by its full name, or without `refs/heads/`, `refs/tags/` or
    /// `refs/remotes/`, in capitals or not. `x` also names `refs/remotes/origin/x`. A `+` may stand
    /// before the name, and `:`, `~` or `^` behind it, as in `+main:other` or `main~2`. A word with
    /// a blank is a message, and names none.
    pub(crate) fn sent_by(
        &self,
        words: &[String],
        sent: &Sent,
        extra_by_settings: Extra,
    ) -> Vec<Named> {
        let mut asked_names = BTreeSet::new();
        for word in words {
            // A word with a blank is a message, such as `fix: typo`, and names no ref.
            if word.contains(char::is_whitespace) {
                continue;
            }
            let source = word.trim_start_matches('+').split([':', '~', '^']).next();
            // Some file systems take a name in capitals for the same one.
            asked_names.extend(source.map(str::to_lowercase));
        }
        let sends_head = self.sends_head(sent);
        let mut extra = sent.extra.max(extra_by_settings);
        if self.is_in_sequence {
            extra = extra.max(Extra::Branches);
        }
        let mut sending = self.in_progress.clone();
        for named in &self.named {
            let full_name = named.name.to_lowercase();
            let short_name = named.short_name().to_lowercase();
            let mut names = vec![&*full_name, &*short_name];
            // A remote's branch is `origin/x`, and `x` if no branch here has this name.
            if let Some(remote_and_branch) = on_remote(&full_name) {
                names.push(remote_and_branch);
                names.extend(remote_and_branch.split_once('/').map(|(_, branch)| branch));
            }
            let is_asked = names.iter().any(|name| asked_names.contains(*name));
            let is_heads = self.branch.as_ref() == Some(&named.name) && sends_head;
            let is_extra = match extra {
                Extra::Nothing => false,
                Extra::Tags => named.is_tag(),
                // Only branches and tags have a short name.
                Extra::Branches => named.short_name() != named.name,
                Extra::All => on_remote(&named.name).is_none(),
            };
            let may_come = self.is_in_sequence && on_remote(&named.name).is_some();
            if is_asked || is_extra || is_heads || may_come {
                sending.push(named.clone());
            }
        }
        sending
    }

    /// Whether a call sends HEAD. False if it sends only branches and tags that it names
    /// ([`Sent::only`]), and each of them is there. One that is not there yet may be made of HEAD.
    pub(crate) fn sends_head(&self, sent: &Sent) -> bool {
        for name in &sent.only {
            let mut all = self.named.iter();
            if !all.any(|named| named.is_called(name)) {
                return true;
            }
        }
        sent.only.is_empty()
    }

    /// The branches that count as published for a call that sends to `remote`, each with its name
    /// there, such as `x/y` for `refs/remotes/origin/x/y`. Which remotes' branches count:
    /// - those of each remote, with [`Remote::Any`], and with [`Remote::Default`] if the default
    ///   remote is an address, as for a branch of `gh pr checkout`;
    /// - otherwise those of the remote, with [`Remote::Named`] and [`Remote::Default`]. If something
    ///   of the remote was fetched, also those of a remote called `upstream` that is elsewhere;
    /// - none, with [`Remote::Unknown`].
    pub(crate) fn published(&self, remote: &Remote, settings: &PushSettings) -> Vec<Named> {
        let target = match remote {
            Remote::Unknown => return Vec::new(),
            Remote::Named(name) => name,
            Remote::Any | Remote::Default => settings.default_remote(self.branch.as_deref()),
        };
        let mut branches = Vec::new();
        for named in &self.named {
            let name = on_remote(&named.name);
            if let Some((owner, branch)) = name.and_then(|it| settings.split_at_remote(it)) {
                branches.push((owner, branch, &named.object));
            }
        }
        let is_fetched = branches.iter().any(|(owner, ..)| *owner == target);
        let is_address = target.contains(['/', ':']) && !settings.has_remote(target);
        let all_count = *remote == Remote::Any || (*remote == Remote::Default && is_address);
        // A fork's commits are mostly those of `upstream`, which are no secret. A new remote is no
        // fork yet, and a folder of this machine may be secret.
        let upstream_counts = is_fetched && settings.is_elsewhere("upstream");
        let mut published = Vec::new();
        for (owner, branch, object) in branches {
            if all_count || owner == target || (upstream_counts && owner == "upstream") {
                published.push(Named {
                    name: branch.to_owned(),
                    object: object.clone(),
                });
            }
        }
        published
    }
}

/// `origin/x` of `refs/remotes/origin/x`, a branch that a remote has. None for any other ref.
fn on_remote(full_name: &str) -> Option<&str> {
    full_name.strip_prefix("refs/remotes/")
}

/// The text of the ref's file `path`, without blanks at its end. None if there is no file.
///
/// # Errors
/// [`Uncollected::Unreadable`] if it is no UTF-8, or has a NUL, at which git stops; and those of
/// [`file::contents`].
fn ref_text(path: &Path) -> Result<Option<String>, Uncollected> {
    let Some(bytes) = file::contents(path, MAX_REF_FILE)? else {
        return Ok(None);
    };
    let line = String::from_utf8(bytes).map_err(|_| Uncollected::Unreadable)?;
    if line.contains('\0') {
        return Err(Uncollected::Unreadable);
    }
    Ok(Some(line.trim_end_matches(GIT_BLANKS).to_owned()))
}

/// The commits that a merge, a rebase or the like brings in that is not over, by the files
/// [`IN_PROGRESS`] of the folder `git`: such as the commit in `MERGE_HEAD`, with `MERGE_HEAD` for
/// its name. Such a file has a commit in each line. Empty if none of the files is there.
///
/// # Errors
/// [`Uncollected::Unreadable`] if a line is no object's name; and those of [`ref_text`].
fn in_progress(git: &Path) -> Result<Vec<Named>, Uncollected> {
    let mut found = Vec::new();
    for name in IN_PROGRESS {
        for line in ref_text(&git.join(name))?
            .iter()
            .flat_map(|text| text.lines())
        {
            // A shorter name could be that of an object in another repository.
            let object = object_name(line)?;
            let name = name.to_owned();
            found.push(Named { name, object });
        }
    }
    Ok(found)
}

/// The refs in the file `packed-refs` of the folder `common`: the full name of each, and the name
/// of its object. A line is an object's name, a blank and the full name. A line that begins with
/// `#` or `^` is passed by, and one without a blank is refused. Without the file, there are no
/// refs.
fn packed_refs(common: &Path, budget: &Budget) -> Result<BTreeMap<String, String>, Uncollected> {
    let mut texts = BTreeMap::new();
    let bytes = file::contents(&common.join("packed-refs"), MAX_PACKED_REFS)?.unwrap_or_default();
    let lines = String::from_utf8(bytes).map_err(|_| Uncollected::Unreadable)?;
    for line in lines.lines() {
        budget.time_left()?;
        if line.starts_with(['#', '^']) {
            continue;
        }
        let (object, name) = line.split_once(' ').ok_or(Uncollected::Unreadable)?;
        texts.insert(name.to_owned(), object.to_owned());
    }
    Ok(texts)
}

/// Adds to `texts` the text of each file beneath the folders `names` in `folder`, at any depth.
/// Each file is a ref, and its path in `folder` is the ref's name, as `refs/heads/main`. Its text
/// takes the place of one that is there. A missing folder has no files. A file or folder whose name
/// begins with `.` or ends with `.lock` is passed by.
///
/// # Errors
/// [`Uncollected::TooMuch`] if there are more than [`MAX_FILES`] texts and entries;
/// [`Uncollected::Unreadable`] if a name is no UTF-8, or something cannot be read;
/// [`Uncollected::TooSlow`].
#[expect(clippy::disallowed_methods, reason = "a repository may be anybody's")]
fn add_loose_refs(
    texts: &mut BTreeMap<String, String>,
    folder: &Path,
    names: &[&str],
    budget: &Budget,
) -> Result<(), Uncollected> {
    let mut folders_left: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut count = texts.len();
    while let Some(name) = folders_left.pop() {
        let entries = match fs::read_dir(folder.join(&name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            read => read?,
        };
        for found in entries {
            budget.time_left()?;
            let entry = found?;
            let utf8 = entry.file_name().into_string();
            let last = utf8.map_err(|_| Uncollected::Unreadable)?;
            count += 1;
            at_most(count, MAX_FILES)?;
            // A lock, or a file of the desktop's.
            if last.starts_with('.') || last.ends_with(".lock") {
                continue;
            }
            let path = format!("{name}/{last}");
            if entry.file_type()?.is_dir() {
                folders_left.push(path);
            // None: the file is gone meanwhile.
            } else if let Some(text) = ref_text(&entry.path())? {
                texts.insert(path, text);
            }
        }
    }
    Ok(())
}

/// The ref that a symbolic ref's text names: `refs/heads/main` of `ref: refs/heads/main`. None if
/// the text does not begin with `ref:`, such as an object's name.
pub(crate) fn symref_target(text: &str) -> Option<&str> {
    let name = text.strip_prefix("ref:")?;
    Some(name.trim_start_matches(GIT_BLANKS))
}

/// The object to which `first` leads, the text of HEAD or of another ref. A text that is an
/// object's name leads to this object. The text `ref: refs/heads/main` leads to the text of the ref
/// of this name, and so on: that in `texts`, or else that in its file in the folder `common`. None
/// if a ref has no text, as before the first commit.
///
/// # Errors
/// [`Uncollected::Unreadable`] if the name of a ref does not begin with `refs/`, as in `ref: HEAD`,
/// or has `..`; if more than five refs follow one another; or if a text is neither `ref:` and a
/// name nor an object's name.
fn resolve(
    texts: &BTreeMap<String, String>,
    common: &Path,
    first: &str,
) -> Result<Option<String>, Uncollected> {
    let mut text = first.to_owned();
    for _ in 0..=MAX_LINKS {
        let Some(name) = symref_target(&text) else {
            return Ok(Some(object_name(&text)?));
        };
        if !name.starts_with("refs/") || name.split('/').any(|part| part == "..") {
            return Err(Uncollected::Unreadable);
        }
        let next_text = match texts.get(name) {
            Some(known) => Some(known.clone()),
            // On some file systems, `refs/heads/Main` finds the file of `refs/heads/main`.
            None => ref_text(&common.join(name))?,
        };
        match next_text {
            Some(found) => text = found,
            None => return Ok(None),
        }
    }
    // Too many refs follow one another.
    Err(Uncollected::Unreadable)
}

/// The object's name with which a text begins: 40 hexadecimal digits, or 64 in a repository with
/// SHA-256. A text that begins otherwise is refused.
pub(crate) fn object_name(text: &str) -> Result<String, Uncollected> {
    let word = text.split(GIT_BLANKS).next().unwrap_or_default();
    let is_name =
        matches!(word.len(), 40 | 64) && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_name {
        return Err(Uncollected::Unreadable);
    }
    Ok(word.to_owned())
}
