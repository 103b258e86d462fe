//! What is wrong with a file or a map, and the one next step. It is in words, except for a
//! command that each shell reads in the same way: see [`word_to_change`].
#![expect(clippy::disallowed_methods, reason = "it only says what is wrong")]

use super::{Asker, finding::Finding};
use keyhole_core::{
    Entry, Location, Map, MapError, Refusal,
    limits::{DEFAULT_MAX_BYTES, MAX_MAX_BYTES},
};
use keyhole_setup::{
    file::{LOOKS_ALIKE, has_look_alike, is_open},
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
use std::{env, os::unix::fs::MetadataExt as _, path::Path};

/// The advice on what others could change: `file`, or a folder or link on its path (`distrust` says
/// which). The text says what is wrong, and how to stop it: by a command with `chmod` if one does,
/// and else in the words of `distrust`.
pub(super) fn cure(distrust: &Distrust, file: &Path) -> String {
    let said = distrust.to_string();
    // Before the `; ` stands what is wrong, and behind it what to do. The command replaces that.
    match (chmod_against(distrust, file), said.rsplit_once("; ")) {
        (Some(command), Some((wrong, _))) => format!("{wrong}. Run: {command}"),
        _ => said,
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

/// The first thing that others could change: a folder or link on the file's path, or else the file;
/// and why they could. None if they can change nothing, or if the system does not let us find out.
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
const HAS_UNSEEN: &str = "a character that nobody sees stands in the path in the map, or follows it, as text from a web page may have it: write the path again";
const IS_TOO_DEEP: &str =
    "more than 128 folders lead to the file, and no server walks so far: move it";
const MAP_A_COPY: &str = "put a copy of that, named .md, in a folder of your own, and map it";

/// What to do about `file`, the file of this entry, which is refused with this code. None if there
/// is nothing to add to the code's own text, if the advice would repeat a path that may be a key,
/// or if what is wrong with the file cannot be found out.
pub(super) fn advice(
    code: Refusal,
    entry: &Entry,
    file: &Path,
    location: &Location,
) -> Option<String> {
    match code {
        // To look at the file once more could hang, too.
        Refusal::TimedOut => return None,
        Refusal::Untrusted => return distrust_of(file).map(|distrust| cure(&distrust, file)),
        _ => {}
    }
    // Where the path leads, past all links.
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let place = printable(&real);
    let is_link = real != file;
    let may_have_unseen = has_unseen(&entry.path) || entry.path.ends_with([' ', '\t']);
    // The first row that fits counts.
    Some(match code {
        Refusal::NotMarkdown | Refusal::NotAFile if real.is_dir() => IS_FOLDER.to_owned(),
        Refusal::NotMarkdown if is_link && entry.path.ends_with(".md") => {
            format!("this is a link to {place}: {MAP_A_COPY}")
        }
        // A path without `.md` is not repeated: it may be a key in the wrong place.
        Refusal::NotMarkdown if is_link => return None,
        Refusal::NotMarkdown | Refusal::NotFound if may_have_unseen => HAS_UNSEEN.to_owned(),
        Refusal::NotMarkdown => return None,
        Refusal::NotAFile => format!("this path leads to {place}; map a file"),
        // The file is there, so the walk gave up on its way.
        Refusal::NotFound if file.is_file() => IS_TOO_DEEP.to_owned(),
        Refusal::NotFound if has_look_alike(file) => LOOKS_ALIKE.to_owned(),
        Refusal::NotFound => format!(
            "nothing is at {}; create it, or fix the path in the map",
            printable(file)
        ),
        Refusal::OutsideRoot => how_to_get_in_root(&real, location)?,
        Refusal::PermissionDenied => chmod_to_read(file)?,
        Refusal::TooLarge => how_to_fit(&real, entry.max_bytes)?,
        _ => return None,
    })
}

/// What to do about a file that is in no root of the map; `real` is its path without links. The
/// first of these: rename the file if a backslash is in its path; move it if its folder is the
/// user's home or above it, since neither may be a root; else add its folder to the roots, or move
/// it. None if the folder's path cannot be written in the map.
fn how_to_get_in_root(real: &Path, location: &Location) -> Option<String> {
    if real.to_string_lossy().contains('\\') {
        return Some(
            "the file's own name has a backslash: rename it, and write that in the map".to_owned(),
        );
    }
    let place = printable(real);
    let folder = real.parent()?;
    if holds_home(folder, location) {
        return Some(format!(
            "the file is {place}, directly in your home or above it, and neither must become a root. Move it to a folder of its own, such as ~/private, and write the new path in the map"
        ));
    }
    let root = quoted(visible(folder)?);
    Some(format!(
        "the file is {place}: add {root} to roots, or move the file"
    ))
}

/// What to do about a file that is larger than the `limit` of its entry: shorten it. Or raise the
/// limit, if it is the usual one, and the file is not too large for any limit. None if the file's
/// size is not known.
///
/// Another limit than the usual one stays: the user set it for a client that would write a longer
/// text to a file, where others can read it.
fn how_to_fit(real: &Path, limit: u64) -> Option<String> {
    let size = real.metadata().ok()?.len();
    Some(if limit == DEFAULT_MAX_BYTES && size <= MAX_MAX_BYTES {
        format!(
            "it has {size} bytes. Shorten it; or set max_bytes = {size} in its entry, for a client that takes so much, as Claude Code does not"
        )
    } else {
        format!("it has {size} bytes: shorten it to at most {limit}")
    })
}

/// The command that lets the user read the file, if a mode keeps the user out: for the file itself
/// `run: chmod u+r /home/theo/notes/a.md`, and for a folder above it
/// `run: chmod u+rx /home/theo/notes`. None if no mode does, if nothing can be looked at, or if the
/// path cannot be typed.
fn chmod_to_read(file: &Path) -> Option<String> {
    let mut above = file.ancestors();
    // Nothing in a folder that keeps the user out can be looked at. So the lowest path that can be
    // looked at is that of this folder, or else that of the file.
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
/// if nobody else may read the file, or if the file cannot be looked at.
pub(super) fn advice_to_close_to_others(file: &Path) -> Option<String> {
    let real = file.canonicalize().ok()?;
    if !is_open(&real) {
        return None;
    }
    let is_own = real.metadata().ok()?.uid() == geteuid().as_raw();
    Some(match word_to_change(file) {
        _ if !is_own => MAP_A_COPY.to_owned(),
        Some(path) => format!("run: chmod 600 {path}"),
        None => "close it to them: mode 600".to_owned(),
    })
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

/// Why the map at this location cannot be used, and what to do.
pub(super) fn unusable(error: &MapError, location: &Location, asker: Asker<'_>) -> Unusable {
    let (line, help) = match error {
        MapError::Parse(_, mistake) => (Some(mistake.line), mistake.help.clone()),
        _ => (None, help_without_line(error, location, asker)),
    };
    Unusable {
        code: error.code().as_str(),
        message: message_on_map(error, location, asker),
        line,
        help,
    }
}

/// What is wrong with the map. It names no path unless the report shows paths. A map that `--map`
/// names (`is_from_option`) and that cannot be read is never named: the argument may be a key.
fn message_on_map(error: &MapError, location: &Location, asker: Asker<'_>) -> String {
    use DistrustReason::UnknownOwner;
    // The first row that fits counts.
    match error {
        MapError::Parse(_, mistake) => mistake.message.clone(),
        MapError::Untrusted(distrust) if distrust.why == UnknownOwner && !asker.shows_paths => {
            OWNERS_ARE_HIDDEN.to_owned()
        }
        _ if !asker.shows_paths => error.code().remedy().to_owned(),
        // From here on, a path may be shown.
        MapError::Untrusted(distrust) => cure(distrust, &location.file),
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
    }
}

/// What to do about a map that is missing, or that the user may not read. None for any other error,
/// if the message says what to do, or if the advice would name a path and the report shows none.
fn help_without_line(error: &MapError, location: &Location, asker: Asker<'_>) -> Option<String> {
    let command = match asker.plugin {
        Some(_) => command_to_setup_plugin(),
        None => command("setup"),
    };
    // The first row that fits counts.
    match error {
        MapError::Missing(_) if !asker.shows_paths => {
            Some(format!("in a terminal of your own, run: {command}"))
        }
        _ if !asker.shows_paths => None,
        // From here on, a path may be shown.
        MapError::Missing(_) if !location.is_from_option => Some(format!(
            "to make one, run this in a terminal; it shows what it writes, and asks: {command}"
        )),
        MapError::Unreadable(_, SystemError::Denied) if !location.is_from_option => {
            chmod_to_read(&location.file)
        }
        _ => None,
    }
}

/// The command that gives the plugin's agent its file. If this program lies in the plugin's folder,
/// the command is the plugin's own script: `/home/theo/plugin/bin/keyhole setup plugin` for the
/// program `/home/theo/plugin/linux/keyhole`. Else the command is `keyhole setup plugin`, or what
/// [`command`] puts in its place.
pub(super) fn command_to_setup_plugin() -> String {
    let program = env::current_exe().unwrap_or_default();
    // In the plugin's folder, the program lies in a folder of its own.
    if let Some(folder) = program.parent()
        && let Some(plugins_folder) = folder.parent()
        && let script = plugins_folder.join("bin/keyhole")
        && script.is_file()
    {
        return plugins_command(&script, "setup plugin");
    }
    command("setup plugin")
}

/// The command that runs this program with these arguments, for a shell: `keyhole check` for the
/// arguments `check`. If the shell finds another program or none by the name `keyhole`, the command
/// has this program's path, as in `/home/theo/bin/keyhole check`; but not if that path cannot be
/// typed.
fn command(arguments: &str) -> String {
    let program = env::current_exe().unwrap_or_default();
    match paste::command(&program, arguments) {
        Some(with_path) if !is_found_by_name(&program) => with_path,
        // The name is enough, or the path cannot be typed.
        _ => format!("keyhole {arguments}"),
    }
}

/// The plugin's command with these arguments, or in words if its path cannot be typed.
pub(super) fn plugins_command(command: &Path, arguments: &str) -> String {
    paste::command(command, arguments)
        .unwrap_or_else(|| format!("bin/keyhole {arguments}, in the plugin's folder"))
}

/// Whether the user's home is this folder, or lies in it. False if one of the two is not there.
fn holds_home(folder: &Path, location: &Location) -> bool {
    let Some(home) = &location.home else {
        return false;
    };
    match (home.canonicalize(), folder.canonicalize()) {
        (Ok(real_home), Ok(real_folder)) => real_home.starts_with(real_folder),
        _ => false,
    }
}

/// What the user should know of the map's place. Empty if there is nothing.
///
/// - [`Finding::MapByVariable`] if `XDG_CONFIG_HOME` says where the map is.
/// - [`Finding::NoRoots`] if the map has no roots.
/// - [`Finding::WideMap`] if it has roots, and its folder is the user's home or above it.
///
/// `NoRoots` and `WideMap` are only for Linux, where the kernel keeps a server in the roots and in
/// the map's folder; and only for a map that can be used. Else `map` is None.
pub(super) fn findings_on_place(location: &Location, map: Option<&Map>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if location.in_words().starts_with("$XDG_CONFIG_HOME") {
        findings.push(Finding::MapByVariable {});
    }
    let Some(map) = map.filter(|_| cfg!(target_os = "linux")) else {
        return findings;
    };
    // The folder that the map's path names. If the map is a link, also the folder of its target.
    let folders_of_map = directories_of(&location.file);
    if map.roots().is_empty() {
        findings.push(Finding::NoRoots {});
    } else if folders_of_map
        .iter()
        .any(|folder| holds_home(folder, location))
    {
        findings.push(Finding::WideMap {});
    }
    findings
}
