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

/// Runs `keyhole setup`, and returns what to print, or fails with what to tell. In both texts, `…`
/// stands in the place of each key of the map: a file's path may hold one. No error repeats what
/// the user typed, since it may be a key.
///
/// # Errors
/// If the environment names no home; if a text is to name this program, and its path is not known;
/// or if what was typed fails.
pub(crate) fn run(typed: Setup) -> Result<String> {
    let mut user = user()?;
    // `remove` and `key` make no text that names this program. So its path need not be known.
    if typed.what.is_none() {
        user.program = Program::this().map_err(SetupError::Said)?;
    }
    // The map is read before a fresh key is written: the user must see that key. If the map cannot
    // be used, no key is known.
    let map = user.map_now().unwrap_or_default();
    let keys = MapKeys::of(map.as_deref());
    match output(&user, typed) {
        Ok(text) => Ok(keys.text_without_keys(&text)),
        Err(why) => stop_with(keys.text_without_keys(&why.to_string())),
    }
}

/// Does what is typed, and returns what to print, perhaps with keys of the map.
///
/// - `remove NAME` takes away what setup wrote for that name.
/// - `remove` alone lists the names.
/// - `key FILE` makes an entry for the map.
/// - Without a subcommand, see [`without_subcommand`].
fn output(user: &User<'_>, typed: Setup) -> Result<String> {
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

/// The user: the home and the map are those that the environment names, since setup takes no
/// `--map`. The program is still empty. Fails if the environment names no home.
fn user() -> Result<User<'static>> {
    // None: as without `--map`.
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

/// What follows the list of clients.
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

/// The text that lists the names that `keyhole setup remove` takes, or says that there are none.
fn removable(names: &[String]) -> String {
    if names.is_empty() {
        return "The map has no entry that setup would write.\n".to_owned();
    }
    format!(
        "keyhole setup remove NAME takes away what setup wrote for one of these:\n\n  {}\n",
        names.join("\n  ")
    )
}

/// What a client needs, for a user who pastes it. A line says who gets the file. Then follow the
/// commands by which setup writes it for the user ([`ways_to_write`]), and each text to paste: those
/// of a hook if `--inject` was typed, and else those of a server. If no name was typed, the texts
/// have an example's name.
///
/// # Errors
/// If a text cannot be made, if the texts show a key of the map, or if the map cannot be used.
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
    // The user named no file (None). So the texts are those for any file.
    let mut who;
    if typed.inject.is_some() {
        let hook = recipe.hook(None)?;
        texts.extend(hook.texts);
        // The last step, in the client's words.
        texts.push(hook.last);
        who = hook.who;
    } else {
        let filled = recipe.filled(None)?;
        if typed.name().is_none() {
            texts.push(format!(
                "The name {name} is an example; --bind takes another."
            ));
        }
        // Each text that the user pastes, with the name filled in.
        texts.extend(filled.blocks(&client.parts));
        let notes = client.notes.iter().chain(&client.by_hand);
        texts.extend(notes.map(|note| filled.fill(note)));
        who = filled.fill(client.who);
        // Where the whole client gets the file, `--agent` names the agent for all of its calls.
        if let Some(named) = agent
            && client.audience == Audience::Client
        {
            who += &format!(" All of them count as the agent {named}.");
        }
    }
    let text = format!("{who}\n\n{}\n", texts.join("\n\n"));
    refuse_keys_in(user, &text)?;
    Ok(text)
}

/// A text with two commands: the first has setup write what it prints now, and the second prints
/// only the entry for the map. With `--bind notes` for the client `cursor`, these are
/// `keyhole setup cursor --bind notes --file FILE` and `keyhole setup key FILE --bind notes`. For a
/// hook, they have the options `--inject reviewer` and `--agent reviewer` instead, with the name of
/// an agent. `--agent NAME`, if it was typed, is added to both, and the client's limit
/// (`--max-bytes`) to the second.
fn ways_to_write(client: &Client, typed: &Setup) -> String {
    let name = typed.name().unwrap_or(client.usual_name());
    let mut what = "it";
    let mut option = "bind";
    let mut option_of_key = "bind";
    if typed.inject.is_some() {
        what = "the map's entry";
        option = "inject";
        option_of_key = "agent";
    }
    let mut agent = String::new();
    if let Some(named) = &typed.names.agent {
        // `bare_word` is None for a name that a shell may change, as `my agent`. Then `NAME` stands
        // there, which the user replaces.
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

/// The text of an entry for the map: a binding if `--bind` was typed; else an entry with a key,
/// which is the plugin's own for the plugin's agent, and a fresh one for any other. If the map is
/// empty or missing, a line with its `roots` comes before the entry.
///
/// # Errors
/// If the file cannot be used, if the text shows a key of the map, or if the map would be invalid
/// with the entry.
fn printed_entry(user: &User<'_>, typed: &Key) -> Result<String> {
    let file = File::find(&typed.file, &user.home)?;
    let bind = typed.names.bind.as_deref();
    let agent = typed.names.agent.as_deref();
    // `entry` takes the plugin's own key in place of this one, if the agent is the plugin's.
    let key = fresh_key()?;
    let asked = Asked {
        bind,
        agent,
        max_bytes: typed.max_bytes,
    };
    let Printed { roots, table } = entry(&user.home, &file, asked, &key);
    let map = text_of_map(user);
    let mut added = table;
    // A missing map is empty here: a shell makes the file of `keyhole setup key FILE >> MAP` first.
    if map.trim().is_empty() {
        added = roots.unwrap_or_default() + &added;
    }
    refuse_keys_in(user, &added)?;
    match user.map.parse((map + &added).as_bytes()) {
        Err(why) => stop_with(format!("with this entry, the map would be invalid: {why}")),
        Ok(_) => Ok(added),
    }
}

/// The map's text. Empty if the map is missing, is no file, or is no UTF-8 text.
fn text_of_map(user: &User<'_>) -> String {
    let file = &user.map.location.file;
    if !file.is_file() {
        return String::new();
    }
    fs::read_to_string(file).unwrap_or_default()
}

/// A key of 128 random bits, as `k-` and 32 hexadecimal digits. Fails if the system gives none.
fn fresh_key() -> Result<String> {
    let mut bytes = [0; 16];
    match getrandom::fill(&mut bytes) {
        Err(why) => stop_with(format!("the system gives no random bytes: {why}")),
        Ok(()) => Ok(format!("k-{:032x}", u128::from_ne_bytes(bytes))),
    }
}

/// Fails if this text, which is to be shown, holds a key of the map (but not one that can be
/// guessed, as a word); or if the map cannot be used.
fn refuse_keys_in(user: &User<'_>, text: &str) -> Result<()> {
    let map = user.map_now()?;
    if MapKeys::of(map.as_deref()).text_without_keys(text) == text {
        return Ok(());
    }
    stop_with(
        "the output would show a text that holds a key of your map: choose another name, or another path in that entry",
    )
}
