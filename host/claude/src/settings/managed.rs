//! What an administrator's settings decide; and with all others, which agents and servers are
//! denied.

use super::{fault::Fault, file::parsed, hooks_off, items, switches_plugin_on};
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
    /// With which values it does.
    by: Decides,
    /// What is off then.
    fault: Fault,
}

/// With which values a key switches something off. What several files list counts as one list.
enum Decides {
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
const SHARED: Ours<'_> = Ours {
    name: PLUGIN_SERVERS[0].name,
    agent: PLUGIN.agent,
    words: ["serve", "--require-ticket"],
};

/// The server that the plugin's module gives to its agent.
const MODULES: Ours<'_> = Ours {
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
        by: Decides::True,
        fault: Fault::ManagedHooksOnly,
    },
    Decision {
        pointer: "/strictKnownMarketplaces",
        by: Decides::WithoutMarketplace,
        fault: Fault::MarketplaceNotAllowed,
    },
    Decision {
        pointer: "/allowManagedPermissionRulesOnly",
        by: Decides::True,
        fault: Fault::ManagedRulesOnly,
    },
    Decision {
        pointer: "/strictPluginOnlyCustomization",
        by: Decides::Listing("agents"),
        fault: Fault::OwnAgentsOff,
    },
    Decision {
        pointer: "/strictPluginOnlyCustomization",
        by: Decides::Listing("mcp"),
        fault: Fault::OwnServersOff,
    },
    // If the key is true, agents and servers are off as well. One fault is enough.
    Decision {
        pointer: "/strictPluginOnlyCustomization",
        by: Decides::ListingOrTrue("hooks"),
        fault: Fault::OwnHooksOff,
    },
    Decision {
        pointer: "/pluginConfigs/cc-plugin-sec-default@builtin/options/allowManagedModsOnly",
        by: Decides::NotFalse,
        fault: Fault::ModsOff,
    },
];

/// What the keys in `managed`, an administrator's files, switch off. All files in `all` add to the
/// list of allowed servers, unless an administrator lets only `managed` count. `servers` are the
/// names of own agents' servers.
pub(super) fn decided(managed: &[Value], all: &[&Value], servers: &[&str]) -> Vec<Fault> {
    let is_plugin_theirs = managed.iter().any(switches_plugin_on);
    let mut faults = Vec::new();
    for decision in DECISIONS {
        let set = set_in(managed, decision.pointer);
        if decision.by.holds(&set) {
            match decision.fault {
                // Hooks and mods of a plugin that an administrator switches on are theirs.
                Fault::ManagedHooksOnly if is_plugin_theirs => faults.push(Fault::OwnHooksOff),
                Fault::ModsOff if is_plugin_theirs => {}
                fault => faults.push(fault),
            }
        }
    }
    let mut files = managed.iter();
    let lists = if files.any(|file| file["allowManagedMcpServersOnly"] == true) {
        set_in(managed, ALLOWED_SERVERS)
    } else {
        set_in(all.iter().copied(), ALLOWED_SERVERS)
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

const ALLOWED_SERVERS: &str = "/allowedMcpServers";

/// What these files have at this place, each that has something.
fn set_in<'a>(files: impl IntoIterator<Item = &'a Value>, pointer: &str) -> Vec<&'a Value> {
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

    /// Whom it leaves without a server.
    fn faults(&self, servers: &[&str], are_mods_off: bool) -> Vec<Fault> {
        // The name of the server that all agents share has colons, which no entry may have.
        let shared = self.is_by_command && self.has(&SHARED);
        let first = if are_mods_off {
            shared
        } else {
            self.has(&MODULES)
        };
        let mut faults = Vec::new();
        if !first {
            faults.push(Fault::ServersNotAllowed);
        } else if !shared {
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

impl Decides {
    /// Whether a key that is `set` to these values, each by one file, switches something off. A key
    /// that no file has does not.
    fn holds(&self, set: &[&Value]) -> bool {
        if set.is_empty() {
            return false;
        }
        let listed: Vec<_> = set.iter().flat_map(|value| items(value)).collect();
        match self {
            Self::True => set.iter().any(|value| **value == true),
            Self::NotFalse => set.iter().any(|value| **value != false),
            Self::WithoutMarketplace => !listed.iter().any(|entry| is_our_marketplace(entry)),
            Self::Listing(name) => listed.iter().any(|entry| *entry == name),
            Self::ListingOrTrue(name) => {
                *set[0] == true || listed.iter().any(|entry| *entry == name)
            }
        }
    }
}

/// What deny rules, or lists of denied servers in these files, keep from an agent with a server of
/// ours: from the plugin's agent, which has two servers, and from own agents with these `servers`.
pub(super) fn denied(rules: &Denied, files: &[&Value], servers: &[&str]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for ours in [SHARED, MODULES] {
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
fn is_our_marketplace(entry: &Value) -> bool {
    entry.to_string().contains("keyhole")
}

/// What an administrator's files in this folder say, each that can be read. What is wrong with them
/// goes into `faults`.
pub(super) fn read(folder: &Path, faults: &mut Vec<Fault>) -> Vec<Value> {
    let mut values = Vec::new();
    for path in files(folder) {
        let file = path.display().to_string();
        match parsed(&path) {
            Ok(Value::Null) => {}
            Ok(value) => {
                faults.extend(hooks_off(&value, &file));
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
