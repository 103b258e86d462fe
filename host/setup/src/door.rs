//! From what the user wants to files that are written.

use crate::{
    ask::{AskError, Asked},
    disk::{Disk, DiskError, Found},
    document::DocumentError,
    edit::apply,
    map,
    plan::{Plan, PlanError},
    recipe::NameError,
    record::Record,
    rules,
};
use keyhole_walk::printable::printable_text;
use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

/// What the user wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A server for a binding.
    Bind {
        /// The client.
        client: String,
        /// The binding, and the agent of a client that has agents.
        name: String,
        /// As whom its server calls, if that is said.
        agent: Option<String>,
    },
    /// A client's hook for an agent.
    Inject {
        /// The client.
        client: String,
        /// The agent.
        agent: String,
    },
    /// The plugin's agent.
    Plugin,
}

/// The same, with the document.
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
    /// Nobody can be asked.
    #[error("{0}")]
    Ask(#[from] AskError),
    /// The file is not a document's.
    #[error("{0}")]
    Document(#[from] DocumentError),
    /// A file cannot be edited.
    #[error("nothing is changed: {0}")]
    Plan(#[from] PlanError),
    /// A file cannot be read.
    #[error("nothing is changed: {0}")]
    Disk(#[from] DiskError),
    /// A file could not be written.
    #[error("stopped, and nothing further is changed: {0}\n\nThe whole plan was:\n{1}")]
    Stopped(#[source] DiskError, String),
    /// The client does not take the name.
    #[error("{0}")]
    Name(#[from] NameError),
    /// The terminal failed.
    #[error("nothing is changed: the terminal cannot be read ({0})")]
    Terminal(#[from] io::Error),
    /// There is no such client.
    #[error("this client is not known; `keyhole setup` lists those that are")]
    UnknownClient,
    /// A hook's name or path.
    #[error("a hook takes agents' names of letters, digits, -, _ and :, and plain paths only")]
    NoHook,
    /// A place has a name that is not shown.
    #[error(
        "the path of the map, or of a folder of the client, holds a character that is not shown; use another place"
    )]
    OddPlace,
    /// The map would not do.
    #[error("nothing is changed: {0}")]
    Map(String),
    /// The agent has another document.
    #[error(
        "the map names this agent for another file already; remove that first: keyhole setup remove NAME"
    )]
    OtherFile,
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

/// Where everything is.
pub struct Door<'a> {
    /// The user's home.
    pub home: PathBuf,
    /// The map.
    pub map: PathBuf,
    /// This program, as clients start it.
    pub program: String,
    /// Why they should not start it there.
    pub caution: Option<String>,
    /// The environment.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// Whether a map of these bytes is valid; if not, why.
    pub judge: &'a dyn Fn(&[u8]) -> Result<(), String>,
    /// A fresh key.
    pub key: &'a dyn Fn() -> String,
    /// The file system.
    pub disk: Disk,
}

impl Door<'_> {
    /// Where the record is.
    fn record(&self) -> PathBuf {
        let state = (self.variable)("XDG_STATE_HOME").map(PathBuf::from);
        let state = state.filter(|state| state.is_absolute());
        let state = state.unwrap_or_else(|| self.home.join(".local/state"));
        state.join("keyhole/setup.json")
    }

    /// A place of clients.txt, on this machine.
    pub(crate) fn place(&self, text: &str) -> PathBuf {
        let set = |name| {
            (self.variable)(name)
                .map(PathBuf::from)
                .filter(|set| set.is_absolute())
        };
        for (start, name) in [
            ("~/.claude/", "CLAUDE_CONFIG_DIR"),
            ("~/.codex/", "CODEX_HOME"),
            ("~/.config/", "XDG_CONFIG_HOME"),
        ] {
            if let (Some(rest), Some(folder)) = (text.strip_prefix(start), set(name)) {
                return folder.join(rest);
            }
        }
        self.home.join(text.trim_start_matches("~/"))
    }

    pub(crate) fn directory(&self) -> &Path {
        self.map.parent().unwrap_or(Path::new("/"))
    }

    /// Shows what would change, asks, and writes it. Without somebody to ask, it shows the plan
    /// and stops. `show` prints for a dry run.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn install(
        &self,
        request: &Request,
        asked: Option<&mut dyn Asked>,
        show: &mut dyn FnMut(&str),
    ) -> Result<Outcome, SetupError> {
        let found = Record::read(&self.disk, &self.record())?;
        let mut intent = self.intent(request, &found.0, true)?;
        let Some(asked) = asked else {
            show(&intent.shown(&self.home));
            return Ok(Outcome::Nothing);
        };
        if intent.plan.changes() == 0 {
            let notes = intent.notes.iter().map(|note| format!("{note}\n"));
            asked.show(&notes.collect::<String>())?;
            return Ok(Outcome::Already(intent.last));
        }
        asked.show(&intent.shown(&self.home))?;
        if intent.has_rules {
            asked.show(&format!("\n{}\n", rules::CAUTION))?;
            if !asked.agrees("Add the rules in permissions.deny?")? {
                intent = self.intent(request, &found.0, false)?;
                asked
                    .show("Without them, the main conversation may read the document itself.\n")?;
                asked.show(&intent.shown(&self.home))?;
            }
        }
        if let Some(name) = &intent.typed {
            let question = format!(
                "\nThe map has this document already. Now another agent gets it: {name}\nType the agent's name to agree: "
            );
            if asked.ask(&question)? != *name {
                return Ok(Outcome::Nothing);
            }
        }
        let closes = intent.document.is_open
            && asked.agrees(&format!(
                "\nOthers on this machine can read {}. Close it to them (mode 600)?",
                intent.document.written
            ))?;
        if !asked.agrees("\nWrite these changes?")? {
            return Ok(Outcome::Nothing);
        }
        let record = intent.plan.recorded(&found.0);
        self.write(&intent.plan, &found, &record, true)?;
        if closes {
            self.disk.close(&intent.document.real)?;
        }
        Ok(Outcome::Done(intent.last))
    }

    /// Takes away what setup wrote for a name.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn remove(
        &self,
        name: &str,
        asked: Option<&mut dyn Asked>,
        show: &mut dyn FnMut(&str),
    ) -> Result<Outcome, SetupError> {
        let found = Record::read(&self.disk, &self.record())?;
        if !found.0.entries.iter().any(|entry| entry.name == name) {
            return Err(SetupError::NothingOf);
        }
        let mut plan = Plan::default();
        let record = plan.remove(&self.disk, &found.0, name)?;
        let mut text = format!(
            "This takes away what setup wrote for {name}:\n{}",
            plan.shown(&self.home)
        );
        for left in &plan.left {
            text += &format!("\n{left}.\n");
        }
        let Some(asked) = asked else {
            show(&text);
            return Ok(Outcome::Nothing);
        };
        asked.show(&text)?;
        if !asked.agrees("\nTake it away?")? {
            return Ok(Outcome::Nothing);
        }
        self.write(&plan, &found, &record, false)?;
        Ok(Outcome::Done(
            "The document is still there. Restart the client.".to_owned(),
        ))
    }

    /// Rewrites bindings through keys, as version 0.3.0 had them, if that makes the map valid.
    /// None if there is nothing of that kind. It shows no key.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn renew(
        &self,
        asked: Option<&mut dyn Asked>,
        show: &mut dyn FnMut(&str),
    ) -> Result<Option<Outcome>, SetupError> {
        let found = self.disk.find(&self.map, 0o600)?;
        let text = found
            .bytes
            .as_deref()
            .and_then(|bytes| str::from_utf8(bytes).ok());
        let changes = text.and_then(|text| map::renew(text).ok());
        let (Some(text), Some(changes)) = (text, changes) else {
            return Ok(None);
        };
        let new = apply(text, &changes).filter(|new| (self.judge)(new.as_bytes()).is_ok());
        let Some(new) = new.filter(|new| new != text) else {
            return Ok(None);
        };
        let mut said = "The map has bindings through keys, which this version does not take. Each would get its path in place of the key:\n".to_owned();
        for change in &changes {
            said += &format!("\n  in {}:\n", printable_text(&change.place));
            for line in change.inserted.lines() {
                said += &format!("  + {}\n", printable_text(line));
            }
        }
        let Some(asked) = asked else {
            show(&said);
            return Ok(Some(Outcome::Nothing));
        };
        asked.show(&said)?;
        if !asked.agrees("\nWrite these changes?")? {
            return Ok(Some(Outcome::Nothing));
        }
        self.disk.replace(&found, new.as_bytes())?;
        Ok(Some(Outcome::Done(String::new())))
    }

    /// The record comes first when something is added, and last when it goes: so whatever is
    /// in a file is in the record.
    fn write(
        &self,
        plan: &Plan,
        found: &(Record, Found),
        record: &Record,
        adds: bool,
    ) -> Result<(), SetupError> {
        let stopped = |error| SetupError::Stopped(error, plan.shown(&self.home));
        let keeps = || -> Result<(), DiskError> {
            if record.entries.is_empty() {
                return self.disk.remove(&found.1, &record.folders);
            }
            self.disk.make_folders(&found.1.real)?;
            self.disk.replace(&found.1, record.text().as_bytes())
        };
        if adds {
            keeps().map_err(stopped)?;
        }
        plan.apply(&self.disk).map_err(stopped)?;
        if !adds {
            keeps().map_err(stopped)?;
        }
        Ok(())
    }
}
