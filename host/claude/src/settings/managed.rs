//! What an administrator's settings decide; and with all others, which agents and servers are
//! denied.

use super::{
    fault::Fault, fault_if_hooks_off, file::parsed, items, marketplaces, switches_plugin_off,
    switches_plugin_on,
};
use crate::{PLUGIN, hook::PLUGIN_SERVERS, rules::Denied};
use keyhole_walk::printable::printable_text;
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A key by which an administrator switches something off.
struct Decision {
    /// The key, as a JSON pointer.
    pointer: &'static str,
    /// When it does.
    when: Condition,
    /// What is off then.
    fault: Fault,
}

/// When a key switches something off, by its values in the files that have it.
enum Condition {
    /// The key is true in one of the files.
    True,
    /// The key is there in one of the files, and not false.
    NotFalse,
    /// The key is there, and lists no marketplace of ours.
    WithoutMarketplace,
    /// The key lists this.
    Listing(&'static str),
    /// The key lists this; or it is true in the first file that has it, which stands for a list of
    /// all.
    ListingOrTrue(&'static str),
}

/// A server of ours, as lists name it.
struct Ours<'a> {
    name: &'a str,
    agent: &'a str,
    /// Two words in a row that only its command has.
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
    /// The server of an own agent.
    const fn own(name: &'a str) -> Self {
        Self {
            name,
            agent: name,
            words: ["--bind", name],
        }
    }

    /// Whether an entry of a list has its command. The paths in it are not compared.
    fn is_command_of(&self, entry: &Value) -> bool {
        let words: Vec<_> = items(&entry["serverCommand"]).iter().collect();
        words.windows(2).any(|pair| pair == self.words)
    }
}

const DECISIONS: [Decision; 7] = [
    Decision {
        pointer: "/allowManagedHooksOnly",
        when: Condition::True,
        fault: Fault::ManagedHooksOnly,
    },
    Decision {
        pointer: "/strictKnownMarketplaces",
        when: Condition::WithoutMarketplace,
        fault: Fault::MarketplaceNotAllowed,
    },
    Decision {
        pointer: "/allowManagedPermissionRulesOnly",
        when: Condition::True,
        fault: Fault::ManagedRulesOnly,
    },
    Decision {
        pointer: "/strictPluginOnlyCustomization",
        when: Condition::Listing("agents"),
        fault: Fault::OwnAgentsOff,
    },
    Decision {
        pointer: "/strictPluginOnlyCustomization",
        when: Condition::Listing("mcp"),
        fault: Fault::OwnServersOff,
    },
    // If the key is true, agents and servers are off as well. One fault is enough.
    Decision {
        pointer: "/strictPluginOnlyCustomization",
        when: Condition::ListingOrTrue("hooks"),
        fault: Fault::OwnHooksOff,
    },
    Decision {
        pointer: "/pluginConfigs/cc-plugin-sec-default@builtin/options/allowManagedModsOnly",
        when: Condition::NotFalse,
        fault: Fault::ModsOff,
    },
];

/// The faults for what an administrator's files, `managed`, switch off: by [`DECISIONS`], and by
/// lists of allowed servers without ours. Such a list may be in any file of `all`, unless an
/// administrator lets only `managed` count. `servers` are the names of own agents' servers.
pub(super) fn switched_off(managed: &[Value], all: &[&Value], servers: &[&str]) -> Vec<Fault> {
    let is_plugin_theirs = managed.iter().any(switches_plugin_on);
    let mut faults = Vec::new();
    for decision in DECISIONS {
        let values = values_in(managed, decision.pointer);
        if decision.when.is_met(&values) {
            match decision.fault {
                // Hooks and mods of a plugin that an administrator switches on are theirs.
                Fault::ManagedHooksOnly if is_plugin_theirs => faults.push(Fault::OwnHooksOff),
                Fault::ModsOff if is_plugin_theirs => {}
                fault => faults.push(fault),
            }
        }
    }
    if managed.iter().any(switches_plugin_off) {
        let file = "an administrator".to_owned();
        faults.push(Fault::PluginOff { file });
    } else if is_plugin_gone(all) {
        faults.push(Fault::PluginGone);
    }
    let mut files = managed.iter();
    let lists = if files.any(|file| file["allowManagedMcpServersOnly"] == true) {
        values_in(managed, ALLOWED_SERVERS)
    } else {
        values_in(all.iter().copied(), ALLOWED_SERVERS)
    };
    if !lists.is_empty() {
        let entries: Vec<_> = lists.iter().flat_map(|list| items(list)).collect();
        let is_by_command = entries
            .iter()
            .any(|entry| !entry["serverCommand"].is_null());
        let allowed = Allowed {
            entries,
            is_by_command,
        };
        let are_mods_off = faults.contains(&Fault::ModsOff);
        faults.extend(allowed.faults(servers, are_mods_off));
    }
    faults
}

/// Whether these files switch our plugin on, and each marketplace of which they do is a folder by
/// one of them that is not there.
fn is_plugin_gone(all: &[&Value]) -> bool {
    let on = Value::Bool(true);
    let mut names = all
        .iter()
        .flat_map(|file| marketplaces(file, &on))
        .peekable();
    names.peek().is_some()
        && names.all(|name| {
            let mut sources = all
                .iter()
                .filter_map(|file| file["extraKnownMarketplaces"][name]["source"]["path"].as_str());
            sources.any(|path| Path::new(path).is_absolute() && !Path::new(path).exists())
        })
}

const ALLOWED_SERVERS: &str = "/allowedMcpServers";

/// The values of a key, as a JSON pointer, in those of these files that have it.
fn values_in<'a>(files: impl IntoIterator<Item = &'a Value>, pointer: &str) -> Vec<&'a Value> {
    let files = files.into_iter();
    files.filter_map(|file| file.pointer(pointer)).collect()
}

/// The lists of allowed servers, as one. If a command is listed, a server counts by its command,
/// and not by its name.
struct Allowed<'a> {
    entries: Vec<&'a Value>,
    is_by_command: bool,
}

impl Allowed<'_> {
    /// Whether this server may run.
    fn has(&self, ours: &Ours<'_>) -> bool {
        let mut entries = self.entries.iter();
        if self.is_by_command {
            entries.any(|entry| ours.is_command_of(entry))
        } else {
            entries.any(|entry| entry["serverName"] == ours.name)
        }
    }

    /// The faults for the servers of ours that these lists do not allow, and one if they list
    /// commands. `servers` are those of own agents. If `are_mods_off`, the plugin's agent has only
    /// the server that all agents share; else it has its own ([`MODULES_SERVER`]).
    fn faults(&self, servers: &[&str], are_mods_off: bool) -> Vec<Fault> {
        // The name of the server that all agents share has colons, which no entry may have.
        let is_shared_allowed = self.is_by_command && self.has(&SHARED_SERVER);
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
        if self.is_by_command {
            faults.push(Fault::ServersByCommand);
        }
        faults
    }
}

impl Condition {
    /// Whether a key with these `values` switches something off. `values` are those of the files
    /// that have the key, in the files' order. False if no file has it. What several files list
    /// counts as one list. A value that is no list lists nothing.
    fn is_met(&self, values: &[&Value]) -> bool {
        if values.is_empty() {
            return false;
        }
        let listed: Vec<_> = values.iter().flat_map(|value| items(value)).collect();
        match self {
            Self::True => values.iter().any(|value| **value == true),
            Self::NotFalse => values.iter().any(|value| **value != false),
            Self::WithoutMarketplace => !listed.iter().any(|entry| lets_our_marketplace_in(entry)),
            Self::Listing(name) => listed.iter().any(|entry| *entry == name),
            // Lists of all files count, but `true` counts in the first file alone.
            Self::ListingOrTrue(name) => {
                *values[0] == true || listed.iter().any(|entry| *entry == name)
            }
        }
    }
}

/// The faults for agents that deny rules, or lists of denied servers in these files, keep from
/// their server: the plugin's agent, which has two servers, and own agents with these `servers`.
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

/// The entry of a list that keeps an agent from starting, or from the tool of its server:
/// `Agent(notes) in permissions.deny` or `notes in deniedMcpServers`. None if no list has one.
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
        // A plugin's server has colons there.
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

/// The values of an administrator's files in this folder, of each that is there and can be read.
/// Into `faults` go files that cannot be read, switch all hooks off, or choose all servers.
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

/// The files that an administrator's settings may be in.
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
