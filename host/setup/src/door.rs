//! From what the user wants to files that are written.

use crate::{
    What,
    ask::Asked,
    disk::{Disk, FileError},
    plan::Plan,
    recipe::NameError,
    rules::Places,
    state_folder,
};
use std::{ffi::OsString, io, path::PathBuf};

/// What the user wants, with the document.
#[derive(Clone, Debug)]
pub struct Request {
    /// For whom.
    pub what: What,
    /// Which document.
    pub file: PathBuf,
}

/// Why nothing was changed, or what was not.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A file cannot be read or edited.
    #[error("nothing is changed: {0}")]
    File(#[from] FileError),
    /// A file could not be written.
    #[error("stopped, and nothing further is changed: {0}\n\nThe whole plan was:\n{1}")]
    Stopped(#[source] FileError, String),
    /// A name or the document's path will not do.
    #[error("{0}")]
    Name(#[from] NameError),
    /// The terminal failed.
    #[error("nothing is changed: the terminal cannot be read ({0})")]
    Terminal(#[from] io::Error),
    /// A place has a name that is not shown.
    #[error(
        "the path of a folder of the client is not absolute, or holds a character that is not shown, or that means something else in a rule; use another place"
    )]
    OddPlace,
    /// The map would not do.
    #[error("nothing is changed: {0}")]
    Map(String),
    /// The agent or the binding has another document.
    #[error(
        "the map has another file under this name already: run `keyhole setup remove {0}` first, or if setup did not write that, choose another name, or change the map yourself"
    )]
    OtherFile(String),
    /// Nothing is there.
    #[error("setup wrote nothing of this name")]
    NothingOf,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was written. The text is the last step.
    Done(String),
    /// The user said no, or it is a dry run.
    Nothing,
    /// All was there.
    Already(String),
}

/// Whether a map of these bytes is valid, and the document reaches whom it is for, if that is
/// said; if not, why.
pub type Judge<'a> = dyn Fn(&[u8], Option<&What>) -> Result<(), String> + 'a;

/// Where everything is.
pub struct Door<'a> {
    /// The user's home.
    pub home: PathBuf,
    /// The map.
    pub map: PathBuf,
    /// This program, as clients start it.
    pub program: String,
    /// A sentence that says why they should not start it there.
    pub caution: Option<String>,
    /// The environment.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// Who judges a planned map.
    pub judge: &'a Judge<'a>,
    /// A fresh key.
    pub key: String,
    /// The file system.
    pub disk: Disk,
}

impl Door<'_> {
    pub(crate) fn folder(&self, variable: &str) -> Option<PathBuf> {
        let set = (self.variable)(variable).map(PathBuf::from);
        set.filter(|set| set.is_absolute())
    }

    /// Where the record is.
    pub(crate) fn record(&self) -> PathBuf {
        state_folder(&self.home, self.variable).join("setup.json")
    }

    /// A place of clients.txt, on this machine.
    pub(crate) fn place(&self, text: &str) -> PathBuf {
        for (start, variable) in [
            ("~/.claude/", "CLAUDE_CONFIG_DIR"),
            ("~/.codex/", "CODEX_HOME"),
            ("~/.config/", "XDG_CONFIG_HOME"),
        ] {
            if let (Some(rest), Some(folder)) = (text.strip_prefix(start), self.folder(variable)) {
                return folder.join(rest);
            }
        }
        self.home.join(text.trim_start_matches("~/"))
    }

    /// Shows what would change, asks, and writes it.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn install(&self, request: &Request, asked: &mut dyn Asked) -> Result<Outcome, SetupError> {
        let mut intent = self.intent(request, true)?;
        if intent.plan.is_empty() {
            let notes = intent.notes.iter().map(|note| format!("{note}\n"));
            asked.show(&notes.collect::<String>())?;
            return Ok(Outcome::Already(intent.last));
        }
        let [rules, agent, open] = intent.questions();
        if !asked.is_there() {
            let about = [rules, agent, open].into_iter().flatten();
            intent.notes.extend(about);
            asked.show(&intent.shown())?;
            return Ok(Outcome::Nothing);
        }
        asked.show(&intent.shown())?;
        if let Some(rules) = rules {
            asked.show(&format!("\n{rules}\n"))?;
            if !asked.agrees("Add the rules in permissions.deny?")? {
                intent = self.intent(request, false)?;
                asked
                    .show("Without them, the main conversation may read the document itself.\n")?;
                if intent.plan.is_empty() {
                    return Ok(Outcome::Already(intent.last));
                }
                asked.show(&intent.shown())?;
            }
        }
        if let (Some(agent), Some(name)) = (agent, &intent.typed) {
            let question = format!("\n{agent}\nType the agent's name to agree: ");
            if asked.ask(&question)? != *name {
                return Ok(Outcome::Nothing);
            }
        }
        let closes = match open {
            Some(open) if asked.agrees(&format!("\n{open} Close it to them?"))? => {
                intent.document.open
            }
            _ => None,
        };
        if !asked.agrees("\nWrite these changes?")? {
            return Ok(Outcome::Nothing);
        }
        self.write(&intent.plan, true)?;
        // All is written, so what fails now is no error.
        if let Some(number) = closes
            && let Err(error) = self.disk.close(&intent.document.real, number)
        {
            intent.last += &format!("\n\nThe document is not closed to others. {error}");
        }
        Ok(Outcome::Done(intent.last))
    }

    /// Takes away what setup wrote for a name.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn remove(&self, name: &str, asked: &mut dyn Asked) -> Result<Outcome, SetupError> {
        let mut plan = Plan::new(&self.disk, &self.record())?;
        if !plan.remove(name)? {
            return Err(SetupError::NothingOf);
        }
        let left = plan.left.iter().map(|left| format!("\n{left}.\n"));
        let shown = plan.shown(&self.home);
        let kept = Places::find(&self.home, self.variable)
            .filter(|places| places.is_about_transcripts(&shown))
            .map(|places| {
                format!(
                    "\nThe rule that denies the conversations of agents goes. They stay, with what the agents read: delete {}/projects/*/*/subagents.\n",
                    places.shown
                )
            });
        asked.show(&format!(
            "This takes away what setup wrote for {name}:\n{shown}{}{}",
            left.collect::<String>(),
            kept.unwrap_or_default()
        ))?;
        if !asked.agrees("\nTake it away?")? {
            return Ok(Outcome::Nothing);
        }
        self.write(&plan, false)?;
        Ok(Outcome::Done(
            "The document is still there. Restart the client.".to_owned(),
        ))
    }

    fn write(&self, plan: &Plan<'_>, adds: bool) -> Result<(), SetupError> {
        let stopped = |error| SetupError::Stopped(error, plan.shown(&self.home));
        plan.write(adds).map_err(stopped)
    }
}
