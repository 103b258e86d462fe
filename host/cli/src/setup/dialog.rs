//! The user at the terminal of `keyhole setup`, and each question.

use super::lines_on_clients;
use crate::arguments::Setup;
use keyhole_claude::rules::{CAUTION, Places};
use keyhole_core::BindingName;
use keyhole_serve::start::sandbox;
use keyhole_setup::{
    Chosen, Lock, Plan, Request, Result, SetupError, User, Walls,
    ask::Screen,
    clients::{self, Audience, Client},
    file::{self, File, NEW_FILE_OF_SETUP},
    lock,
    shells::COSTS,
    stop_with,
};
use std::fmt::Display;

/// What the question about publishing is about. docs/scan.md says where its figure is from.
const ABOUT_GATE: &str = "Keyhole can ask you before Claude Code publishes something of this file. It then compares each commit, push and pull request with it. Sometimes a word matches by chance: in 1 of 7,000 lines of code. `claude -p` can ask nobody, and refuses such a call. To let a repository publish all the same, name its folder in publish_only_in later.";

/// The user at the terminal, while no other setup runs.
pub(super) struct Dialog<'a> {
    pub(super) user: &'a User<'a>,
    pub(super) screen: Screen,
    /// Whether nothing is asked and written: it is only shown what would be.
    pub(super) is_dry: bool,
    /// Held until the end.
    _lock: Option<std::fs::File>,
}

impl<'a> Dialog<'a> {
    /// Begins the dialog in the user's terminal, and takes the lock that only one setup has. A dry
    /// run (`is_dry`) needs neither: nothing is asked, and what would be shown is kept. Ctrl-C ends
    /// setup at any time: each file is then as before or as after.
    ///
    /// # Errors
    /// If no user is at a terminal, if another setup has the lock, or if no sandbox can be made here
    /// to load the file in.
    pub(super) fn begin(user: &'a User<'a>, is_dry: bool) -> Result<Self> {
        let mut dialog = Self {
            user,
            screen: Screen::default(),
            is_dry,
            _lock: None,
        };
        if is_dry {
            return Ok(dialog);
        }
        dialog.screen = Screen::open(user)?;
        // The lock is None if the home has no locks. Then setup goes on without one.
        let Lock::Held(lock) = lock(&user.home) else {
            return stop_with("another `keyhole setup` runs; end that one first");
        };
        dialog._lock = lock;
        // This sandbox is only a trial. The file is loaded at the end, in another one.
        sandbox().map_err(|why| SetupError::Said(why.to_string()))?;
        Ok(dialog)
    }

    /// What the user wants: the client, the file and the name that were typed. Each of these that
    /// was not typed is asked for, but no name for the plugin: its agent has one.
    ///
    /// Fails if it is not known where the client's own files are, if the typed file cannot be used,
    /// or if a file but no name was typed for a client other than the plugin.
    pub(super) fn request(&mut self, typed: &Setup) -> Result<Request<'a>> {
        let client = match typed.client.as_deref() {
            Some(client) => client.clone(),
            None => self.ask_client()?,
        };
        // What keeps setup from writing at all comes before any other question.
        require_places(self.user, &client)?;
        let file = self.typed_or_asked_file(typed)?;
        // If no name was typed, the client's name stands for it until one is asked for. For the
        // plugin, it stays.
        let mut request = Request {
            user: self.user,
            name: typed.name().unwrap_or(client.name).to_owned(),
            agent: typed.names.agent.as_deref().map(str::to_owned),
            is_hook: typed.inject.is_some(),
            client,
            file,
        };
        if typed.name().is_some() || request.client.is_plugin() {
            return Ok(request);
        }
        if typed.file.is_some() {
            return stop_with("name the server and its agent: add --bind NAME, or --inject AGENT");
        }
        self.ask_name(&mut request)?;
        Ok(request)
    }

    /// The client that the user chooses from the list.
    fn ask_client(&mut self) -> Result<Client> {
        let list = numbered_list();
        self.screen
            .show(&format!("Who is to get a file?\n\n{list}\n"))?;
        self.screen.ask("Number or name: ", client_of)
    }

    /// The file that was typed; an error if that cannot be used. If none was typed, the user is
    /// asked until an answer can be used. A dry run asks nothing, and takes [`NEW_FILE_OF_SETUP`].
    fn typed_or_asked_file(&mut self, typed: &Setup) -> Result<File> {
        let home = &self.user.home;
        if let Some(file) = &typed.file {
            return Ok(File::find(file, home)?);
        }
        if self.is_dry {
            return Ok(File::find(NEW_FILE_OF_SETUP, home)?);
        }
        let question = format!(
            "Which Markdown file? (Enter: {NEW_FILE_OF_SETUP}, which is made if it is not there): "
        );
        self.screen.ask(&question, |answer| {
            let without_quotes = file::unquoted(answer);
            let named = if answer.is_empty() {
                NEW_FILE_OF_SETUP
            } else {
                &without_quotes
            };
            File::find(named, home).map_err(not_this)
        })
    }

    /// Asks for the name of the server or of the agent.
    fn ask_name(&mut self, request: &mut Request<'_>) -> Result<()> {
        let usual = request.client.usual_name();
        let whose = if request.client.audience == Audience::Client {
            "server"
        } else {
            "agent"
        };
        let question = format!("A name for the {whose}: a to z, digits and - (Enter: {usual}): ");
        self.screen
            .ask(&question, |answer| take_name(request, answer))
    }

    /// Which parts of the `whole` plan the user wants: its walls, and whether to ask before
    /// something of the file is published. A dry run takes all, and shows what it costs.
    pub(super) fn ask_choice(&mut self, whole: &Plan) -> Result<Chosen> {
        let walls = self.ask_walls(whole)?;
        let mut is_gated = true;
        if whole.has_gate {
            self.screen.show(&format!("\n{ABOUT_GATE}\n"))?;
            is_gated = self.agrees("Ask before something of this file is published?")?;
        }
        Ok(Chosen { walls, is_gated })
    }

    /// Which walls of the `whole` plan the user wants.
    ///
    /// - `Walls::None` if the user declines the deny rules. The sandbox is not offered then.
    /// - `Walls::Rules` if the user takes the rules, and declines the sandbox.
    /// - `Walls::Shells`, which is both, if the user declines neither. Nothing is asked about
    ///   a wall that the plan need not add.
    fn ask_walls(&mut self, whole: &Plan) -> Result<Walls> {
        if !whole.rules.is_empty() {
            self.screen.show(&format!("\n{CAUTION}\n"))?;
            if !self.agrees("Add these rules?")? {
                self.screen
                    .show("Without them, the main conversation may read the file itself.\n")?;
                return Ok(Walls::None);
            }
        }
        if whole.has_sandbox {
            self.screen.show(&format!("\n{COSTS}\n"))?;
            if !self.agrees("Switch this sandbox on?")? {
                self.screen
                    .show("Without these lines, shell commands may read the file.\n")?;
                return Ok(Walls::Rules);
            }
        }
        Ok(Walls::Shells)
    }

    /// Asks for a yes or a no. In a dry run, it is a yes.
    pub(super) fn agrees(&mut self, question: &str) -> Result<bool> {
        if self.is_dry {
            return Ok(true);
        }
        self.screen.agrees(question)
    }

    /// Writes the plan after a yes. It is stopped after a no, or if the plan changes nothing.
    pub(super) fn write_after_yes(&mut self, plan: &Plan, question: &str) -> Result<()> {
        if plan.is_empty() || !self.screen.agrees(question)? {
            return stop_with("nothing is changed");
        }
        plan.write(&self.user.home)
    }
}

/// Refuses a client if it is not known where its own files are.
fn require_places(user: &User<'_>, client: &Client) -> Result<()> {
    for folder in &client.folders {
        user.folder(folder)?;
    }
    if client.is_claude_code() {
        Places::find(&user.home, user.variable)?;
    }
    Ok(())
}

/// The list of clients: a line of headings, and a line for each client with its number, from 1.
fn numbered_list() -> String {
    let mut lines = lines_on_clients();
    let headings = lines.next().unwrap_or_default();
    let mut text = format!("     {headings}");
    for (position, line) in lines.enumerate() {
        text += &format!("{:>3}  {line}", position + 1);
    }
    text
}

/// The client with this number in the list, or with this name.
fn client_of(answer: &str) -> Result<Client, String> {
    for (position, client) in clients::all().enumerate() {
        let number = (position + 1).to_string();
        if answer == number || answer.eq_ignore_ascii_case(client.name) {
            return Ok(client);
        }
    }
    Err("The list has no such client: type its number or its name.".to_owned())
}

/// Puts the answer into the request as its name. An empty answer stands for the client's usual
/// name.
///
/// # Errors
/// Why the name cannot be taken: it is no valid name, the client does not take it, or another file
/// has it already.
fn take_name(request: &mut Request<'_>, answer: &str) -> Result<(), String> {
    let name = if answer.is_empty() {
        request.client.usual_name()
    } else {
        answer
    };
    let binding: BindingName = name.parse().map_err(not_this)?;
    request.client.takes(&binding).map_err(not_this)?;
    // `Plan::is_taken` looks at the name in the request. If that is taken, the next answer replaces
    // it.
    name.clone_into(&mut request.name);
    if Plan::is_taken(request) {
        return Err(not_this("another file has this name already"));
    }
    Ok(())
}

/// The answer to the user for what cannot be taken.
fn not_this(why: impl Display) -> String {
    format!("Not this one: {why}.")
}
