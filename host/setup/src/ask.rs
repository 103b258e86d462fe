//! The user's answer, from the terminal. It is the user who answers, not an agent.
#![expect(clippy::disallowed_methods, reason = "it opens the terminal")]

use crate::is_under_sudo;
use rustix::termios::{QueueSelector, tcflush};
use std::{
    ffi::OsString,
    fs::File,
    io::{self, BufRead as _, BufReader, Write as _},
};

/// Variables that a client sets for its agents' commands.
const OF_CLIENTS: [&str; 13] = [
    "AI_AGENT",
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_PLUGIN_DATA",
    "CODEX_CI",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID",
    "COPILOT_CLI",
    "CURSOR_AGENT",
    "GEMINI_CLI",
    "OPENCODE",
    "QWEN_CODE",
];

/// Why nobody can be asked.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// An agent runs this.
    #[error(
        "nothing is changed from a client's shell: you answer, not an agent. Run this in a terminal of your own"
    )]
    InAClient,
    /// Root's files would be changed, or the user's would become root's.
    #[error("nothing is changed under sudo: run this as yourself, without it")]
    UnderSudo,
    /// There is no terminal.
    #[error(
        "nothing is changed without a terminal to ask on: run this in one, or add --dry-run to see what would be changed"
    )]
    NoTerminal,
}

/// Who is asked.
pub trait Asked {
    /// Shows a text.
    ///
    /// # Errors
    /// If it cannot.
    fn show(&mut self, text: &str) -> io::Result<()>;

    /// Asks for a line.
    ///
    /// # Errors
    /// If there is none.
    fn ask(&mut self, question: &str) -> io::Result<String>;

    /// Whether somebody could answer.
    fn is_there(&self) -> bool {
        true
    }

    /// Asks for a yes. Anything else is a no.
    ///
    /// # Errors
    /// As [`Self::ask`].
    fn agrees(&mut self, question: &str) -> io::Result<bool> {
        let answer = self.ask(&format!("{question} [y/N] "))?;
        Ok(matches!(&*answer.to_ascii_lowercase(), "y" | "yes"))
    }
}

/// Nobody, in a dry run: what is shown is kept, to be printed.
#[derive(Debug, Default)]
pub struct Nobody {
    /// What was shown.
    pub shown: String,
}

impl Asked for Nobody {
    fn show(&mut self, text: &str) -> io::Result<()> {
        self.shown += text;
        Ok(())
    }

    fn ask(&mut self, _: &str) -> io::Result<String> {
        Ok(String::new())
    }

    fn is_there(&self) -> bool {
        false
    }
}

/// The terminal of this process.
#[derive(Debug)]
pub struct Terminal(BufReader<File>);

impl Terminal {
    /// Opens it, if the user is there.
    ///
    /// # Errors
    /// [`AskError`].
    pub fn open(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, AskError> {
        if is_under_sudo(&variable) {
            return Err(AskError::UnderSudo);
        }
        if OF_CLIENTS.iter().any(|name| variable(name).is_some()) {
            return Err(AskError::InAClient);
        }
        let mut options = File::options();
        let terminal = options.read(true).write(true).open("/dev/tty");
        let terminal = terminal.map_err(|_| AskError::NoTerminal)?;
        Ok(Self(BufReader::new(terminal)))
    }
}

impl Asked for Terminal {
    fn show(&mut self, text: &str) -> io::Result<()> {
        self.0.get_mut().write_all(text.as_bytes())
    }

    /// What was typed or pasted before the question is no answer to it.
    fn ask(&mut self, question: &str) -> io::Result<String> {
        tcflush(self.0.get_ref(), QueueSelector::IFlush)?;
        self.0.consume(self.0.buffer().len());
        self.0.get_mut().write_all(question.as_bytes())?;
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim().to_owned())
    }
}
