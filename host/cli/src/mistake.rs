//! A mistake on the command line, told without what was typed.

use crate::{
    Failure, ended,
    streams::{Waiting, print, say},
};
use clap::{
    Error,
    error::{ContextKind, ErrorKind as Kind},
};
use std::{
    error::Error as _,
    io::{self, Write as _},
    process::ExitCode,
};

/// Prints help or the version if the user asked for it, else what is wrong. It never repeats an
/// argument: a key in the wrong place must not end up in a log. With 2, the guard denies its call.
pub(crate) fn explain(error: &Error) -> ExitCode {
    use ContextKind::{InvalidArg, InvalidSubcommand, InvalidValue, PriorArg, ValidValue};
    let of = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let (what, options) = match error.kind() {
        Kind::DisplayHelp | Kind::DisplayVersion => {
            let printed = print(&error.to_string()).map_err(Failure::from);
            return ended(printed.map(|()| 0));
        }
        Kind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // If standard error is closed, nobody is left to tell.
            let _ = write!(Waiting(io::stderr()), "{error}");
            return ExitCode::from(2);
        }
        Kind::InvalidSubcommand if ["remove", "uninstall"].contains(&&*of(InvalidSubcommand)) => {
            let takes = "`keyhole setup remove` takes away what setup wrote".to_owned();
            (Kind::InvalidSubcommand.as_str(), vec![takes])
        }
        // Here, `InvalidArg` is what was typed.
        Kind::UnknownArgument => (Kind::UnknownArgument.as_str(), Vec::new()),
        Kind::InvalidValue if of(InvalidValue).is_empty() => {
            (Some("a value is missing"), vec![of(InvalidArg)])
        }
        Kind::ArgumentConflict if of(InvalidArg) == of(PriorArg) => {
            (Some("an option is there twice"), vec![of(InvalidArg)])
        }
        kind => (
            kind.as_str(),
            [InvalidArg, PriorArg, ValidValue].map(of).to_vec(),
        ),
    };
    let mut said = vec![what.unwrap_or("a command is missing").to_owned()];
    said.extend(options);
    // It comes from our own parsers, which return constant text.
    said.extend(error.source().map(ToString::to_string));
    said.retain(|more| !more.is_empty());
    let said = said.join(": ");
    say(&format!("{said}; --help names all that there are"));
    ExitCode::from(2)
}
