//! What is wrong with a file or a map, and the one next step. It is in words, except for a
//! command that each shell reads in the same way: see [`word`].
#![expect(clippy::disallowed_methods, reason = "it only says what is wrong")]

use super::{claude::DOOR, entry::Advice};
use keyhole_core::{
    Entry, Location, Map, MapError, Refusal,
    limits::{DEFAULT_MAX_BYTES, MAX_MAX_BYTES},
};
use keyhole_setup::{
    file::is_open,
    is_under_sudo,
    paste::{self, quoted, word},
    program::is_command,
};
use keyhole_walk::{
    Distrust, DistrustReason, GrantedFile, Policy, System, SystemError, WalkError, Walker,
    directories_of,
    printable::{has_unseen, printable, visible},
};
use rustix::process::geteuid;
use serde::Serialize;
use std::{
    env, fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// What others could change on the way to a file, and how to close it. Nothing is decided by it.
pub(super) fn cure(distrust: &Distrust, file: &Path) -> Advice {
    let said = distrust.to_string();
    let text = match (shutting(distrust, file), said.rsplit_once("; ")) {
        (Some(shut), Some((wrong, _))) => format!("{wrong}. Run: {shut}"),
        _ => said,
    };
    (text, vec![distrust.path.clone()])
}

/// A link on the way may be anybody's, and leads elsewhere than the user reads.
fn shutting(distrust: &Distrust, file: &Path) -> Option<String> {
    use DistrustReason::{UnknownGroup, WritableByGroup, WritableByOthers};
    let why = distrust.why;
    let is_open = matches!(why, WritableByGroup | WritableByOthers | UnknownGroup(_));
    let path = Some(&distrust.path).filter(|path| is_open && file.starts_with(path))?;
    Some(format!("chmod go-w {}", word(path)?))
}

/// What others could change: this file, or a folder or link on its path.
fn distrust(file: &Path) -> Option<Distrust> {
    let walker = Walker::new(System);
    let walked = match walker.walk(file, Policy::Name) {
        Err(WalkError::Untrusted(distrust)) => return Some(distrust),
        walked => walked.ok()?,
    };
    let opened = GrantedFile::open(&walker, &walked.handle, walked.name.to_str()?, 0);
    let Err(WalkError::Untrusted(mut distrust)) = opened else {
        return None;
    };
    distrust.path = file.to_owned();
    Some(distrust)
}

const FOLDER: &str = "this is a directory: add the file's name";
const BACKSLASH: &str = "the file's own name has a backslash: rename it, and write that in the map";
const UNSEEN: &str = "a character that nobody sees stands in the path in the map, or follows it, as text from a web page may have it: write the path again";
const HOME: &str = "directly in your home or above it, and neither must become a root. Move it to a folder of its own, such as ~/private, and write the new path in the map";
const COPY: &str = "put a copy of that, named .md, in a folder of your own, and map it";
const RAISE: &str = "in its entry, if its client takes so much (Claude Code: 500,000 characters)";

/// What to do about this one file, if the code does not say it all.
pub(super) fn advice(code: Refusal, entry: &Entry, file: &Path, at: &Location) -> Option<Advice> {
    match code {
        // What hung would hang once more.
        Refusal::TimedOut => return None,
        Refusal::Untrusted => return distrust(file).map(|distrust| cure(&distrust, file)),
        _ => {}
    }
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let (place, folder) = (printable(&real), real.parent());
    let has_unseen = has_unseen(&entry.path) || entry.path.ends_with([' ', '\t']);
    let text = match code {
        Refusal::NotMarkdown | Refusal::NotAFile if real.is_dir() => FOLDER.to_owned(),
        Refusal::NotMarkdown if has_unseen && real == file => UNSEEN.to_owned(),
        Refusal::NotFound if has_unseen => UNSEEN.to_owned(),
        // If no file has the name, it may be something else, such as a key.
        Refusal::NotMarkdown if !entry.path.ends_with(".md") || real == file => return None,
        Refusal::NotMarkdown => format!("this is a link to {place}: {COPY}"),
        Refusal::NotAFile => format!("this path leads to {place}; map a file"),
        Refusal::NotFound => return Some(nothing_there(&entry.path, file)),
        Refusal::OutsideRoot if real.to_string_lossy().contains('\\') => BACKSLASH.to_owned(),
        Refusal::OutsideRoot if holds_home(folder?, at) => {
            format!("the file is {place}, {HOME}")
        }
        Refusal::OutsideRoot => {
            let folder = quoted(visible(folder?)?);
            format!("the file is {place}: add {folder} to roots, typed by hand, or move the file")
        }
        Refusal::PermissionDenied => opening(file)?,
        Refusal::TooLarge => {
            let (size, limit) = (real.metadata().ok()?.len(), entry.max_bytes);
            // Another limit is a client's, above which it keeps the file where others can read it.
            if limit == DEFAULT_MAX_BYTES && size <= MAX_MAX_BYTES {
                format!("it has {size} bytes. Shorten it; or set max_bytes = {size} {RAISE}")
            } else {
                format!("it has {size} bytes: shorten it to at most {limit}")
            }
        }
        _ => return None,
    };
    Some((text, vec![file.to_owned(), real]))
}

/// What lets the user read the file, if a mode keeps them from it or from a folder above it.
fn opening(file: &Path) -> Option<String> {
    let mut above = file.ancestors();
    let (shut, found) = above.find_map(|at| Some((at, at.symlink_metadata().ok()?)))?;
    let (rights, bits) = [("u+r", 0o400), ("u+rx", 0o500)][usize::from(found.is_dir())];
    let path = word(shut).filter(|_| found.mode() & bits != bits)?;
    Some(format!("run: chmod {rights} {path}"))
}

/// What closes a file that others may read, if they may.
pub(super) fn closing(file: &Path) -> Option<Advice> {
    let real = file.canonicalize().ok().filter(|real| is_open(real))?;
    let own = word(file).map(|word| format!("run: chmod 600 {word}"));
    let own = own.unwrap_or_else(|| "close it to them: mode 600".to_owned());
    let is_own = real.metadata().ok()?.uid() == geteuid().as_raw();
    let how = if is_own { own } else { COPY.to_owned() };
    Some((how, vec![file.to_owned(), real]))
}

fn nothing_there(path: &str, file: &Path) -> Advice {
    let dangles = |path: &&Path| path.is_symlink() && !path.exists();
    let link = file.ancestors().find(dangles);
    let to = link.and_then(|link| fs::read_link(link).ok());
    let from = printable(link.unwrap_or(file));
    let gone = match &to {
        Some(to) => format!("{from} is a link to {}, where nothing is", printable(to)),
        None => format!("nothing is at {from}"),
    };
    let start = match path {
        _ if path.starts_with(['/', '~']) => "",
        _ if path.starts_with('$') => ": nothing replaces a $ there, so write ~/ for your home",
        _ => ": a relative one starts at the map's directory",
    };
    let text = format!("{gone}; create it, or fix the path in the map{start}");
    (text, vec![file.to_owned(), to.unwrap_or_default()])
}

#[derive(Debug, Serialize)]
pub(super) struct Unusable {
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) line: Option<u32>,
    pub(super) help: Option<String>,
}

const NOWHERE: &str = "there is no map where --map says; create it, or name another";
const SANDBOXED: &str = "this runs in a sandbox that hides who owns a file, so nothing was read, and the map may be right; run keyhole outside of it";

/// What is wrong with the map. It does not repeat an argument that names no readable file, and
/// names no path at all unless `is_private`. `make` are the arguments that make a map.
pub(super) fn unusable(error: &MapError, at: &Location, is_private: bool, make: &str) -> Unusable {
    use DistrustReason::UnknownOwner;
    let message = match error {
        MapError::Parse(_, mistake) => mistake.message.clone(),
        MapError::Untrusted(it) if it.why == UnknownOwner && !is_private => SANDBOXED.to_owned(),
        _ if !is_private => error.code().remedy().to_owned(),
        MapError::Missing(file) if at.is_named && has_unseen(&file.to_string_lossy()) => {
            format!("{NOWHERE}. The name has a character that nobody sees")
        }
        MapError::Missing(_) if at.is_named => NOWHERE.to_owned(),
        MapError::Unreadable(_, why) if at.is_named => {
            let then = MapError::what_to_do(*why);
            format!("the map that --map names cannot be read: {why}; {then}")
        }
        _ => error.to_string(),
    };
    Unusable {
        code: error.code().as_str(),
        message,
        line: match error {
            MapError::Parse(_, mistake) => Some(mistake.line),
            _ => None,
        },
        help: match error {
            MapError::Parse(_, mistake) => mistake.help.clone(),
            MapError::Missing(_) if !is_private => {
                Some(format!("in a terminal of your own, run: {}", door(make)))
            }
            _ if !is_private => None,
            MapError::Missing(_) if at.is_named => dangling(at),
            MapError::Missing(_) => dangling(at).or_else(|| Some(making(make))),
            MapError::Untrusted(it) => shutting(it, &at.file).map(|shut| format!("run: {shut}")),
            MapError::Unreadable(_, SystemError::Denied) if !at.is_named => opening(&at.file),
            _ => None,
        },
    }
}

const MAKE: &str = "to make one, run this in a terminal; it shows what it writes, and asks:";

fn dangling(location: &Location) -> Option<String> {
    let to = fs::read_link(&location.file).ok()?;
    let gone = format!("it is a link to {}, where nothing is", printable(&to));
    Some(format!("{gone}: make that file, or remove the link"))
}

/// What makes a map that is not there: the command with these arguments.
fn making(arguments: &str) -> String {
    let usual = Location::find(None, |name| env::var_os(name).filter(|_| name == "HOME"));
    // HOME may be root's then: no client of the user looks for a map there.
    if is_under_sudo(|name| env::var_os(name)) {
        "this runs under sudo, so it looked for another user's map: run it as yourself, without sudo".to_owned()
    } else if usual.is_ok_and(|usual| usual.file.is_file()) {
        "you have one at ~/.config/keyhole/context-map.toml: move it there, or unset XDG_CONFIG_HOME".to_owned()
    } else {
        format!("{MAKE} {}", door(arguments))
    }
}

/// The command of this program with these arguments, by its full path if that is needed.
pub(super) fn door(arguments: &str) -> String {
    let program = env::current_exe().unwrap_or_default();
    let root = program.ancestors().nth(2).filter(|_| arguments == DOOR);
    let command = root.map(|root| root.join("bin/keyhole"));
    if let Some(command) = command.filter(|command| command.is_file()) {
        return plugins(&command, arguments);
    }
    let typed = paste::command(&program, arguments).filter(|_| !is_command(&program));
    typed.unwrap_or_else(|| format!("keyhole {arguments}"))
}

/// The plugin's command with these arguments, in words if its path is not to be typed.
pub(super) fn plugins(command: &Path, arguments: &str) -> String {
    paste::command(command, arguments)
        .unwrap_or_else(|| format!("bin/keyhole {arguments}, in the plugin's folder"))
}

/// That HOME is another user's, as `sudo` may leave it, and the map is there.
pub(crate) fn foreign_map(location: &Location) -> Option<String> {
    let has_map = |home: &&PathBuf| location.file.starts_with(home);
    let owner = fs::metadata(location.home.as_ref().filter(has_map)?);
    let owner = owner.ok()?.uid();
    let is_foreign = owner != rustix::process::geteuid().as_raw() && owner != 0;
    is_foreign.then(|| "HOME is another user's: run keyhole as that user, without sudo".to_owned())
}

fn holds_home(folder: &Path, location: &Location) -> bool {
    let home = location.home.as_ref();
    let home = home.and_then(|home| home.canonicalize().ok());
    let both = home.zip(folder.canonicalize().ok());
    both.is_some_and(|(home, folder)| home.starts_with(folder))
}

const VARIABLE: &str = "XDG_CONFIG_HOME is set here; a client that starts without it looks for ~/.config/keyhole/context-map.toml. Add --map and the map's path to the server's arguments";
const NO_ROOTS: &str = "the map has no roots, so a server may read whatever you may. Name the folders of your files at the top of the map, as in roots = [\"~/private\"]";
const WIDE_MAP: &str = "the map lies directly in your home, or above it, so a server may read all that is there; keep the map in a folder of its own";

/// What the user should know of the map's place, and of its roots if it can be read: on Linux,
/// they say what a server may read.
pub(super) fn surroundings(location: &Location, map: Option<&Map>) -> Vec<String> {
    let is_by_variable = location.in_words().starts_with('$');
    let mut said = Vec::from_iter(is_by_variable.then(|| VARIABLE.to_owned()));
    let is_wide = |folder: &PathBuf| holds_home(folder, location);
    let folders = || directories_of(&location.file);
    match map.filter(|_| cfg!(target_os = "linux")).map(Map::roots) {
        Some(roots) if roots.is_empty() => said.push(NO_ROOTS.to_owned()),
        Some(_) if folders().iter().any(is_wide) => said.push(WIDE_MAP.to_owned()),
        _ => {}
    }
    said
}
