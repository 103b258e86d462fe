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

/// Answers a command line that clap does not take.
///
/// - If the user asked for help or the version: prints it, and returns exit code 0.
/// - If no command was typed: prints the help as an error, and returns 2.
/// - Else fails with what is wrong, and exit code 2: Claude Code denies the call of a hook that
///   ends so.
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

/// What is wrong with the command line: `unexpected argument found`, or for an option without its
/// value `a value is missing: --map <FILE>`. The parts of the text have `: ` between them: the kind
/// of mistake; the options that it is about; for the commands `remove` and `uninstall`, which do
/// not exist, the right one; and what the parser of a value says.
///
/// Nothing that was typed is repeated: a key in the wrong place must not end up in a log.
fn in_words(error: &Error) -> String {
    let kind_in_words = error.kind().as_str().unwrap_or("a command is missing");
    let option = context(error, InvalidArg);
    let other_option = context(error, PriorArg);
    let mut words = match error.kind() {
        // Here, `option` is the argument as it was typed. So it is left out.
        Kind::UnknownArgument => vec![kind_in_words.to_owned()],
        // clap has this kind, with no value, if a value is missing.
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

/// What clap tells about the mistake, of this kind: for `InvalidArg`, the option that is meant.
/// Empty if clap tells nothing of this kind.
fn context(error: &Error, kind: ContextKind) -> String {
    error.get(kind).map(ToString::to_string).unwrap_or_default()
}
