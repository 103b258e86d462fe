//! What `keyhole setup` does, in order: it asks, shows, writes what was agreed to, and checks it.

use super::{dialog::Dialog, fresh, judge::is_served, no_key_in};
use crate::{
    check::{self, Plugin},
    wish::Install,
};
use keyhole_claude::PLUGIN;
use keyhole_core::ticket::Tickets;
use keyhole_setup::{
    Chosen, Plan, Request, Result, Rules, SetupError, User, refused, shells::STRONGER, stop_with,
};
use keyhole_walk::printable::printable;
use std::{fmt::Display, sync::Arc};

/// Gives somebody a file. Returns what to print.
pub(super) fn install(user: &User<'_>, wanted: &Install) -> Result<String> {
    let mut dialog = Dialog::begin(user, wanted.is_dry)?;
    // Nothing is asked for a map that cannot be used.
    user.map_now()?;
    let request = dialog.request(wanted)?;
    names_hold_no_key(&request)?;
    let tickets = usable_tickets(&request)?;
    let draft = Draft::of(&request)?;
    let whole = draft.plan(Chosen::ALL)?;
    would_be_served(&request, &whole)?;
    shows_no_key(user, &whole)?;
    let is_changing = !whole.is_empty();
    let plan = agree(&mut dialog, &draft, whole)?;
    if dialog.is_dry {
        let mut shown = dialog.screen.shown;
        // The rules of Claude Code are among the changes. Other clients' are in these texts.
        if !request.client.is_claude_code() {
            shown += &to_paste(&plan);
        }
        return Ok(shown);
    }
    let made = make_folder(tickets);
    let text = dialog.screen.shown + &checked(&request)? + &to_paste(&plan);
    let ending = ending(&plan);
    let map = user.map.current().map_err(unchecked)?;
    if let Err(why) = made.and_then(|()| is_served(&map, &plan, &request)) {
        return stop_with(format!("{text}{ending}\nThe file is not served yet: {why}"));
    }
    let done = if plan.no_rule_can_deny {
        "The main conversation can still read the file: move it to ~/private, and run setup again."
    } else if is_changing {
        "Done."
    } else {
        "Nothing more is to be changed."
    };
    Ok(format!("{text}\n{done}\n{ending}"))
}

/// Takes away what setup wrote for a name. Returns what to print.
pub(super) fn remove(user: &User<'_>, name: &str, is_dry: bool) -> Result<String> {
    let mut dialog = Dialog::begin(user, is_dry)?;
    // Both plans are made before anything is shown, so that only what the user saw is written.
    let with_rules = Plan::remove(user, name, Rules::Go)?;
    let without_rules = Plan::remove(user, name, Rules::Stay)?;
    shows_no_key(user, &with_rules)?;
    let rules = &with_rules.rules;
    let changes = changes(user, &without_rules);
    // The rules are shown apart from the other changes, with a question of their own.
    let head = format!("This takes away what setup wrote for {name}:");
    dialog.screen.show(&format!("{head}\n{changes}"))?;
    if !rules.is_empty() {
        let head = "No other entry of the map needs these lines of Claude Code's settings. The file itself stays, and without them the main conversation may read it:";
        dialog.screen.show(&format!("\n{head}\n{rules}"))?;
    }
    if is_dry {
        return Ok(dialog.screen.shown + &ending(&without_rules));
    }
    if without_rules.is_empty() && rules.is_empty() {
        let ending = ending(&without_rules);
        return stop_with(format!("nothing is taken away\n{ending}"));
    }
    let mut plan = without_rules;
    if !rules.is_empty() && dialog.agrees("Take these lines away, too?")? {
        plan = with_rules;
    }
    dialog.write(&plan, "\nTake it away?")?;
    Ok(format!("\nDone.\n{}", ending(&plan)))
}

/// Shows the whole plan, asks what is to be asked, and writes what the user agreed to. Returns the
/// plan that was written. A dry run only shows the plan, and returns it.
fn agree(dialog: &mut Dialog<'_>, draft: &Draft<'_>, whole: Plan) -> Result<Plan> {
    if whole.is_empty() {
        dialog.screen.show(&changes(dialog.user, &whole))?;
        return Ok(whole);
    }
    dialog.screen.show(&proposal(dialog.user, &whole))?;
    let chosen = dialog.chosen(&whole)?;
    if dialog.is_dry {
        return Ok(whole);
    }
    let mut agreed = whole;
    if chosen != Chosen::ALL {
        agreed = draft.plan(chosen)?;
        let shown = proposal(dialog.user, &agreed);
        dialog.screen.show(&format!("\n{shown}"))?;
    }
    dialog.write(&agreed, "\nWrite these changes?")?;
    Ok(agreed)
}

/// Refuses a request whose name, agent or path holds a key of the map.
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

/// What is wanted, with the key for it, before it is known what the user chooses.
struct Draft<'a> {
    request: &'a Request<'a>,
    key: String,
}

impl<'a> Draft<'a> {
    /// The draft for a request, with a fresh key.
    fn of(request: &'a Request<'a>) -> Result<Self> {
        let key = fresh()?;
        Ok(Self { request, key })
    }

    /// The plan for what the user chose, with the caution about the program's path.
    fn plan(&self, chosen: Chosen) -> Result<Plan> {
        let mut plan = Plan::install(self.request, &self.key, chosen)?;
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

/// Refuses a plan whose text shows a key of the map: a link could bring one into a path. The
/// plugin's own key may be shown, since it is public.
fn shows_no_key(user: &User<'_>, plan: &Plan) -> Result<()> {
    let shown = plan.shown(&user.home).replace(PLUGIN.key, "");
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

/// Who would get the file, and what would change.
fn proposal(user: &User<'_>, plan: &Plan) -> String {
    let changes = changes(user, plan);
    format!("{}\n\nThis would be changed:\n{changes}", plan.who)
}

/// Makes the folder for these tickets, if there are any.
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

/// The error if the map cannot be checked after it was written.
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
