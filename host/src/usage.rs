//! The messages about unusable arguments. No message repeats an argument: a key in
//! the wrong place must not end up in a log.

use crate::{
    agent::AgentName,
    map::{BadBindingName, BindingName, Key},
};
use clap::{
    Arg, Command, Error,
    error::{ContextKind, ContextValue, ErrorKind},
};
use std::{
    ffi::OsString,
    io::{self, Write as _},
    iter,
    process::ExitCode,
};

/// The usual exit code for wrong usage. If the guard exits with it, the client denies
/// the call.
const USAGE: u8 = 2;

/// Prints help or the version if the user asked for it. Otherwise it says what is
/// wrong, in our own words. `words` are the arguments.
pub(crate) fn explain(error: &Error, mut command: Command, words: &[OsString]) -> ExitCode {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            | ErrorKind::DisplayVersion
    ) {
        error.exit();
    }
    command.build();
    let message = message(error, &command);
    // The command that the user named. It may have subcommands.
    let mut asked = command;
    for word in words {
        let Some(next) = word.to_str().and_then(|name| asked.find_subcommand(name)) else {
            break;
        };
        asked = next.clone();
    }
    let name = asked.get_bin_name().unwrap_or("keyhole").to_owned();
    let usage = asked.render_usage();
    // If standard error is closed, nobody is left to tell.
    let _ = writeln!(
        io::stderr(),
        "keyhole: {message}\n\n{usage}\n\nFor all arguments, see: {name} --help"
    );
    ExitCode::from(USAGE)
}

fn message(error: &Error, command: &Command) -> String {
    let argument = named(error, command);
    let name = argument.map_or_else(|| "an argument".to_owned(), Arg::to_string);
    match error.kind() {
        ErrorKind::UnknownArgument => "there is an unknown argument".to_owned(),
        ErrorKind::InvalidSubcommand => "there is no such command".to_owned(),
        ErrorKind::MissingSubcommand => "no command was given".to_owned(),
        ErrorKind::MissingRequiredArgument => "an argument is missing".to_owned(),
        ErrorKind::ArgumentConflict => {
            format!("{name} was given twice, or together with an argument that excludes it")
        }
        ErrorKind::ValueValidation => match (argument, std::error::Error::source(error)) {
            // The reason comes from our own parsers, which return constant text.
            (Some(_), Some(reason)) => format!("{name} cannot be used: {reason}"),
            _ => format!("the value of {name} cannot be used"),
        },
        ErrorKind::InvalidValue => match argument.map(choices) {
            Some(choices) if !choices.is_empty() => {
                format!("{name} is one of: {}", choices.join(", "))
            }
            _ => format!("{name} needs a value"),
        },
        ErrorKind::NoEquals
        | ErrorKind::TooManyValues
        | ErrorKind::TooFewValues
        | ErrorKind::WrongNumberOfValues => format!("{name} has too many or too few values"),
        ErrorKind::InvalidUtf8 => "an argument is not UTF-8".to_owned(),
        _ => "the arguments cannot be understood".to_owned(),
    }
}

/// The argument that the error is about, as this command defines it. The name in the
/// error itself may be the user's text.
fn named<'a>(error: &Error, command: &'a Command) -> Option<&'a Arg> {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let commands = command.get_subcommands();
    commands
        .flat_map(|command| iter::once(command).chain(command.get_subcommands()))
        .flat_map(Command::get_arguments)
        .find(|argument| argument.to_string() == *name)
}

fn choices(argument: &Arg) -> Vec<String> {
    argument
        .get_possible_values()
        .iter()
        .map(|value| value.get_name().to_owned())
        .collect()
}

/// Parses the name of a binding, as a map could have it.
pub(crate) fn binding_name(text: &str) -> Result<BindingName, BadBindingName> {
    text.try_into()
}

/// Parses the name of an agent, as a map could have it. No key can be bound to any
/// other name.
pub(crate) fn agent_name(text: &str) -> Result<AgentName, &'static str> {
    match (Key::try_from(text), AgentName::try_from(text)) {
        (Ok(_), Ok(name)) => Ok(name),
        _ => Err("an agent's name is 1 to 128 visible ASCII characters, as in the map's agents"),
    }
}
