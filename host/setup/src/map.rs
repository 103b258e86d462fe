//! What a file needs in the map: one table at its end, and one string among its roots.
//!
//! The map decides who may read what, so `edit` makes sure that the new map is the old one with
//! what the user is shown, and nothing else.

mod edit;

use crate::{
    Chosen, Plan, Request, Result, Unfit,
    disk::Found,
    error::refused,
    file::{File, root_of},
    paste::quoted,
};
use edit::Addition;
pub(crate) use edit::without_table;
use keyhole_claude::{PLUGIN, paths::without_links};
use keyhole_core::{AgentName, Entry, Map, Table};
use serde_json::json;
use std::{fs, path::Path};

/// How a user writes an entry for whose text setup finds no place in the map.
const BY_HAND: &str = "`keyhole setup key FILE`, with --bind NAME or --agent NAME, prints the entry. Then `keyhole check` says which root it needs";

/// Where an entry of a map is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named<'a> {
    /// The table that has it.
    pub table: Table,
    /// Its key or name there.
    pub name: &'a str,
}

impl<'a> Named<'a> {
    /// The entry of this key.
    fn key(name: &'a str) -> Self {
        let table = Table::Key;
        Self { table, name }
    }

    /// The binding of this name.
    fn binding(name: &'a str) -> Self {
        let table = Table::Binding;
        Self { table, name }
    }
}

/// All entries of a map, those with a key and those of bindings, and where each is.
pub fn all_entries(map: &Map) -> impl Iterator<Item = (Named<'_>, &Entry)> {
    let entries = map.entries().into_iter();
    let keys = entries.map(|(key, entry)| (Named::key(key.expose()), entry));
    let bindings = map.bindings().iter();
    keys.chain(bindings.map(|(name, binding)| (Named::binding(name), &binding.entry)))
}

/// An entry of the map as setup writes it.
pub(crate) struct NewEntry<'a> {
    pub(crate) named: Named<'a>,
    /// The file's path, as the map names it.
    pub(crate) path: &'a str,
    /// The agents that may have the file. Empty means any.
    pub(crate) agents: &'a [&'a str],
    /// The longest file that may be returned, in bytes. None means the usual limit.
    pub(crate) max_bytes: Option<u64>,
    /// Whether reports are compared with the file.
    pub(crate) withhold: bool,
    /// The folders whose repositories may publish what the file has; no folder means nowhere.
    /// None: nothing that is published is compared with the file.
    pub(crate) publish_only_in: Option<Vec<String>>,
}

impl NewEntry<'_> {
    /// Whether a new entry with this name has `withhold = true`: only the plugin, which has one
    /// key, takes quotations out of reports.
    fn withholds_reports(named: Named<'_>) -> bool {
        named == Named::key(PLUGIN.key)
    }

    /// The entry's lines in the map.
    pub(crate) fn text(&self) -> String {
        let Named { table, name } = self.named;
        let (table, path) = (table.as_str(), quoted(self.path));
        // Neither a key of setup's nor a binding's name needs quotes.
        let mut text = format!("[{table}.{name}]\npath = {path}\n");
        if !self.agents.is_empty() {
            // A list of texts is the same in JSON and TOML.
            text += &format!("agents = {}\n", json!(self.agents));
        }
        if let Some(most) = self.max_bytes {
            text += &format!("max_bytes = {most}\n");
        }
        if self.withhold {
            text += "withhold = true\n";
        }
        if let Some(folders) = &self.publish_only_in {
            text += &format!("publish_only_in = {}\n", json!(folders));
        }
        text
    }
}

/// For whom an entry is to be printed.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The name of a binding. None: the entry gets a key.
    pub bind: Option<&'a str>,
    /// The agent that may have the file. None means any.
    pub agent: Option<&'a str>,
    /// The longest file that may be returned, in bytes. None means the usual limit.
    pub max_bytes: Option<u64>,
}

/// What the end of a map gets for a file.
#[derive(Debug)]
pub struct Printed {
    /// The line of its roots, which only the first entry of a map brings. None if the file is in
    /// no folder that may be a root.
    pub roots: Option<String>,
    /// A blank line, and the entry.
    pub table: String,
}

/// The lines that a user adds to a map for this file: an entry for the binding that is asked for;
/// or if no binding is, an entry with the plugin's own key for the plugin's agent, and one with
/// `key` for any other or for no agent.
pub fn entry(home: &Path, file: &File, asked: Asked<'_>, key: &str) -> Printed {
    let named = match asked.bind {
        Some(bind) => Named::binding(bind),
        None if asked.agent == Some(PLUGIN.agent) => Named::key(PLUGIN.key),
        None => Named::key(key),
    };
    let entry = NewEntry {
        named,
        path: &file.written,
        agents: asked.agent.as_slice(),
        max_bytes: asked.max_bytes,
        withhold: NewEntry::withholds_reports(named),
        publish_only_in: None,
    };
    // None if the file is directly in the home or above it, neither of which must become a root.
    let root = root_of(&file.real, home);
    Printed {
        roots: root.map(|root| format!("roots = [{}]\n", quoted(&root))),
        table: format!("\n{}", entry.text()),
    }
}

/// The entry that a request needs.
struct Needed<'a> {
    named: Named<'a>,
    /// The agent that it must name. None: it must name none.
    agent: Option<&'a str>,
}

impl Request<'_> {
    /// Which entry the map needs for this request, and for which agent. For a hook, it is the one
    /// entry that names the hook's agent; or if no entry does, one with the `fresh_key`. For the
    /// plugin, it is the entry with its key. For a server, it is the binding of the request's name.
    ///
    /// # Errors
    /// If the map has more than one entry for a hook's agent.
    fn needed<'a>(&'a self, map: &'a Map, fresh_key: &'a str) -> Result<Needed<'a>> {
        if self.is_hook {
            return Ok(Needed {
                named: Named::key(only_key(map, &self.name)?.unwrap_or(fresh_key)),
                agent: Some(&self.name),
            });
        }
        if self.client.is_plugin() {
            return Ok(Needed {
                named: Named::key(PLUGIN.key),
                agent: Some(PLUGIN.agent),
            });
        }
        Ok(Needed {
            named: Named::binding(&self.name),
            agent: self.agent.as_deref(),
        })
    }

    /// Whether the request is for the file of this entry, also if the entry names another path of
    /// the same file, as through a link.
    pub(crate) fn is_for_file_of(&self, entry: &Entry) -> bool {
        let path = self.user.map.location.expand(&entry.path);
        path.is_some_and(|path| self.file.is_at(&path))
    }
}

/// The key of the entry that names this agent. None if no entry does.
///
/// # Errors
/// If more than one does.
fn only_key<'a>(map: &'a Map, agent: &str) -> Result<Option<&'a str>> {
    // No map can have a name that is malformed.
    let Ok(valid) = AgentName::in_map(agent) else {
        return Ok(None);
    };
    match map.entries_of(&valid)[..] {
        [] => Ok(None),
        [(key, _)] => Ok(Some(key.expose())),
        [(_, first), (_, second), ..] => {
            let (one, other) = (first.line, second.line);
            refused(format!(
                "the lines {one} and {other} of the map name this agent, and only one entry may. Take it out of the others"
            ))
        }
    }
}

impl Plan {
    /// Plans an edit that adds to the map the table and the root which it lacks for the file. Plans
    /// no edit if it lacks neither. `self.map` becomes the map's text after that. `fresh_key` is
    /// the key for the entry of a hook, if the map has no such entry yet.
    ///
    /// # Errors
    /// If the map is no valid one; if `missing_table` or `missing_root` refuses; or if the map
    /// lacks something and cannot be edited: then the error says what prints the entry.
    pub(crate) fn add_to_map(
        &mut self,
        request: &Request<'_>,
        fresh_key: &str,
        chosen: Chosen,
    ) -> Result<()> {
        let live = &request.user.map;
        let place = &live.location.file;
        let read = Found::at(place);
        self.map = match &read {
            Ok(found) => found.text()?.to_owned(),
            // A map that cannot be edited may lack nothing. If it lacks something, `read?` fails
            // below.
            Err(_) => fs::read_to_string(place).unwrap_or_default(),
        };
        let map = live.parse(self.map.as_bytes())?;
        let missing = Addition {
            table: self.missing_table(&map, request, fresh_key, chosen)?,
            root: self.missing_root(&map, request)?,
        };
        if missing.table.is_none() && missing.root.is_none() {
            return Ok(());
        }
        let found = read?;
        let edited = missing
            .added_to(&self.map)
            .map_err(|why| Unfit::file(place, format!("{why}: {BY_HAND}")))?;
        self.map.clone_from(&edited.text);
        self.add_edit(found, Some(edited.text), edited.shown)
    }

    /// The text of the table that the map lacks for the request. None if an entry of this name is
    /// there, and is for this file and this agent.
    ///
    /// Notes if an entry of another name has the file; or, for the plugin, if the entry that is
    /// there does not say where its values may be published. Also sets `self.table` and
    /// `self.has_gate`.
    ///
    /// # Errors
    /// If an entry of this name is there for another file; or for this file, but not for this
    /// agent, or with a larger `max_bytes` than the client takes (`refuse_unsuitable`).
    fn missing_table(
        &mut self,
        map: &Map,
        request: &Request<'_>,
        fresh_key: &str,
        chosen: Chosen,
    ) -> Result<Option<String>> {
        let max_bytes = request.client.max_bytes;
        let Needed { named, agent } = request.needed(map, fresh_key)?;
        self.table = (named.table, named.name.to_owned());
        if let Some((_, there)) = all_entries(map).find(|(other, _)| *other == named) {
            if !request.is_for_file_of(there) {
                let line = there.line;
                return refused(format!(
                    "the map has another file under this name already, on line {line}. Choose another name, or take that away first: keyhole setup remove NAME"
                ));
            }
            refuse_unsuitable(there, agent, max_bytes)?;
            if request.client.is_plugin() && there.publish_only_in.is_none() {
                self.notes.push(format!("Nothing asks before something of the list is published. To be asked, add this to the entry on line {} of the map: publish_only_in = []", there.line));
            }
            return Ok(None);
        }
        if all_entries(map).any(|(_, entry)| request.is_for_file_of(entry)) {
            let name = agent.unwrap_or(&request.name);
            self.notes.push(format!(
                "The map has this file already. Now somebody else gets it, too: {name}."
            ));
        }
        self.has_gate = chosen.is_gated && request.client.is_plugin();
        let mut publish_only_in = None;
        if self.has_gate {
            publish_only_in = Some(Vec::new());
        }
        let entry = NewEntry {
            named,
            path: &request.file.written,
            agents: agent.as_slice(),
            max_bytes,
            withhold: NewEntry::withholds_reports(named),
            publish_only_in,
        };
        Ok(Some(entry.text()))
    }

    /// The folder that must become a root of the map for the file. None in three cases:
    ///
    /// - A root of the map holds the file already.
    /// - The map has entries and no roots. A note says so.
    /// - The map has neither, and the file's folder must not become a root (`root_of` is None),
    ///   since it is the home or one above it. A note says so.
    ///
    /// # Errors
    /// If the map has roots, none of which holds the file, and the file's folder must not become
    /// one.
    fn missing_root(&mut self, map: &Map, request: &Request<'_>) -> Result<Option<String>> {
        let (real, roots) = (&request.file.real, map.roots());
        if roots
            .iter()
            .any(|root| real.starts_with(without_links(root)))
        {
            return Ok(None);
        }
        if roots.is_empty() && all_entries(map).next().is_some() {
            self.notes.push("The map has no roots, so a server may read whatever you may. Name the folders of its files at its top, as in roots = [\"~/private\"].".to_owned());
            return Ok(None);
        }
        let root = root_of(real, &request.user.home);
        if root.is_none() && roots.is_empty() {
            self.notes.push("The file is directly in your home or above it, so no root is written for it, and a server may read whatever you may. Better move it to ~/private.".to_owned());
        } else if root.is_none() {
            return refused(
                "the file is in none of the map's roots. It is directly in your home or above it, and your home must not become a root. Move it to ~/private, and run setup again with the new path",
            );
        }
        Ok(root)
    }
}

/// Checks that an entry of the map does for this agent, and for the most bytes that the client
/// takes. Without an `agent`, the entry must be for any agent.
///
/// # Errors
/// If the entry does not name the agent; if it names agents, and `agent` is None; or if its
/// `max_bytes` is larger than that of the client. The error says what to add.
fn refuse_unsuitable(entry: &Entry, agent: Option<&str>, max_bytes: Option<u64>) -> Result<()> {
    let lacks = match (agent, max_bytes) {
        (Some(agent), _) if !names_agent(entry, agent) => {
            format!("Add this there: agents = [{}]", json!(agent))
        }
        (None, _) if entry.agents.is_some() => {
            "It is for its agents only: name one of them with --agent".to_owned()
        }
        (_, Some(most)) if entry.max_bytes > most => format!("Add this there: max_bytes = {most}"),
        _ => return Ok(()),
    };
    let line = entry.line;
    refused(format!(
        "line {line} of the map has this name already. {lacks}"
    ))
}

/// Whether the entry is for this agent by name.
fn names_agent(entry: &Entry, agent: &str) -> bool {
    match AgentName::in_map(agent) {
        Ok(agent) => entry.agents.iter().flatten().any(|one| one.means(&agent)),
        Err(_) => false,
    }
}
