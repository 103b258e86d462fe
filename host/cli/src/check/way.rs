//! What is wrong with a file or a map, and the one next step. It is in words, except for a
//! command that each shell reads in the same way: see [`word`].
#![expect(
    clippy::disallowed_methods,
    reason = "it says what stands in the way, and serves nothing"
)]

use super::{Advice, plugin::DOOR};
use keyhole_core::{Entry, Location, MapError, Refusal, limits::MAX_MAX_BYTES};
use keyhole_setup::{
    document::is_open,
    is_under_sudo,
    paste::{self, quoted, word},
    program::is_command,
};
use keyhole_walk::{
    Distrust, DistrustReason, SystemError,
    printable::{is_visible, printable, visible},
};
use std::{
    env,
    ffi::OsStr,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// What others could change on the way to a file, and how to close it: by a command if that is
/// safe. Nothing is decided by it.
pub(super) fn cure(distrust: &Distrust, file: &Path) -> Advice {
    let (said, shut) = (distrust.to_string(), shutting(distrust, file));
    let text = match (shut, said.rsplit_once("; ")) {
        (Some(shut), Some((wrong, _))) => format!("{wrong}. Run: {shut}"),
        _ => said,
    };
    (text, vec![distrust.path.clone()])
}

/// A link on the way may be anybody's, and leads elsewhere than the user reads.
fn shutting(distrust: &Distrust, file: &Path) -> Option<String> {
    let is_on_the_way = file.starts_with(&distrust.path);
    let is_mode = matches!(
        distrust.why,
        DistrustReason::WritableByOthers
            | DistrustReason::WritableByGroup
            | DistrustReason::UnknownGroup(_)
    );
    let path = word(&distrust.path).filter(|_| is_mode && is_on_the_way)?;
    Some(format!("chmod go-w {path}"))
}

/// What to do about this one file, if the code does not say it all.
pub(super) fn leads(
    code: Refusal,
    entry: &Entry,
    file: &Path,
    location: &Location,
) -> Option<Advice> {
    let path = entry.path();
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let (place, found) = (printable(&real), real.metadata().ok());
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    let text = match code {
        Refusal::NotMarkdown | Refusal::NotAFile if real.is_dir() => {
            let text = "this is a directory: add the file's name".to_owned();
            return Some((text, Vec::new()));
        }
        // If no file has the name, it may be something else, such as a key.
        Refusal::NotMarkdown if !path.ends_with(".md") => return None,
        Refusal::NotMarkdown => format!(
            "this is a link to {place}: put a copy of that, named .md, in a folder of your own, and map it"
        ),
        Refusal::NotAFile => format!("this path leads to {place}; map a file"),
        Refusal::NotFound => return Some(nothing_there(path, file)),
        Refusal::OutsideRoot if name.contains('\\') => {
            "the file's own name has a backslash: rename it, and write that in the map".to_owned()
        }
        Refusal::OutsideRoot if holds_home(real.parent()?, location) => {
            format!(
                "the file is {place}, directly in your home or above it, and neither must become a root. Move it to a folder of its own, such as ~/private, and write the new path in the map"
            )
        }
        Refusal::OutsideRoot => format!(
            "the file is {place}: add {} to roots, or move the file",
            quoted(visible(real.parent()?)?)
        ),
        Refusal::PermissionDenied if is_kept_from_this_app(&real) => KEPT.to_owned(),
        Refusal::PermissionDenied => format!("run: {}", opening(file)?),
        Refusal::TooLarge => {
            let size = found?.len();
            let text = match size > MAX_MAX_BYTES {
                true => format!("it has {size} bytes; shorten it to at most {MAX_MAX_BYTES}"),
                false => format!("it has {size} bytes: set max_bytes = {size} in its entry"),
            };
            return Some((text, Vec::new()));
        }
        _ => return None,
    };
    Some((text, vec![file.to_owned(), real]))
}

/// What to do if [`is_kept_from_this_app`].
const KEPT: &str = "macOS does not let this app read it, whatever its mode: allow the app in System Settings under Privacy & Security, or move the file to ~/private";

/// Whether macOS keeps the app that started us from a file, as in Documents, Desktop, Downloads
/// and cloud folders. A mode gives another error than EPERM.
fn is_kept_from_this_app(file: &Path) -> bool {
    let error = || fs::File::open(file).err()?.raw_os_error();
    cfg!(target_os = "macos") && error() == Some(1)
}

/// What lets the user read the file: it, or the folder that they may not enter.
fn opening(file: &Path) -> Option<String> {
    let is_seen = |at: &&Path| at.symlink_metadata().is_ok();
    let shut = file.ancestors().find(is_seen)?;
    let rights = if shut.is_dir() { "u+rx" } else { "u+r" };
    Some(format!("chmod {rights} {}", word(shut)?))
}

/// What closes a file that others may read, if they may.
pub(super) fn closing(file: &Path) -> Option<Advice> {
    let real = file.canonicalize().ok().filter(|real| is_open(real))?;
    let how = word(file).map(|word| format!("run: chmod 600 {word}"));
    let how = how.unwrap_or_else(|| "close it to them: mode 600".to_owned());
    Some((how, vec![file.to_owned(), real]))
}

fn nothing_there(path: &str, file: &Path) -> Advice {
    let dangles = |path: &&Path| path.is_symlink() && !path.exists();
    let link = file.ancestors().find(dangles);
    let to = link.and_then(|link| fs::read_link(link).ok());
    let (from, at) = (
        printable(link.unwrap_or(file)),
        to.as_deref().unwrap_or(file),
    );
    let gone = match &to {
        Some(to) => format!("{from} is a link to {}, where nothing is", printable(to)),
        None if looks_there(file) => format!(
            "nothing is at {from}, but a name beside it may only look the same: copy that into the map"
        ),
        None => format!("nothing is at {from}"),
    };
    let start = match Path::new(path).is_relative() && !path.starts_with("~/") {
        true if path.starts_with('$') => ": nothing replaces a $ there, so write ~/ for your home",
        true => ": a relative one starts at the map's directory",
        false => "",
    };
    let text = format!("{gone}; create it, or fix the path in the map{start}");
    (text, vec![file.to_owned(), at.to_owned()])
}

/// Whether the file's folder has a name that a reader may take for the file's own.
fn looks_there(file: &Path) -> bool {
    let Some((folder, name)) = file.parent().zip(file.file_name()) else {
        return false;
    };
    let letters = |name: &OsStr| -> Vec<char> {
        let name = name.to_string_lossy();
        let is_letter = |c: &char| is_visible(*c) && !matches!(c, '\u{300}'..='\u{36f}');
        name.chars().filter(is_letter).collect()
    };
    let name = letters(name);
    let looks = |other: &OsStr| {
        let other = letters(other);
        let is_like = |(a, b): (&char, &char)| {
            a == b || a.is_whitespace() && b.is_whitespace() || !(a.is_ascii() && b.is_ascii())
        };
        name.len() == other.len() && name.iter().zip(&other).all(is_like)
    };
    let beside = fs::read_dir(folder).into_iter().flatten().flatten();
    beside.take(1000).any(|entry| looks(&entry.file_name()))
}

/// What to do if the map cannot be used.
pub(super) fn to_a_map(error: &MapError, location: &Location) -> Option<String> {
    match error {
        MapError::Missing { .. } => to_a_missing_map(location, "setup"),
        MapError::Untrusted(distrust) => {
            Some(format!("run: {}", shutting(distrust, location.file())?))
        }
        MapError::Unreadable { source, .. }
            if *source == SystemError::Denied && !location.is_named() =>
        {
            Some(format!("run: {}", opening(location.file())?))
        }
        MapError::Parse { source, .. } => source.help.clone(),
        _ => None,
    }
}

/// Where the map leads if it is a link; else the command that makes one, with these arguments.
pub(super) fn to_a_missing_map(location: &Location, arguments: &str) -> Option<String> {
    let map = location.file();
    if let Ok(to) = fs::read_link(map) {
        let to = printable(&to);
        return Some(format!(
            "it is a link to {to}, where nothing is: make that file, or remove the link"
        ));
    }
    if location.is_named() {
        return None;
    }
    // HOME may be root's then: no client of the user looks for a map there.
    if is_under_sudo(|name| env::var_os(name)) {
        let said = "this runs under sudo, so it looked for another user's map: run it as yourself, without sudo";
        return Some(said.to_owned());
    }
    if usual(location).is_some_and(|there| there.is_file()) {
        let said = "you have one at ~/.config/keyhole/context-map.toml: move it there, or unset XDG_CONFIG_HOME";
        return Some(said.to_owned());
    }
    let door = door(arguments);
    Some(format!(
        "to make one, run this in a terminal; it shows what it writes, and asks: {door}"
    ))
}

/// The command of this program with these arguments, by its full path if that is needed.
pub(super) fn door(arguments: &str) -> String {
    let program = std::env::current_exe().ok();
    let root = || program.as_deref()?.parent()?.parent();
    let of_the_plugin = || root().map(|root| root.join("bin/keyhole"));
    match of_the_plugin().filter(|it| it.is_file() && arguments == DOOR) {
        Some(command) => plugins(&command, arguments),
        None => program
            .filter(|program| !is_command(program))
            .and_then(|program| paste::command(&program, arguments))
            .unwrap_or_else(|| format!("keyhole {arguments}")),
    }
}

/// The plugin's command with these arguments, in words if its path is not to be typed.
pub(super) fn plugins(command: &Path, arguments: &str) -> String {
    paste::command(command, arguments)
        .unwrap_or_else(|| format!("bin/keyhole {arguments}, in the plugin's folder"))
}

/// That HOME is another user's, as `sudo` may leave it: then nothing in it is served.
fn foreign_home(location: &Location) -> Option<String> {
    let user = rustix::process::geteuid().as_raw();
    let owner = fs::metadata(location.home()?).ok()?.uid();
    (owner != user && owner != 0)
        .then(|| "HOME is another user's: run keyhole as that user, without sudo".to_owned())
}

/// The same, if the map is in that home too: then nothing else need be said.
pub(crate) fn foreign_map(location: &Location) -> Option<String> {
    let is_there = location.file().starts_with(location.home()?);
    foreign_home(location).filter(|_| is_there)
}

/// Whether the home is in this folder, which is no link, or is it.
fn holds_home(folder: &Path, location: &Location) -> bool {
    let home = location.home().and_then(|home| home.canonicalize().ok());
    home.is_some_and(|home| home.starts_with(folder))
}

/// That a server may read the whole home, if the map, or what is a link to it, lies there or
/// above.
#[cfg(target_os = "linux")]
pub(super) fn wide_map(location: &Location) -> Option<String> {
    let directories = keyhole_walk::directories_of(location.file());
    let mut real = directories
        .iter()
        .filter_map(|directory| directory.canonicalize().ok());
    real.any(|real| holds_home(&real, location)).then(|| {
        "the map lies directly in your home, or above it, so a server may read all that is there; keep the map in a folder of its own".to_owned()
    })
}

#[cfg(not(target_os = "linux"))]
pub(super) fn wide_map(_: &Location) -> Option<String> {
    None
}

/// Where the map is if no variable says so.
fn usual(location: &Location) -> Option<PathBuf> {
    Some(location.home()?.join(".config/keyhole/context-map.toml"))
}

/// What the user should know of the environment.
pub(super) fn surroundings(location: &Location) -> Vec<String> {
    let mut notes: Vec<String> = foreign_home(location).into_iter().collect();
    let usual = usual(location).filter(|usual| usual != location.file());
    if usual.is_some() && !location.is_named() {
        notes.push("XDG_CONFIG_HOME is set here; a client that starts without it looks for ~/.config/keyhole/context-map.toml. Add --map and the map's path to the server's arguments".to_owned());
    }
    notes
}
