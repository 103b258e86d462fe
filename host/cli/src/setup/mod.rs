//! `keyhole setup`: which of its commands is meant, and what it prints for a client: the example
//! from docs/examples, with this program's path and the user's names in it. Only `keyhole_setup`
//! writes.
#![expect(clippy::disallowed_methods, reason = "whether the map is empty")]

mod flow;
mod judge;

use crate::{
    arguments::{Key, Setup, SetupCommand},
    check::{Secrets, foreign_map},
};
use keyhole_core::{LiveMap, Location};
use keyhole_setup::{
    Asked, Printed, Result, SetupError, User,
    clients::{self, Audience, Client},
    entry as table,
    file::File,
    names,
    paste::bare,
    program::Program,
    recipe::Recipe,
    said,
};
use std::{
    fs,
    io::{self, IsTerminal as _},
    iter,
};

/// Runs `keyhole setup`. Returns what it prints. No error repeats the user's input: it may be a
/// key.
pub(crate) fn run(arguments: &Setup) -> Result<String> {
    let variable = |name: &str| std::env::var_os(name);
    let location = Location::find(None, variable);
    let location = location.map_err(|why| SetupError::Said(why.to_string()))?;
    if let Some(why) = foreign_map(&location) {
        return said(why);
    }
    let Some(home) = location.home.clone() else {
        return said("HOME does not say where your home is");
    };
    // Only a client's texts name it.
    let program = arguments.what.is_none().then(Program::this).transpose();
    let program = program.map_err(SetupError::Said)?.unwrap_or_default();
    let user = User {
        home,
        map: LiveMap::new(location),
        variable: &variable,
        program,
    };
    let is_named = arguments.name().is_some() || arguments.names.agent.is_some();
    let is_seen = io::stdin().is_terminal() && io::stdout().is_terminal();
    match (&arguments.what, arguments.client.as_deref()) {
        (Some(SetupCommand::Remove { name, dry_run }), _) => match name {
            Some(name) => flow::remove(&user, name, *dry_run),
            None => Ok(listed(&names(&user)?)),
        },
        (Some(SetupCommand::Key(wanted)), _) => entry(&user, wanted),
        (None, Some(client)) if client.is_plugin() && is_named => {
            said("the plugin's agent has its own name: leave --bind, --inject and --agent out")
        }
        (None, Some(client)) if arguments.file.is_some() || client.is_plugin() => {
            flow::install(&user, arguments)
        }
        (None, Some(client)) => printed(&user, client, arguments),
        (None, None) if is_named => {
            said("name a client, or `key` and a file; `keyhole setup` lists the clients")
        }
        (None, None) if is_seen => flow::install(&user, arguments),
        (None, None) => Ok(list().collect::<String>() + LINES),
    }
}

const LINES: &str = "
keyhole setup                                 in a terminal: asks, shows, writes
keyhole setup CLIENT --bind NAME --file FILE  the same, for what you name
keyhole setup CLIENT --bind NAME              prints what the client needs
keyhole setup remove [NAME]                   takes away what setup wrote; lists the names
keyhole setup key FILE                        prints an entry for the map, with a fresh key
";

/// The lines of the list of clients: the headings, and for each client who gets the file.
fn list() -> impl Iterator<Item = String> {
    let headings = client_line("CLIENT", "WHO GETS THE FILE");
    let lines = clients::all().map(|client| client_line(client.name, client.audience.in_words()));
    iter::once(headings).chain(lines)
}

fn client_line(name: &str, who: &str) -> String {
    format!("{name:<18} {who}\n")
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "The map has no entry that setup would write.\n".to_owned();
    }
    let takes = "keyhole setup remove NAME takes away what setup wrote for one of these:";
    format!("{takes}\n\n  {}\n", names.join("\n  "))
}

fn printed(user: &User<'_>, client: &Client, arguments: &Setup) -> Result<String> {
    let (name, agent) = (arguments.name(), arguments.names.agent.as_deref());
    let (name, is_usual) = (name.unwrap_or(client.usual()), name.is_none());
    let is_hook = arguments.inject.is_some();
    let (option, of_key) = [("bind", "bind"), ("inject", "agent")][usize::from(is_hook)];
    // A shell may read the name in its own way: then the user writes it.
    let word = agent.map(|agent| bare(agent).unwrap_or("NAME"));
    let count = word.map_or_else(String::new, |agent| format!(" --agent {agent}"));
    let most = client.max_bytes.map(|most| format!(" --max-bytes {most}"));
    let (of, most) = (client.name, most.unwrap_or_default());
    let mut said: Vec<_> = user.program.caution.iter().cloned().collect();
    let written = if is_hook { "the map's entry" } else { "it" };
    said.push(format!(
        "To have {written} written, add --file, in a terminal: keyhole setup {of} --{option} {name}{count} --file FILE\nBy hand, put at the end of your map what this prints: keyhole setup key FILE --{of_key} {name}{count}{most}"
    ));
    let recipe = Recipe {
        user,
        client,
        name,
        agent,
    };
    let who = if is_hook {
        let hook = recipe.hook(None)?;
        said.extend(hook.texts);
        said.push(hook.last);
        hook.who
    } else {
        let filled = recipe.filled(None)?;
        let example = || format!("The name {name} is an example; --bind takes another.");
        said.extend(is_usual.then(example));
        said.extend(filled.blocks(&client.parts));
        let notes = client.notes.iter().chain(&client.by_hand);
        said.extend(notes.map(|note| filled.fill(note)));
        let count = agent.filter(|_| client.audience == Audience::Client);
        let count = count.map(|agent| format!(" All of them count as the agent {agent}."));
        filled.fill(client.who) + &count.unwrap_or_default()
    };
    let text = format!("{who}\n\n{}\n", said.join("\n\n"));
    conceals(user, &[Some(&text), Some(name), agent])?;
    Ok(text)
}

/// An entry for the map, with a fresh key, or a binding. The first one of a map brings its roots;
/// a shell's `>>` has made the map before we look.
fn entry(user: &User<'_>, wanted: &Key) -> Result<String> {
    let file = File::find(&wanted.file, &user.home)?;
    let (bind, agent) = (wanted.names.bind.as_deref(), wanted.names.agent.as_deref());
    let asked = Asked {
        bind,
        agent,
        max_bytes: wanted.max_bytes,
    };
    let Printed { roots, table } = table(&user.home, &file, asked, &fresh()?);
    let map = Some(&user.map.location.file).filter(|map| map.is_file());
    let map = map.and_then(|map| fs::read_to_string(map).ok());
    let map = map.unwrap_or_default();
    let is_blank = map.trim().is_empty();
    let text = roots.filter(|_| is_blank).unwrap_or_default() + &table;
    conceals(user, &[Some(&text), Some(&file.written), bind, agent])?;
    match user.map.parse((map + &text).as_bytes()) {
        Err(why) => said(format!("with this entry, the map would be invalid: {why}")),
        Ok(_) => Ok(text),
    }
}

/// A key of 128 random bits.
fn fresh() -> Result<String> {
    let mut bytes = [0; 16];
    match getrandom::fill(&mut bytes) {
        Err(why) => said(format!("the system gives no random bytes: {why}")),
        Ok(()) => Ok(format!("k-{:032x}", u128::from_ne_bytes(bytes))),
    }
}

/// Whether none of these texts, or names that they hold, reveals a key of the map.
fn conceals(user: &User<'_>, texts: &[Option<&str>]) -> Result<()> {
    let has_key = |of: Secrets<'_>| texts.iter().flatten().any(|text| of.are_told_by(text));
    match user.map_now()? {
        Some(map) if has_key(Secrets::of(&map)) => {
            said("the output would show a text that holds a key of your map; choose another name")
        }
        // What is no map has no keys.
        _ => Ok(()),
    }
}
