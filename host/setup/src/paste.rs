//! How a path or a command is written so that it means the same to whoever reads it.

use keyhole_walk::{Policy, System, Walker, printable::visible};
use std::{os::unix::fs::MetadataExt as _, path::Path};

/// The path's text, if each client accepts it. In double quotes, as [`quoted`] writes it, such a
/// text means the same in JSON, TOML, YAML and JavaScript. None if the path is empty, is not UTF-8,
/// or has a character that is not shown as itself; or U+FFFE or U+FFFF, which YAML does not allow.
pub fn text_if_printable(path: &Path) -> Option<&str> {
    visible(path).filter(|text| !text.is_empty() && !text.contains(['\u{fffe}', '\u{ffff}']))
}

/// Whether clients could replace a part of the text, such as `${HOME}` or `{env:HOME}`.
pub fn may_be_expanded(text: &str) -> bool {
    text.contains(['$', '{', '}'])
}

/// The text in double quotes, as JSON has it: `"a \"b\""` for `a "b"`.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The path as a word of a command that changes the file or folder there, such as `chmod 600 PATH`.
/// None in four cases. If nothing is at the path, the last three are about the lowest folder above
/// that exists.
///
/// - A shell would not read the path as one word ([`bare_word`]), as one with a blank.
/// - The file or folder belongs to another user.
/// - A link is in the path: the command would change something else.
/// - Somebody else can change a folder above, and so put something else there.
pub fn word_to_change(path: &Path) -> Option<&str> {
    let text = bare_word(path.to_str()?)?;
    let there = path.ancestors().find(|at| at.symlink_metadata().is_ok())?;
    let owner = there.symlink_metadata().ok()?.uid();
    if owner != rustix::process::geteuid().as_raw() {
        return None;
    }
    // With a link in it, the path is not the real one.
    if there.canonicalize().ok()? != there {
        return None;
    }
    let folder = if there == path { path.parent()? } else { there };
    // The walk fails if somebody else can change this folder or one above.
    if Walker::new(System).walk(folder, Policy::Directory).is_err() {
        return None;
    }
    Some(text)
}

/// The command that starts a program, with arguments of ours: `/usr/bin/keyhole check`. None if the
/// program's path is relative, or no [`bare_word`].
pub fn command(program: &Path, arguments: &str) -> Option<String> {
    if !program.is_absolute() {
        return None;
    }
    let word = bare_word(program.to_str()?)?;
    Some(format!("{word} {arguments}"))
}

/// The text, if each shell reads it as one word that stands for itself, as `/a/b-1.md`. It begins
/// with a letter, a digit or `/`, and all of its characters are letters, digits or `/._-+@%:`. Else
/// None: `~` is not among them, since zsh can read it as a part of a pattern.
pub fn bare_word(text: &str) -> Option<&str> {
    let begins_plain = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/');
    let mut chars = text.chars();
    if begins_plain && chars.all(|c| c.is_ascii_alphanumeric() || "/._-+@%:".contains(c)) {
        Some(text)
    } else {
        None
    }
}

/// The text as one word of a command that only sh runs, such as a hook's: `/a/b` as it is, but
/// `/a b` in single quotes.
pub(crate) fn quoted_for_sh(text: &str) -> String {
    match bare_word(text) {
        Some(word) => word.to_owned(),
        None => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests;
