//! What an administrator's settings decide; and with all others, which agents and servers are
//! denied.

use super::{
    MANAGED_RULES_ONLY, fault::Fault, fault_if_hooks_off, file::parsed, items, switches_plugin_off,
    switches_plugin_on,
};
use crate::{PLUGIN, hook::PLUGIN_SERVERS, rules::Denied};
use keyhole_walk::printable::printable_text;
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A server of ours, as lists of allowed and denied servers name it.
struct Ours<'a> {
    /// The server's name in the client, such as `notes`.
    name: &'a str,
    /// The name of the agent that has this server.
    agent: &'a str,
    /// Two words in a row that only this server's command has: `--bind`, `notes`.
    words: [&'a str; 2],
}

/// The plugin's server for all agents.
const SHARED_SERVER: Ours<'_> = Ours {
    name: PLUGIN_SERVERS[0].name,
    agent: PLUGIN.agent,
    words: ["serve", "--require-ticket"],
};

/// The server that the plugin's module gives to its agent.
const MODULES_SERVER: Ours<'_> = Ours {
    name: PLUGIN_SERVERS[1].name,
    agent: PLUGIN.agent,
    words: ["--agent", PLUGIN.agent],
};

impl<'a> Ours<'a> {
    /// The server of an own agent: the server, its binding and the agent all have this name.
    const fn own(name: &'a str) -> Self {
        Self {
            name,
            agent: name,
            words: ["--bind", name],
        }
    }

    /// Whether an entry of a list has this server's command: its two words in a row. The paths in
    /// the command are not compared.
    fn is_command_of(&self, entry: &Value) -> bool {
        let words: Vec<_> = items(&entry["serverCommand"]).iter().collect();
        words.windows(2).any(|pair| pair == self.words)
    }
}

/// The switch that turns off the modules of plugins ("mods") which are not the administrator's.
const MODS_ONLY: &str = "/pluginConfigs/cc-plugin-sec-default@builtin/options/allowManagedModsOnly";
const ALLOWED_SERVERS: &str = "/allowedMcpServers";

/// The faults for what settings switch off, in three groups: what an administrator's files,
/// `managed`, decide ([`decisions`]); that the plugin is switched off; and the servers of ours that
/// no list of allowed servers has. Such a list counts in any file of `all`, but only in `managed`
/// if an administrator says so. `servers` are the names of own agents' servers. Empty if nothing is
/// off.
pub(super) fn switched_off(managed: &[Value], all: &[&Value], servers: &[&str]) -> Vec<Fault> {
    let mut faults = decisions(managed);
    if managed.iter().any(switches_plugin_off) {
        let file = "an administrator".to_owned();
        faults.push(Fault::PluginOff { file });
    }
    let lists = if is_true_in_one(managed, "allowManagedMcpServersOnly") {
        values_in(managed, ALLOWED_SERVERS)
    } else {
        values_in(all.iter().copied(), ALLOWED_SERVERS)
    };
    // Without any list, all servers are allowed. An empty list allows none.
    if !lists.is_empty() {
        let allowed = Allowed(items_of(&lists));
        let are_mods_off = faults.contains(&Fault::ModsOff);
        faults.extend(allowed.faults(servers, are_mods_off));
    }
    faults
}

/// The faults for what an administrator's files switch off by single keys: hooks, marketplaces,
/// permission rules, own agents, their servers, and plugins' modules ("mods"). Empty if no file has
/// such a key.
///
/// If one of the files switches our plugin on, the plugin's hooks and module stay on. Then
/// `allowManagedHooksOnly` switches only the user's own hooks off ([`Fault::OwnHooksOff`]), and
/// there is no [`Fault::ModsOff`].
fn decisions(managed: &[Value]) -> Vec<Fault> {
    let is_plugin_managed = managed.iter().any(switches_plugin_on);
    let mut faults = Vec::new();
    if is_true_in_one(managed, "allowManagedHooksOnly") {
        faults.push(if is_plugin_managed {
            Fault::OwnHooksOff
        } else {
            Fault::ManagedHooksOnly
        });
    }
    let marketplaces = values_in(managed, "/strictKnownMarketplaces");
    let mut sources = items_of(&marketplaces).into_iter();
    if !marketplaces.is_empty() && !sources.any(lets_our_marketplace_in) {
        faults.push(Fault::MarketplaceNotAllowed);
    }
    if is_true_in_one(managed, MANAGED_RULES_ONLY) {
        faults.push(Fault::ManagedRulesOnly);
    }
    let strict = values_in(managed, "/strictPluginOnlyCustomization");
    let entries = items_of(&strict).into_iter();
    let kinds: Vec<&str> = entries.filter_map(Value::as_str).collect();
    if kinds.contains(&"agents") {
        faults.push(Fault::OwnAgentsOff);
    }
    if kinds.contains(&"mcp") {
        faults.push(Fault::OwnServersOff);
    }
    // The value `true` stands for a list of all kinds, and one fault is enough for that. Lists of
    // all files count, but `true` counts only in the first file with the key.
    let are_all_kinds_off = strict.first().is_some_and(|first| **first == true);
    if are_all_kinds_off || kinds.contains(&"hooks") {
        faults.push(Fault::OwnHooksOff);
    }
    // Any value but `false` switches modules off.
    let mut mods_only = values_in(managed, MODS_ONLY).into_iter();
    if !is_plugin_managed && mods_only.any(|value| *value != false) {
        faults.push(Fault::ModsOff);
    }
    faults
}

/// Whether this key is `true` in one of these files.
pub(super) fn is_true_in_one(files: &[Value], key: &str) -> bool {
    files.iter().any(|file| file[key] == true)
}

/// The values at this JSON pointer, such as `/allowedMcpServers`, in the order of the files. A file
/// without this key has no value here.
fn values_in<'a>(files: impl IntoIterator<Item = &'a Value>, pointer: &str) -> Vec<&'a Value> {
    let files = files.into_iter();
    files.filter_map(|file| file.pointer(pointer)).collect()
}

/// The items of these lists, as one list. A value that is no list has no items.
fn items_of<'a>(lists: &[&'a Value]) -> Vec<&'a Value> {
    lists.iter().flat_map(|list| items(list)).collect()
}

/// The entries of all lists of allowed servers: `{"serverName": "notes"}`, or `{"serverCommand":
/// ["keyhole", "serve"]}`.
struct Allowed<'a>(Vec<&'a Value>);

impl Allowed<'_> {
    /// Whether servers are compared by their commands, and not by their names: one entry has a
    /// command.
    fn is_by_command(&self) -> bool {
        let mut entries = self.0.iter();
        entries.any(|entry| !entry["serverCommand"].is_null())
    }

    /// Whether this server may run: an entry has its command or, if no entry has a command at all,
    /// its name.
    fn has(&self, ours: &Ours<'_>) -> bool {
        let mut entries = self.0.iter();
        if self.is_by_command() {
            entries.any(|entry| ours.is_command_of(entry))
        } else {
            entries.any(|entry| entry["serverName"] == ours.name)
        }
    }

    /// The faults for the servers of ours that these entries do not allow:
    ///
    /// - [`Fault::ServersNotAllowed`] if the server of the plugin's agent is not allowed. This is
    ///   [`MODULES_SERVER`], or [`SHARED_SERVER`] if `are_mods_off`;
    /// - or else [`Fault::ServersNeedMods`] if [`SHARED_SERVER`] is not allowed, which clients
    ///   without mods need;
    /// - [`Fault::OwnServersNotAllowed`] if one of `servers` is not allowed, the servers of own
    ///   agents.
    ///
    /// Also [`Fault::ServersByCommand`], as a reminder, if servers are compared by their commands.
    fn faults(&self, servers: &[&str], are_mods_off: bool) -> Vec<Fault> {
        // An entry cannot name the shared server: its name has colons in the client
        // (`plugin:keyhole:context`), which no entry may have.
        let is_shared_allowed = self.is_by_command() && self.has(&SHARED_SERVER);
        let is_plugins_allowed = if are_mods_off {
            is_shared_allowed
        } else {
            self.has(&MODULES_SERVER)
        };
        let mut faults = Vec::new();
        if !is_plugins_allowed {
            faults.push(Fault::ServersNotAllowed);
        } else if !is_shared_allowed {
            faults.push(Fault::ServersNeedMods);
        }
        let mut owns = servers.iter();
        if !owns.all(|name| self.has(&Ours::own(name))) {
            faults.push(Fault::OwnServersNotAllowed);
        }
        if self.is_by_command() {
            faults.push(Fault::ServersByCommand);
        }
        faults
    }
}

/// The faults for agents that cannot start, or cannot reach their server: a deny rule in `rules`
/// or a list of denied servers in one of `files` forbids that. They are [`Fault::PluginDenied`] for
/// the plugin's agent, which has two servers, and [`Fault::OwnDenied`] for own agents, each with
/// one of these `servers`. Empty if nothing is denied.
pub(super) fn denied(rules: &Denied, files: &[&Value], servers: &[&str]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for ours in [SHARED_SERVER, MODULES_SERVER] {
        if let Some(entry) = denial(rules, files, &ours) {
            faults.push(Fault::PluginDenied { entry });
        }
    }
    for server in servers {
        if let Some(entry) = denial(rules, files, &Ours::own(server)) {
            faults.push(Fault::OwnDenied { entry });
        }
    }
    faults.dedup();
    faults
}

/// The first entry that forbids the agent of the server `ours`, or that server, and the list with
/// it: `Agent(notes) in permissions.deny`, or `notes in deniedMcpServers` if an entry has the
/// server's name or command. None if nothing forbids them.
fn denial(rules: &Denied, files: &[&Value], ours: &Ours<'_>) -> Option<String> {
    let server = ours.name;
    if let Some(rule) = rules.stopping(server, ours.agent) {
        return Some(format!("{} in permissions.deny", printable_text(rule)));
    }
    for entry in files
        .iter()
        .flat_map(|file| items(&file["deniedMcpServers"]))
    {
        let name = entry["serverName"].as_str().unwrap_or_default();
        // The shared server is `plugin:keyhole:context` there, but `plugin_keyhole_context` here.
        if name.replace(':', "_") == server || ours.is_command_of(entry) {
            return Some(format!("{server} in deniedMcpServers"));
        }
    }
    None
}

/// Whether an entry in a list of marketplaces lets ours in.
fn lets_our_marketplace_in(entry: &Value) -> bool {
    entry.to_string().contains("keyhole")
}

/// The values of an administrator's settings files in this folder. A file that is not there, is
/// empty or cannot be read has no value here.
///
/// Adds to `faults`: each file that cannot be read; each file that switches all hooks off; and
/// `managed-mcp.json`, if it exists: by this file, an administrator chooses all servers.
pub(super) fn read(folder: &Path, faults: &mut Vec<Fault>) -> Vec<Value> {
    let mut values = Vec::new();
    for path in files(folder) {
        let file = path.display().to_string();
        match parsed(&path) {
            Ok(Value::Null) => {}
            Ok(value) => {
                faults.extend(fault_if_hooks_off(&value, &file));
                values.push(value);
            }
            Err(why) => faults.push(Fault::ManagedUnread { file, why }),
        }
    }
    let servers = folder.join("managed-mcp.json");
    if servers.exists() {
        let file = servers.display().to_string();
        faults.push(Fault::ManagedServers { file });
    }
    values
}

/// The files in which an administrator's settings may be: `managed-settings.json`, which need not
/// exist, and each `.json` file in `managed-settings.d`.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = vec![folder.join("managed-settings.json")];
    let more = fs::read_dir(folder.join("managed-settings.d"));
    for entry in more.into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|ending| ending == "json") {
            files.push(path);
        }
    }
    files
}
