//! The one place that makes the commands and paths which are printed. A user pastes them, so
//! they are safe to paste: see [`word`].
#![expect(
    clippy::disallowed_methods,
    reason = "it asks what a path names, and who owns it, and opens nothing"
)]

use keyhole_walk::printable::visible;
use std::{fs, io::ErrorKind, os::unix::fs::MetadataExt as _, path::Path};

/// The longest path that is printed in a command: what Linux takes.
const MAX_LEN: usize = 4096;

/// A path in one line, as each client accepts it. In double quotes, as [`quoted`]
/// writes it, such a text means the same in JSON, TOML, YAML and JavaScript. U+FFFE and U+FFFF
/// are not characters in YAML.
pub fn plain(path: &Path) -> Option<&str> {
    visible(path).filter(|text| !text.is_empty() && !text.contains(['\u{fffe}', '\u{ffff}']))
}

/// Whether clients could replace a part of the text, such as `${HOME}` or
/// `{env:HOME}`.
pub fn is_expanded(text: &str) -> bool {
    text.contains(['$', '{', '}'])
}

/// The text in double quotes.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The text as a JavaScript string, in single quotes if possible.
pub fn script_text(text: &str) -> String {
    match text.contains(['\'', '\\']) {
        true => quoted(text),
        false => format!("'{text}'"),
    }
}

/// The path as a YAML string, without quotes if possible. It must be absolute.
pub fn yaml_text(path: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    match path.chars().all(is_safe) {
        true => path.to_owned(),
        false => quoted(path),
    }
}

/// The path as one word of a command. None if it is not safe to paste one with it: a reader
/// does not see each character, the shells do not read it alike, or it may be about something
/// else than the user's own.
pub fn word(path: &Path) -> Option<String> {
    let text = visible(path).filter(|text| text.len() <= MAX_LEN && is_own(path))?;
    shell_word(text)
}

/// Whether nothing is there that a printed command would replace.
pub fn is_free(path: &Path) -> bool {
    let found = path.symlink_metadata();
    found.is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// The command that moves a file to `~/private`. None if [`word`] has none, or if a file of its
/// name is there.
pub fn move_to_private(file: &Path, home: &Path) -> Option<String> {
    let to = home.join("private").join(file.file_name()?);
    let word = word(file).filter(|_| is_free(&to))?;
    Some(format!("mkdir -p -m 700 ~/private && mv {word} ~/private/"))
}

/// A command that starts the user's own or root's program, with arguments of ours.
pub fn command(program: &Path, arguments: &str) -> Option<String> {
    let text = visible(program).filter(|text| text.len() <= MAX_LEN && program.is_absolute())?;
    Some(format!("{} {arguments}", shell_word(text)?))
}

/// The text as one word of a command line in sh, bash, zsh and fish. None for a text with a
/// backslash: in single quotes, fish reads it in another way. A word that begins with a letter
/// or `/` needs no quotes; zsh replaces another one's first `=`, and fish its `%`.
pub fn shell_word(text: &str) -> Option<String> {
    (!text.contains('\\')).then(|| quoted_for_sh(text))
}

/// The text as one word of a command that only sh runs, such as a hook's.
pub fn quoted_for_sh(text: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "_-./+,:=@%".contains(c);
    let begins = |c: char| c.is_ascii_alphanumeric() || c == '/';
    match text.starts_with(begins) && text.chars().all(is_safe) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// Whether the user owns what the path names as it stands, or if nothing is there, the
/// directory in which it would be made; and nobody else owns a directory above. No link may
/// lead there, also none of the user's: a repository may have brought it. Only root's may, such
/// as macOS' `/tmp`.
pub fn is_own(path: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    let found = |at| fs::symlink_metadata(at).ok();
    let mut found = path.ancestors().filter_map(found);
    let is_own = |found: fs::Metadata| found.uid() == user && !found.is_symlink();
    let is_systems = |found: &fs::Metadata| found.uid() == 0 && (user != 0 || !found.is_symlink());
    found.next().is_some_and(is_own) && found.all(|above| is_systems(&above) || is_own(above))
}

#[cfg(test)]
mod tests;
