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

/// What is wrong with `file`, or with a folder or link on its path, that others could change, and
/// how to stop them. `distrust` says what they could change, and why.
///
/// If a command stops them, the text ends with this command:
/// `others can write to /home/theo/notes. Run: chmod go-w /home/theo/notes`. Else the text is that
/// of `distrust`.
pub(super) fn cure(distrust: &Distrust, file: &Path) -> String {
    let said = distrust.to_string();
    // The text of `distrust` is `WHAT IS WRONG; WHAT TO DO`. The command replaces what to do.
    match (chmod_against(distrust, file), said.rsplit_once("; ")) {
        (Some(command), Some((wrong, _))) => format!("{wrong}. Run: {command}"),
        _ => said,
    }
}

/// The command that takes from others the right to write to the place in `distrust`, such as
/// `chmod go-w /home/theo/notes`.
///
/// None if the reason is not the place's mode; if the place is not on the path of `file`, but where
/// a link on this path leads; or if no command may name the place (see [`word_to_change`]).
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

/// What others could change, and why they can: the first folder or link on the file's path, or else
/// the file itself. None if they can change nothing; if the system refuses to say; or if the file's
/// name is not UTF-8.
fn distrust_of(file: &Path) -> Option<Distrust> {
    let walker = Walker::new(System);
    let walked = match walker.walk(file, Policy::Name) {
        Ok(walked) => walked,
        Err(WalkError::Untrusted(on_the_way)) => return Some(on_the_way),
        Err(WalkError::System(_)) => return None,
    };
    // Only whether the file can be trusted is asked. So the limit is 0 bytes: nothing is read.
    match GrantedFile::open(&walker, &walked.handle, walked.name.to_str()?, 0) {
        Err(WalkError::Untrusted(of_file)) => Some(Distrust {
            path: file.to_owned(),
            ..of_file
        }),
        Ok(_) | Err(WalkError::System(_)) => None,
    }
}

const MAP_A_COPY: &str = "put a copy of that, named .md, in a folder of your own, and map it";

/// What to do about `file`, the file of this entry, which is refused with this code. For example,
/// `nothing is at /home/theo/a.md; create it, or fix the path in the map` for `not-found`.
///
/// None for a code that has no row below: the code's own text says what to do. Also None if the
/// advice would repeat a path without `.md`, which may be a key; or if what is wrong with the file
/// cannot be found out.
pub(super) fn advice(
    code: Refusal,
    entry: &Entry,
    file: &Path,
    location: &Location,
) -> Option<String> {
    match code {
        // To look at the file once more could take as long.
        Refusal::TimedOut => return None,
        Refusal::Untrusted => return distrust_of(file).map(|distrust| cure(&distrust, file)),
        _ => {}
    }
    // Where the path leads, past all links. If nothing is there, the path itself.
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let place = printable(&real);
    let is_link = real != file;
    // Nobody sees a blank at the end of a path either.
    let may_have_unseen = has_unseen(&entry.path) || entry.path.ends_with([' ', '\t']);
    // The first row that fits counts.
    Some(match code {
        Refusal::NotMarkdown | Refusal::NotAFile if real.is_dir() => {
            "this is a directory: add the file's name".to_owned()
        }
        Refusal::NotMarkdown if is_link && entry.path.ends_with(".md") => {
            format!("this is a link to {place}: {MAP_A_COPY}")
        }
        // A path without `.md` is not repeated: it may be a key in the wrong place.
        Refusal::NotMarkdown if is_link => return None,
        Refusal::NotMarkdown | Refusal::NotFound if may_have_unseen => {
            "a character that nobody sees stands in the path in the map, or follows it, as text from a web page may have it: write the path again".to_owned()
        }
        Refusal::NotMarkdown => return None,
        Refusal::NotAFile => format!("this path leads to {place}; map a file"),
        // The file is there. So the walk to it gave up, since too many folders lead to it.
        Refusal::NotFound if file.is_file() => {
            "more than 128 folders lead to the file, and no server walks so far: move it".to_owned()
        }
        // A name that looks the same is there, as `é` in another Unicode form.
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

/// What to do about a file that is in no root of the map (`roots`). `real` is the file's path
/// without links. The advice is the first of these:
///
/// - If a backslash is in the path: rename the file.
/// - If the file's folder is the user's home, or above it: move the file, since no such folder may
///   become a root.
/// - Else: add the folder to the roots, as `"/home/theo/notes"`, or move the file.
///
/// None if the folder's path is not UTF-8, or has a character that nobody sees.
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

/// What to do about a file that has more bytes than the `limit` of its entry: shorten the file. Or
/// raise the limit to the file's size, if two things are true: the limit is the usual one
/// (1 MiB), and a limit may be as high as that (at most 8 MiB). None if the file's
/// size cannot be found out.
///
/// Any other limit stays: the user set it for a client that would write a longer text to a file,
/// where others can read it.
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

/// The command that lets the user read the file: `run: chmod u+r /home/theo/notes/a.md` if the
/// file's mode keeps the user out, or `run: chmod u+rx /home/theo/notes` if that folder's mode
/// does. None if no mode keeps the user out, if nothing can be looked at, or if no command may name
/// the path (see [`word_to_change`]).
fn chmod_to_read(file: &Path) -> Option<String> {
    let mut above = file.ancestors();
    // Nothing in a folder that keeps the user out can be looked at. So the lowest path that can be
    // looked at is that of this folder; or that of the file, if no folder keeps the user out.
    let (lowest, metadata) = above.find_map(|at| Some((at, at.symlink_metadata().ok()?)))?;
    // The owner reads a folder by the bit 0o400, and enters it by the bit 0o100.
    let (rights, bits) = if metadata.is_dir() {
        ("u+rx", 0o500)
    } else {
        ("u+r", 0o400)
    };
    if metadata.mode() & bits == bits {
        // No mode keeps the user out.
        return None;
    }
    Some(format!("run: chmod {rights} {}", word_to_change(lowest)?))
}

/// How to close a file that others may read: `run: chmod 600 /home/theo/a.md`; or the same in
/// words, if no command may name the path (see [`word_to_change`]). For a file of another user, the
/// advice is to map a copy. None if nobody else may read the file, or if it cannot be looked at.
pub(super) fn advice_to_close_to_others(file: &Path) -> Option<String> {
    let real = file.canonicalize().ok()?;
    if !is_open(&real) {
        return None;
    }
    let owner = real.metadata().ok()?.uid();
    if owner != geteuid().as_raw() {
        return Some(MAP_A_COPY.to_owned());
    }
    Some(match word_to_change(file) {
        Some(path) => format!("run: chmod 600 {path}"),
        None => "close it to them: mode 600".to_owned(),
    })
}

/// Why the map cannot be used, as the report tells it.
#[derive(Debug, Serialize)]
pub(super) struct Unusable {
    /// The code with which each call is refused, as `map-missing`.
    pub(super) code: &'static str,
    /// What is wrong, in a sentence.
    pub(super) message: String,
    /// The line of the map with the mistake. None if the map's text is not what is wrong.
    pub(super) line: Option<u32>,
    /// What to do, if the message does not say it.
    pub(super) help: Option<String>,
}

const NO_MAP_THERE: &str = "there is no map where --map says; create it, or name another";

/// Why the map at this location cannot be used, and what to do. For a mistake in the map's text,
/// the line and the help are those of the mistake.
pub(super) fn unusable(error: &MapError, location: &Location, asker: &Asker) -> Unusable {
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

/// What is wrong with the map, in a sentence. If the report shows no paths, the sentence is the
/// text of the error's code; but a mistake in the map is told as it is, and so is a sandbox that
/// hides who owns the map.
///
/// If `--map` names the map (`is_from_option`), and the map is missing or cannot be read, its path
/// is never told: the argument may be a key.
fn message_on_map(error: &MapError, location: &Location, asker: &Asker) -> String {
    use DistrustReason::UnknownOwner;
    // The first row that fits counts.
    match error {
        MapError::Parse(_, mistake) => mistake.message.clone(),
        MapError::Untrusted(distrust) if distrust.why == UnknownOwner && !asker.shows_paths => {
            "this runs in a sandbox that hides who owns a file, so nothing was read, and the map may be right; run keyhole outside of it".to_owned()
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

/// What to do about a map that is missing (to run setup), or that the user may not read (`chmod`).
///
/// None for any other error; if `--map` names the map, and the report shows paths; if the modes let
/// the user read the map, so that `chmod` would not help; or if the map cannot be read, and the
/// report shows no paths.
fn help_without_line(error: &MapError, location: &Location, asker: &Asker) -> Option<String> {
    let setup_command = match asker.plugin {
        Some(_) => command_to_setup_plugin(),
        None => command("setup"),
    };
    // The first row that fits counts.
    match error {
        MapError::Missing(_) if !asker.shows_paths => {
            Some(format!("in a terminal of your own, run: {setup_command}"))
        }
        _ if !asker.shows_paths => None,
        // From here on, a path may be shown.
        MapError::Missing(_) if !location.is_from_option => Some(format!(
            "to make one, run this in a terminal; it shows what it writes, and asks: {setup_command}"
        )),
        MapError::Unreadable(_, SystemError::Denied) if !location.is_from_option => {
            chmod_to_read(&location.file)
        }
        _ => None,
    }
}

/// The command that gives the plugin's agent its file. If this program lies in the plugin's folder,
/// the command is the plugin's own script: `/home/theo/plugin/bin/keyhole setup plugin` for the
/// program `/home/theo/plugin/server/keyhole-linux-x86_64`. Else the command is `keyhole setup
/// plugin`, or what
/// [`command`] puts in its place.
pub(super) fn command_to_setup_plugin() -> String {
    let program = env::current_exe().unwrap_or_default();
    // In the plugin's folder, the program lies in the folder `server`.
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

/// The plugin's command with these arguments: `/home/theo/plugin/bin/keyhole check`; or in words,
/// if the path of `command` cannot be typed: `bin/keyhole check, in the plugin's folder`.
pub(super) fn plugins_command(command: &Path, arguments: &str) -> String {
    paste::command(command, arguments)
        .unwrap_or_else(|| format!("bin/keyhole {arguments}, in the plugin's folder"))
}

/// Whether the user's home is this folder, or lies in it, past all links. False if the environment
/// names no home, or if nothing is at one of the two paths.
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
/// - [`Finding::WideMap`] if the map has roots, and lies in a folder that is or holds the user's
///   home.
///
/// The last two are only for a map that can be used (else `map` is None), and only for Linux:
/// there, the kernel lets a server read only in the roots and in the map's folder.
pub(super) fn findings_on_place(location: &Location, map: Option<&Map>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if location.in_words().starts_with("$XDG_CONFIG_HOME") {
        findings.push(Finding::MapByVariable {});
    }
    let map = match map {
        Some(map) if cfg!(target_os = "linux") => map,
        _ => return findings,
    };
    // First the folder of the map's path. If the map is a link, also the folder of what it leads
    // to.
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
