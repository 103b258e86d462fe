//! Texts from outside, in the form in which the output may contain them.

use keyhole_walk::printable::visible;
use std::path::Path;

/// A path in one line, as each client accepts it. In double quotes, as [`quoted`]
/// writes it, such a text means the same in JSON, TOML, YAML and JavaScript. U+FFFE and U+FFFF
/// are not characters in YAML.
pub(super) fn plain(path: &Path) -> Option<&str> {
    visible(path).filter(|text| !text.is_empty() && !text.contains(['\u{fffe}', '\u{ffff}']))
}

/// Whether clients could replace a part of the text, such as `${HOME}` or
/// `{env:HOME}`.
pub(super) fn is_expanded(text: &str) -> bool {
    text.contains(['$', '{', '}'])
}

/// The text in double quotes.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The text as a JavaScript string, in single quotes if possible.
pub(super) fn script_text(text: &str) -> String {
    match text.contains(['\'', '\\']) {
        true => quoted(text),
        false => format!("'{text}'"),
    }
}

/// The path as a YAML string, without quotes if possible. It must be absolute.
pub(super) fn yaml_text(path: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    match path.chars().all(is_safe) {
        true => path.to_owned(),
        false => quoted(path),
    }
}

/// The text as one word of a command line: of a shell's, or on Windows of cmd's, which
/// cannot write every text.
pub(crate) fn shell_word(text: &str) -> Option<String> {
    match cfg!(windows) {
        true => cmd_word(text),
        false => Some(sh_word(text)),
    }
}

pub(super) fn sh_word(text: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "_-./+,:=@%".contains(c);
    match !text.is_empty() && text.chars().all(is_safe) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// As [`sh_word`], for cmd. None if a character would end the quotes, or cmd would
/// replace it.
pub(super) fn cmd_word(text: &str) -> Option<String> {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || r"_-./+:@\".contains(c);
    match !text.is_empty() && text.chars().all(is_safe) {
        true => Some(text.to_owned()),
        false => (!text.contains(['"', '%', '!', '^']) && !text.ends_with('\\'))
            .then(|| format!("\"{text}\"")),
    }
}
