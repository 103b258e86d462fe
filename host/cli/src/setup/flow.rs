//! The questions of `keyhole setup`, in their order; and doing what was agreed to.

use super::{fresh, judge::is_served, list, no_key_in};
use crate::{
    check::{self, Plugin},
    wish::Install,
};
use keyhole_claude::{
    PLUGIN,
    rules::{CAUTION, Places},
};
use keyhole_core::{BindingName, ticket::Tickets};
use keyhole_serve::{
    resources::runtime,
    start::{StartError, sandbox},
    streams::note,
};
use keyhole_setup::{
    Lock, Plan, Request, Result, Rules, SetupError, User, Walls,
    ask::Screen,
    clients::{self, Audience, Client},
    file::{self, File, NEW},
    lock, refused, said,
    shells::{COSTS, STRONGER},
};
use keyhole_walk::printable::printable;
use std::{
    fmt::Display,
    process,
    sync::{Arc, Mutex, PoisonError},
    thread,
};
use tokio::{
    runtime::Runtime,
    signal::unix::{Signal, SignalKind, signal},
};

/// What Ctrl-C says. While it is being written, this is held, so Ctrl-C waits.
static SAID: Mutex<&str> = Mutex::new("\nNothing is changed.");

/// Gives somebody a file. Returns what to print.
pub(super) fn install(user: &User<'_>, wanted: &Install) -> Result<String> {
    let mut dialog = Dialog::begin(user, wanted.is_dry)?;
    // Nothing is asked for a map that cannot be used.
    user.map_now()?;
    let request = dialog.request(wanted)?;
    names_hold_no_key(&request)?;
    let tickets = usable_tickets(&request)?;
    let draft = Draft::of(&request)?;
    let whole = draft.plan(Walls::Shells)?;
    would_be_served(&request, &whole)?;
    shows_no_key(user, &whole)?;
    let is_changing = !whole.is_empty();
    let plan = dialog.agree(&draft, whole)?;
    if dialog.is_dry {
        return Ok(dialog.screen.shown);
    }
    let made = make_folder(tickets);
    let text = dialog.screen.shown + &checked(&request)? + &to_paste(&plan);
    let ending = ending(&plan);
    let map = user.map.current().map_err(unchecked)?;
    if let Err(why) = made.and_then(|()| is_served(&map, &plan, &request)) {
        return said(format!("{text}{ending}\nThe file is not served yet: {why}"));
    }
    let done = if is_changing {
        "Done."
    } else {
        "Nothing more is to be changed."
    };
    Ok(format!("{text}\n{done}\n{ending}"))
}

/// Takes away what setup wrote for a name. Returns what to print.
pub(super) fn remove(user: &User<'_>, name: &str, is_dry: bool) -> Result<String> {
    let mut dialog = Dialog::begin(user, is_dry)?;
    // Both, before anything is shown: only what the user saw is written.
    let with_rules = Plan::remove(user, name, Rules::Go)?;
    let without_rules = Plan::remove(user, name, Rules::Stay)?;
    let rules = &with_rules.rules;
    let changes = changes(user, &without_rules);
    let head = format!("This takes away what setup wrote for {name}:");
    dialog.screen.show(&format!("{head}\n{changes}"))?;
    if !rules.is_empty() {
        let head = "No other entry of the map needs these rules:";
        dialog.screen.show(&format!("\n{head}\n{rules}"))?;
    }
    if is_dry {
        return Ok(dialog.screen.shown + &ending(&without_rules));
    }
    if without_rules.is_empty() && rules.is_empty() {
        let ending = ending(&without_rules);
        return said(format!("nothing is taken away\n{ending}"));
    }
    let mut plan = without_rules;
    if !rules.is_empty() && dialog.agrees("Take the rules away, too?")? {
        plan = with_rules;
    }
    dialog.write(&plan, "\nTake it away?")?;
    Ok(format!("\nDone.\n{}", ending(&plan)))
}

/// The user at the terminal, while no other setup runs.
struct Dialog<'a> {
    user: &'a User<'a>,
    screen: Screen,
    /// Whether nothing is asked and written: it is only shown what would be.
    is_dry: bool,
    /// Held until the end.
    _lock: Option<std::fs::File>,
}

impl<'a> Dialog<'a> {
    fn begin(user: &'a User<'a>, is_dry: bool) -> Result<Self> {
        if is_dry {
            return Ok(Self {
                user,
                screen: Screen::default(),
                is_dry,
                _lock: None,
            });
        }
        let screen = Screen::open(user)?;
        let Lock::Held(lock) = lock(&user.home) else {
            return said("another `keyhole setup` runs; end that one first");
        };
        // What is written is tried, too.
        let ready = sandbox().and_then(|_| listen());
        ready.map_err(|why| SetupError::Said(why.to_string()))?;
        Ok(Self {
            user,
            screen,
            is_dry,
            _lock: lock,
        })
    }

    /// What the user wants, as it was typed, and else as it is asked for.
    fn request(&mut self, wanted: &Install) -> Result<Request<'a>> {
        let client = match &wanted.client {
            Some(client) => client.clone(),
            None => self.ask_client()?,
        };
        // What keeps setup from writing at all comes before any other question.
        require_places(self.user, &client)?;
        let file = self.file(wanted)?;
        let names = &wanted.names;
        let mut request = Request {
            user: self.user,
            name: names.name.as_deref().unwrap_or(client.name).to_owned(),
            agent: names.agent.as_deref().map(str::to_owned),
            is_hook: names.is_hook,
            client,
            file,
        };
        if names.name.is_some() || request.client.is_plugin() {
            return Ok(request);
        }
        if wanted.file.is_some() {
            return said("name the server and its agent: add --bind NAME, or --inject AGENT");
        }
        self.ask_name(&mut request)?;
        Ok(request)
    }

    fn ask_client(&mut self) -> Result<Client> {
        let list = numbered_list();
        self.screen
            .show(&format!("Who is to get a file?\n\n{list}\n"))?;
        self.screen.ask("Number or name: ", client_of)
    }

    /// The file that was typed; it is an error if that cannot be used. Without one, a dry run takes
    /// the file that setup makes, and else the user is asked until an answer can be used.
    fn file(&mut self, wanted: &Install) -> Result<File> {
        let home = &self.user.home;
        if let Some(file) = &wanted.file {
            return Ok(File::find(file, home)?);
        }
        if self.is_dry {
            return Ok(File::find(NEW, home)?);
        }
        let question =
            format!("Which Markdown file? (Enter: {NEW}, which is made if it is not there): ");
        self.screen.ask(&question, |answer| {
            let without_quotes = file::typed(answer);
            let named = if answer.is_empty() {
                NEW
            } else {
                &without_quotes
            };
            File::find(named, home).map_err(not_this)
        })
    }

    fn ask_name(&mut self, request: &mut Request<'_>) -> Result<()> {
        let usual = request.client.usual();
        let whose = if request.client.audience == Audience::Client {
            "server"
        } else {
            "agent"
        };
        let question = format!("A name for the {whose}: a to z, digits and - (Enter: {usual}): ");
        self.screen
            .ask(&question, |answer| take_name(request, answer))
    }

    /// Shows the whole plan, asks what is to be asked, and writes what the user agreed to. Returns
    /// that. A dry run only shows it.
    fn agree(&mut self, draft: &Draft<'_>, whole: Plan) -> Result<Plan> {
        if whole.is_empty() {
            self.screen.show(&changes(self.user, &whole))?;
            return Ok(whole);
        }
        self.screen.show(&proposal(self.user, &whole))?;
        let walls = self.walls(&whole)?;
        if self.is_dry {
            return Ok(whole);
        }
        let mut agreed = whole;
        if walls != Walls::Shells {
            agreed = draft.plan(walls)?;
            let shown = proposal(self.user, &agreed);
            self.screen.show(&format!("\n{shown}"))?;
        }
        self.write(&agreed, "\nWrite these changes?")?;
        Ok(agreed)
    }

    /// Which of the plan's walls the user wants. A dry run has all, and shows what they cost.
    fn walls(&mut self, whole: &Plan) -> Result<Walls> {
        if !whole.rules.is_empty() {
            self.screen.show(&format!("\n{CAUTION}\n"))?;
            if !self.agrees("Add these rules?")? {
                let open = "Without them, the main conversation may read the file itself.\n";
                self.screen.show(open)?;
                return Ok(Walls::None);
            }
        }
        if whole.has_sandbox {
            self.screen.show(&format!("\n{COSTS}\n"))?;
            if !self.agrees("Switch this sandbox on?")? {
                let open = "Without it, any shell command may read the file.\n";
                self.screen.show(open)?;
                return Ok(Walls::Rules);
            }
        }
        Ok(Walls::Shells)
    }

    /// Asks for a yes or a no. In a dry run, it is a yes.
    fn agrees(&mut self, question: &str) -> Result<bool> {
        if self.is_dry {
            return Ok(true);
        }
        self.screen.agrees(question)
    }

    /// Writes the plan after a yes.
    fn write(&mut self, plan: &Plan, question: &str) -> Result<()> {
        if plan.is_empty() || !self.screen.agrees(question)? {
            return said("nothing is changed");
        }
        let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
        *said = "\nIt is written.";
        plan.write(&self.user.home)
    }
}

/// From here on, says what was done when the user presses Ctrl-C.
fn listen() -> Result<(), StartError> {
    let runtime = runtime(|| {})?;
    let ctrl_c = runtime.block_on(async { signal(SignalKind::interrupt()) })?;
    thread::Builder::new().spawn(move || end_on(&runtime, ctrl_c))?;
    Ok(())
}

fn end_on(runtime: &Runtime, mut ctrl_c: Signal) {
    if runtime.block_on(ctrl_c.recv()).is_some() {
        let said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
        note(&said);
        process::exit(130);
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

/// The list of clients, each with its number.
fn numbered_list() -> String {
    let mut text = String::new();
    for (number, line) in list().enumerate() {
        let is_headings = number == 0;
        let shown = if is_headings {
            String::new()
        } else {
            number.to_string()
        };
        text += &format!("{shown:>3}  {line}");
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

/// Takes an answer for the name, or says why not.
fn take_name(request: &mut Request<'_>, answer: &str) -> Result<(), String> {
    let name = if answer.is_empty() {
        request.client.usual()
    } else {
        answer
    };
    let binding: BindingName = name.parse().map_err(not_this)?;
    request.client.takes(&binding).map_err(not_this)?;
    name.clone_into(&mut request.name);
    if Plan::is_taken(request) {
        return Err(not_this("another file has this name already"));
    }
    Ok(())
}

fn not_this(why: impl Display) -> String {
    format!("Not this one: {why}.")
}

fn names_hold_no_key(request: &Request<'_>) -> Result<()> {
    let texts = [
        Some(&*request.name),
        request.agent.as_deref(),
        Some(&*request.file.written),
    ];
    no_key_in(request.user, &texts)
}

/// The tickets of the user's own agents; none for another client and for a hook. It is refused if
/// they could not be left in their folder.
fn usable_tickets(request: &Request<'_>) -> Result<Option<Tickets>> {
    if request.client.name != "claude-code" || request.is_hook {
        return Ok(None);
    }
    let folder = request.user.tickets();
    let tickets = Tickets::in_folder(folder.clone())
        .and_then(|tickets| tickets.could_be_made().map(|()| tickets));
    match tickets {
        Ok(tickets) => Ok(Some(tickets)),
        Err(why) => refused(format!("{why} ({})", printable(&folder))),
    }
}

/// What is wanted, with the key for it, before it is known which walls the user wants.
struct Draft<'a> {
    request: &'a Request<'a>,
    key: String,
}

impl<'a> Draft<'a> {
    fn of(request: &'a Request<'a>) -> Result<Self> {
        let key = fresh()?;
        Ok(Self { request, key })
    }

    fn plan(&self, walls: Walls) -> Result<Plan> {
        let mut plan = Plan::install(self.request, &self.key, walls)?;
        let caution = &self.request.user.program.caution;
        plan.notes.extend(caution.clone());
        Ok(plan)
    }
}

/// Refuses a file that would not reach whom it is for. A new file is judged when it is there.
fn would_be_served(request: &Request<'_>, plan: &Plan) -> Result<()> {
    if request.file.is_new {
        return Ok(());
    }
    let map = request.user.map.parse(plan.map.as_bytes())?;
    is_served(&Arc::new(map), plan, request).or_else(refused)
}

/// A link could bring a key of the map into a path. The plugin's key is in its text, for all.
fn shows_no_key(user: &User<'_>, plan: &Plan) -> Result<()> {
    let shown = plan.shown(&user.home).replace(PLUGIN.1, "");
    no_key_in(user, &[Some(&shown)])
}

/// What would change, and what to know of it.
fn changes(user: &User<'_>, plan: &Plan) -> String {
    let mut text = plan.shown(&user.home);
    for note in &plan.notes {
        text += &format!("\n{note}\n");
    }
    text
}

fn proposal(user: &User<'_>, plan: &Plan) -> String {
    let changes = changes(user, plan);
    format!("{}\n\nThis would be changed:\n{changes}", plan.who)
}

fn make_folder(tickets: Option<Tickets>) -> Result<(), String> {
    match tickets {
        Some(tickets) => tickets.make().map_err(|why| why.to_string()),
        None => Ok(()),
    }
}

/// What `keyhole check` says of the map as it is now.
fn checked(request: &Request<'_>) -> Result<String> {
    let mut plugin = None;
    if request.client.is_plugin() {
        plugin = Some(Plugin {
            command: "keyhole".into(),
            tickets: None,
        });
    }
    let report = check::report(&request.user.map, plugin.as_ref(), true);
    Ok(report.map_err(unchecked)?.to_text(false))
}

fn unchecked(why: impl Display) -> SetupError {
    let text = format!("the result cannot be checked: {why}; run `keyhole check`");
    SetupError::Said(text)
}

/// What the user pastes, and what to know of it.
fn to_paste(plan: &Plan) -> String {
    let mut text = String::new();
    for part in &plan.print {
        text += &format!("\n{part}\n");
    }
    if plan.has_sandbox {
        text += &format!("\n{STRONGER}\n");
    }
    text
}

/// What is still to do, and the last step.
fn ending(plan: &Plan) -> String {
    let mut text = String::new();
    if !plan.todo.is_empty() {
        text += "\nStill to do:\n";
    }
    for todo in &plan.todo {
        text += &format!("- {todo}\n");
    }
    format!("{text}\n{}\n", plan.last)
}
