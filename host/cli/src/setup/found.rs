//! The list of clients, and which of them are on this machine.
#![expect(
    clippy::disallowed_methods,
    reason = "it asks whether a client is here, and opens nothing"
)]

use super::clients::{Audience, all};
use keyhole_core::{configuration, home};
use std::{ffi::OsString, fmt::Write as _};

/// Lists the clients. It only asks whether commands and folders exist; it reads and
/// starts nothing.
pub(super) fn list(variable: impl Fn(&str) -> Option<OsString>) -> String {
    let (home, configuration) = (home(&variable), configuration(&variable));
    let path = variable("PATH").unwrap_or_default();
    let is_here = |sign: &str| match (sign.strip_prefix("~/.config/"), sign.strip_prefix("~/")) {
        (Some(rest), _) => configuration
            .as_ref()
            .is_some_and(|place| place.join(rest).is_dir()),
        (None, Some(rest)) => home.as_ref().is_some_and(|home| home.join(rest).is_dir()),
        (None, None) => std::env::split_paths(&path)
            .any(|folder| folder.is_absolute() && folder.join(sign).is_file()),
    };
    let mut text = format!(
        "{:<18} {:<23} {}\n",
        "CLIENT", "WHO GETS THE DOCUMENT", "FOUND HERE"
    );
    for recipe in all() {
        let who = match recipe.audience {
            Audience::Agent => "only one agent",
            Audience::Ruled => "one agent, by rules",
            Audience::Session => "one session",
            Audience::Client => "the whole client",
        };
        let here = match recipe.here.into_iter().find(|sign| is_here(sign)) {
            Some(folder) if folder.starts_with('~') => format!("yes, {folder}"),
            Some(command) => format!("yes, the command {command}"),
            None => "-".to_owned(),
        };
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "{:<18} {who:<23} {here}", recipe.name);
    }
    text + "\nkeyhole setup CLIENT --bind NAME   what the client needs\n\
            keyhole setup key FILE             an entry for the map, with a fresh key\n"
}
