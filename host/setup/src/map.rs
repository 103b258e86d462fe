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

/// What the user can do if setup finds no place for the entry in the map.
const BY_HAND: &str = "`keyhole setup key FILE`, with --bind NAME or --agent NAME, prints the entry. Then `keyhole check` says which root it needs";

/// Which entry of a map is meant: `[keys.k1]` or `[bindings.notes]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named<'a> {
    /// The table that has the entry: that of keys, or that of bindings.
    pub table: Table,
    /// The entry's key, or the binding's name.
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
    /// The folders in whose repositories the file's values may be published without a question. An
    /// empty list: in none. None: nothing that is published is compared with the file.
    pub(crate) publish_only_in: Option<Vec<String>>,
}

impl NewEntry<'_> {
    /// Whether a new entry with this name has `withhold = true`: only the plugin, which has one
    /// key, takes quotations out of reports.
    fn withholds_reports(named: Named<'_>) -> bool {
        named == Named::key(PLUGIN.key)
    }

    /// The entry's lines in the map. The first two are always there, such as `[bindings.notes]` and
    /// `path = "~/notes/a.md"`. A field without a value has no line: no `agents`, no `max_bytes`,
    /// no `publish_only_in`, and `withhold` only if it is true.
    pub(crate) fn text(&self) -> String {
        let Named { table, name } = self.named;
        let (table, path) = (table.as_str(), quoted(self.path));
        // In TOML, neither a key that setup makes nor a binding's name needs quotes.
        let mut text = format!("[{table}.{name}]\npath = {path}\n");
        if !self.agents.is_empty() {
            // TOML writes a list of texts as JSON does.
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

/// For whom `keyhole setup key` is to print an entry.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The name of a binding. None: the entry gets a key.
    pub bind: Option<&'a str>,
    /// The agent that may have the file. None means any.
    pub agent: Option<&'a str>,
    /// The longest file that may be returned, in bytes. None means the usual limit.
    pub max_bytes: Option<u64>,
}

/// The lines that a user adds to a map for a file.
#[derive(Debug)]
pub struct Printed {
    /// The line `roots = […]`, which a map needs only once, with its first entry. None if the file
    /// is in no folder that may be a root.
    pub roots: Option<String>,
    /// A blank line, and the entry.
    pub table: String,
}

/// The lines that a user adds to a map for this file: a line for the file's folder, and an entry.
/// Which entry it is depends on `asked`:
///
/// - with `asked.bind`, such as `notes`: `[bindings.notes]`;
/// - without it, for the plugin's agent (`keyhole:privacy-scanner`): one with the plugin's own key;
/// - for any other agent, or for none: one with the key `key`.
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
    // None if the file's folder is the home or above the home: neither must become a root.
    let root = root_of(&file.real, home);
    Printed {
        roots: root.map(|root| format!("roots = [{}]\n", quoted(&root))),
        table: format!("\n{}", entry.text()),
    }
}

/// The entry of the map that a request needs.
struct Needed<'a> {
    named: Named<'a>,
    /// The agent that the entry must name. None: the entry must name no agent.
    agent: Option<&'a str>,
}

impl Request<'_> {
    /// Which entry the map needs for this request, and for which agent:
    ///
    /// - for a hook, the one entry that names the hook's agent; or if no entry does, a new one with
    ///   the `fresh_key`;
    /// - for the plugin, the entry with the plugin's key, `keyhole-privacy-catalog`;
    /// - for a server, the binding of the request's name.
    ///
    /// # Errors
    /// For a hook, if several entries of the map name its agent.
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

/// The key of the one entry that names this agent, such as `reviewer`. None if no entry names it.
///
/// # Errors
/// If several entries name the agent: a hook could not tell which file is meant. The error has the
/// lines of the first two.
fn only_key<'a>(map: &'a Map, agent: &str) -> Result<Option<&'a str>> {
    // A map cannot have a malformed name, so no entry names such an agent.
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
    /// Plans an edit that adds to the map what the map lacks for the request: an entry for the
    /// file, and a root that holds the file. If the map lacks neither, plans no edit.
    ///
    /// Sets `self.map` to the text of the map with these lines. `fresh_key` is the key for the
    /// entry of a hook, if the map has no such entry yet.
    ///
    /// # Errors
    /// - If the map is no valid one. A missing or unreadable file counts as an empty map here.
    /// - If the map may not have the entry (`missing_table`) or the root (`missing_root`).
    /// - If the map lacks something and its file cannot be read or edited.
    pub(crate) fn add_to_map(
        &mut self,
        request: &Request<'_>,
        fresh_key: &str,
        chosen: Chosen,
    ) -> Result<()> {
        let live = &request.user.map;
        let place = &live.location.file;
        let opened = Found::at(place);
        self.map = match &opened {
            Ok(found) => found.text()?.to_owned(),
            // The map may lack nothing: then its file need not be edited. If it lacks something,
            // `opened?` below returns this error.
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
        let found = opened?;
        let edited = missing
            .added_to(&self.map)
            .map_err(|why| Unfit::file(place, format!("{why}: {BY_HAND}")))?;
        self.map.clone_from(&edited.text);
        self.add_edit(found, Some(edited.text), edited.shown)
    }

    /// The text of the entry that the map lacks for the request, such as `[bindings.notes]` with
    /// its fields. None if an entry of that name is there, and will do for the request.
    ///
    /// For a new entry, notes if an entry of another name has the file, too, and sets
    /// `self.has_gate`: whether the plugin asks before a value of the file is published, for which
    /// the entry has `publish_only_in = []`. Sets `self.table` in any case.
    ///
    /// # Errors
    /// If an entry of that name is there, but will not do (`judge_entry`); or if `needed` refuses,
    /// as for a hook whose agent several entries name.
    fn missing_table(
        &mut self,
        map: &Map,
        request: &Request<'_>,
        fresh_key: &str,
        chosen: Chosen,
    ) -> Result<Option<String>> {
        let Needed { named, agent } = request.needed(map, fresh_key)?;
        self.table = (named.table, named.name.to_owned());
        if let Some((_, there)) = all_entries(map).find(|(other, _)| *other == named) {
            self.judge_entry(there, request, agent)?;
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
            max_bytes: request.client.max_bytes,
            withhold: NewEntry::withholds_reports(named),
            publish_only_in,
        };
        Ok(Some(entry.text()))
    }

    /// Checks that the entry which the map has under the needed name will do for the request, for
    /// this agent. For the plugin, notes if the entry has no `publish_only_in`: then nothing asks
    /// before a value of the file is published.
    ///
    /// # Errors
    /// If the entry is for another file; or for this file, but not for this agent, or with a larger
    /// `max_bytes` than the client takes (`refuse_unsuitable`).
    fn judge_entry(
        &mut self,
        entry: &Entry,
        request: &Request<'_>,
        agent: Option<&str>,
    ) -> Result<()> {
        let line = entry.line;
        if !request.is_for_file_of(entry) {
            return refused(format!(
                "the map has another file under this name already, on line {line}. Choose another name, or take that away first: keyhole setup remove NAME"
            ));
        }
        refuse_unsuitable(entry, agent, request.client.max_bytes)?;
        if request.client.is_plugin() && entry.publish_only_in.is_none() {
            self.notes.push(format!("Nothing asks before something of the list is published. To be asked, add this to the entry on line {line} of the map: publish_only_in = []"));
        }
        Ok(())
    }

    /// The folder that must become a root of the map, so that a server may read the file: `~/notes`
    /// for `~/notes/a.md`. None in three cases:
    ///
    /// - A root of the map holds the file already.
    /// - The map has entries and no roots, so a server may read any file. A note says so.
    /// - The map has neither, and the file's folder is the home or above the home, which must not
    ///   become a root (`root_of` is None). A note says so.
    ///
    /// # Errors
    /// If the map has roots, none of which holds the file, and the file's folder is the home or
    /// above the home.
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

/// Checks that an entry of the map will do for this agent (None: for any agent), and for a client
/// that takes at most `max_bytes` (None: as many as our own limit allows).
///
/// # Errors
/// If the entry does not name the agent, or names no agents at all; if it names agents, and `agent`
/// is None; or if its `max_bytes` is larger than that of the client. The error says what to change.
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

/// Whether the entry names this agent. False if the agent's name is malformed.
fn names_agent(entry: &Entry, agent: &str) -> bool {
    match AgentName::in_map(agent) {
        Ok(agent) => entry.agents.iter().flatten().any(|one| one.means(&agent)),
        Err(_) => false,
    }
}
