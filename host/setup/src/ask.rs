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

/// Whether a client started this process, so that an agent could answer: the process has one of the
/// variables that clients set for their agents' commands, such as `GEMINI_CLI`.
pub fn is_clients_shell(variable: Variables<'_>) -> bool {
    let mut shells = all().flat_map(|client| client.shell);
    shells.any(|name| variable(name).is_some())
}

/// What the user reads and answers on. The default is for a dry run: it has no terminal, and keeps
/// what is shown.
#[derive(Debug, Default)]
pub struct Screen {
    /// The terminal. None: nobody is asked.
    terminal: Option<BufReader<File>>,
    /// What was shown without a terminal.
    pub shown: String,
}

impl Screen {
    /// Opens the terminal of this process, `/dev/tty`.
    ///
    /// # Errors
    /// Why nobody can be asked. This process runs
    /// - under sudo or the like (a variable such as `SUDO_USER` is set), and is root or has another
    ///   user's home;
    /// - or in a client's shell, where an agent could answer;
    /// - or without a terminal.
    pub fn open(user: &User<'_>) -> Result<Self> {
        let (home, variable) = (&user.home, user.variable);
        // By `sudo -iu theo`, root becomes the user whose home this is. That is allowed: no file of
        // one user gets into the home of another.
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

    /// Writes a text to the terminal; or without one, adds it to `shown`.
    ///
    /// # Errors
    /// If the terminal fails.
    pub fn show(&mut self, text: &str) -> Result<()> {
        match &mut self.terminal {
            Some(terminal) => terminal.get_mut().write_all(text.as_bytes())?,
            None => self.shown += text,
        }
        Ok(())
    }

    /// Asks the question, and returns what `accept` makes of the line that the user typed, without
    /// blanks around it. As long as `accept` returns an error, shows that error's text, and asks
    /// again. What was typed or pasted before the question does not count.
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
            // Drops what was typed before: in the system, and then in our own buffer.
            tcflush(terminal.get_ref(), QueueSelector::IFlush).map_err(io::Error::from)?;
            terminal.consume(terminal.buffer().len());
            terminal.get_mut().write_all(question.as_bytes())?;
            let mut bytes = Vec::new();
            terminal.read_until(b'\n', &mut bytes)?;
            // Also a line that is not UTF-8 goes to `accept`, as a wrong answer.
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

    /// Asks for a yes (`y`, `yes`) or a no (`n`, `no`, or an empty line), in either case of
    /// letters. Asks again after any other answer.
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
