//! What to type next: to make a map, to close a directory, to find where a path leads.
#![expect(
    clippy::disallowed_methods,
    reason = "it says what stands in the way, and serves nothing"
)]

use super::{Advice, system};
use keyhole_core::{Entry, Location, MapError, Refusal, limits::MAX_MAX_BYTES};
use keyhole_setup::{
    document::is_open,
    is_under_sudo,
    paste::{self, is_free, quoted, word},
    program::is_command,
};
use keyhole_walk::{
    Distrust, DistrustReason, SystemError,
    printable::{is_visible, printable, visible},
};
use std::{
    collections::BTreeSet,
    env::{self, consts::OS},
    ffi::OsStr,
    fs,
    io::Read as _,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// What is wrong, and the command that cures it, if there is one that is safe: it closes all
/// directories on the way to `file` to others at once. Nothing is decided by it.
pub(super) fn cure(distrust: &Distrust, file: &Path) -> Advice {
    let (places, said) = (in_the_way(distrust, file), distrust.to_string());
    let text = match (command(distrust.why, &places), said.rsplit_once("; ")) {
        (Some(command), _) if distrust.why == DistrustReason::Movable => {
            format!("{said}, and write its new path in the map. Run: {command}")
        }
        (Some(command), Some((wrong, _))) => format!("{wrong}. Run: {command}"),
        _ => said,
    };
    (text, [places, vec![distrust.path.clone()]].concat())
}

fn command(why: DistrustReason, places: &[PathBuf]) -> Option<String> {
    let words = places.iter().map(|path| word(path));
    let words = words.collect::<Option<Vec<String>>>()?.join(" ");
    match why {
        _ if words.is_empty() => None,
        DistrustReason::WritableByOthers
        | DistrustReason::WritableByGroup
        | DistrustReason::UnknownGroup(_) => Some(format!("chmod go-w {words}")),
        DistrustReason::AccessList => Some(format!("ls -led {words} && chmod -N {words}")),
        DistrustReason::Movable => {
            let home = keyhole_core::home(|name| env::var_os(name))?;
            paste::move_to_private(places.first()?, &home)
        }
        _ => None,
    }
}

/// What a command can cure: all that others may write to on the way to `file`; or the one
/// file. Nothing if the way has a link.
fn in_the_way(distrust: &Distrust, file: &Path) -> Vec<PathBuf> {
    if !paste::is_own(file) {
        return Vec::new();
    }
    if !matches!(
        distrust.why,
        DistrustReason::WritableByOthers
            | DistrustReason::WritableByGroup
            | DistrustReason::UnknownGroup(_)
    ) {
        let file = Some(distrust.path.clone()).filter(|file| file.is_file());
        return file.into_iter().collect();
    }
    let is_open = |path: &&Path| {
        let found = fs::symlink_metadata(path);
        found.is_ok_and(|found| {
            let mode = found.mode();
            !found.is_symlink() && mode & 0o022 != 0 && (found.is_file() || mode & 0o1000 == 0)
        })
    };
    let open = file.ancestors().filter(is_open).map(Path::to_owned);
    let open: BTreeSet<_> = open.chain([distrust.path.clone()]).collect();
    open.into_iter().collect()
}

/// What to type about this one file, if the code does not say it all.
pub(super) fn leads(
    code: Refusal,
    entry: &Entry,
    file: &Path,
    home: Option<&Path>,
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
        Refusal::NotMarkdown if !path.ends_with(".md") => {
            let name = found.map(|_| file.with_extension("md"))?;
            match is_free(&name) {
                true => {
                    let name = visible(Path::new(name.file_name()?))?;
                    format!("rename it to {name}, and write that in the map")
                }
                false => "rename it, and write the new name in the map; the same name with .md is another file's".to_owned(),
            }
        }
        Refusal::NotMarkdown => format!(
            "this is a link to {place}: put a copy of that, named .md, in a folder of your own, and map it"
        ),
        Refusal::NotAFile => format!("this path leads to {place}; map a file"),
        Refusal::NotFound => return Some(nothing_there(path, file)),
        Refusal::OutsideRoot if name.contains('\\') => {
            "the file's own name has a backslash: rename it, and write that in the map".to_owned()
        }
        Refusal::OutsideRoot
            if home
                .and_then(|home| home.canonicalize().ok())
                .is_some_and(|home| {
                    real.parent().is_some_and(|folder| home.starts_with(folder))
                }) =>
        {
            format!(
                "the file is {place}, directly in your home or above it, and neither must become a root. Move it to a folder of its own, such as ~/private, and write the new path in the map"
            )
        }
        Refusal::OutsideRoot => format!(
            "the file is {place}: add {} to roots, or move the file",
            quoted(visible(real.parent()?)?)
        ),
        Refusal::PermissionDenied if system::keeps(OS, || fs::File::open(&real)) => {
            system::KEPT.to_owned()
        }
        Refusal::PermissionDenied => format!("run: {}", opening(file)?),
        Refusal::TooLarge => {
            let size = found?.len();
            let text = match size > MAX_MAX_BYTES {
                true => format!("it has {size} bytes; shorten it to at most {MAX_MAX_BYTES}"),
                false => format!("it has {size} bytes: set max_bytes = {size} in its entry"),
            };
            return Some((text, Vec::new()));
        }
        Refusal::NotUtf8 => {
            let begin = begin(&real).unwrap_or_default();
            match encoding(&begin) {
                Some(from) => format!("it is {from}: {}", conversion(from, file)),
                None if begin.contains(&0) => {
                    "a part of it is UTF-16, or no text: write that part again, as UTF-8".to_owned()
                }
                None => format!("if it is Latin-1, {}", conversion("latin1", file)),
            }
        }
        _ => return None,
    };
    Some((text, vec![file.to_owned(), real]))
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
    let how = word(file).map_or_else(
        || "close what the path leads to (mode 600)".to_owned(),
        |word| format!("run: chmod 600 {word}"),
    );
    Some((how, vec![file.to_owned(), real]))
}

/// The first bytes of a file: all, of most.
fn begin(file: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = fs::File::open(file).ok()?;
    file.take(1 << 20).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The encoding of a file that begins so, if it is not UTF-8. A mark tells, or that its first two
/// characters are ASCII.
fn encoding(begin: &[u8]) -> Option<&'static str> {
    match begin {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => Some("UTF-32"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("UTF-16"),
        [1..=255, 0, 1..=255, 0, ..] => Some("UTF-16LE"),
        [0, 1..=255, 0, 1..=255, ..] => Some("UTF-16BE"),
        _ => None,
    }
}

/// What to type to make it UTF-8. The copy first, so that what is converted has the same mode.
fn conversion(from: &str, file: &Path) -> String {
    let new = file.with_added_extension("new");
    match word(file).filter(|_| is_free(&new)) {
        Some(word) => format!(
            "run: cp -p {word} {word}.new && iconv -f {from} -t UTF-8 {word} >{word}.new && mv {word}.new {word}"
        ),
        None => "save it as UTF-8".to_owned(),
    }
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

/// What to type if the map cannot be used.
pub(super) fn to_a_map(error: &MapError, location: &Location) -> Option<String> {
    match error {
        MapError::Missing { .. } => to_a_missing_map(location, "setup"),
        MapError::Untrusted(distrust) => {
            let places = in_the_way(distrust, location.file());
            Some(format!("run: {}", command(distrust.why, &places)?))
        }
        MapError::Unreadable { source, .. }
            if *source == SystemError::Denied && !location.is_named() =>
        {
            Some(format!("run: {}", opening(location.file())?))
        }
        MapError::Parse { source, .. } => source.help.clone().or_else(|| {
            let map = location.file();
            Some(conversion(encoding(&begin(map)?)?, map))
        }),
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
        return Some("this runs under sudo, so it looked for another user's map: run it as yourself, without sudo".to_owned());
    }
    let there = usual(location).filter(|there| *there != map && there.is_file());
    let there = there.and_then(|there| word(&there));
    let moved = there.and_then(|there| make(map, &format!("mv {there}")));
    let moved = moved.map_or_else(String::new, |moved| {
        format!("\n\nYou have one elsewhere. To move it, run:\n\n{moved}")
    });
    Some(format!(
        "to make one, run this in a terminal; it shows what it writes, and asks: {}{moved}",
        door(arguments)
    ))
}

/// The command of this program with these arguments, by its full path if that is needed.
pub(super) fn door(arguments: &str) -> String {
    let program = std::env::current_exe().ok();
    let of_the_plugin = || {
        let root = program.as_deref()?.parent()?.parent()?;
        Some(root.join("bin/keyhole")).filter(|command| command.is_file())
    };
    let path = match arguments.starts_with("setup plugin") {
        true => of_the_plugin().or(program.clone()),
        false => program.filter(|program| !is_command(program)),
    };
    path.and_then(|path| paste::command(&path, arguments))
        .unwrap_or_else(|| format!("keyhole {arguments}"))
}

/// The lines that make the map's folder, and then do `command` with the map's name.
pub(crate) fn make(map: &Path, command: &str) -> Option<String> {
    let (folder, map) = (word(map.parent()?)?, word(map)?);
    // A file that is moved is there only afterwards.
    Some(if command.starts_with("mv ") {
        format!("mkdir -p -m 700 {folder} &&\n  {command} {map} && chmod 600 {map}")
    } else {
        format!("mkdir -p -m 700 {folder} && touch {map} && chmod 600 {map} &&\n  {command} {map}")
    })
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

/// That a server may read the whole home, if the map, or what is a link to it, lies there or
/// above.
#[cfg(target_os = "linux")]
pub(super) fn wide_map(location: &Location) -> Option<String> {
    let home = location.home()?.canonicalize().ok()?;
    let directories = keyhole_walk::directories_of(location.file());
    let real = directories
        .iter()
        .filter_map(|directory| directory.canonicalize().ok());
    real.into_iter().any(|real| home.starts_with(real)).then(|| {
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
