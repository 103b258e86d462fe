//! What is wrong with a file or a map, and the one next step. It is in words, except for a
//! command that each shell reads in the same way: see [`word_to_change`].
#![expect(clippy::disallowed_methods, reason = "it only says what is wrong")]

use super::finding::Finding;
use keyhole_core::{
    Entry, Location, Map, MapError, Refusal,
    limits::{DEFAULT_MAX_BYTES, MAX_MAX_BYTES},
};
use keyhole_setup::{
    file::{LOOKS_ALIKE, has_look_alike, is_open},
    is_under_sudo,
    paste::{self, quoted, word_to_change},
    program::is_found_by_name,
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

/// The arguments of the command that gives the plugin's agent its file.
pub(super) const SETUP_PLUGIN: &str = "setup plugin";

/// What to do about a file, in words.
#[derive(Debug)]
pub(super) struct Advice {
    pub(super) text: String,
    /// The paths that the text names. One of them may hold a key.
    pub(super) paths: Vec<PathBuf>,
}

/// What others could change on the way to `file`, and how to stop them: a command with `chmod` if
/// there is one that does, and else in words.
pub(super) fn cure(distrust: &Distrust, file: &Path) -> Advice {
    let said = distrust.to_string();
    // What is wrong stands before the `; `, and behind it what to do.
    let text = match (chmod_against(distrust, file), said.rsplit_once("; ")) {
        (Some(command), Some((wrong, _))) => format!("{wrong}. Run: {command}"),
        _ => said,
    };
    Advice {
        text,
        paths: vec![distrust.path.clone()],
    }
}

/// The command that takes away the right to write that others have by a mode, such as
/// `chmod go-w /home/theo/notes`.
///
/// None if they have the right in another way, if `file` does not name what they can write (a link
/// leads there), or if its path cannot be typed.
fn chmod_against(distrust: &Distrust, file: &Path) -> Option<String> {
    use DistrustReason::{UnknownGroup, WritableByGroup, WritableByOthers};
    let is_by_mode = matches!(
        distrust.why,
        WritableByGroup | WritableByOthers | UnknownGroup(_)
    );
    if !is_by_mode || !file.starts_with(&distrust.path) {
        return None;
    }
    Some(format!("chmod go-w {}", word_to_change(&distrust.path)?))
}

/// What others could change, and why: this file, or a folder or link on its path. None if nobody
/// can, or if the system does not let us find out.
fn distrust_of(file: &Path) -> Option<Distrust> {
    let walker = Walker::new(System);
    let walked = match walker.walk(file, Policy::Name) {
        Ok(walked) => walked,
        Err(WalkError::Untrusted(on_the_way)) => return Some(on_the_way),
        Err(WalkError::System(_)) => return None,
    };
    // The file is only opened: 0 bytes of it are to be read.
    match GrantedFile::open(&walker, &walked.handle, walked.name.to_str()?, 0) {
        Err(WalkError::Untrusted(of_file)) => Some(Distrust {
            path: file.to_owned(),
            ..of_file
        }),
        Ok(_) | Err(WalkError::System(_)) => None,
    }
}

const IS_FOLDER: &str = "this is a directory: add the file's name";
const HAS_BACKSLASH: &str =
    "the file's own name has a backslash: rename it, and write that in the map";
const HAS_UNSEEN: &str = "a character that nobody sees stands in the path in the map, or follows it, as text from a web page may have it: write the path again";
const IS_TOO_DEEP: &str =
    "more than 128 folders lead to the file, and no server walks so far: move it";
const IS_IN_HOME: &str = "directly in your home or above it, and neither must become a root. Move it to a folder of its own, such as ~/private, and write the new path in the map";
const MAP_A_COPY: &str = "put a copy of that, named .md, in a folder of your own, and map it";
const FOR_A_CLIENT: &str = "in its entry, for a client that takes so much, as Claude Code does not";

/// What to do about `file`, the file of this entry, which is refused with this code. None if the
/// code's own text says it all, or if what is wrong with the file cannot be found out.
pub(super) fn advice(
    code: Refusal,
    entry: &Entry,
    file: &Path,
    location: &Location,
) -> Option<Advice> {
    match code {
        // To look at the file could hang once more.
        Refusal::TimedOut => return None,
        Refusal::Untrusted => return distrust_of(file).map(|distrust| cure(&distrust, file)),
        _ => {}
    }
    // Where the path leads, past all links.
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let (place, folder) = (printable(&real), real.parent());
    let path_has_unseen = has_unseen(&entry.path) || entry.path.ends_with([' ', '\t']);
    let is_link = real != file;
    // The first row that fits counts.
    let text = match code {
        Refusal::NotMarkdown | Refusal::NotAFile if real.is_dir() => IS_FOLDER.to_owned(),
        Refusal::NotMarkdown if path_has_unseen && !is_link => HAS_UNSEEN.to_owned(),
        Refusal::NotFound if path_has_unseen => HAS_UNSEEN.to_owned(),
        Refusal::NotMarkdown if is_link && entry.path.ends_with(".md") => {
            format!("this is a link to {place}: {MAP_A_COPY}")
        }
        // A path without `.md` is not repeated: it may be a key in the wrong place.
        Refusal::NotMarkdown => return None,
        Refusal::NotAFile => format!("this path leads to {place}; map a file"),
        // The file is there, so the walk gave up on its way.
        Refusal::NotFound if file.is_file() => IS_TOO_DEEP.to_owned(),
        Refusal::NotFound if has_look_alike(file) => LOOKS_ALIKE.to_owned(),
        Refusal::NotFound => return Some(nothing_there(&entry.path, file)),
        Refusal::OutsideRoot if real.to_string_lossy().contains('\\') => HAS_BACKSLASH.to_owned(),
        Refusal::OutsideRoot if holds_home(folder?, location) => {
            format!("the file is {place}, {IS_IN_HOME}")
        }
        Refusal::OutsideRoot => {
            let folder = quoted(visible(folder?)?);
            format!("the file is {place}: add {folder} to roots, or move the file")
        }
        Refusal::PermissionDenied => chmod_to_read(file)?,
        Refusal::TooLarge => {
            let (size, limit) = (real.metadata().ok()?.len(), entry.max_bytes);
            // A user sets another limit than the usual one for a client that would write a longer
            // text to a file, where others can read it. So that limit stays.
            if limit == DEFAULT_MAX_BYTES && size <= MAX_MAX_BYTES {
                format!("it has {size} bytes. Shorten it; or set max_bytes = {size} {FOR_A_CLIENT}")
            } else {
                format!("it has {size} bytes: shorten it to at most {limit}")
            }
        }
        _ => return None,
    };
    Some(Advice {
        text,
        paths: vec![file.to_owned(), real],
    })
}

/// The command that lets the user read the file: `run: chmod u+rx /home/theo/notes` if the mode of
/// that folder above it keeps the user out, and `run: chmod u+r /home/theo/notes/a.md` if only its
/// own mode does. None if no mode does, or if the path cannot be typed.
fn chmod_to_read(file: &Path) -> Option<String> {
    let mut above = file.ancestors();
    // Nothing in a folder that keeps the user out can be looked at. So this is that folder, or else
    // the file.
    let (lowest, found) = above.find_map(|at| Some((at, at.symlink_metadata().ok()?)))?;
    // A folder is entered by the right to execute.
    let (rights, bits) = if found.is_dir() {
        ("u+rx", 0o500)
    } else {
        ("u+r", 0o400)
    };
    if found.mode() & bits == bits {
        return None;
    }
    Some(format!("run: chmod {rights} {}", word_to_change(lowest)?))
}

/// How to close a file that others may read: `run: chmod 600 /home/theo/a.md`, or the same in words
/// if that path cannot be typed. If another user owns the file, the advice is to map a copy. None
/// if nobody else may read the file.
pub(super) fn advice_to_close_to_others(file: &Path) -> Option<Advice> {
    // None if nobody else may read it.
    let real = file.canonicalize().ok().filter(|real| is_open(real))?;
    let is_own = real.metadata().ok()?.uid() == geteuid().as_raw();
    let text = match word_to_change(file) {
        _ if !is_own => MAP_A_COPY.to_owned(),
        Some(path) => format!("run: chmod 600 {path}"),
        None => "close it to them: mode 600".to_owned(),
    };
    Some(Advice {
        text,
        paths: vec![file.to_owned(), real],
    })
}

/// The advice for a file that is not there: nothing is at `file`, which the map has as `path`, or a
/// link there leads nowhere. A path that begins with `$`, or is a relative one, gets a hint.
fn nothing_there(path: &str, file: &Path) -> Advice {
    let dead_link = file.ancestors().find(|at| at.is_symlink() && !at.exists());
    let target = dead_link.and_then(|link| fs::read_link(link).ok());
    let missing = printable(dead_link.unwrap_or(file));
    let gone = match &target {
        Some(to) => format!("{missing} is a link to {}, where nothing is", printable(to)),
        None => format!("nothing is at {missing}"),
    };
    let hint = match path {
        _ if path.starts_with(['/', '~']) => "",
        _ if path.starts_with('$') => ": nothing replaces a $ there, so write ~/ for your home",
        _ => ": a relative one starts at the map's directory",
    };
    Advice {
        text: format!("{gone}; create it, or fix the path in the map{hint}"),
        paths: vec![file.to_owned(), target.unwrap_or_default()],
    }
}

/// Why the map cannot be used.
#[derive(Debug, Serialize)]
pub(super) struct Unusable {
    /// The code with which each call is refused.
    pub(super) code: &'static str,
    pub(super) message: String,
    /// The line of the map, if it is the map's text.
    pub(super) line: Option<u32>,
    /// What to do, if the message does not say it.
    pub(super) help: Option<String>,
}

const NO_MAP_THERE: &str = "there is no map where --map says; create it, or name another";
const OWNERS_ARE_HIDDEN: &str = "this runs in a sandbox that hides who owns a file, so nothing was read, and the map may be right; run keyhole outside of it";

/// What is wrong with the map at this location, and what to do. It names no path unless
/// `shows_paths`. A map that `--map` names (`is_from_option`) and that cannot be read is never
/// named: the argument may be a key. `arguments` are those of the command that makes a map.
pub(super) fn unusable(
    error: &MapError,
    location: &Location,
    shows_paths: bool,
    arguments: &str,
) -> Unusable {
    use DistrustReason::UnknownOwner;
    // The first row that fits counts.
    let message = match error {
        MapError::Parse(_, mistake) => mistake.message.clone(),
        MapError::Untrusted(it) if it.why == UnknownOwner && !shows_paths => {
            OWNERS_ARE_HIDDEN.to_owned()
        }
        _ if !shows_paths => error.code().remedy().to_owned(),
        // From here on, a path may be shown.
        MapError::Untrusted(it) => cure(it, &location.file).text,
        MapError::Missing(file)
            if location.is_from_option && has_unseen(&file.to_string_lossy()) =>
        {
            format!("{NO_MAP_THERE}. The name has a character that nobody sees")
        }
        MapError::Missing(_) if location.is_from_option => NO_MAP_THERE.to_owned(),
        MapError::Unreadable(_, why) if location.is_from_option => {
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
        // Here, too, the first row that fits counts.
        help: match error {
            MapError::Parse(_, mistake) => mistake.help.clone(),
            MapError::Missing(_) if !shows_paths => Some(format!(
                "in a terminal of your own, run: {}",
                command(arguments)
            )),
            _ if !shows_paths => None,
            // From here on, a path may be shown.
            MapError::Missing(_) if location.is_from_option => if_dead_link(location),
            MapError::Missing(_) => if_dead_link(location).or_else(|| Some(how_to_make(arguments))),
            MapError::Unreadable(_, SystemError::Denied) if !location.is_from_option => {
                chmod_to_read(&location.file)
            }
            _ => None,
        },
    }
}

const TO_MAKE_ONE: &str = "to make one, run this in a terminal; it shows what it writes, and asks:";

/// The advice for a map that is a link to nothing. None if it is no link.
fn if_dead_link(location: &Location) -> Option<String> {
    let to = fs::read_link(&location.file).ok()?;
    let gone = format!("it is a link to {}, where nothing is", printable(&to));
    Some(format!("{gone}: make that file, or remove the link"))
}

/// The advice for a map that is not there. Under sudo, it is to run without sudo. If a map is at
/// the usual place, although `XDG_CONFIG_HOME` names another, it is to move that map. Else it is
/// the command with these arguments, which makes a map.
fn how_to_make(arguments: &str) -> String {
    // Without XDG_CONFIG_HOME, the map is looked for in HOME.
    let usual = Location::find(None, |name| env::var_os(name).filter(|_| name == "HOME"));
    // HOME may be root's then: no client of the user looks for a map there.
    if is_under_sudo(|name| env::var_os(name)) {
        "this runs under sudo, so it looked for another user's map: run it as yourself, without sudo".to_owned()
    } else if usual.is_ok_and(|usual| usual.file.is_file()) {
        "you have one at ~/.config/keyhole/context-map.toml: move it there, or unset XDG_CONFIG_HOME".to_owned()
    } else {
        format!("{TO_MAKE_ONE} {}", command(arguments))
    }
}

/// The command that runs this program with these arguments: `keyhole check`, or if the shell finds
/// another program by that name, `/home/theo/bin/keyhole check`.
///
/// If this program lies in the plugin's folder, the command for [`SETUP_PLUGIN`] starts the
/// plugin's own script, `bin/keyhole` in that folder.
pub(super) fn command(arguments: &str) -> String {
    let program = env::current_exe().unwrap_or_default();
    if arguments == SETUP_PLUGIN
        // The plugin has the program in a folder of its own folder.
        && let Some(plugins_folder) = program.ancestors().nth(2)
        && let script = plugins_folder.join("bin/keyhole")
        && script.is_file()
    {
        return plugins_command(&script, arguments);
    }
    // None if the program's path cannot be typed: then only the name is told.
    let by_path = paste::command(&program, arguments);
    match by_path {
        // The name alone would start another program.
        Some(typed) if !is_found_by_name(&program) => typed,
        _ => format!("keyhole {arguments}"),
    }
}

/// The plugin's command with these arguments, in words if its path is not to be typed.
pub(super) fn plugins_command(command: &Path, arguments: &str) -> String {
    paste::command(command, arguments)
        .unwrap_or_else(|| format!("bin/keyhole {arguments}, in the plugin's folder"))
}

/// Why the home is not to be used: the map is in it, and its owner is neither this user nor root,
/// as under `sudo`. None if the map is elsewhere, if the home can be used, or if there is none.
pub(crate) fn why_foreign_home(location: &Location) -> Option<String> {
    let home = location.home.as_ref()?;
    if !location.file.starts_with(home) {
        return None;
    }
    let owner = fs::metadata(home).ok()?.uid();
    if owner == geteuid().as_raw() || owner == 0 {
        return None;
    }
    Some("HOME is another user's: run keyhole as that user, without sudo".to_owned())
}

/// Whether the user's home is this folder, or in it. False if one of the two is not there.
fn holds_home(folder: &Path, location: &Location) -> bool {
    let home = location
        .home
        .as_ref()
        .and_then(|home| home.canonicalize().ok());
    match (home, folder.canonicalize()) {
        (Some(home), Ok(folder)) => home.starts_with(folder),
        _ => false,
    }
}

/// What the user should know of the map's place: `XDG_CONFIG_HOME` names it; or on Linux, the map
/// has no roots, or else its folder is the user's home or above it. There, the kernel keeps a
/// server in the roots and in the map's folder. `map` is None if it cannot be read: then nothing is
/// said of roots and folder.
pub(super) fn findings_on_place(location: &Location, map: Option<&Map>) -> Vec<Finding> {
    let mut findings = Vec::new();
    // It begins with `$XDG_CONFIG_HOME`: that variable says where the map is.
    if location.in_words().starts_with('$') {
        findings.push(Finding::MapByVariable {});
    }
    let Some(map) = map.filter(|_| cfg!(target_os = "linux")) else {
        return findings;
    };
    if map.roots().is_empty() {
        findings.push(Finding::NoRoots {});
    } else if directories_of(&location.file)
        .iter()
        // The folder that the path names, and if it is a link, those that it leads to.
        .any(|folder| holds_home(folder, location))
    {
        findings.push(Finding::WideMap {});
    }
    findings
}
