//! What `keyhole setup` does, in order: it asks, shows, writes what was agreed to, and checks it.

use super::{dialog::Dialog, fresh_key, judge::require_served, refuse_keys_in};
use crate::{
    arguments::Setup,
    check::{self, Asker, Plugin},
};
use keyhole_core::ticket::Tickets;
use keyhole_setup::{
    Chosen, Plan, Request, Result, Rules, SetupError, User, refused, shells::STRONGER, stop_with,
};
use keyhole_walk::printable::printable;
use std::{fmt::Display, sync::Arc};

/// Gives somebody a file: asks, writes what the user agrees to, and returns what to print: what
/// `keyhole check` finds then, what to paste, and what is still to do. A dry run neither asks nor
/// writes. It returns what would be changed.
///
/// Fails before anything is written if the map cannot be used, if the plan shows a key of the map,
/// if the folder for tickets can be neither used nor made, or if the file would not be served.
/// Fails after that if the file is not served then.
pub(super) fn install(user: &User<'_>, typed: &Setup) -> Result<String> {
    let mut dialog = Dialog::begin(user, typed.dry_run)?;
    // Fails for a map that cannot be used: then nothing is asked.
    user.map_now()?;
    let request = dialog.request(typed)?;
    let tickets = tickets_of_own_agent(&request)?;
    let draft = Draft {
        request: &request,
        key: fresh_key()?,
    };
    let whole = draft.plan(Chosen::ALL)?;
    refuse_unserved(&request, &whole)?;
    refuse_keys_in_plan(user, &whole)?;
    let is_changing = !whole.is_empty();
    let plan = agree_and_write(&mut dialog, &draft, whole)?;
    if dialog.is_dry {
        let mut shown = dialog.screen.shown;
        // The rules of Claude Code are among the changes. Other clients' are in these texts.
        if !request.client.is_claude_code() {
            shown += &to_paste(&plan);
        }
        return Ok(shown);
    }
    // The folder is made before the report, which looks for it. An error is told behind the report.
    let folder_made = match tickets {
        Some(tickets) => tickets.make(),
        None => Ok(()),
    };
    let text = dialog.screen.shown + &check_report(&request)? + &to_paste(&plan);
    let ending = ending(&plan);
    let map = user.map.current().map_err(not_checked)?;
    let served = match folder_made {
        Ok(()) => require_served(&map, &plan, &request),
        Err(why) => Err(why.to_string()),
    };
    if let Err(why) = served {
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

/// Takes away what setup wrote for a name, after a yes, and returns what to print. Deny rules that
/// no other entry needs go only after a yes of their own. A dry run asks nothing and writes
/// nothing. It returns what would be changed.
///
/// Fails if there is nothing to take away, if a key of the map would be shown, or after a no.
pub(super) fn remove(user: &User<'_>, name: &str, is_dry: bool) -> Result<String> {
    let mut dialog = Dialog::begin(user, is_dry)?;
    // Both plans are made before anything is shown, so that only what the user saw is written.
    let with_rules = Plan::remove(user, name, Rules::Go)?;
    let without_rules = Plan::remove(user, name, Rules::Stay)?;
    refuse_keys_in_plan(user, &with_rules)?;
    let rules = &with_rules.rules;
    let changes = changes(user, &without_rules);
    // The rules are shown apart from the other changes, with a question of their own.
    dialog.screen.show(&format!(
        "This takes away what setup wrote for {name}:\n{changes}"
    ))?;
    if !rules.is_empty() {
        dialog.screen.show(&format!(
            "\nNo other entry of the map needs these lines of Claude Code's settings. The file itself stays, and without them the main conversation may read it:\n{rules}"
        ))?;
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
    dialog.write_after_yes(&plan, "\nTake it away?")?;
    Ok(format!("\nDone.\n{}", ending(&plan)))
}

/// Shows the `whole` plan, asks which parts of it the user wants, and writes these after a yes.
/// Returns the plan that was written. In a dry run, or if the whole plan changes nothing, that plan
/// is only shown, and returned. Fails after a no.
fn agree_and_write(dialog: &mut Dialog<'_>, draft: &Draft<'_>, whole: Plan) -> Result<Plan> {
    if whole.is_empty() {
        dialog.screen.show(&changes(dialog.user, &whole))?;
        return Ok(whole);
    }
    dialog.screen.show(&proposal(dialog.user, &whole))?;
    let chosen = dialog.ask_choice(&whole)?;
    if dialog.is_dry {
        return Ok(whole);
    }
    let mut agreed = whole;
    // Without some parts, it is another plan. The user sees it before the last question.
    if chosen != Chosen::ALL {
        agreed = draft.plan(chosen)?;
        let shown = proposal(dialog.user, &agreed);
        dialog.screen.show(&format!("\n{shown}"))?;
    }
    dialog.write_after_yes(&agreed, "\nWrite these changes?")?;
    Ok(agreed)
}

/// The tickets for the agent of the request, if it is to have a server of its own in Claude Code
/// (the client `claude-code`). None for any other client, also for `plugin`, and for a hook.
/// Refused if the folder for the tickets can be neither used nor made.
fn tickets_of_own_agent(request: &Request<'_>) -> Result<Option<Tickets>> {
    if request.client.name != "claude-code" || request.is_hook {
        return Ok(None);
    }
    let folder = request.user.tickets();
    let usable = Tickets::in_folder(folder.clone()).and_then(|tickets| {
        tickets.could_be_made()?;
        Ok(tickets)
    });
    match usable {
        Ok(tickets) => Ok(Some(tickets)),
        Err(why) => refused(format!("{why} ({})", printable(&folder))),
    }
}

/// What is wanted, with the key for it, before it is known what the user chooses.
struct Draft<'a> {
    request: &'a Request<'a>,
    key: String,
}

impl Draft<'_> {
    /// The plan for what the user chose, with the caution about the program's path.
    fn plan(&self, chosen: Chosen) -> Result<Plan> {
        let mut plan = Plan::install(self.request, &self.key, chosen)?;
        let caution = &self.request.user.program.caution;
        plan.notes.extend(caution.clone());
        Ok(plan)
    }
}

/// Refuses a plan with which the file would not be served. A file that setup is to make is not
/// there yet, so it is judged after that.
fn refuse_unserved(request: &Request<'_>, plan: &Plan) -> Result<()> {
    if request.file.is_new {
        return Ok(());
    }
    let map = request.user.map.parse(plan.map.as_bytes())?;
    require_served(&Arc::new(map), plan, request).or_else(refused)
}

/// Refuses a plan whose texts show a key of the map: a link could bring one into a path.
fn refuse_keys_in_plan(user: &User<'_>, plan: &Plan) -> Result<()> {
    let shown = proposal(user, plan) + &to_paste(plan) + &ending(plan);
    refuse_keys_in(user, &shown)
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

/// What `keyhole check` says of the map as it is now. If the file is for the plugin's agent, it
/// answers as for the plugin.
fn check_report(request: &Request<'_>) -> Result<String> {
    let plugin = Plugin {
        command: "keyhole".into(),
        tickets: None,
    };
    let asker = Asker {
        plugin: Some(&plugin).filter(|_| request.client.is_plugin()),
        shows_paths: true,
        is_verbose: false,
    };
    let report = check::report(&request.user.map, asker);
    Ok(report.map_err(not_checked)?.to_text())
}

/// The error if the map cannot be checked after it was written.
fn not_checked(why: impl Display) -> SetupError {
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
