//! What one client needs, with this program and the user's names in it, to be pasted.

use super::{Output, SetupError, UserMap};
use keyhole_core::{AgentName, Binding, Map};
use keyhole_setup::{
    clients::{self, Audience, Recipe},
    hook::{self, RULE},
    paste::{bare, quoted, word},
    program::Program,
    recipe::{Filled, NameError, tickets, usual},
    state_folder,
};
use keyhole_walk::printable::printable;

/// A server for a binding.
pub(super) fn recipe(
    client: &str,
    bind: Option<&str>,
    agent: Option<&AgentName>,
    user: &UserMap,
) -> Result<Output, SetupError> {
    let recipe = &clients::named(client).ok_or(NameError::UnknownClient)?;
    let program = Program::this()?;
    let given = agent.map(|agent| &**agent);
    let state = user
        .live
        .location()
        .home()
        .map(|home| state_folder(home, |name| std::env::var_os(name)));
    let tickets = state.and_then(|state| tickets(&state));
    let filled = Filled::new(recipe, &program.path, tickets.as_deref(), bind, given)?;
    let mut who = filled.fill(recipe.who);
    if let (Audience::Client, Some(agent)) = (recipe.audience, agent) {
        who += &format!(" All of them count as the agent {agent}.");
    }
    let bind_or = bind.unwrap_or(usual(recipe.audience));
    let example = match bind {
        Some(_) => String::new(),
        None => format!("The name {bind_or} is an example; --bind takes another."),
    };
    let map = binding(recipe, user, &program.path, bind_or, agent);
    let parts = recipe
        .parts
        .iter()
        .map(|part| format!("{}:\n\n{}", filled.fill(part.place), filled.block(part)));
    let notes = recipe.notes.iter().chain(&recipe.by_hand);
    let notes = notes.map(|note| filled.fill(note));
    let paragraphs = [who, program.caution.unwrap_or_default(), example, map].into_iter();
    let text = joined(paragraphs.chain(parts).chain(notes));
    user.conceals(text, &[bind, given]).map(Output::from)
}

/// The settings by which a client's hook hands one agent its document: `--inject`.
pub(super) fn hook(client: &str, agent: &AgentName, user: &UserMap) -> Result<Output, SetupError> {
    let program = Program::this()?;
    let hook = hook::of(client, agent, &program.path, user.live.location().file())?;
    let note = match client {
        "claude-code" => {
            "If you allow Bash to a conversation, deny it this command: add \"Bash(*keyhole* inject*)\" to permissions.deny there."
        }
        _ => "",
    };
    let text = joined([
        hook::who(agent),
        program.caution.unwrap_or_default(),
        entry(agent, user, &program.path),
        format!(
            "Put this into {}, beside what you have there:\n\n```json\n{:#}\n```",
            hook.file, hook.value
        ),
        note.to_owned(),
        RULE.to_owned(),
        hook::NOTES.to_owned(),
        hook.last,
    ]);
    user.conceals(text, &[Some(agent)]).map(Output::from)
}

/// Paragraphs, without those that are empty.
fn joined(paragraphs: impl IntoIterator<Item = String>) -> String {
    let said = paragraphs.into_iter().filter(|text| !text.is_empty());
    said.collect::<Vec<_>>().join("\n\n") + "\n"
}

/// What the map has for a binding, or the command that adds it.
fn binding(
    recipe: &Recipe,
    user: &UserMap,
    program: &str,
    bind: &str,
    agent: Option<&AgentName>,
) -> String {
    let found = user.map.as_ref();
    if let Some((map, binding)) = found.and_then(|map| Some((map, map.binding(bind)?))) {
        let file = printable(user.live.location().file());
        let (has, line) = (
            format!("Your map, {file}, has [bindings.{bind}]"),
            binding.entry().line(),
        );
        return match lacks(recipe, map, (bind, binding), agent) {
            None => format!("{has} already, on line {line}."),
            Some(what) => format!("{has} on line {line}, but {what}."),
        };
    }
    let mut options =
        format!(" --bind {bind}") + &agent.map_or_else(String::new, |agent| agent_option(agent));
    let mut why = String::new();
    if let Some(most) = recipe.max_bytes {
        options += &format!(" --max-bytes {most}");
        why = format!("\n\n{}.", why_limited(recipe));
    }
    let lacks = format!("has no [bindings.{bind}]");
    add_entry(user, program, &lacks, &options) + &why
}

/// What the map has for the agent of a hook, or the command that adds it.
fn entry(agent: &AgentName, user: &UserMap, program: &str) -> String {
    let entries = user.map.iter().flat_map(|map| map.entries());
    let mut lines = Vec::new();
    for (_, entry) in entries {
        if entry
            .agents()
            .into_iter()
            .flatten()
            .any(|name| name.means(agent))
        {
            lines.push(entry.line());
        }
    }
    let only_key = user.map.as_ref().and_then(|map| map.only_key_of(agent));
    let found = match lines[..] {
        [] => {
            return add_entry(
                user,
                program,
                "names this agent in no entry",
                &agent_option(agent),
            );
        }
        [line] if only_key.is_some() => format!("on line {line} already."),
        [line] => format!(
            "on line {line}, but with a marketplace, of which no hook is told: write the name without it there."
        ),
        [first, second, ..] => format!(
            "on the lines {first} and {second}, but only one entry may name it: remove it from the others."
        ),
    };
    let file = printable(user.live.location().file());
    format!("Your map, {file}, names this agent {found}")
}

/// A shell may read the name in its own way: then the user writes it.
fn agent_option(agent: &str) -> String {
    format!(" --agent {}", bare(agent).unwrap_or("NAME"))
}

/// The command that adds to the map what it lacks.
fn add_entry(user: &UserMap, program: &str, lacks: &str, options: &str) -> String {
    let file = user.live.location().file();
    let program = bare(program).unwrap_or("keyhole");
    let key = format!("{program} setup key FILE{options}");
    let made = file.parent().and_then(word).zip(word(file));
    let (how, lines) = match made {
        Some((folder, map)) => (
            "Add it",
            format!(
                "mkdir -p -m 700 {folder} && touch {map} && chmod 600 {map} &&\n  {key} >> {map}"
            ),
        ),
        None => ("Put at its end what this prints", key),
    };
    format!(
        "Your map, {}, {lacks} yet. {how}: replace FILE by the path of your Markdown file.\n\n```sh\n{lines}\n```",
        printable(file)
    )
}

fn why_limited(recipe: &Recipe) -> String {
    format!(
        "{} cuts a longer result, or keeps it in a file that others may read; with the limit, Keyhole refuses such a file instead",
        recipe.title
    )
}

/// What keeps this agent from getting the binding's file as it should.
fn lacks(
    recipe: &Recipe,
    map: &Map,
    (name, binding): (&str, &Binding),
    agent: Option<&AgentName>,
) -> Option<String> {
    let entry = binding.entry();
    if let Some(most) = recipe.max_bytes
        && entry.max_bytes() > most
    {
        return Some(format!(
            "it allows files of {} bytes: set max_bytes = {most} in it; {}",
            entry.max_bytes(),
            why_limited(recipe)
        ));
    }
    match (map.find_bound(name, agent), agent) {
        (Some(_), None) => None,
        (Some(_), Some(_)) if entry.agents().is_some() => None,
        (Some(_), Some(agent)) => Some(format!(
            "any agent may have its file: add agents = [{}] to it",
            quoted(agent)
        )),
        (None, Some(_)) => Some("it is for other agents: add this one to its agents".to_owned()),
        (None, None) => Some("it is for its agents only: name one of them with --agent".to_owned()),
    }
}
