//! One client's recipe, with this program and the user's names in it.

use super::{Names, Output, SetupError, UserMap};
use crate::check::make;
use keyhole_core::{AgentName, Binding, Map};
use keyhole_setup::{
    clients::{Audience, Recipe},
    paste::{quoted, shell_word},
    program::Program,
    recipe::{BINDING, Filled},
};
use keyhole_walk::printable::printable;

pub(super) fn of(recipe: &Recipe, names: &Names, user: &UserMap) -> Result<Output, SetupError> {
    let program = Program::this()?;
    let bind = names.bind.as_deref().unwrap_or(BINDING);
    let agent = names.agent.as_ref();
    let filled = Filled::new(
        recipe,
        &program.path,
        names.bind.as_deref(),
        names.agent.as_deref(),
    )?;
    let mut text = filled.fill(recipe.who);
    if let (Audience::Client, Some(agent)) = (recipe.audience, agent) {
        text += &format!(" All of them count as the agent {agent}.");
    }
    text.push('\n');
    if let Some(caution) = &program.caution {
        text += &format!("\nCareful: {caution}.\n");
    }
    if names.bind.is_none() {
        text += &format!("\nThe name {bind} is an example; --bind takes another.\n");
    }
    text += &format!("\n{}\n", map(recipe, user, &program.path, bind, agent)?);
    for part in &recipe.parts {
        text += &format!("\n{}:\n\n{}", filled.fill(part.place), filled.block(part));
    }
    for note in &recipe.notes {
        text += &format!("\n{}\n", filled.fill(note));
    }
    user.conceals(text, &[names.bind.as_deref(), names.agent.as_deref()])
        .map(Output::from)
}

/// What the map needs for this client.
fn map(
    recipe: &Recipe,
    user: &UserMap,
    program: &str,
    bind: &str,
    agent: Option<&AgentName>,
) -> Result<String, SetupError> {
    let file = user.live.location().file();
    let shown = printable(file);
    let found = user
        .map
        .as_ref()
        .and_then(|map| Some((map, map.binding(bind)?)));
    if let Some((map, binding)) = found {
        let line = binding.entry().line();
        return Ok(match lacks(recipe, map, (bind, binding), agent) {
            None => format!("Your map, {shown}, has [bindings.{bind}] already, on line {line}."),
            Some(what) => {
                format!("Your map, {shown}, has [bindings.{bind}] on line {line}, but {what}.")
            }
        });
    }
    let mut options = match agent {
        Some(agent) => agent_option(agent),
        None => String::new(),
    };
    let mut why = String::new();
    if let Some(most) = recipe.max_bytes {
        options += &format!(" --max-bytes {most}");
        why = format!("\n\n{}.", why_limited(recipe));
    }
    let what = format!("has no [bindings.{bind}]");
    let add = add_entry(user, program, &what, &format!(" --bind {bind}{options}"))?;
    Ok(add + &why)
}

/// None of the shells may read the name in its own way: then the user writes it.
pub(super) fn agent_option(agent: &str) -> String {
    shell_word(agent).map_or_else(
        || " --agent NAME".to_owned(),
        |agent| format!(" --agent {agent}"),
    )
}

/// The command that adds to the map what it lacks.
pub(super) fn add_entry(
    user: &UserMap,
    program: &str,
    lacks: &str,
    options: &str,
) -> Result<String, SetupError> {
    let file = user.live.location().file();
    let program = shell_word(program).unwrap_or_else(|| "keyhole".to_owned());
    let key = format!("{program} setup key FILE{options}");
    let (how, lines) = match make(file, &format!("{key} >>")) {
        Some(lines) => ("Add it", lines),
        None => ("Put at its end what this prints", key),
    };
    let shell = if cfg!(windows) { "bat" } else { "sh" };
    Ok(format!(
        "Your map, {}, {lacks} yet. {how}: replace FILE by the path of your Markdown file.\n\n```{shell}\n{lines}\n```",
        printable(file)
    ))
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
            "it allows files of {} bytes: add max_bytes = {most} to it; {}",
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
