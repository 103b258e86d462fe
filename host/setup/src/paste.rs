//! How a path or a command is written so that it means the same to whoever reads it.

use keyhole_walk::{Policy, System, Walker, printable::visible};
use std::{os::unix::fs::MetadataExt as _, path::Path};

/// A path in one line, as each client accepts it. In double quotes, as [`quoted`]
/// writes it, such a text means the same in JSON, TOML, YAML and JavaScript. U+FFFE and U+FFFF
/// are not characters in YAML.
pub fn plain(path: &Path) -> Option<&str> {
    visible(path).filter(|text| !text.is_empty() && !text.contains(['\u{fffe}', '\u{ffff}']))
}

/// Whether clients could replace a part of the text, such as `${HOME}` or `{env:HOME}`.
pub fn is_expanded(text: &str) -> bool {
    text.contains(['$', '{', '}'])
}

/// The text in double quotes.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The path as a word of a command that changes it. None unless it is [`bare`], is the user's
/// own, no link leads there, and nobody else can change a folder above it. If nothing is there,
/// this is about the folder in which it would be made.
pub fn word(path: &Path) -> Option<&str> {
    let text = bare(path.to_str()?)?;
    let mut places = path.ancestors();
    let there = places.find(|at| at.symlink_metadata().is_ok())?;
    let owner = there.symlink_metadata().ok()?.uid();
    if owner != rustix::process::geteuid().as_raw() {
        return None;
    }
    // If a link leads there, its real path is another one.
    if there.canonicalize().ok()? != there {
        return None;
    }
    let folder = if there == path { places.next()? } else { there };
    // The walk fails if somebody else can change a folder above it.
    if Walker::new(System).walk(folder, Policy::Directory).is_err() {
        return None;
    }
    Some(text)
}

/// The command that starts a program, with arguments of ours. None if its path is not [`bare`].
pub fn command(program: &Path, arguments: &str) -> Option<String> {
    if !program.is_absolute() {
        return None;
    }
    let word = bare(program.to_str()?)?;
    Some(format!("{word} {arguments}"))
}

/// The text, if each shell reads it as one word that stands for itself. That leaves out `~`,
/// with which zsh can take a part of a pattern out.
pub fn bare(text: &str) -> Option<&str> {
    let begins_plain = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/');
    let mut chars = text.chars();
    if begins_plain && chars.all(|c| c.is_ascii_alphanumeric() || "/._-+@%:".contains(c)) {
        Some(text)
    } else {
        None
    }
}

/// The text as one word of a command that only sh runs, such as a hook's.
pub(crate) fn quoted_for_sh(text: &str) -> String {
    match bare(text) {
        Some(word) => word.to_owned(),
        None => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests;
