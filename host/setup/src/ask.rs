//! The user's answers, from the terminal. It is the user who answers, not an agent.

use crate::{Result, User, clients::all, error::stop_with};
use keyhole_claude::Variables;
use rustix::{
    fs::Uid,
    process::geteuid,
    termios::{QueueSelector, tcflush},
};
use std::{
    fs::{File, metadata},
    io::{self, BufRead as _, BufReader, Write as _},
    os::unix::fs::MetadataExt as _,
};

/// Why setup stops if nobody answers a question.
const NO_ANSWER: &str = "nothing is changed";

/// Whether a variable says that sudo or its like started this, as `SUDO_USER` does.
fn is_under_sudo(variable: Variables<'_>) -> bool {
    let names = ["SUDO_UID", "SUDO_USER", "DOAS_USER", "PKEXEC_UID"];
    names.iter().any(|name| variable(name).is_some())
}

/// Whether a client started this process, as far as its variables tell.
pub fn is_clients_shell(variable: Variables<'_>) -> bool {
    let mut shells = all().flat_map(|client| client.shell);
    shells.any(|name| variable(name).is_some())
}

/// The terminal of this process. The default is nobody, for a dry run: what is shown is kept.
#[derive(Debug, Default)]
pub struct Screen {
    /// None: nobody is asked.
    terminal: Option<BufReader<File>>,
    /// What was shown to nobody.
    pub shown: String,
}

impl Screen {
    /// Opens the terminal, if the user is there.
    ///
    /// # Errors
    /// Why nobody can be asked: this runs under sudo, as root or in another user's home; or in a
    /// client's shell, where an agent could answer; or without a terminal.
    pub fn open(user: &User<'_>) -> Result<Self> {
        let (home, variable) = (&user.home, user.variable);
        // If root becomes the user whose home this is, as by `sudo -iu theo`, nobody's files are
        // mixed up.
        let is_own_home = metadata(home).is_ok_and(|home| Uid::from_raw(home.uid()) == geteuid());
        if is_under_sudo(variable) && (geteuid().is_root() || !is_own_home) {
            return stop_with("nothing is changed under sudo: run this as yourself, without it");
        }
        if is_clients_shell(variable) {
            return stop_with(
                "nothing is changed from a client's shell: you answer, not an agent. Run this in a terminal of your own",
            );
        }
        let mut options = File::options();
        let opened = options.read(true).write(true).open("/dev/tty");
        let Ok(terminal) = opened else {
            return stop_with(
                "nothing is changed without a terminal to ask on: run this in one, or add --dry-run to see what would be changed",
            );
        };
        Ok(Self {
            terminal: Some(BufReader::new(terminal)),
            shown: String::new(),
        })
    }

    /// Shows a text.
    pub fn show(&mut self, text: &str) -> Result<()> {
        match &mut self.terminal {
            Some(terminal) => terminal.get_mut().write_all(text.as_bytes())?,
            None => self.shown += text,
        }
        Ok(())
    }

    /// Asks, and returns what `accept` makes of the line that the user typed. If `accept` returns
    /// an error, its text is shown, and the question is asked once more. What was typed or pasted
    /// before the question does not count.
    ///
    /// # Errors
    /// If there is no terminal, if it fails, or if the input ends before the line does.
    pub fn ask<T>(
        &mut self,
        question: &str,
        mut accept: impl FnMut(&str) -> Result<T, String>,
    ) -> Result<T> {
        loop {
            let Some(terminal) = &mut self.terminal else {
                return stop_with(NO_ANSWER);
            };
            tcflush(terminal.get_ref(), QueueSelector::IFlush).map_err(io::Error::from)?;
            terminal.consume(terminal.buffer().len());
            terminal.get_mut().write_all(question.as_bytes())?;
            let mut bytes = Vec::new();
            terminal.read_until(b'\n', &mut bytes)?;
            // A line that is no UTF-8 is for `accept`, too: it is a wrong answer.
            let line = String::from_utf8_lossy(&bytes);
            let Some(answer) = line.strip_suffix('\n') else {
                return stop_with(NO_ANSWER);
            };
            match accept(answer.trim()) {
                Ok(accepted) => return Ok(accepted),
                Err(why) => self.show(&format!("{why}\n"))?,
            }
        }
    }

    /// Asks for a yes or a no. An empty line is a no.
    pub fn agrees(&mut self, question: &str) -> Result<bool> {
        self.ask(&format!("{question} [y/N] "), |answer| {
            match &*answer.to_ascii_lowercase() {
                "y" | "yes" => Ok(true),
                "" | "n" | "no" => Ok(false),
                _ => Err("Type y or n.".to_owned()),
            }
        })
    }
}
