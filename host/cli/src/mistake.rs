//! A mistake on the command line, told without what was typed.

use crate::Failure;
use clap::{
    Error,
    error::{
        ContextKind::{self, InvalidArg, InvalidSubcommand, InvalidValue, PriorArg},
        ErrorKind as Kind,
    },
};
use keyhole_serve::streams;
use std::{
    error::Error as _,
    io::{self, Write as _},
};

/// Prints help or the version if the user asked for it, and returns exit code 0. If no command was
/// typed, it prints the help as an error, and returns 2.
///
/// Else it fails with what is wrong, and exit code 2: Claude Code denies the call of a hook that
/// ends so.
pub(crate) fn explain(error: &Error) -> Result<u8, Failure> {
    match error.kind() {
        Kind::DisplayHelp | Kind::DisplayVersion => {
            streams::print(&error.to_string())?;
            Ok(0)
        }
        Kind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // If standard error is closed, nobody is left to tell.
            let _ = write!(streams::Waiting(io::stderr()), "{error}");
            Ok(2)
        }
        _ => {
            let wrong = in_words(error);
            Err(Failure(
                2,
                format!("{wrong}; --help names all that there are"),
            ))
        }
    }
}

/// What is wrong, in parts with `: ` between them: the kind of error; the options that it is about;
/// for `remove` or `uninstall` in the place of a command, the right one; and what the parser of the
/// option says. No argument is repeated: a key in the wrong place must not end up in a log.
fn in_words(error: &Error) -> String {
    let kind_in_words = error.kind().as_str().unwrap_or("a command is missing");
    let option = context(error, InvalidArg);
    let other_option = context(error, PriorArg);
    let mut words = match error.kind() {
        // The option of an unknown argument would be the argument as it was typed.
        Kind::UnknownArgument => vec![kind_in_words.to_owned()],
        Kind::InvalidValue if context(error, InvalidValue).is_empty() => {
            vec!["a value is missing".to_owned(), option]
        }
        Kind::ArgumentConflict if option == other_option => {
            vec!["an option is there twice".to_owned(), option]
        }
        _ => vec![kind_in_words.to_owned(), option, other_option],
    };
    let command = context(error, InvalidSubcommand);
    if command == "remove" || command == "uninstall" {
        words.push("`keyhole setup remove` takes away what setup wrote".to_owned());
    }
    // The source is an error of our own parsers, which return constant text.
    words.extend(error.source().map(ToString::to_string));
    words.retain(|part| !part.is_empty());
    words.join(": ")
}

/// What clap tells of this kind, such as the option that is meant; or nothing.
fn context(error: &Error, kind: ContextKind) -> String {
    error.get(kind).map(ToString::to_string).unwrap_or_default()
}
