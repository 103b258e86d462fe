//! What Claude Code makes of the settings files that it reads: which of them it loads, and what
//! in them switches our agents or rules off.

use crate::{
    Variables,
    javascript::of_javascript,
    rules::{Denied, OddPlace, Places},
};
use keyhole_walk::printable::printable_text;
use serde_json::Value;
use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

/// The folder of an administrator's settings.
const MANAGED: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/ClaudeCode"
} else {
    "/etc/claude-code"
};

/// A way in which an agent gets its file, or what keeps the main conversation from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The plugin's agent.
    Plugin,
    /// An agent's file that starts a server.
    Agent,
    /// The deny rules of the user's settings.
    Rules,
}

/// Something that is wrong with the settings, or switched off in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong, what it means, and what to do.
    pub text: String,
    /// What does not work then.
    pub ways: Vec<Way>,
}

/// What an administrator's keys do: where the key is, when it counts (it is true; it is a list
/// without anything of ours; it lists this), what stops by it, and words.
const DECIDED: &str = include_str!("settings/decided.txt");

/// What a value must be (or after `|`, may be). Otherwise the client loads nothing of the file.
/// `*` is each member, EVENT each of [`EVENTS`], `[]` each of a list, and `[command]` each of that
/// type; with `!`, it must be there.
const SHAPES: &str = include_str!("settings/shapes.txt");

/// The events of hooks that each client knows. It takes no notice of others.
const EVENTS: &str = "PreToolUse PermissionRequest PostToolUse SubagentStart SubagentStop SessionStart SessionEnd Stop UserPromptSubmit";

const UNREAD: &str = "what an administrator decides by a server or by device management (MDM) cannot be read here: /status in Claude Code names these sources";

/// The settings of Claude Code.
#[derive(Debug)]
pub struct Settings {
    /// The client's places.
    pub places: Result<Places, OddPlace>,
    /// The user's settings. Null if there are none, or the client does not load them.
    pub value: Value,
    /// The administrator's, each of one file.
    pub managed: Vec<Value>,
    /// The project's: each file as it is shown, its project's folder, and what it says, if that can
    /// be read here. The client reads more, such as `1e999`.
    pub projects: Vec<(String, PathBuf, Result<Value, String>)>,
    /// Those that are known without the servers' names.
    faults: Vec<Fault>,
}

impl Settings {
    /// Reads the user's and the administrator's settings, and in `here`, if it is given, what the
    /// project's switch off.
    pub fn read(home: &Path, variable: Variables<'_>, here: Option<&Path>) -> Self {
        Self::of(Places::find(home, variable), here, Path::new(MANAGED))
    }

    fn of(places: Result<Places, OddPlace>, here: Option<&Path>, machine: &Path) -> Self {
        let (mut value, mut faults, mut projects) = (Value::Null, Vec::new(), Vec::new());
        let users = places.as_ref().ok().map(Places::settings);
        match &places {
            Ok(places) => {
                let shown = format!("{}/settings.json", places.shown);
                let loaded = loaded(&places.settings(), &shown);
                let loaded = loaded.map_err(|fault| faults.push(fault));
                value = loaded.unwrap_or_default();
                faults.extend(hooks_off(&value, &shown));
            }
            Err(error) => faults.push(Fault::of("rules", error.to_string())),
        }
        for name in ["settings.json", "settings.local.json"] {
            let file = here.map(|here| here.join(".claude").join(name));
            let shown = format!(".claude/{name} of this folder");
            let file = file.filter(|file| users.as_ref() != Some(file));
            let read = file.map_or(Ok(Value::Null), |file| parsed(&file));
            let unknown = "so what it switches off is unknown";
            let unread = read.as_ref().err();
            let unread = unread.map(|why| Fault::of("-", format!("{shown} {why}, {unknown}")));
            faults.extend(unread);
            // One that the client does not load switches nothing off.
            let loaded = read.as_ref().ok().filter(|value| odd(value).is_none());
            let project = loaded.unwrap_or(&Value::Null);
            faults.extend(hooks_off(project, &shown));
            let text = format!("{shown} switches the plugin off");
            let is_off = switches_plugin(project, false);
            faults.extend(is_off.then(|| Fault::of("plugin", text)));
            projects.extend(here.map(|here| (shown, here.to_owned(), read)));
        }
        Self {
            places,
            value,
            projects,
            managed: managed(machine, &mut faults),
            faults,
        }
    }

    /// What the settings that count deny.
    pub fn denied(&self) -> Denied {
        let users = Some(&self.value).filter(|_| !self.is_managed_alone());
        Denied::of(self.managed.iter().chain(users))
    }

    /// Where rules count. None if the client does not load the user's settings.
    pub fn rules_file(&self) -> Option<String> {
        let mut stopped = self.faults.iter().flat_map(|fault| &fault.ways);
        let is_loaded = stopped.all(|way| *way != Way::Rules);
        let places = self.places.as_ref().ok().filter(|_| is_loaded)?;
        let users = format!("{}/settings.json", places.shown);
        let managed = Some("the administrator's settings".to_owned());
        managed.filter(|_| self.is_managed_alone()).or(Some(users))
    }

    fn is_managed_alone(&self) -> bool {
        let is = |value: &Value| value["allowManagedPermissionRulesOnly"] == true;
        self.managed.iter().any(is)
    }

    /// What is wrong or switched off. `servers` are the names of own agents' servers.
    pub fn faults(&self, servers: &[&str]) -> Vec<Fault> {
        let mut faults = self.faults.clone();
        for row in DECIDED.lines() {
            let mut cells = row.split(" | ");
            let mut cell = || cells.next().unwrap_or_default();
            let (pointer, when, ways) = (cell(), cell(), cell());
            let all = self.managed.iter();
            let values: Vec<_> = all.filter_map(|one| one.pointer(pointer)).collect();
            let mut listed = values.iter().filter_map(|all| all.as_array()).flatten();
            let is_ours = |entry: &Value| {
                let name = entry["serverName"].as_str().unwrap_or_default();
                servers.contains(&name) || entry.to_string().contains("keyhole")
            };
            let counts = match when {
                "without" => !values.is_empty() && !listed.any(is_ours),
                "true" => values.iter().any(|value| **value == true),
                // All that can be listed, if it is true: then the row on hooks says it.
                "hooks" if values.first().is_some_and(|all| **all == true) => true,
                one => listed.any(|it| it == one),
            };
            let key = pointer.rsplit('/').next().unwrap_or_default();
            let text = format!("an administrator set {key}: {}", cell());
            faults.extend(counts.then(|| Fault::of(ways, text)));
        }
        let unread = Fault::of("-", UNREAD.to_owned());
        faults.extend((!self.managed.is_empty()).then_some(unread));
        faults
    }
}

impl Fault {
    fn of(words: &str, text: String) -> Self {
        let mut ways = vec![Way::Plugin, Way::Agent, Way::Rules];
        ways.retain(|way| words.contains(&format!("{way:?}").to_lowercase()));
        Self { text, ways }
    }
}

/// The settings, if the client loads the file.
fn loaded(file: &Path, shown: &str) -> Result<Value, Fault> {
    let checked = parsed(file).and_then(|value| odd(&value).map_or(Ok(value), Err));
    checked.map_err(|why| {
        let is_of_hooks = why.contains(": hooks");
        let some = if is_of_hooks { " (in some versions)" } else { "" };
        let text = format!(
        "{shown} {why}. Claude Code then loads nothing of this file{some}: no deny rule, hook or plugin in it counts. Fix it, and check again"
    );
    Fault::of("plugin rules", text)
    })
}

fn hooks_off(settings: &Value, shown: &str) -> Option<Fault> {
    let text = format!(
        "disableAllHooks is true in {shown}, so no hook and no mod runs, and no agent gets its file. Take it out"
    );
    (settings["disableAllHooks"] == true).then(|| Fault::of("plugin agent", text))
}

/// Whether these settings switch our plugin on, or off.
pub fn switches_plugin(settings: &Value, wanted: bool) -> bool {
    let mut plugins = settings["enabledPlugins"].as_object().into_iter().flatten();
    plugins.any(|(name, on)| name.starts_with("keyhole@") && *on == wanted)
}

/// What an administrator's files hold.
fn managed(folder: &Path, faults: &mut Vec<Fault>) -> Vec<Value> {
    let mut files = vec![folder.join("managed-settings.json")];
    let more = fs::read_dir(folder.join("managed-settings.d"));
    files.extend(more.into_iter().flatten().flatten().map(|file| file.path()));
    files.retain(|file| file.extension().is_some_and(|ending| ending == "json"));
    let mut values = Vec::new();
    for file in files {
        let shown = file.display().to_string();
        let unknown = "so what an administrator decided there is unknown";
        match parsed(&file) {
            Ok(Value::Null) => {}
            Ok(value) => {
                faults.extend(hooks_off(&value, &shown));
                values.push(value);
            }
            Err(why) => faults.push(Fault::of("-", format!("{shown} {why}, {unknown}"))),
        }
    }
    let servers = folder.join("managed-mcp.json");
    if servers.exists() {
        let text = format!(
            "an administrator set {}: only the servers that it allows run, so neither the plugin's agent nor your own agents' servers give a file. A hook (keyhole inject) still does",
            servers.display()
        );
        faults.push(Fault::of("plugin agent", text));
    }
    values
}

/// The JSON of a file, as the client reads it, or what is wrong. Null if nothing is there.
fn parsed(file: &Path) -> Result<Value, String> {
    // A pipe would hold us up.
    if fs::metadata(file).is_ok_and(|found| !found.is_file()) {
        return Err("is not a file".to_owned());
    }
    let bytes = match fs::read(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Value::Null),
        read => read.map_err(|error| format!("cannot be read ({error})"))?,
    };
    let text = decoded(&bytes).ok_or("is not JSON: it is neither UTF-8 nor UTF-16")?;
    json(&text).map_err(|error| format!("is not JSON (line {})", error.line()))
}

/// The value of a text, as the client reads it.
pub fn json(text: &str) -> serde_json::Result<Value> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    of_javascript(text)
}

/// The text. A byte order mark says which encoding it has.
fn decoded(bytes: &[u8]) -> Option<String> {
    match bytes {
        [0xff, 0xfe, units @ ..] => {
            let (units, rest) = units.as_chunks();
            let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
            let text = char::decode_utf16(units).collect::<Result<_, _>>().ok();
            text.filter(|_| rest.is_empty())
        }
        [0xef, 0xbb, 0xbf, text @ ..] | text => String::from_utf8(text.to_owned()).ok(),
    }
}

/// The first value for which the client would not load the file, and what it must be.
fn odd(settings: &Value) -> Option<String> {
    if !settings.is_object() && !settings.is_null() {
        return Some("has a wrong value: the file must be an object".to_owned());
    }
    SHAPES.lines().find_map(|row| {
        let (wanted, paths) = row.split_once(": ")?;
        paths.split(' ').find_map(|path| {
            let path: Vec<_> = path.split('.').collect();
            let key = odd_at(settings, &path, wanted)?;
            let key = printable_text(key.trim_start_matches('.'));
            let words = wanted.split('|').next()?;
            Some(format!("has a wrong value: {key} must be {words}"))
        })
    })
}

/// The path of the first value there that is not what is wanted.
fn odd_at(value: &Value, path: &[&str], wanted: &str) -> Option<String> {
    let Some((key, rest)) = path.split_first() else {
        let is_fine = wanted.split('|').any(|wanted| is(value, wanted));
        return (!is_fine).then(String::new);
    };
    let below = |(key, value): (&str, &Value)| {
        let tail = odd_at(value, rest, wanted)?;
        Some(format!(".{key}{tail}"))
    };
    let members = value.as_object().into_iter().flatten();
    let mut members = members.map(|(key, value)| (&**key, value));
    match key.trim_matches(['[', ']', '!']) {
        kind if key.starts_with('[') => {
            let list = value.as_array()?.iter();
            let mut list = list.filter(|one| kind.is_empty() || one["type"] == kind);
            list.find_map(|one| odd_at(one, rest, wanted))
        }
        "*" => members.find_map(below),
        "EVENT" => {
            let is_event = |key: &str| EVENTS.split(' ').any(|event| event == key);
            members.filter(|(key, _)| is_event(key)).find_map(below)
        }
        name => {
            let absent = Some(&Value::Null).filter(|_| name != *key);
            below((name, value.get(name).or(absent)?))
        }
    }
}

fn is(value: &Value, wanted: &str) -> bool {
    let all = |is: fn(&Value) -> bool| value.as_array().is_some_and(|list| list.iter().all(is));
    match wanted {
        "an object" => value.is_object(),
        "no objects" => !value.is_array() || all(|one| !one.is_object()),
        "a list" => value.is_array(),
        "null" => value.is_null(),
        "a list of texts" => all(Value::is_string),
        "a text" => value.is_string(),
        "a number above 0" => value.as_f64().is_some_and(|number| number > 0.0),
        "true or false" => value.is_boolean(),
        words => value.as_str().is_some_and(|text| {
            let mut words = words.split([',', ' ']);
            words.any(|word| word == text && !["", "or"].contains(&word))
        }),
    }
}

#[cfg(test)]
mod tests;
