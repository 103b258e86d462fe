//! What to type next: to make a map, to close a directory, to find where a path leads.
#![expect(
    clippy::disallowed_methods,
    reason = "it says what stands in the way, and serves nothing"
)]

use super::Told;
use crate::setup::shell_word;
use keyhole_core::{Code, Location, MapError, configuration};
use keyhole_walk::{Distrust, printable::printable};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// What is wrong, and the command that closes all directories on the way to `file` to
/// others, if a shell reads it as it stands.
pub(super) fn cure(distrust: &Distrust, file: &Path) -> Told {
    let open: Vec<PathBuf> = open_on_the_way(distrust, file).into_iter().collect();
    let words = open.iter().map(|path| path.to_str().and_then(shell_word));
    let said = distrust.to_string();
    let text = match (
        words.collect::<Option<Vec<String>>>(),
        said.rsplit_once("; "),
    ) {
        (Some(words), Some((wrong, else_do))) if !words.is_empty() => {
            format!("{wrong}; run: chmod go-w {}; or {else_do}", words.join(" "))
        }
        _ => said,
    };
    (text, [open, vec![distrust.path.clone()]].concat())
}

/// What others may write to, of all that leads to `file`. Nothing is decided by it.
#[cfg(unix)]
fn open_on_the_way(distrust: &Distrust, file: &Path) -> BTreeSet<PathBuf> {
    use keyhole_walk::Why;
    use std::os::unix::fs::MetadataExt as _;
    let mask = match distrust.why {
        Why::WritableByOthers => 0o002,
        Why::WritableByGroup => 0o022,
        _ => return BTreeSet::new(),
    };
    let real = file.canonicalize().unwrap_or_default();
    let is_open = |path: &&Path| {
        let found = fs::symlink_metadata(path);
        found.is_ok_and(|found| {
            let mode = found.mode();
            !found.is_symlink() && mode & mask != 0 && (found.is_file() || mode & 0o1000 == 0)
        })
    };
    let on_the_way = file.ancestors().chain(real.ancestors());
    let open = on_the_way.filter(is_open).map(Path::to_owned);
    open.chain([distrust.path.clone()]).collect()
}

#[cfg(windows)]
fn open_on_the_way(_: &Distrust, _: &Path) -> BTreeSet<PathBuf> {
    BTreeSet::new()
}

/// Endings that people give Markdown files.
const ENDINGS: [&str; 6] = ["MD", "markdown", "mdown", "mkd", "txt", "text"];

/// Where the path of an entry leads, if that is why it is not served.
pub(super) fn leads(code: Code, path: &str, file: &Path) -> Option<Told> {
    match code {
        Code::NotMarkdown if !path.ends_with(".md") => {
            let ending = path.rsplit('.').next().unwrap_or_default();
            let known = ENDINGS
                .iter()
                .find(|known| known.eq_ignore_ascii_case(ending))?;
            let what = "rename the file so that it ends in .md, and write that in the map";
            Some((format!("its name ends in .{known}: {what}"), Vec::new()))
        }
        Code::NotFound => {
            let dangles = |path: &&Path| path.is_symlink() && !path.exists();
            let link = file.ancestors().find(dangles);
            let to = link.and_then(|link| fs::read_link(link).ok());
            let (from, at) = (
                printable(link.unwrap_or(file)),
                to.as_deref().unwrap_or(file),
            );
            let gone = match &to {
                Some(to) => format!("{from} is a link to {}, where nothing is", printable(to)),
                None => format!("nothing is at {from}"),
            };
            let start = match Path::new(path).is_relative() && !path.starts_with("~/") {
                true => ": a relative one starts at the map's directory",
                false => "",
            };
            let text = format!("{gone}; create it, or fix the path in the map{start}");
            Some((text, vec![file.to_owned(), at.to_owned()]))
        }
        Code::NotMarkdown | Code::OutsideRoot | Code::NotAFile => {
            let real = file.canonicalize().ok().filter(|real| real != file)?;
            let what = match code {
                Code::NotMarkdown => "rename it so that it ends in .md",
                Code::OutsideRoot => "move it, or add its directory to roots",
                _ => "map a file",
            };
            let text = format!("this path leads to {}; {what}", printable(&real));
            Some((text, vec![real]))
        }
        _ => None,
    }
}

/// What to type if the map cannot be used.
pub(super) fn to_a_map(error: &MapError, location: &Location) -> Option<String> {
    match error {
        MapError::Missing { .. } if !location.is_named() => {
            let make = make(location.file(), "keyhole setup key FILE")?;
            Some(format!(
                "make it so, with the path of your Markdown file for FILE:\n\n{make}"
            ))
        }
        MapError::Untrusted(distrust) => {
            let (said, _) = cure(distrust, location.file());
            let (_, command) = said.split_once("; run: ")?;
            Some(format!("run: {}", command.split("; or ").next()?))
        }
        MapError::Parse { source, .. } => source.help.clone(),
        _ => None,
    }
}

/// The lines that make the map's folder, and append to the map what `command` prints.
pub(crate) fn make(map: &Path, command: &str) -> Option<String> {
    let folder = shell_word(map.parent()?.to_str()?)?;
    let map = shell_word(map.to_str()?)?;
    Some(match cfg!(windows) {
        // For cmd, because PowerShell's `>>` writes UTF-16.
        true => format!("mkdir {folder}\n{command} >> {map}"),
        false => format!("(umask 077; mkdir -p {folder} &&\n  {command} >> {map})"),
    })
}

/// What the user should know of the environment.
pub(super) fn surroundings(location: &Location) -> Vec<String> {
    let variable = |name: &str| std::env::var_os(name);
    let mut notes = Vec::new();
    let Some(home) = location.home() else {
        return notes;
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let user = rustix::process::geteuid().as_raw();
        let owner = fs::metadata(home).map_or(user, |home| home.uid());
        if owner != user && owner != 0 {
            notes.push(format!(
                "HOME, {}, is another user's: run keyhole as that user, without sudo",
                printable(home)
            ));
        }
    }
    let usual = home.join(".config");
    if cfg!(unix) && !location.is_named() && configuration(variable).is_some_and(|set| set != usual)
    {
        notes.push(format!(
            "XDG_CONFIG_HOME is set here; a client that starts without it looks for {}",
            printable(&usual.join("keyhole/context-map.toml"))
        ));
    }
    notes
}
