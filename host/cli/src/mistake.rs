//! A mistake on the command line, told in our own words.

use crate::{Failure, arguments::Cli, ended, say, streams, terminal::print};
use clap::{
    Command, CommandFactory as _, Error, Parser as _,
    error::{ContextKind, ContextValue, ErrorKind as Kind},
};
use keyhole_core::MapMistake;
use std::{error::Error as _, io::Write as _, process::ExitCode};

/// Prints help or the version if the user asked for it. Otherwise it says which argument is
/// wrong, by its place, and what was expected. It never repeats an argument: a key in the
/// wrong place must not end up in a log. 2 is the usual exit code for this; if the guard
/// exits with it, the client denies the call.
pub(crate) fn explain(error: &Error) -> ExitCode {
    match error.kind() {
        Kind::DisplayHelp | Kind::DisplayVersion => {
            let printed = print(&error.to_string()).map_err(Failure::from);
            return ended(printed.map(|()| 0));
        }
        Kind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // If standard error is closed, nobody is left to tell.
            let _ = write!(streams::error(), "{error}");
            return ExitCode::from(2);
        }
        _ => {}
    }
    let given: Vec<_> = std::env::args_os().collect();
    let mut all = Cli::command();
    all.build();
    let mut command = &all;
    for word in given.iter().skip(1) {
        let Some(next) = command.find_subcommand(word) else {
            break;
        };
        command = next;
    }
    // The first that stays wrong, whatever follows.
    let wrong = given.iter().enumerate().skip(1).find_map(|(place, word)| {
        let error = Cli::try_parse_from(given.iter().take(place + 1)).err()?;
        let why = why(&error, &word.to_string_lossy(), command)?;
        Some(format!("argument {place} after `keyhole` {why}"))
    });
    let message = wrong.unwrap_or_else(|| {
        let missing = own(error, ContextKind::InvalidArg);
        match error.kind() {
            Kind::InvalidValue => format!("{missing} needs a value"),
            Kind::MissingRequiredArgument => format!("missing: {missing}"),
            _ => "a command is missing".to_owned(),
        }
    });
    let (usage, name) = (command.clone().render_usage(), command.get_bin_name());
    let name = name.unwrap_or("keyhole");
    say(&format!(
        "{message}\n\n{usage}\n\nFor all arguments, see: {name} --help"
    ));
    ExitCode::from(2)
}

/// What `error` says, which must be of our own definitions.
fn own(error: &Error, kind: ContextKind) -> String {
    error
        .get(kind)
        .map_or_else(String::new, ToString::to_string)
}

/// Why `word`, the last argument so far, is wrong. None if more have to follow.
fn why(error: &Error, word: &str, command: &Command) -> Option<String> {
    let mut known = Vec::new();
    let why = match error.kind() {
        Kind::InvalidValue if own(error, ContextKind::InvalidValue).is_empty() => return None,
        Kind::InvalidValue | Kind::InvalidSubcommand => {
            if let Some(ContextValue::Strings(values)) = error.get(ContextKind::ValidValue) {
                known.extend_from_slice(values);
            }
            let commands = command.get_subcommands().filter(|c| !c.is_hide_set());
            known.extend(commands.map(|c| c.get_name().to_owned()));
            format!("is none of these: {}", known.join(", "))
        }
        Kind::UnknownArgument => {
            let options = command.get_arguments().filter(|a| !a.is_hide_set());
            known.extend(options.filter_map(|a| Some(format!("--{}", a.get_long()?))));
            "is unexpected".to_owned()
        }
        Kind::ArgumentConflict => {
            let one = own(error, ContextKind::InvalidArg);
            match own(error, ContextKind::PriorArg) {
                other if one == other => format!("repeats {one}"),
                // A command of `setup`, behind a client.
                other if one.is_empty() => format!("is unexpected after {other}"),
                other => format!("is unexpected: use {one} or {other}"),
            }
        }
        // The reason comes from our own parsers, which return constant text.
        Kind::ValueValidation => format!("cannot be used: {}", error.source()?),
        Kind::TooManyValues => {
            format!(
                "is {}, which takes no value",
                own(error, ContextKind::InvalidArg)
            )
        }
        Kind::InvalidUtf8 => "is not UTF-8".to_owned(),
        _ => return None,
    };
    let mut parts = word.split('=');
    let meant = parts.find_map(|part| MapMistake::meant(part, known.iter().map(String::as_str)));
    let meant = match (error.kind(), word) {
        // What newcomers call two of the commands.
        (Kind::InvalidSubcommand, "add" | "config" | "init" | "install" | "new") => Some("setup"),
        (Kind::InvalidSubcommand, "doctor" | "list" | "status" | "test") => Some("check"),
        _ => meant,
    };
    let hint = match meant {
        Some(meant) => format!("; did you mean {meant}?"),
        None if error.kind() != Kind::UnknownArgument || word.starts_with('-') => String::new(),
        None if known.iter().any(|option| option == "--map") => {
            "; name a map with --map FILE, and put quotes around blanks".to_owned()
        }
        None => "; put quotes around a name that holds blanks".to_owned(),
    };
    Some(why + &hint)
}
