//! Gathers what would be published, and with which lists it is compared, before any list is read:
//! git is started here.

use crate::{
    call::{Call, Part, expand},
    compare::Text,
    error::Uncompared,
};
use keyhole_claude::paths::without_links;
use keyhole_core::{Caller, Key, Map};
use keyhole_outgoing::{Repository, Uncollected};
use rustix::fs::{Mode, OFlags, open};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// The bytes of a file that are compared if a call names it.
const MAX_FILE_BYTES: usize = 8 << 20;

/// git has ten seconds in each folder. No folder is begun later than this: the client gives a hook
/// twenty seconds.
const LAST_GIT_START: Duration = Duration::from_secs(5);

/// The bytes of all files of a part that are compared.
const MAX_BYTES_OF_FILES: usize = 64 << 20;

/// How many files and folders below the folders that a call sends are looked at.
const MAX_ENTRIES: usize = 50_000;

/// No file is begun later than this.
const LAST_READ: Duration = Duration::from_secs(7);

/// A list of the map, and who asks for it.
#[derive(Clone)]
pub(crate) struct ListToLoad {
    pub(crate) key: Key,
    /// Somebody who may have the list.
    pub(crate) caller: Caller,
}

/// What would be published of one folder, and the lists that must not be published there.
#[derive(Default)]
pub(crate) struct Gathered {
    pub(crate) lists: Vec<ListToLoad>,
    pub(crate) texts: Vec<Text>,
}

/// Where git and files are looked up.
pub(crate) struct Places<'p> {
    /// The user's home.
    pub(crate) home: Option<&'p Path>,
    /// The session's folder.
    pub(crate) session: &'p Path,
    /// The folder for git's own files.
    pub(crate) scratch: &'p Path,
    /// When the hook began.
    pub(crate) start: Instant,
}

impl Places<'_> {
    /// # Errors
    /// [`Uncompared::Late`] if no more files are read.
    fn check_time(&self) -> Result<(), Uncompared> {
        if self.start.elapsed() > LAST_READ {
            return Err(Uncompared::Late);
        }
        Ok(())
    }
}

/// The lists that this repository must not publish: of the entries with `publish_only_in`, those of
/// which no folder holds the repository's main checkout. With `["~/work"]`, the repository
/// `~/work/app` may publish the list, and `~/app` may not. With `[]`, no repository may.
///
/// Without a repository (None), these are the lists of all entries with the field.
pub(crate) fn forbidden_lists(map: &Map, repository: Option<&Repository>) -> Vec<ListToLoad> {
    let mut lists = Vec::new();
    for (key, entry) in map.entries() {
        let Some(folders) = &entry.publish_only_in else {
            continue;
        };
        let checkout = repository.map(Repository::main_checkout);
        let may_publish = checkout.is_some_and(|it| folders.iter().any(|folder| holds(folder, it)));
        if may_publish {
            continue;
        }
        // The list is loaded as for its first agent; if it names none, anybody may have it.
        let agents = entry.agents.iter().flatten();
        let caller = agents.take(1).cloned().map(Caller::Agent).next();
        lists.push(ListToLoad {
            key: key.clone(),
            caller: caller.unwrap_or(Caller::Nobody),
        });
    }
    lists
}

/// Whether this path, which has no links, lies in the folder, whose links are followed.
#[expect(clippy::disallowed_methods, reason = "nothing is read there")]
fn holds(folder: &Path, path: &Path) -> bool {
    fs::canonicalize(folder).is_ok_and(|real| path.starts_with(real))
}

/// A part of a call, and what is gathered of it so far.
struct GatheredPart<'c> {
    part: &'c Part,
    /// The top of the part's repository, if there is one.
    top: Option<PathBuf>,
    gathered: Gathered,
}

/// What this call would publish of each folder in which it must not publish some list: the call's
/// own text, what leaves of the folder's repository, and the files that the call names. Nothing of a
/// folder in which every list may be published. If something cannot be told, the first reason is
/// written into `why_incomplete`, if nothing stands there yet, and the rest is told.
pub(crate) fn gather(
    call: &Call,
    map: &Map,
    places: &Places<'_>,
    why_incomplete: &mut Option<Uncompared>,
) -> Vec<Gathered> {
    if call.is_too_much && !forbidden_lists(map, None).is_empty() {
        *why_incomplete = Some(Uncollected::TooMuch.into());
    }
    let mut parts: Vec<GatheredPart<'_>> = Vec::new();
    let mut seen = Vec::new();
    for part in &call.parts {
        // Two paths may be one folder, and two missing folders may stand for one: each part is
        // gathered once.
        let folder = folder_there(&part.folder, places.session);
        let real_part = Part {
            folder: without_links(&folder),
            ..part.clone()
        };
        if seen.contains(&real_part) {
            continue;
        }
        seen.push(real_part);
        let repository_or_why = Repository::of_session(&folder);
        let repository = repository_or_why.as_ref().ok().and_then(Option::as_ref);
        let lists = forbidden_lists(map, repository);
        if lists.is_empty() {
            continue;
        }
        let top = repository.map(|it| it.top().to_owned());
        let mut texts = vec![Text {
            place: None,
            text: call.text.clone(),
        }];
        match texts_of_repository(part, &folder, repository_or_why, places) {
            Ok(more) => texts.extend(more),
            Err(why) => *why_incomplete = why_incomplete.or(Some(why)),
        }
        parts.push(GatheredPart {
            part,
            top,
            gathered: Gathered { lists, texts },
        });
    }
    // A named file may be a list, and what has read a list starts no program: git is done.
    for one in &mut parts {
        match files(one.part, one.top.as_deref(), places) {
            Ok(more) => one.gathered.texts.extend(more),
            Err(why) => *why_incomplete = why_incomplete.or(Some(why)),
        }
    }
    parts.into_iter().map(|one| one.gathered).collect()
}

/// Where a command runs that is to run in `folder`. If `folder` is not there, the call may make it,
/// or the call's `cd` fails: then it is the nearest folder above that is there; or, if that one is
/// in no repository, the folder `session`. Of `/src/app/new/x`, it is `/src/app` if this is there
/// and a repository, and `new` is not there.
#[expect(clippy::disallowed_methods, reason = "nothing is read there")]
fn folder_there(folder: &Path, session: &Path) -> PathBuf {
    match folder.ancestors().find(|above| above.is_dir()) {
        Some(found) if found == folder => folder.to_owned(),
        Some(found) if !matches!(Repository::of_session(found), Ok(None)) => found.to_owned(),
        _ => session.to_owned(),
    }
}

/// The texts that leave of the part's repository, if its command runs in `folder`. None of them if
/// the call sends only its text and its files, or if there is no repository.
///
/// # Errors
/// [`Uncompared::Late`] if git would be started too late; and why git tells nothing.
fn texts_of_repository(
    part: &Part,
    folder: &Path,
    repository_or_why: Result<Option<Repository>, Uncollected>,
    places: &Places<'_>,
) -> Result<Vec<Text>, Uncompared> {
    let Some(wanted) = &part.wanted else {
        return Ok(Vec::new());
    };
    let Some(repository) = repository_or_why? else {
        return Ok(Vec::new());
    };
    if places.start.elapsed() > LAST_GIT_START {
        return Err(Uncompared::Late);
    }
    let outgoing = repository.collect(folder, wanted, places.scratch)?;
    Ok(outgoing.passages.into_iter().map(Text::from).collect())
}

/// The texts of the files that words of the call name: those that leave as they are, those below
/// folders that leave, and those outside the checkout at `top`, as in `git commit -F ../msg`. A word
/// that names no file that can be read has none.
///
/// # Errors
/// [`Uncollected::TooMuch`] if a file has more than 8 MiB, or all have more than 64 MiB, or for
/// [`add_trees`]; [`Uncompared::Late`].
#[expect(clippy::disallowed_methods, reason = "nothing is read there")]
fn files(part: &Part, top: Option<&Path>, places: &Places<'_>) -> Result<Vec<Text>, Uncompared> {
    // Each path, with its name in the call, by which a person knows it.
    let mut named = BTreeMap::new();
    for word in part.wanted.iter().flat_map(|wanted| &wanted.words) {
        places.check_time()?;
        let name = expand(word, places.home);
        let path = part.folder.join(&name);
        // What leaves of the checkout, git has told.
        if !top.is_some_and(|it| lies_in(&path, it)) {
            named.insert(path, name);
        }
    }
    for word in &part.files {
        let name = expand(word, places.home);
        named.insert(part.folder.join(&name), name);
    }
    add_trees(part, places, &mut named)?;
    // A file that grows meanwhile is counted again below.
    let sizes = named.keys().filter_map(|path| fs::metadata(path).ok());
    let all_bytes: u64 = sizes.filter(|it| it.is_file()).map(|it| it.len()).sum();
    if all_bytes > MAX_BYTES_OF_FILES as u64 {
        return Err(Uncollected::TooMuch.into());
    }
    let mut texts = Vec::new();
    let mut bytes_left = MAX_BYTES_OF_FILES;
    for (path, name) in named {
        places.check_time()?;
        let text = match read_text(&path, MAX_FILE_BYTES) {
            Err(Uncompared::File) => continue,
            read => read?,
        };
        let left = bytes_left.checked_sub(text.len());
        bytes_left = left.ok_or(Uncollected::TooMuch)?;
        texts.push(Text::of_lines(name, 1, text));
    }
    Ok(texts)
}

/// Adds to `named` the paths that [`Part::trees`] names, and those of all that is below, each with
/// its name in the call: of `scp -r site host:`, `site`, `site/a` and so on. A link that the call
/// names is followed, and one below if it leads to a file. One below that leads to a folder is left
/// out: it may lead to a folder above.
///
/// # Errors
/// [`Uncollected::TooMuch`] if more than [`MAX_ENTRIES`] files and folders are below;
/// [`Uncompared::Late`].
#[expect(clippy::disallowed_methods, reason = "it leaves, whoever made it")]
fn add_trees(
    part: &Part,
    places: &Places<'_>,
    named: &mut BTreeMap<PathBuf, PathBuf>,
) -> Result<(), Uncompared> {
    // Each path is there once: a call may name a folder twice.
    let mut names_left = BTreeMap::new();
    for word in &part.trees {
        let name = expand(word, places.home);
        names_left.insert(part.folder.join(&name), name);
    }
    let mut count = 0;
    while let Some((path, name)) = names_left.pop_first() {
        places.check_time()?;
        // A file has no entries.
        for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
            count += 1;
            if count > MAX_ENTRIES {
                return Err(Uncollected::TooMuch.into());
            }
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            if !is_link || entry.path().is_file() {
                names_left.insert(entry.path(), name.join(entry.file_name()));
            }
        }
        named.insert(path, name);
    }
    Ok(())
}

/// Whether this path lies in the checkout at `top`. Links in the place of folders above it are
/// followed; a link as the last name is not, as git takes the link itself. Not if nothing is above
/// it.
#[expect(clippy::disallowed_methods, reason = "nothing is read there")]
fn lies_in(path: &Path, top: &Path) -> bool {
    let real = match (path.parent(), path.file_name()) {
        (Some(above), Some(name)) => fs::canonicalize(above).map(|folder| folder.join(name)),
        // It ends with `..`.
        _ => fs::canonicalize(path),
    };
    real.is_ok_and(|found| found.starts_with(top))
}

/// The text of the file `path`, which has at most `most` bytes. Links are followed.
///
/// # Errors
/// [`Uncompared::File`] if there is no regular file that can be read, as for a folder or a FIFO; and
/// see [`text_of`].
#[expect(clippy::disallowed_methods, reason = "it leaves, whoever wrote it")]
pub(crate) fn read_text(path: &Path, most: usize) -> Result<String, Uncompared> {
    // To open a FIFO without this would wait for its writer.
    let opened = open(path, OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty());
    let file = File::from(opened.map_err(|_| Uncompared::File)?);
    if !file.metadata().is_ok_and(|found| found.is_file()) {
        return Err(Uncompared::File);
    }
    text_of(file, most)
}

/// All that can be read from `source`, as the text that [`keyhole_outgoing::text`] makes of it.
///
/// # Errors
/// [`Uncollected::TooMuch`] if there are more than `most` bytes; [`Uncompared::File`] if it cannot be
/// read.
pub(crate) fn text_of(source: impl Read, most: usize) -> Result<String, Uncompared> {
    let mut bytes = Vec::new();
    // One byte more, to see that there is more.
    let mut start = source.take(most as u64 + 1);
    start
        .read_to_end(&mut bytes)
        .map_err(|_| Uncompared::File)?;
    if bytes.len() > most {
        return Err(Uncollected::TooMuch.into());
    }
    Ok(keyhole_outgoing::text(&bytes))
}

#[cfg(test)]
mod tests;
