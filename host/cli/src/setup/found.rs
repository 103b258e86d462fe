//! The list of clients, and which of them are on this machine.
#![expect(
    clippy::disallowed_methods,
    reason = "it asks whether a client is here, and opens nothing"
)]

use keyhole_core::{configuration, home};
use keyhole_setup::clients::{Audience, Recipe, all};
use std::ffi::OsString;

/// Lists the clients. It only asks whether commands and folders exist; it reads and
/// starts nothing.
pub(super) fn list(variable: impl Fn(&str) -> Option<OsString>) -> String {
    let mut text = format!(
        "{:<18} {:<23} {}\n",
        "CLIENT", "WHO GETS THE DOCUMENT", "FOUND HERE"
    );
    for recipe in all() {
        text += &row(&recipe, &variable);
    }
    text + "\nkeyhole setup                                 in a terminal: asks, shows, writes\n\
            keyhole setup CLIENT --bind NAME --file FILE  the same, for what you name\n\
            keyhole setup CLIENT --bind NAME              prints what the client needs\n\
            keyhole setup key FILE                        prints an entry for the map, with a fresh key\n"
}

/// A client's name, who gets the document, and what shows that the client is here.
pub(super) fn row(recipe: &Recipe, variable: impl Fn(&str) -> Option<OsString>) -> String {
    let who = match recipe.audience {
        Audience::Agent => "only one agent",
        Audience::Ruled => "one agent, by rules",
        Audience::Session => "one session",
        Audience::Client => "the whole client",
    };
    let here = match sign(recipe, variable) {
        Some(folder) if folder.starts_with('~') => format!("yes, {folder}"),
        Some(command) => format!("yes, the command {command}"),
        None => "-".to_owned(),
    };
    format!("{:<18} {who:<23} {here}\n", recipe.name)
}

/// What shows that a client is here.
pub(super) fn sign(
    recipe: &Recipe,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Option<&'static str> {
    let (home, configuration) = (home(&variable), configuration(&variable));
    let path = variable("PATH").unwrap_or_default();
    let is_here = |sign: &&str| match (sign.strip_prefix("~/.config/"), sign.strip_prefix("~/")) {
        (Some(rest), _) => configuration
            .as_ref()
            .is_some_and(|place| place.join(rest).is_dir()),
        (None, Some(rest)) => home.as_ref().is_some_and(|home| home.join(rest).is_dir()),
        (None, None) => std::env::split_paths(&path)
            .any(|folder| folder.is_absolute() && folder.join(sign).is_file()),
    };
    recipe.here.iter().copied().find(is_here)
}
