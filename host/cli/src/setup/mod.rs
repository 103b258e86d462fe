//! `keyhole setup`, and what it prints for a client: the example from docs/examples, with this
//! program's path and the user's names in it. Only `keyhole_setup` writes.
#![expect(clippy::disallowed_methods, reason = "whether the map is empty")]

mod dialog;
mod flow;
mod judge;

use crate::{
    arguments::{Key, Setup, SetupCommand},
    environment::variable,
    keys::MapKeys,
};
use keyhole_core::{LiveMap, Location};
use keyhole_setup::{
    Asked, Printed, Result, SetupError, User,
    clients::{self, Audience, Client},
    entry,
    file::File,
    paste::bare_word,
    program::Program,
    recipe::Recipe,
    removable_names, stop_with,
};
use std::{
    fs,
    io::{self, IsTerminal as _},
    iter,
};

/// Does what `keyhole setup` is to do, and returns what it prints. Fails if the user's home or map
/// is not to be used (see [`user`]), if a text is to name this program and its path is not known,
/// or if what is to be done fails. No error repeats the user's input, since it may be a key. The
/// map's keys are taken out of the output and of each error: a file's path may hold one.
pub(crate) fn run(typed: Setup) -> Result<String> {
    let mut user = user()?;
    // Only texts for a client name this program. Else its path need not be known.
    if typed.what.is_none() {
        user.program = Program::this().map_err(SetupError::Said)?;
    }
    // It was read before a fresh key is written.
    let map = user.map_now().unwrap_or_default();
    let keys = MapKeys::of(map.as_deref());
    match done(&user, typed) {
        Ok(text) => Ok(keys.text_without_keys(&text)),
        Err(why) => stop_with(keys.text_without_keys(&why.to_string())),
    }
}

/// Does what is typed, and returns what to print, perhaps with keys of the map.
///
/// `remove` with a name: take away what setup wrote for
/// that name. `remove` alone: list the names. `key`: print an entry for the map. Without a
/// subcommand, [`give_file`] says it.
fn done(user: &User<'_>, typed: Setup) -> Result<String> {
    match typed.what {
        Some(SetupCommand::Remove {
            name: Some(name),
            dry_run,
        }) => flow::remove(user, &name, dry_run),
        Some(SetupCommand::Remove { name: None, .. }) => Ok(removable(&removable_names(user)?)),
        Some(SetupCommand::Key(entry)) => printed_entry(user, &entry),
        None => without_subcommand(user, &typed),
    }
}

/// What setup does without a subcommand.
///
/// - Without a client: it asks for one if a terminal is there, and else lists the clients.
/// - For a client without a file: it prints what to paste.
/// - For a client with a file, or for the plugin: it shows what changes, asks, and writes.
///
/// Fails if a name is typed (`--bind`, `--inject`, `--agent`) without a client, or for the plugin.
fn without_subcommand(user: &User<'_>, typed: &Setup) -> Result<String> {
    let has_names = typed.name().is_some() || typed.names.agent.is_some();
    let is_at_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    // The first row that fits counts.
    match typed.client.as_deref() {
        None if has_names => {
            stop_with("name a client, or `key` and a file; `keyhole setup` lists the clients")
        }
        None if !is_at_terminal => Ok(lines_on_clients().collect::<String>() + COMMANDS),
        Some(client) if client.is_plugin() && has_names => {
            stop_with("the plugin's agent has its own name: leave --bind, --inject and --agent out")
        }
        Some(client) if typed.file.is_none() && !client.is_plugin() => printed(user, client, typed),
        _ => flow::install(user, typed),
    }
}

/// The user whose home and map the environment names: setup takes no `--map`. The program is left
/// empty. Refused if the environment names no home.
fn user() -> Result<User<'static>> {
    let location = match Location::find(None, variable) {
        Ok(location) => location,
        Err(why) => return stop_with(why.to_string()),
    };
    let Some(home) = location.home.clone() else {
        return stop_with("HOME does not say where your home is");
    };
    Ok(User {
        home,
        map: LiveMap::new(location),
        variable: &variable,
        program: Program::default(),
    })
}

const COMMANDS: &str = "
keyhole setup                                 in a terminal: asks, shows, writes
keyhole setup CLIENT --bind NAME --file FILE  the same, for what you name
keyhole setup CLIENT --bind NAME              prints what the client needs
keyhole setup remove [NAME]                   takes away what setup wrote; lists the names
keyhole setup key FILE                        prints an entry for the map, with a fresh key
";

/// The lines of the list of clients: the headings, and for each client who gets the file.
fn lines_on_clients() -> impl Iterator<Item = String> {
    let headings = client_line("CLIENT", "WHO GETS THE FILE");
    let lines = clients::all().map(|client| client_line(client.name, client.audience.in_words()));
    iter::once(headings).chain(lines)
}

/// A line of the list of clients.
fn client_line(name: &str, who: &str) -> String {
    format!("{name:<18} {who}\n")
}

/// The names that `keyhole setup remove` takes.
fn removable(names: &[String]) -> String {
    if names.is_empty() {
        return "The map has no entry that setup would write.\n".to_owned();
    }
    format!(
        "keyhole setup remove NAME takes away what setup wrote for one of these:\n\n  {}\n",
        names.join("\n  ")
    )
}

/// What a client needs, for a user who pastes it: a line that says who gets the file, then the ways
/// to have it written, and each text to paste. For a hook (`--inject`), these are the texts of the
/// hook, and else those for a server. If no name was typed, an example stands in its place. Fails
/// if a text cannot be made, or if it holds a key of the map.
fn printed(user: &User<'_>, client: &Client, typed: &Setup) -> Result<String> {
    let name = typed.name().unwrap_or(client.usual_name());
    let agent = typed.names.agent.as_deref();
    let mut texts = Vec::new();
    texts.extend(user.program.caution.clone());
    texts.push(ways_to_write(client, typed));
    let recipe = Recipe {
        user,
        client,
        name,
        agent,
    };
    // No file is named, so both kinds of texts are made without one.
    let mut who;
    if typed.inject.is_some() {
        let hook = recipe.hook(None)?;
        texts.extend(hook.texts);
        texts.push(hook.last);
        who = hook.who;
    } else {
        let filled = recipe.filled(None)?;
        if typed.name().is_none() {
            texts.push(format!(
                "The name {name} is an example; --bind takes another."
            ));
        }
        texts.extend(filled.blocks(&client.parts));
        let notes = client.notes.iter().chain(&client.by_hand);
        texts.extend(notes.map(|note| filled.fill(note)));
        who = filled.fill(client.who);
        if let Some(agent) = agent.filter(|_| client.audience == Audience::Client) {
            who += &format!(" All of them count as the agent {agent}.");
        }
    }
    let text = format!("{who}\n\n{}\n", texts.join("\n\n"));
    refuse_keys_in(user, &text)?;
    Ok(text)
}

/// A text with two commands: the first has setup write what it prints now, and the second prints
/// the map's entry alone. With `--bind notes` for the client `cursor`, these are
/// `keyhole setup cursor --bind notes --file FILE` and `keyhole setup key FILE --bind notes`. For a
/// hook, the name is that of an agent: the options are `--inject reviewer` and `--agent reviewer`.
fn ways_to_write(client: &Client, typed: &Setup) -> String {
    let name = typed.name().unwrap_or(client.usual_name());
    let (what, option, option_of_key) = if typed.inject.is_some() {
        ("the map's entry", "inject", "agent")
    } else {
        ("it", "bind", "bind")
    };
    let mut agent = String::new();
    if let Some(named) = &typed.names.agent {
        // None if a shell may read the name in its own way: then the user writes it.
        let word = bare_word(named).unwrap_or("NAME");
        agent = format!(" --agent {word}");
    }
    let mut limit = String::new();
    if let Some(bytes) = client.max_bytes {
        limit = format!(" --max-bytes {bytes}");
    }
    format!(
        "To have {what} written, add --file, in a terminal: keyhole setup {} --{option} {name}{agent} --file FILE\nBy hand, put at the end of your map what this prints: keyhole setup key FILE --{option_of_key} {name}{agent}{limit}",
        client.name
    )
}

/// The text of an entry for the map: a binding if the user named one, and else an entry with a
/// fresh key. If the map is empty or missing, its roots come before the entry. Fails if the file
/// cannot be used, if the entry holds a key of the map, or if the map would be invalid with the
/// entry.
fn printed_entry(user: &User<'_>, wanted: &Key) -> Result<String> {
    let file = File::find(&wanted.file, &user.home)?;
    let bind = wanted.names.bind.as_deref();
    let agent = wanted.names.agent.as_deref();
    let key = fresh_key()?;
    let asked = Asked {
        bind,
        agent,
        max_bytes: wanted.max_bytes,
    };
    let Printed { roots, table } = entry(&user.home, &file, asked, &key);
    let map = text_of_map(user);
    let mut added = table;
    // `>>` makes an empty map before this program starts.
    if map.trim().is_empty() {
        added = roots.unwrap_or_default() + &added;
    }
    refuse_keys_in(user, &added)?;
    match user.map.parse((map + &added).as_bytes()) {
        Err(why) => stop_with(format!("with this entry, the map would be invalid: {why}")),
        Ok(_) => Ok(added),
    }
}

/// The map as it stands. Empty if there is none, or it is no file, or no text.
fn text_of_map(user: &User<'_>) -> String {
    let file = &user.map.location.file;
    if !file.is_file() {
        return String::new();
    }
    fs::read_to_string(file).unwrap_or_default()
}

/// A key of 128 random bits.
fn fresh_key() -> Result<String> {
    let mut bytes = [0; 16];
    match getrandom::fill(&mut bytes) {
        Err(why) => stop_with(format!("the system gives no random bytes: {why}")),
        Ok(()) => Ok(format!("k-{:032x}", u128::from_ne_bytes(bytes))),
    }
}

/// Fails if this text, which is to be shown, holds a key of the map; or if the map cannot be used.
fn refuse_keys_in(user: &User<'_>, text: &str) -> Result<()> {
    let map = user.map_now()?;
    if MapKeys::of(map.as_deref()).text_without_keys(text) == text {
        return Ok(());
    }
    stop_with(
        "the output would show a text that holds a key of your map: choose another name, or another path in that entry",
    )
}
