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

/// Gives somebody a file: asks, and writes what the user agrees to. Returns what to print: what
/// `keyhole check` says then, what to paste, and what is still to do. A dry run (`--dry-run`) asks
/// and writes nothing, and returns what would be changed.
///
/// # Errors
/// Before anything is written: if the map cannot be used, if the plan's texts show a key of the
/// map, if the folder for tickets can be neither used nor made, or if the file would not be served.
/// After it is written: if the file is not served all the same. Also after a no.
pub(super) fn install(user: &User<'_>, typed: &Setup) -> Result<String> {
    let mut dialog = Dialog::begin(user, typed.dry_run)?;
    // Fails for a map that cannot be used, before anything is asked.
    user.map_now()?;
    let request = dialog.request(typed)?;
    // Only for an agent with a server of its own. Fails if their folder could not be made.
    let tickets = tickets_of_own_agent(&request)?;
    let draft = Draft {
        request: &request,
        key: fresh_key()?,
    };
    // The plan with all that setup offers. The user may decline parts.
    let whole = draft.plan(Chosen::ALL)?;
    refuse_unserved(&request, &whole)?;
    refuse_keys_in_plan(user, &whole)?;
    let is_changing = !whole.is_empty();
    let plan = agree_and_write(&mut dialog, &draft, whole)?;
    if dialog.is_dry {
        let mut shown = dialog.screen.shown;
        // Claude Code's rules are among the changes that were shown. The user pastes those of any
        // other client.
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
    let still_to_do = ending(&plan);
    let map = user.map.current().map_err(not_checked)?;
    let served = match folder_made {
        Ok(()) => require_served(&map, &plan, &request),
        Err(why) => Err(why.to_string()),
    };
    if let Err(why) = served {
        return stop_with(format!(
            "{text}{still_to_do}\nThe file is not served yet: {why}"
        ));
    }
    let done = if plan.no_rule_can_deny {
        "The main conversation can still read the file: move it to ~/private, and run setup again."
    } else if is_changing {
        "Done."
    } else {
        "Nothing more is to be changed."
    };
    Ok(format!("{text}\n{done}\n{still_to_do}"))
}

/// Takes away what setup wrote for a name, if the user agrees, and returns what to print. Deny
/// rules that no other entry needs are asked about first: the user may keep them. A dry run
/// (`is_dry`) asks and writes nothing, and returns what would be changed.
///
/// # Errors
/// If there is nothing to take away, if the plan's texts show a key of the map, or after a no.
pub(super) fn remove(user: &User<'_>, name: &str, is_dry: bool) -> Result<String> {
    let mut dialog = Dialog::begin(user, is_dry)?;
    // Both plans are made before anything is shown. So what is written is what the user saw, even
    // if a file changes meanwhile.
    let with_rules = Plan::remove(user, name, Rules::Go)?;
    let without_rules = Plan::remove(user, name, Rules::Stay)?;
    refuse_keys_in_plan(user, &with_rules)?;
    let rules = &with_rules.rules;
    let other_changes = changes(user, &without_rules);
    // The changes are shown without the rules, which have a question of their own.
    dialog.screen.show(&format!(
        "This takes away what setup wrote for {name}:\n{other_changes}"
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
        let todo = still_to_do(&without_rules);
        return stop_with(format!("nothing is taken away\n{todo}"));
    }
    let mut plan = without_rules;
    if !rules.is_empty() && dialog.agrees("Take these lines away, too?")? {
        plan = with_rules;
    }
    dialog.write_after_yes(&plan, "\nTake it away?")?;
    Ok(format!("\nDone.\n{}", ending(&plan)))
}

/// Shows the `whole` plan, asks which parts of it the user wants, and writes these parts after a
/// yes. Returns the plan that was written. In a dry run, or if the whole plan changes nothing, the
/// whole plan is only shown, and returned. Fails after a no to the last question.
fn agree_and_write(dialog: &mut Dialog<'_>, draft: &Draft<'_>, whole: Plan) -> Result<Plan> {
    if whole.is_empty() {
        dialog.screen.show(&changes(dialog.user, &whole))?;
        return Ok(whole);
    }
    dialog.screen.show(&proposal(dialog.user, &whole))?;
    // In a dry run, this asks nothing.
    let chosen = dialog.ask_choice(&whole)?;
    if dialog.is_dry {
        return Ok(whole);
    }
    let mut agreed = whole;
    // Without some parts, the plan is another one. The user sees that before the last question.
    if chosen != Chosen::ALL {
        agreed = draft.plan(chosen)?;
        let shown = proposal(dialog.user, &agreed);
        dialog.screen.show(&format!("\n{shown}"))?;
    }
    dialog.write_after_yes(&agreed, "\nWrite these changes?")?;
    Ok(agreed)
}

/// The tickets for the agent of the request, if this is to have a server of its own in Claude Code:
/// for `keyhole setup claude-code --bind NAME`. None for any other client, also for `plugin`, and
/// for a hook (`--inject`). Refused if the folder for the tickets can be neither used nor made.
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

/// A plan before it is known which parts the user chooses: what is wanted, and the key for it.
struct Draft<'a> {
    request: &'a Request<'a>,
    /// A fresh key, for an entry that needs one.
    key: String,
}

impl Draft<'_> {
    /// The plan with the parts that the user chose. Its notes end with the caution about the path
    /// of this program, if there is one.
    fn plan(&self, chosen: Chosen) -> Result<Plan> {
        let mut plan = Plan::install(self.request, &self.key, chosen)?;
        let caution = &self.request.user.program.caution;
        plan.notes.extend(caution.clone());
        Ok(plan)
    }
}

/// Fails if the file would not be served with this plan's map. A file that setup is to make
/// (`is_new`) cannot be loaded yet: it is judged after it is written.
fn refuse_unserved(request: &Request<'_>, plan: &Plan) -> Result<()> {
    if request.file.is_new {
        return Ok(());
    }
    let map = request.user.map.parse(plan.map.as_bytes())?;
    require_served(&Arc::new(map), plan, request).or_else(refused)
}

/// Fails if the plan's texts show a key of the map, or if the map cannot be used. A path in
/// them may hold one, for example the path to which a link leads.
fn refuse_keys_in_plan(user: &User<'_>, plan: &Plan) -> Result<()> {
    let shown = proposal(user, plan) + &to_paste(plan) + &ending(plan);
    refuse_keys_in(user, &shown)
}

/// The lines that the plan would change, and its notes.
fn changes(user: &User<'_>, plan: &Plan) -> String {
    let mut text = plan.shown(&user.home);
    for note in &plan.notes {
        text += &format!("\n{note}\n");
    }
    text
}

/// Who would get the file, the lines that the plan would change, and its notes.
fn proposal(user: &User<'_>, plan: &Plan) -> String {
    let changed = changes(user, plan);
    format!("{}\n\nThis would be changed:\n{changed}", plan.who)
}

/// What `keyhole check` says of the map as it is now: a text with paths. If the client of the
/// request is the plugin, the text is that of a check for the plugin, which ends with whether its
/// agent gets its file.
fn check_report(request: &Request<'_>) -> Result<String> {
    let mut asker = Asker {
        plugin: None,
        shows_paths: true,
        is_verbose: false,
    };
    if request.client.is_plugin() {
        asker.plugin = Some(Plugin {
            // Only a report without paths tells the command.
            command: "keyhole".into(),
            tickets: None,
        });
    }
    let report = check::report(&request.user.map, &asker);
    Ok(report.map_err(not_checked)?.to_text())
}

/// The error if the map cannot be checked after it was written.
fn not_checked(why: impl Display) -> SetupError {
    let text = format!("the result cannot be checked: {why}; run `keyhole check`");
    SetupError::Said(text)
}

/// The texts that the user pastes; and if the plan switches the sandbox on, how to make that
/// stronger.
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

/// A list of what the user still has to do, if there is anything, and the last step.
fn ending(plan: &Plan) -> String {
    format!("{}\n{}\n", still_to_do(plan), plan.last)
}

/// A list of what the user still has to do. Empty if there is nothing.
fn still_to_do(plan: &Plan) -> String {
    let mut text = String::new();
    if !plan.todo.is_empty() {
        text += "\nStill to do:\n";
    }
    for todo in &plan.todo {
        text += &format!("- {todo}\n");
    }
    text
}
