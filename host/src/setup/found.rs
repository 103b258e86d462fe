//! The list of clients, and which of them are on this machine.

use super::clients::{Reach, Recipe, all};
use crate::os::{HOME, configuration};
use std::{ffi::OsString, fmt::Write as _, path::PathBuf};

/// Lists the clients. It only asks whether commands and folders exist; it reads and
/// starts nothing.
pub(super) fn list(variable: impl Fn(&str) -> Option<OsString>) -> String {
    let absolute = |name| {
        variable(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let home = absolute(HOME);
    let configuration = configuration(&variable);
    let path = variable("PATH").unwrap_or_default();
    let seen = |recipe: &Recipe| {
        let command = recipe.commands.iter().copied().find(|command| {
            std::env::split_paths(&path)
                .any(|directory| directory.is_absolute() && directory.join(command).is_file())
        });
        command
            .map(|command| format!("yes, the command {command}"))
            .or_else(|| {
                let folder = recipe.folders.iter().find(|folder| {
                    let place = match folder.strip_prefix("~/.config/") {
                        Some(rest) => configuration.as_ref().map(|place| place.join(rest)),
                        None => home
                            .as_ref()
                            .map(|home| home.join(folder.trim_start_matches("~/"))),
                    };
                    place.is_some_and(|place| place.is_dir())
                });
                folder.map(|folder| format!("yes, {folder}"))
            })
    };
    let mut text = format!(
        "{:<18} {:<23} {}\n",
        "CLIENT", "WHO GETS THE DOCUMENT", "FOUND HERE"
    );
    for recipe in all() {
        let who = match recipe.reach {
            Reach::Agent(_) => "only one agent",
            Reach::Ruled(_) => "one agent, by rules",
            Reach::Session(_) => "one session",
            Reach::Client => "the whole client",
        };
        let here = seen(recipe).unwrap_or_else(|| "-".to_owned());
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "{:<18} {who:<23} {here}", recipe.name);
    }
    text + "\nkeyhole setup CLIENT --bind NAME   what the client needs\n\
            keyhole setup key FILE             an entry for the map, with a fresh key\n"
}
