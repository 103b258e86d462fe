//! A mistake on the command line, told in our own words.

use crate::{
    Failure, ended,
    streams::{self, print, say},
};
use clap::{
    Error,
    error::{ContextKind, ErrorKind as Kind},
};
use std::{error::Error as _, io::Write as _, process::ExitCode};

/// Prints help or the version if the user asked for it. Otherwise it says what is wrong. It never
/// repeats an argument: a key in the wrong place must not end up in a log. 2 is the usual exit
/// code for this; if the guard exits with it, the client denies the call.
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
    let own = |kind| {
        error
            .get(kind)
            .map_or_else(String::new, ToString::to_string)
    };
    let (option, other) = (own(ContextKind::InvalidArg), own(ContextKind::PriorArg));
    let is_missing = own(ContextKind::InvalidValue).is_empty();
    let why = match error.kind() {
        Kind::InvalidSubcommand => {
            let is_remove =
                ["remove", "uninstall"].contains(&&*own(ContextKind::InvalidSubcommand));
            let hint = if is_remove {
                "; `keyhole setup remove` takes away what setup wrote"
            } else {
                ""
            };
            format!("there is no such command{hint}")
        }
        // Here, `InvalidArg` is the argument itself.
        Kind::UnknownArgument if option.starts_with('-') => "there is no such option".to_owned(),
        Kind::UnknownArgument => {
            "an argument is unexpected; put quotes around one that holds blanks".to_owned()
        }
        Kind::InvalidValue if is_missing => format!("{option} needs a value"),
        Kind::InvalidValue => {
            format!("{option} is one of these: {}", own(ContextKind::ValidValue))
        }
        Kind::ArgumentConflict if option == other => format!("{option} is given twice"),
        // A command of `setup`, behind a client.
        Kind::ArgumentConflict if option.is_empty() => {
            "setup takes a client or one of its commands, not both; look at the first word after it"
                .to_owned()
        }
        Kind::ArgumentConflict => format!("use {option} or {other}, not both"),
        // The reason comes from our own parsers, which return constant text.
        Kind::ValueValidation => error
            .source()
            .map_or_else(String::new, |why| format!("{option} cannot be used: {why}")),
        Kind::TooManyValues => format!("{option} takes no value"),
        Kind::MissingRequiredArgument => format!("missing: {option}"),
        Kind::InvalidUtf8 => "an argument is not UTF-8".to_owned(),
        _ => "a command is missing".to_owned(),
    };
    say(&format!("{why}; --help names all that there are"));
    ExitCode::from(2)
}
