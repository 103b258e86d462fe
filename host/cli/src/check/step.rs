//! What is wrong with a file or a map, and the one next step. It is in words, except for a
//! command that each shell reads in the same way: see [`word`].
#![expect(
    clippy::disallowed_methods,
    reason = "it says what stands in the way, and serves nothing"
)]

use super::{claude::DOOR, entry::Advice};
use keyhole_core::{
    Entry, Location, Map, MapError, Refusal, Unresolved,
    limits::{DEFAULT_MAX_BYTES, MAX_MAX_BYTES},
    locate,
};
use keyhole_setup::{
    file::is_open,
    is_under_sudo,
    paste::{self, quoted, word},
    program::is_command,
};
use keyhole_walk::{
    Distrust, DistrustReason, GrantedFile, System, SystemError, WalkError, Walker,
    printable::{printable, visible},
};
use std::{
    env, fs,
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
    use DistrustReason::{UnknownGroup, WritableByGroup, WritableByOthers};
    let is_mode = matches!(
        distrust.why,
        WritableByOthers | WritableByGroup | UnknownGroup(_)
    );
    let is_on_the_way = file.starts_with(&distrust.path);
    let path = word(&distrust.path).filter(|_| is_mode && is_on_the_way)?;
    Some(format!("chmod go-w {path}"))
}

/// What others could change: this entry's file, or a folder or link on its path.
fn distrust(map: &Map, entry: &Entry, file: &Path) -> Option<Distrust> {
    let walker = Walker::new(System);
    let grant = match locate(&walker, map, entry) {
        Ok(grant) => grant,
        Err(Unresolved::Walk(WalkError::Untrusted(distrust))) => return Some(distrust),
        Err(_) => return None,
    };
    match GrantedFile::open(&walker, &grant.directory, &grant.name, 0) {
        Err(WalkError::Untrusted(distrust)) => Some(Distrust {
            path: file.to_owned(),
            ..distrust
        }),
        _ => None,
    }
}

/// What to do about this one file, if the code does not say it all.
pub(super) fn to_a_file(
    code: Refusal,
    map: &Map,
    entry: &Entry,
    file: &Path,
    location: &Location,
) -> Option<Advice> {
    // What hung would hang once more.
    if code == Refusal::TimedOut {
        return None;
    }
    if code == Refusal::Untrusted {
        return distrust(map, entry, file).map(|distrust| cure(&distrust, file));
    }
    let path = entry.path();
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let place = printable(&real);
    let text = match code {
        Refusal::NotMarkdown | Refusal::NotAFile if real.is_dir() => {
            return Some((
                "this is a directory: add the file's name".to_owned(),
                Vec::new(),
            ));
        }
        // If no file has the name, it may be something else, such as a key.
        Refusal::NotMarkdown if !path.ends_with(".md") => return None,
        Refusal::NotMarkdown => format!(
            "this is a link to {place}: put a copy of that, named .md, in a folder of your own, and map it"
        ),
        Refusal::NotAFile => format!("this path leads to {place}; map a file"),
        Refusal::NotFound => return Some(nothing_there(path, file)),
        Refusal::OutsideRoot if real.as_os_str().as_encoded_bytes().contains(&b'\\') => {
            "the file's own name has a backslash: rename it, and write that in the map".to_owned()
        }
        Refusal::OutsideRoot if holds_home(real.parent()?, location) => format!(
            "the file is {place}, directly in your home or above it, and neither must become a root. Move it to a folder of its own, such as ~/private, and write the new path in the map"
        ),
        Refusal::OutsideRoot => format!(
            "the file is {place}: add {} to roots, or move the file",
            quoted(visible(real.parent()?)?)
        ),
        Refusal::PermissionDenied => format!("run: {}", opening(file)?),
        Refusal::TooLarge => {
            let (size, limit) = (real.metadata().ok()?.len(), entry.max_bytes());
            // Another limit than ours is one of a client, above which it keeps the file where
            // others can read it.
            let text = if limit == DEFAULT_MAX_BYTES && size <= MAX_MAX_BYTES {
                format!(
                    "it has {size} bytes. Shorten it; or set max_bytes = {size} in its entry, if its client takes so much (Claude Code: 500,000 characters)"
                )
            } else {
                format!("it has {size} bytes: shorten it to at most {limit}")
            };
            return Some((text, Vec::new()));
        }
        _ => return None,
    };
    Some((text, vec![file.to_owned(), real]))
}

/// What lets the user read the file, if a mode keeps them from it or from a folder above it.
fn opening(file: &Path) -> Option<String> {
    let mut above = file.ancestors();
    let (shut, found) = above.find_map(|at| Some((at, at.symlink_metadata().ok()?)))?;
    let (rights, bits) = if found.is_dir() {
        ("u+rx", 0o500)
    } else {
        ("u+r", 0o400)
    };
    let path = word(shut).filter(|_| found.mode() & bits != bits)?;
    Some(format!("chmod {rights} {path}"))
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

/// What to do if the map cannot be used.
pub(super) fn to_a_map(error: &MapError, location: &Location) -> Option<String> {
    let command = match error {
        MapError::Missing { .. } => return to_a_missing_map(location, "setup"),
        MapError::Parse { source, .. } => return source.help.clone(),
        MapError::Untrusted(distrust) => shutting(distrust, location.file())?,
        MapError::Unreadable { source, .. } if *source == SystemError::Denied => {
            opening(location.file()).filter(|_| !location.is_named())?
        }
        _ => return None,
    };
    Some(format!("run: {command}"))
}

/// Where the map leads if it is a link; else the command that makes one, with these arguments.
pub(super) fn to_a_missing_map(location: &Location, arguments: &str) -> Option<String> {
    if let Ok(to) = fs::read_link(location.file()) {
        let to = printable(&to);
        return Some(format!(
            "it is a link to {to}, where nothing is: make that file, or remove the link"
        ));
    }
    Some(if location.is_named() {
        return None;
    } else if is_under_sudo(|name| env::var_os(name)) {
        // HOME may be root's then: no client of the user looks for a map there.
        "this runs under sudo, so it looked for another user's map: run it as yourself, without sudo".to_owned()
    } else if usual(location).is_some_and(|there| there.is_file()) {
        "you have one at ~/.config/keyhole/context-map.toml: move it there, or unset XDG_CONFIG_HOME".to_owned()
    } else {
        let door = door(arguments);
        format!("to make one, run this in a terminal; it shows what it writes, and asks: {door}")
    })
}

/// The command of this program with these arguments, by its full path if that is needed.
pub(super) fn door(arguments: &str) -> String {
    let program = env::current_exe().ok();
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

/// That HOME is another user's, as `sudo` may leave it, and the map is there: then nothing is
/// served, and nothing else need be said.
pub(crate) fn foreign_map(location: &Location) -> Option<String> {
    let home = location
        .home()
        .filter(|home| location.file().starts_with(home))?;
    let user = rustix::process::geteuid().as_raw();
    let owner = fs::metadata(home).ok()?.uid();
    (owner != user && owner != 0)
        .then(|| "HOME is another user's: run keyhole as that user, without sudo".to_owned())
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
    let mut real = directories.iter().filter_map(|it| it.canonicalize().ok());
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
pub(super) fn surroundings(location: &Location) -> Option<String> {
    let is_usual = usual(location)? == location.file() || location.is_named();
    (!is_usual).then(|| "XDG_CONFIG_HOME is set here; a client that starts without it looks for ~/.config/keyhole/context-map.toml. Add --map and the map's path to the server's arguments".to_owned())
}
