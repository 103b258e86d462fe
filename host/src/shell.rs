//! `keyhole shell`: describes the command line to a shell or to `man`.

use clap::{Command, ValueEnum};
use clap_complete::{Shell, generate};
use std::io::{self, Write as _};

/// What is printed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum What {
    /// Completions for bash.
    Bash,
    /// Completions for fish.
    Fish,
    /// Completions for zsh.
    Zsh,
    /// The manual page, keyhole(1).
    Man,
}

/// Prints it. It is generated from the definition of the command line.
///
/// # Errors
/// Those of standard output.
pub(crate) fn write(mut command: Command, what: What) -> io::Result<()> {
    let mut text = Vec::new();
    let shell = match what {
        What::Bash => Some(Shell::Bash),
        What::Fish => Some(Shell::Fish),
        What::Zsh => Some(Shell::Zsh),
        What::Man => None,
    };
    match shell {
        Some(shell) => generate(shell, &mut command, "keyhole", &mut text),
        None => clap_mangen::Man::new(command).render(&mut text)?,
    }
    io::stdout().write_all(&text)
}
