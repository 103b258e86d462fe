//! What the program prints for people, with colours if they can see them.

use crate::{arguments::Color, streams};
use std::{
    env,
    io::{self, IsTerminal as _, Write as _},
};

/// Prints `text` on standard output. If its reader has seen enough, such as `head`, that is
/// no error.
pub(crate) fn print(text: &str) -> Result<(), String> {
    let mut stdout = streams::output();
    let written = stdout.write_all(text.as_bytes());
    match written.and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(format!("cannot write: {error}"))
        }
        _ => Ok(()),
    }
}

/// The text, with its colours only if they are asked for, or if standard output is a
/// terminal. `CLICOLOR_FORCE` asks for them anywhere, and `NO_COLOR` nowhere:
/// see [no-color.org](https://no-color.org).
pub(crate) fn colored(text: &str, when: Color) -> String {
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
    let is_shown = match when {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            !is_set("NO_COLOR") && (is_set("CLICOLOR_FORCE") || io::stdout().is_terminal())
        }
    };
    if is_shown {
        text.to_owned()
    } else {
        plain(text)
    }
}

/// The text without the sequences that set colours.
pub(crate) fn plain(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| {
        plain + part.split_once('m').map_or("", |(_, rest)| rest)
    })
}
