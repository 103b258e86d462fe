//! A mistake on the command line, told without what was typed.

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
    use ContextKind::{InvalidArg, InvalidSubcommand, InvalidValue, PriorArg, ValidValue};
    let of = |kind| {
        error
            .get(kind)
            .map_or_else(String::new, ToString::to_string)
    };
    let (what, options) = match error.kind() {
        Kind::DisplayHelp | Kind::DisplayVersion => {
            let printed = print(&error.to_string()).map_err(Failure::from);
            return ended(printed.map(|()| 0));
        }
        Kind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // If standard error is closed, nobody is left to tell.
            let _ = write!(streams::error(), "{error}");
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
        kind => {
            let options = [InvalidArg, PriorArg, ValidValue].map(of);
            (kind.as_str(), options.to_vec())
        }
    };
    let mut said = what.unwrap_or("a command is missing").to_owned();
    // The last comes from our own parsers, which return constant text.
    for more in options
        .into_iter()
        .chain(error.source().map(ToString::to_string))
    {
        if !more.is_empty() {
            said += &format!(": {more}");
        }
    }
    say(&format!("{said}; --help names all that there are"));
    ExitCode::from(2)
}
