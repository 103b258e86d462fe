//! The questions of `keyhole setup`, in their order; and doing what was agreed to.

use super::{conceals, fresh, judge::is_served, list};
use crate::{
    arguments::Setup,
    check::{self, Plugin},
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
    Plan, Request, Result, User, Walls,
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
use tokio::signal::unix::{SignalKind, signal};

/// What Ctrl-C says. While it is being written, this is held, so Ctrl-C waits.
static SAID: Mutex<&str> = Mutex::new("\nNothing is changed.");

/// The terminal, and the lock that keeps another setup away.
fn begin(user: &User<'_>, is_dry: bool) -> Result<(Screen, Option<std::fs::File>)> {
    let screen = Screen::open(is_dry, user)?;
    if is_dry {
        return Ok((screen, None));
    }
    let (is_busy, lock) = lock(&user.home);
    if is_busy {
        return said("another `keyhole setup` runs; end that one first");
    }
    // What is written is tried, too.
    let ready = sandbox().and_then(|_| listen());
    ready.or_else(|why| said(why.to_string()))?;
    Ok((screen, lock))
}

/// Says what was done when the user presses Ctrl-C.
fn listen() -> Result<(), StartError> {
    let runtime = runtime(|| {})?;
    // From here on, it is caught.
    let mut ctrl_c = runtime.block_on(async { signal(SignalKind::interrupt()) })?;
    let listens = move || {
        if runtime.block_on(ctrl_c.recv()).is_some() {
            let said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
            note(&said);
            process::exit(130);
        }
    };
    Ok(thread::Builder::new().spawn(listens).map(drop)?)
}

fn write(user: &User<'_>, plan: &Plan, question: &str, screen: &mut Screen) -> Result<()> {
    if plan.is_empty() || !screen.agrees(question)? {
        return said("nothing is changed");
    }
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    *said = "\nIt is written.";
    plan.write(&user.home)
}

/// Gives somebody a file. Returns what to print.
pub(super) fn install(user: &User<'_>, wish: &Setup) -> Result<String> {
    let (mut screen, _lock) = begin(user, wish.dry_run)?;
    conceals(user, &[])?;
    let request = asked(user, wish, &mut screen)?;
    let (agent, file) = (request.agent.as_deref(), &*request.file.written);
    conceals(user, &[Some(&request.name), agent, Some(file)])?;
    let has_tickets = request.client.name == "claude-code" && !request.is_hook;
    let tickets = has_tickets.then(|| usable_tickets(user)).transpose()?;
    let key = fresh()?;
    let planned = |walls| {
        let mut plan = Plan::install(&request, &key, walls)?;
        plan.notes.extend(user.program.caution.clone());
        Ok(plan)
    };
    let mut plan = planned(Walls::Shells)?;
    // A new file is judged when it is there.
    if !request.file.is_new {
        let map = Arc::new(user.map.parse(plan.map.as_bytes())?);
        is_served(&map, &plan, &request).or_else(refused)?;
    }
    // A link could bring a key of the map into a path.
    let shown = plan.shown(&user.home).replace(PLUGIN.1, "");
    conceals(user, &[Some(&shown)])?;
    let mut done = "Nothing more is to be changed.";
    if plan.is_empty() {
        screen.show(&changes(user, &plan))?;
    } else {
        agree(user, wish.dry_run, planned, &mut plan, &mut screen)?;
        done = "Done.";
    }
    if wish.dry_run {
        return Ok(screen.shown);
    }
    let made = tickets.map_or(Ok(()), |tickets| tickets.make());
    let plugin = request.client.is_plugin().then(|| Plugin {
        command: "keyhole".into(),
        tickets: None,
    });
    let failed =
        |why: &dyn Display| format!("the result cannot be checked: {why}; run `keyhole check`");
    let checked =
        check::report(&user.map, plugin.as_ref(), true).or_else(|why| said(failed(&why)))?;
    let mut text = screen.shown + &checked.to_text(false);
    text.extend(plan.print.iter().map(|text| format!("\n{text}\n")));
    if plan.has_sandbox {
        text += &format!("\n{STRONGER}\n");
    }
    let ending = ending(&plan);
    let map = user.map.current().or_else(|why| said(failed(&why)))?;
    let served = made.map_err(|why| why.to_string());
    match served.and_then(|()| is_served(&map, &plan, &request)) {
        Err(why) => said(format!("{text}{ending}\nThe file is not served yet: {why}")),
        Ok(()) => Ok(format!("{text}\n{done}\n{ending}")),
    }
}

/// The tickets of the user's own agents. It is refused if they could not be left in their folder.
fn usable_tickets(user: &User<'_>) -> Result<Tickets> {
    let folder = user.tickets();
    let tickets = Tickets::in_folder(folder.clone())
        .and_then(|tickets| tickets.could_be_made().map(|()| tickets));
    tickets.or_else(|why| refused(format!("{why} ({})", printable(&folder))))
}

fn ending(plan: &Plan) -> String {
    let todo: String = plan.todo.iter().map(|todo| format!("- {todo}\n")).collect();
    let head = ["\nStill to do:\n", ""][usize::from(todo.is_empty())];
    format!("{head}{todo}\n{}\n", plan.last)
}

/// What would change, and what to know of it.
fn changes(user: &User<'_>, plan: &Plan) -> String {
    let notes = plan.notes.iter().map(|note| format!("\n{note}\n"));
    plan.shown(&user.home) + &notes.collect::<String>()
}

/// Shows the plan, asks what is to be asked, and writes it; in a dry run, only shows it.
fn agree(
    user: &User<'_>,
    is_dry: bool,
    planned: impl Fn(Walls) -> Result<Plan>,
    plan: &mut Plan,
    screen: &mut Screen,
) -> Result<()> {
    let shown = |plan: &Plan| {
        let changes = changes(user, plan);
        format!("{}\n\nThis would be changed:\n{changes}", plan.who)
    };
    screen.show(&shown(plan))?;
    if !plan.rules.is_empty() {
        screen.show(&format!("\n{CAUTION}\n"))?;
    }
    let mut walls = Walls::Shells;
    if !is_dry && !plan.rules.is_empty() && !screen.agrees("Add these rules?")? {
        walls = Walls::None;
        screen.show("Without them, the main conversation may read the file itself.\n")?;
    } else if plan.has_sandbox {
        screen.show(&format!("\n{COSTS}\n"))?;
        if !is_dry && !screen.agrees("Switch this sandbox on?")? {
            walls = Walls::Rules;
            screen.show("Without it, any shell command may read the file.\n")?;
        }
    }
    if is_dry {
        return Ok(());
    }
    if walls != Walls::Shells {
        *plan = planned(walls)?;
        screen.show(&format!("\n{}", shown(plan)))?;
    }
    write(user, plan, "\nWrite these changes?", screen)
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

fn ask_client(screen: &mut Screen) -> Result<Client> {
    screen.show(&format!("Who is to get a file?\n\n{}\n", numbered_list()))?;
    screen.ask("Number or name: ", |answer| {
        let mut all = clients::all().enumerate();
        let is_it = |(at, client): &(usize, Client)| {
            answer.eq_ignore_ascii_case(client.name) || answer == (at + 1).to_string()
        };
        let client = all.find(is_it).map(|(_, client)| client);
        client.ok_or_else(|| "The list has no such client: type its number or its name.".to_owned())
    })
}

fn asked<'a>(user: &'a User<'a>, wish: &Setup, screen: &mut Screen) -> Result<Request<'a>> {
    let client = wish.client.as_deref().cloned();
    let client = client.map_or_else(|| ask_client(screen), Ok)?;
    // What keeps setup from writing at all comes before any other question.
    for folder in &client.folders {
        user.folder(folder)?;
    }
    if client.is_claude_code() {
        Places::find(&user.home, user.variable)?;
    }
    let not_this = |why: &dyn Display| format!("Not this one: {why}.");
    let typed = wish.file.as_deref();
    let file = if let Some(file) = typed.or(wish.dry_run.then_some(NEW)) {
        File::find(file, &user.home)?
    } else {
        let question =
            format!("Which Markdown file? (Enter: {NEW}, which is made if it is not there): ");
        screen.ask(&question, |answer| {
            let name = &*file::typed(answer);
            let named = if answer.is_empty() { NEW } else { name };
            File::find(named, &user.home).map_err(|why| not_this(&why))
        })?
    };
    let mut request = Request {
        user,
        name: wish.name().unwrap_or(client.name).to_owned(),
        agent: wish.names.agent.as_deref().map(str::to_owned),
        is_hook: wish.inject.is_some(),
        client,
        file,
    };
    if wish.name().is_some() || request.client.is_plugin() {
        return Ok(request);
    }
    if typed.is_some() {
        return said("name the server and its agent: add --bind NAME, or --inject AGENT");
    }
    let usual = request.client.usual();
    let is_shared = request.client.audience == Audience::Client;
    let whose = if is_shared { "server" } else { "agent" };
    let question = format!("A name for the {whose}: a to z, digits and - (Enter: {usual}): ");
    screen.ask(&question, |answer| {
        let name = if answer.is_empty() { usual } else { answer };
        let parsed = name.parse::<BindingName>().map_err(|why| not_this(&why))?;
        let takes = request.client.takes(&parsed);
        takes.map_err(|why| not_this(&why))?;
        name.clone_into(&mut request.name);
        if Plan::is_taken(&request) {
            return Err(not_this(&"another file has this name already"));
        }
        Ok(())
    })?;
    Ok(request)
}

/// Takes away what setup wrote for a name. Returns what to print.
pub(super) fn remove(user: &User<'_>, name: &str, is_dry: bool) -> Result<String> {
    let (mut screen, _lock) = begin(user, is_dry)?;
    // Both, before anything is shown: only what the user saw is written.
    let with_rules = Plan::remove(user, name, true)?;
    let mut plan = Plan::remove(user, name, false)?;
    let changes = changes(user, &plan);
    let head = format!("This takes away what setup wrote for {name}:");
    screen.show(&format!("{head}\n{changes}"))?;
    let rules = &with_rules.rules;
    if !rules.is_empty() {
        let head = "No other entry of the map needs these rules:";
        screen.show(&format!("\n{head}\n{rules}"))?;
    }
    if is_dry {
        return Ok(screen.shown + &ending(&plan));
    }
    if plan.is_empty() && rules.is_empty() {
        return said(format!("nothing is taken away\n{}", ending(&plan)));
    }
    if !rules.is_empty() && screen.agrees("Take the rules away, too?")? {
        plan = with_rules;
    }
    write(user, &plan, "\nTake it away?", &mut screen)?;
    Ok(format!("\nDone.\n{}", ending(&plan)))
}
