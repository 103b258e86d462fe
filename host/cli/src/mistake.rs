//! A mistake on the command line, told without what was typed.

use crate::Failure;
use clap::{
    Error,
    error::{ContextKind, ErrorKind as Kind},
};
use keyhole_serve::streams;
use std::{
    error::Error as _,
    io::{self, Write as _},
};

/// Prints help or the version if the user asked for it, else what is wrong. It never repeats an
/// argument: a key in the wrong place must not end up in a log. With 2, the guard denies its call.
pub(crate) fn explain(error: &Error) -> Result<u8, Failure> {
    use ContextKind::{InvalidArg, InvalidSubcommand, InvalidValue, PriorArg};
    let of = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let usual = error.kind().as_str().unwrap_or("a command is missing");
    let is_removal = ["remove", "uninstall"].contains(&&*of(InvalidSubcommand));
    let (what, told): (_, &[ContextKind]) = match error.kind() {
        Kind::DisplayHelp | Kind::DisplayVersion => {
            streams::print(&error.to_string())?;
            return Ok(0);
        }
        Kind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // If standard error is closed, nobody is left to tell.
            let _ = write!(streams::Waiting(io::stderr()), "{error}");
            return Ok(2);
        }
        // Here, `InvalidArg` is what was typed.
        Kind::UnknownArgument => (usual, &[]),
        Kind::InvalidValue if of(InvalidValue).is_empty() => ("a value is missing", &[InvalidArg]),
        Kind::ArgumentConflict if of(InvalidArg) == of(PriorArg) => {
            ("an option is there twice", &[InvalidArg])
        }
        _ => (usual, &[InvalidArg, PriorArg]),
    };
    let mut said = vec![what.to_owned()];
    said.extend(told.iter().map(|kind| of(*kind)));
    let removes = "`keyhole setup remove` takes away what setup wrote";
    said.extend(is_removal.then(|| removes.to_owned()));
    // It comes from our own parsers, which return constant text.
    said.extend(error.source().map(ToString::to_string));
    said.retain(|more| !more.is_empty());
    let names = "--help names all that there are";
    Err(Failure(2, format!("{}; {names}", said.join(": "))))
}
