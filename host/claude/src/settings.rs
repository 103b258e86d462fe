//! What Claude Code makes of the settings files that it reads: which of them it loads, and what
//! in them switches our agents or rules off.
#![allow(clippy::disallowed_methods, reason = "the client's own files")]

mod fault;
mod file;
mod installed;
mod links;
mod managed;
mod project;
mod shapes;

use crate::{
    Variables,
    paths::without_links,
    rules::{Denied, OddPlace, Places},
    usual_map,
};
pub use fault::{Fault, Way};
use file::loaded;
pub(crate) use file::parsed;
pub use file::{NotLoaded, Unread, json};
pub use links::Link;
use managed::is_true_in_one;
use serde_json::Value;
pub use shapes::WrongValue;
use std::path::Path;

/// The folder of an administrator's settings.
const MANAGED: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/ClaudeCode"
} else {
    "/etc/claude-code"
};

/// The variable that keeps the client from having an agent's own model say, every half minute, what
/// the agent does. The main conversation reads such a line, and no hook is asked about it.
pub const NO_PROGRESS_LINES: &str = "CLAUDE_CODE_DISABLE_AGENT_PROGRESS_SUMMARIES";

/// The key by which an administrator lets only their own permission rules count.
const MANAGED_RULES_ONLY: &str = "allowManagedPermissionRulesOnly";

/// The variables by which a server without `--map` finds the map.
const FINDS_MAP: [&str; 2] = ["HOME", "XDG_CONFIG_HOME"];

/// The settings of Claude Code.
#[derive(Debug)]
pub struct Settings {
    /// The client's places.
    pub places: Result<Places, OddPlace>,
    /// The user's settings. Null if there are none, or the client does not load them.
    pub value: Value,
    /// The administrator's, each of one file.
    pub managed: Vec<Value>,
    /// The project's settings and lists of servers.
    pub projects: Vec<ProjectFile>,
    /// The links by which the client reads texts of the project elsewhere.
    pub links: Vec<Link>,
    /// The faults that were found when the files were read.
    faults: Vec<Fault>,
}

/// A file of a project.
#[derive(Debug)]
pub struct ProjectFile {
    /// The file, for people.
    pub shown: &'static str,
    /// What the file says, null if there is no file; or why nobody can tell. The client can read
    /// more, such as the number `1e999`.
    pub read: Result<Value, Unread>,
}

impl Settings {
    /// Reads the user's and the administrator's settings, and those of the project of `here`, if it
    /// is given.
    pub fn read(home: &Path, variable: Variables<'_>, here: Option<&Path>) -> Self {
        let mut settings = Self::of(Places::find(home, variable), here, Path::new(MANAGED));
        settings.note_map_elsewhere(home, variable);
        settings
    }

    /// Notes a fault for each of `HOME` and `XDG_CONFIG_HOME` ([`FINDS_MAP`]) by which the client's
    /// servers would look for the map elsewhere than this process. The client gives its servers
    /// what the user's or an administrator's settings set under `env`; this process has `home` and
    /// `variable`. For example, `"XDG_CONFIG_HOME": "/c"` makes servers look in `/c/keyhole`. No
    /// fault if neither is set, or if the map's path is the same.
    fn note_map_elsewhere(&mut self, home: &Path, variable: Variables<'_>) {
        let here = usual_map(home, variable);
        for name in FINDS_MAP {
            let in_env = self
                .users_and_managed()
                .find_map(|file| file["env"][name].as_str());
            let Some(set) = in_env else {
                continue;
            };
            let new_home = if name == "HOME" { Path::new(set) } else { home };
            let there = usual_map(new_home, |other| {
                if other == name {
                    Some(set.into())
                } else {
                    variable(other)
                }
            });
            if there != here {
                self.faults.push(Fault::MapElsewhere { name });
            }
        }
    }

    /// Reads the user's settings in `places`, the settings of the project of the folder `here`, if
    /// it is given, and the administrator's settings in the folder `machines`. A file that cannot
    /// be used is noted as a fault, and leaves `value` null, or `managed` without a value.
    fn of(places: Result<Places, OddPlace>, here: Option<&Path>, machines: &Path) -> Self {
        let mut settings = Self {
            places,
            value: Value::Null,
            managed: Vec::new(),
            projects: Vec::new(),
            links: Vec::new(),
            faults: Vec::new(),
        };
        settings.read_users();
        if let Some(folder) = here {
            settings.read_projects(folder);
        }
        settings.managed = managed::read(machines, &mut settings.faults);
        settings
    }

    /// Reads the user's settings into `value`. It stays null, and a fault is noted, in two cases: a
    /// variable such as `CLAUDE_CONFIG_DIR` is a path that no rule can name, such as `/a*`
    /// ([`OddPlace`]), so nothing is read; or the client loads nothing of the file. A fault is also
    /// noted if the settings switch all hooks off. A missing file counts as an empty one.
    fn read_users(&mut self) {
        let places = match &self.places {
            Ok(places) => places,
            Err(place) => {
                self.faults.push(Fault::OddPlace {
                    place: place.clone(),
                });
                return;
            }
        };
        let file = places.shown_settings();
        match loaded(&places.settings()) {
            Ok(value) => {
                self.faults.extend(fault_if_hooks_off(&value, &file));
                self.value = value;
            }
            Err(why) => self.faults.push(Fault::SettingsNotLoaded { file, why }),
        }
    }

    /// Reads the settings files and the links of the project of this folder, and notes the faults
    /// of the files. If the folder is the home, also past links, `.claude/settings.json` is the
    /// user's own file, and no project's: it is left out.
    fn read_projects(&mut self, folder: &Path) {
        let places = self.places.as_ref().ok();
        // If the home is unknown, `/` is taken for it.
        let home = places.map_or(Path::new("/"), |places| &places.home);
        let users_file = places.map(|places| without_links(&places.settings()));
        self.links = links::links(folder, home);
        for project::File { path, shown } in project::files(folder, home) {
            if users_file.as_ref() != Some(&without_links(&path)) {
                let read = parsed(&path);
                self.judge_project(shown, &read);
                self.projects.push(ProjectFile { shown, read });
            }
        }
    }

    /// Notes the faults of a project's file: that it switches all hooks off, that it switches the
    /// plugin off, or that it cannot be read. `shown` is the file's name, for people.
    fn judge_project(&mut self, shown: &str, value_or_why: &Result<Value, Unread>) {
        let file = shown.to_owned();
        match value_or_why {
            Ok(value) => {
                self.faults.extend(fault_if_hooks_off(value, &file));
                if switches_plugin_off(value) {
                    self.faults.push(Fault::PluginOff { file });
                }
            }
            Err(why) => self.faults.push(Fault::SettingsUnread {
                file,
                why: why.clone(),
            }),
        }
    }

    /// The administrator's settings and the user's.
    pub(crate) fn users_and_managed(&self) -> impl Iterator<Item = &Value> {
        self.managed.iter().chain([&self.value])
    }

    /// All settings: the administrator's, the user's, and the project's.
    fn all(&self) -> Vec<&Value> {
        let projects = self.projects.iter();
        let read = projects.filter_map(|project| project.read.as_ref().ok());
        self.users_and_managed().chain(read).collect()
    }

    /// The deny rules that count, without those of a project.
    pub fn denied(&self) -> Denied {
        self.denied_in(self.users_and_managed())
    }

    /// The deny rules that count of these files; but if an administrator lets only their own rules
    /// count, those of the administrator's files.
    fn denied_in<'a>(&'a self, files: impl Iterator<Item = &'a Value>) -> Denied {
        if is_true_in_one(&self.managed, MANAGED_RULES_ONLY) {
            Denied::of(&self.managed)
        } else {
            Denied::of(files)
        }
    }

    /// Whether the user's or an administrator's settings switch our plugin on.
    pub fn switch_plugin_on(&self) -> bool {
        let mut counting = self.users_and_managed();
        counting.any(switches_plugin_on)
    }

    /// Whether the client has our plugin: the user's or an administrator's settings switch it on,
    /// and it is not gone.
    pub fn has_plugin(&self) -> bool {
        self.switch_plugin_on() && !self.is_plugin_gone()
    }

    /// Whether any settings switch our plugin on, also a project's.
    pub fn switch_plugin_on_here(&self) -> bool {
        self.all().into_iter().any(switches_plugin_on)
    }

    /// Whether the client may say in the main conversation what agents do. False if the user's or
    /// an administrator's settings set [`NO_PROGRESS_LINES`] to 1. No project's settings undo that.
    pub fn lets_agents_tell_progress(&self) -> bool {
        let mut counting = self.users_and_managed();
        !counting.any(|one| one["env"][NO_PROGRESS_LINES] == "1")
    }

    /// The file, for people, in which deny rules count: `~/.claude/settings.json`, or "the
    /// administrator's settings" if only these may have rules. None if the client does not load the
    /// user's settings, or if a variable leads to a place that no rule can name.
    pub fn rules_file(&self) -> Option<String> {
        let mut stopped = self.faults.iter().flat_map(Fault::ways);
        if stopped.any(|way| *way == Way::Rules) {
            return None;
        }
        if is_true_in_one(&self.managed, MANAGED_RULES_ONLY) {
            return Some("the administrator's settings".to_owned());
        }
        self.places.as_ref().ok().map(Places::shown_settings)
    }

    /// What is wrong with the settings, or switched off in them, in this order: what was found when
    /// the files were read; that the plugin is gone; what settings switch off; agents and servers
    /// that are denied; and if
    /// there are an administrator's settings, that more of them may be elsewhere. `servers` are the
    /// names of own agents' servers. Empty if nothing is wrong.
    pub fn faults(&self, servers: &[&str]) -> Vec<Fault> {
        let mut faults = self.faults.clone();
        let all = self.all();
        if self.is_plugin_gone() {
            faults.push(Fault::PluginGone);
        }
        faults.extend(managed::switched_off(&self.managed, &all, servers));
        let rules = self.denied_in(all.iter().copied());
        faults.extend(managed::denied(&rules, &all, servers));
        // The administrator may decide more in places that are not read here.
        if !self.managed.is_empty() {
            faults.push(Fault::ManagedElsewhere);
        }
        faults
    }
}

/// The fault that these settings switch all hooks off: `disableAllHooks` is true. None if they do
/// not. `file` is their file, for people.
fn fault_if_hooks_off(settings: &Value, file: &str) -> Option<Fault> {
    if settings["disableAllHooks"] != true {
        return None;
    }
    Some(Fault::HooksOff {
        file: file.to_owned(),
    })
}

/// The JSON pointer to a place in settings: `/permissions/deny` for `permissions`, `deny`.
pub fn pointer(place: &[&str]) -> String {
    format!("/{}", place.join("/"))
}

/// What a user writes at a place in settings, for people: one line for each item of a list, as
/// `permissions.deny: "Read(~/a)"`, or one line for any other value.
pub fn lines_at(place: &[&str], value: &Value) -> Vec<String> {
    let key = place.join(".");
    match value {
        Value::Array(items) => items
            .iter()
            .map(|item| format!("{key}: {item:#}"))
            .collect(),
        other => vec![format!("{key}: {other:#}")],
    }
}

/// The items of a list. A value of another kind has none.
pub(crate) fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

/// The members of an object. A value of another kind has none.
pub(crate) fn members(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    object.as_object().into_iter().flatten()
}

/// Whether these settings switch our plugin on, from any marketplace.
fn switches_plugin_on(settings: &Value) -> bool {
    let mut on = marketplaces(settings, &Value::Bool(true));
    on.next().is_some()
}

/// Whether these settings switch our plugin off, from any marketplace.
fn switches_plugin_off(settings: &Value) -> bool {
    let mut off = marketplaces(settings, &Value::Bool(false));
    off.next().is_some()
}

/// The marketplaces from which these settings have our plugin with this switch: `shop` for
/// `"keyhole@shop": true`, if `switch` is true.
fn marketplaces<'s>(settings: &'s Value, switch: &Value) -> impl Iterator<Item = &'s str> {
    members(&settings["enabledPlugins"])
        .filter(move |(_, set)| *set == switch)
        .filter_map(|(name, _)| name.strip_prefix("keyhole@"))
}

#[cfg(test)]
mod tests;
