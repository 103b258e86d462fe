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

/// What is told before the question about publishing. docs/scan.md says where its figure is from.
const ABOUT_GATE: &str = "Keyhole can ask you before Claude Code publishes something of this file. It then compares each commit, push and pull request with it. Sometimes a word matches by chance: in 1 of 7,000 lines of code. `claude -p` can ask nobody, and refuses such a call. To let a repository publish all the same, name its folder in publish_only_in later.";

/// The user at the terminal, while no other setup runs.
pub(super) struct Dialog<'a> {
    pub(super) user: &'a User<'a>,
    pub(super) screen: Screen,
    /// Whether this is a dry run: nothing is asked or written, and each answer is a yes. The screen
    /// keeps what would be shown, and what would be changed.
    pub(super) is_dry: bool,
    /// The file whose lock keeps other setups out until this one ends. None in a dry run, and in a
    /// home that has no locks.
    _lock: Option<std::fs::File>,
}

impl<'a> Dialog<'a> {
    /// Begins the dialog in the user's terminal, and takes the lock that only one setup has. A dry
    /// run (`is_dry`) needs neither: nothing is asked, and what would be shown is kept. Ctrl-C ends
    /// setup at any time: each file is then as before or as after.
    ///
    /// # Errors
    /// If no user is at a terminal, if another setup has the lock, or if no sandbox can be made
    /// here to load the file in.
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

    /// What the user wants: the client, the file and the name that were typed. Setup asks for each
    /// of these that was not typed, but for no name of the plugin's agent, which has one.
    ///
    /// # Errors
    /// If it is not known where the client's own files are; if the typed file cannot be used; or if
    /// a file but no name was typed, for any client but the plugin.
    pub(super) fn request(&mut self, typed: &Setup) -> Result<Request<'a>> {
        let client = match typed.client.as_deref() {
            Some(client) => client.clone(),
            None => self.ask_client()?,
        };
        // Fails before any other question, if nothing could be written for this client.
        require_places(self.user, &client)?;
        let file = self.typed_or_asked_file(typed)?;
        // If no name was typed, the client's name stands in its place until `ask_name`. The plugin
        // keeps the client's name: `plugin`.
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

    /// The client that the user chooses from the list, by its number or its name.
    fn ask_client(&mut self) -> Result<Client> {
        let list = numbered_list();
        self.screen
            .show(&format!("Who is to get a file?\n\n{list}\n"))?;
        self.screen.ask("Number or name: ", client_of)
    }

    /// The file that was typed. If none was typed, a dry run takes [`NEW_FILE_OF_SETUP`]
    /// (`~/private/identifiers.md`), and else the user is asked until an answer can be used. An
    /// empty answer means the same new file. Fails if the typed file cannot be used.
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

    /// Asks for a name until the answer can be taken, and puts it into the request. The name is
    /// that of a server if the whole client gets the file, and else that of an agent.
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

    /// Which parts of the `whole` plan the user wants: which of its walls, and (`is_gated`) whether
    /// the client is to ask before something of the file is published. The second is asked only if
    /// the plan has that part. In a dry run, each answer is a yes.
    pub(super) fn ask_choice(&mut self, whole: &Plan) -> Result<Chosen> {
        let walls = self.ask_walls(whole)?;
        let mut is_gated = true;
        if whole.has_gate {
            self.screen.show(&format!("\n{ABOUT_GATE}\n"))?;
            is_gated = self.agrees("Ask before something of this file is published?")?;
        }
        Ok(Chosen { walls, is_gated })
    }

    /// Which walls of the `whole` plan the user wants: deny rules for the client's tools, and the
    /// client's sandbox for shell commands.
    ///
    /// - `Walls::None` if the user declines the rules. The sandbox is not offered then.
    /// - `Walls::Rules` if the user takes the rules, and declines the sandbox.
    /// - `Walls::Shells`, which is both, if the user declines neither.
    ///
    /// A wall that the plan does not add, since it is there already, is not asked about.
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

    /// Whether the user answers yes to the question. In a dry run, nothing is asked: true.
    pub(super) fn agrees(&mut self, question: &str) -> Result<bool> {
        if self.is_dry {
            return Ok(true);
        }
        self.screen.agrees(question)
    }

    /// Writes the plan if the user answers yes to the question. Fails with "nothing is changed"
    /// after a no; also without a question, if the plan changes nothing.
    pub(super) fn write_after_yes(&mut self, plan: &Plan, question: &str) -> Result<()> {
        if plan.is_empty() || !self.screen.agrees(question)? {
            return stop_with("nothing is changed");
        }
        plan.write(&self.user.home)
    }
}

/// Fails if it is not known where the client's own files are, as if `CLAUDE_CONFIG_DIR` is a
/// relative path.
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

/// The client with this number in the list, as `2`, or with this name in any case, as `cursor`. The
/// error is what the user is told if there is none.
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
/// Why the name cannot be taken, as `Not this one: …`. It is no valid name, as `My agent`; the
/// client does not take it; or something else has it already: a binding for another file, or a file
/// that setup did not write.
fn take_name(request: &mut Request<'_>, answer: &str) -> Result<(), String> {
    let name = if answer.is_empty() {
        request.client.usual_name()
    } else {
        answer
    };
    let binding: BindingName = name.parse().map_err(not_this)?;
    request.client.takes(&binding).map_err(not_this)?;
    // `Plan::is_taken` looks at the name in the request. If the name is taken, the next answer
    // replaces it.
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
