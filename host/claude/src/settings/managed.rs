//! What an administrator's settings decide; and with all others, which agents and servers are
//! denied.

use super::{fault::Fault, file::parsed, hooks_off, items};
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
    /// The key lists servers, and not that of the plugin's agent.
    WithoutPlugins,
    /// The key lists servers, and not that of each own agent.
    WithoutOwn,
    /// The key lists commands. Then a server that is a command counts by that, and not by its name.
    ListingCommands,
    /// The key is there, and lists no marketplace of ours.
    WithoutMarketplace,
    /// The key lists this.
    Listing(&'static str),
    /// The key lists this; or it is true in the first file that has it, which stands for a list of
    /// all.
    ListingOrTrue(&'static str),
}

const ALLOWED_SERVERS: &str = "/allowedMcpServers";

const DECISIONS: [Decision; 10] = [
    Decision {
        pointer: "/allowManagedHooksOnly",
        by: Decides::True,
        fault: Fault::ManagedHooksOnly,
    },
    Decision {
        pointer: ALLOWED_SERVERS,
        by: Decides::WithoutPlugins,
        fault: Fault::ServersNotAllowed,
    },
    Decision {
        pointer: ALLOWED_SERVERS,
        by: Decides::WithoutOwn,
        fault: Fault::OwnServersNotAllowed,
    },
    Decision {
        pointer: ALLOWED_SERVERS,
        by: Decides::ListingCommands,
        fault: Fault::ServersByCommand,
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
        by: Decides::True,
        fault: Fault::ModsOff,
    },
];

/// What the keys in `managed`, an administrator's files, switch off. All files in `all` add to the
/// list of allowed servers, unless an administrator lets only `managed` count. `servers` are the
/// names of own agents' servers.
pub(super) fn decided(managed: &[Value], all: &[&Value], servers: &[&str]) -> Vec<Fault> {
    let of_managed: Vec<&Value> = managed.iter().collect();
    let mut files = managed.iter();
    let are_all_counting = !files.any(|file| file["allowManagedMcpServersOnly"] == true);
    let mut faults = Vec::new();
    for decision in DECISIONS {
        let counting = if decision.pointer == ALLOWED_SERVERS && are_all_counting {
            all
        } else {
            &of_managed
        };
        let set: Vec<&Value> = counting
            .iter()
            .filter_map(|file| file.pointer(decision.pointer))
            .collect();
        if decision.by.holds(&set, servers) {
            faults.push(decision.fault);
        }
    }
    faults
}

impl Decides {
    /// Whether a key that is `set` to these values, each by one file, switches something off. A key
    /// that no file has does not.
    fn holds(&self, set: &[&Value], servers: &[&str]) -> bool {
        if set.is_empty() {
            return false;
        }
        let listed: Vec<_> = set.iter().flat_map(|value| items(value)).collect();
        match self {
            Self::True => set.iter().any(|value| **value == true),
            Self::WithoutPlugins => lacks_one(&listed, &[PLUGIN_SERVERS[1].name]),
            Self::WithoutOwn => lacks_one(&listed, servers),
            Self::ListingCommands => listed.iter().any(|entry| is_command(entry)),
            Self::WithoutMarketplace => !listed.iter().any(|entry| is_our_marketplace(entry)),
            Self::Listing(name) => listed.iter().any(|entry| *entry == name),
            Self::ListingOrTrue(name) => {
                *set[0] == true || listed.iter().any(|entry| *entry == name)
            }
        }
    }
}

/// What deny rules, or lists of denied servers in these files, keep from an agent with a server of
/// ours.
pub(super) fn denied(rules: &Denied, files: &[&Value], servers: &[&str]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for server in PLUGIN_SERVERS {
        if let Some(entry) = denial(rules, files, server.name, PLUGIN.agent) {
            faults.push(Fault::PluginDenied { entry });
        }
    }
    for server in servers {
        if let Some(entry) = denial(rules, files, server, server) {
            faults.push(Fault::OwnDenied { entry });
        }
    }
    faults.dedup();
    faults
}

/// The entry of a list that keeps this agent from starting, or from the tool of this server:
/// `Agent(notes) in permissions.deny` or `notes in deniedMcpServers`. None if no list has one.
fn denial(rules: &Denied, files: &[&Value], server: &str, agent: &str) -> Option<String> {
    if let Some(rule) = rules.stopping(server, agent) {
        return Some(format!("{} in permissions.deny", printable_text(rule)));
    }
    let entries = files
        .iter()
        .flat_map(|file| items(&file["deniedMcpServers"]));
    let mut names = entries.filter_map(|entry| entry["serverName"].as_str());
    // A plugin's server has colons there.
    if names.any(|name| name.replace(':', "_") == server) {
        return Some(format!("{server} in deniedMcpServers"));
    }
    None
}

/// Whether these entries allow servers by their names, and one of these names is not there.
fn lacks_one(listed: &[&Value], names: &[&str]) -> bool {
    if listed.iter().any(|entry| is_command(entry)) {
        return false;
    }
    let mut allowed = Vec::new();
    for entry in listed {
        allowed.extend(entry["serverName"].as_str());
    }
    !names.iter().all(|name| allowed.contains(name))
}

/// Whether an entry allows what is started by a command.
fn is_command(entry: &Value) -> bool {
    !entry["serverCommand"].is_null()
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
