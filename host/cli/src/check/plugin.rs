//! What Claude Code's plugin asks: whether its agents would be served, and what keeps a
//! parent from reading what they read.

use super::{EntryReport, Report, current, make, within_deadline};
use keyhole_core::{AgentName, Key, LiveMap, Location, Map, MapError};
use keyhole_walk::printable::printable;
use serde_json::{Value, json};
use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The plugin's agents, the key that each has in its text, and a path for an example.
pub(super) const AGENTS: [(&str, &str, &str); 1] = [(
    "keyhole:privacy-scanner",
    "keyhole-privacy-catalog",
    "~/private/identifiers.md",
)];

/// Whether an agent of the plugin would be served, and what to do.
#[derive(Debug)]
pub(super) struct AgentReport {
    pub(super) agent: &'static str,
    pub(super) is_served: bool,
    pub(super) said: String,
}

impl Report {
    /// Adds what the plugin asks for. The main conversation reads this report, so it names
    /// no path of an entry, unless `is_private`; `command` is the one that shows them.
    pub(crate) fn for_the_plugin(
        mut self,
        live: &Arc<LiveMap>,
        command: &Path,
        is_private: bool,
    ) -> Self {
        let map = current(live).ok();
        let entries = self.outcome.as_deref().unwrap_or_default();
        let unusable = match &self.outcome {
            Err(MapError::Missing { .. }) | Ok(_) => None,
            Err(error) => Some(error.code()),
        };
        let judged = AGENTS.iter().map(|agent| match unusable {
            Some(code) => AgentReport {
                agent: agent.0,
                is_served: false,
                said: code.as_str().to_owned(),
            },
            None => judge(agent, map.as_deref(), entries),
        });
        self.agents = judged.collect();
        if let (Err(MapError::Missing { path }), true) = (&self.outcome, self.help.is_some()) {
            // The plugin's agents have keys of their own, so no fresh one helps them.
            self.help = make(path, "echo")
                .map(|make| format!("make it so, and put into it what stands below:\n\n{make}"));
        }
        if let Some(map) = &map {
            self.notes.extend(missing_rules(live.location(), map));
        }
        if !is_private {
            self.unabridged = Some(printable(command));
            self.roots
                .iter_mut()
                .for_each(|root| *root = "others could replace one".to_owned());
            for binding in &mut self.bindings {
                (binding.name, binding.message) = (
                    None,
                    binding.message.take().map(|_| "not served".to_owned()),
                );
            }
            if let Ok(entries) = &mut self.outcome {
                entries
                    .iter_mut()
                    .for_each(|entry| (entry.path, entry.detail) = (None, None));
            }
        }
        self
    }
}

fn judge(
    &(agent, key, path): &(&'static str, &str, &str),
    map: Option<&Map>,
    entries: &[EntryReport],
) -> AgentReport {
    let is_its = |(own, _): &(&Key, _)| own.expose() == key;
    let found = map.and_then(|map| {
        let of = map.entries();
        let at = of.iter().position(is_its)?;
        let names = of.get(at)?.1.agents();
        let is_for = |names: &[AgentName]| names.iter().any(|name| **name == *agent);
        Some((entries.get(at)?, names.map(is_for)))
    });
    let (is_served, said) = match found {
        None => (
            false,
            format!(
                "the map has no entry with its key. Put this at its end, with the path of your file:\n\n[keys.{key}]\npath = \"{path}\"\nagents = [\"{agent}\"]\n"
            ),
        ),
        Some((entry, Some(false))) => (
            false,
            format!(
                "line {} has its key, but for other agents: write agents = [\"{agent}\"] there",
                entry.line
            ),
        ),
        Some((entry, bound)) => match (entry.result, bound) {
            (Err(code), _) => (false, format!("{}, line {}", code.as_str(), entry.line)),
            (Ok(_), None) => (
                true,
                format!(
                    "would be served, and so would any other agent: write agents = [\"{agent}\"] on line {}",
                    entry.line
                ),
            ),
            (Ok(_), _) => (true, format!("would be served, line {}", entry.line)),
        },
    };
    AgentReport {
        agent,
        is_served,
        said,
    }
}

/// What the user's settings do not deny yet, of what tells the main conversation what its
/// agents were given: the client's two places, and the agents' own files.
pub(super) fn missing_rules(location: &Location, map: &Map) -> Option<String> {
    let home = location.home()?;
    let own = env::var_os("CLAUDE_CONFIG_DIR").map(PathBuf::from);
    let settings = own
        .unwrap_or_else(|| home.join(".claude"))
        .join("settings.json");
    #[expect(clippy::disallowed_methods, reason = "the client's own settings")]
    let settings = within_deadline(move || fs::read(settings).unwrap_or_default());
    let settings: Value = serde_json::from_slice(&settings.unwrap_or_default()).unwrap_or_default();
    let denied = settings["permissions"]["deny"].as_array();
    let denied = denied.into_iter().flatten().filter_map(Value::as_str);
    let denied: Vec<&str> = denied
        .filter_map(|rule| rule.strip_prefix("Read(")?.strip_suffix(')'))
        .collect();
    let is_denied = |place: &Path| {
        denied.iter().any(|rule| {
            let rule = match rule.strip_prefix('/') {
                Some(rest) => PathBuf::from(rest),
                None => location.expand(rule).unwrap_or_default(),
            };
            match rule.ends_with("**") {
                true => rule
                    .parent()
                    .is_some_and(|folder| place.starts_with(folder)),
                false => place == rule,
            }
        })
    };
    let temporary = env::temp_dir().join("claude-*");
    let mut missing = Vec::new();
    if !is_denied(&home.join(".claude/projects")) {
        missing.push("Read(~/.claude/projects/**)".to_owned());
    }
    if !is_denied(&temporary) {
        missing.push(format!("Read(/{}/**)", printable(&temporary)));
    }
    let keys = AGENTS
        .iter()
        .filter_map(|(_, key, _)| Key::try_from(*key).ok());
    let files = keys.filter_map(|key| location.expand(map.find(&key)?.path()));
    if files.into_iter().any(|file| !is_denied(&file)) {
        missing.push("Read(FOLDER/**) for the folder of your file".to_owned());
    }
    (!missing.is_empty()).then(|| {
        format!(
            "a parent may read what its agent reads: permissions.deny in ~/.claude/settings.json lacks {}; the plugin's page says how, in step 4",
            missing.join(" and ")
        )
    })
}

/// For the start of a session: a line if the map cannot be used, as the client shows it to
/// its user; otherwise nothing.
pub(crate) fn brief(live: &Arc<LiveMap>) -> Option<String> {
    let code = current(live).err()?.code();
    let said = format!(
        "keyhole: {}, so its agents get no file; /keyhole:check says what to write",
        code.as_str()
    );
    Some(json!({ "systemMessage": said }).to_string())
}
