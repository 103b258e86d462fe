//! What Claude Code's plugin asks: whether its agents would be served, and what keeps a
//! parent from reading what they read.

use super::{EntryReport, Report, system::folders_of_tasks, way::to_a_missing_map};
use crate::setup::shell_word;
use keyhole_core::{AgentName, Entry, Key, LiveMap, Location, Map, MapError};
use keyhole_walk::printable::visible;
use serde_json::{Value, json};
use std::{
    env::{self, consts::OS},
    fs,
    path::{Path, PathBuf},
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
        live: &LiveMap,
        command: &Path,
        is_private: bool,
    ) -> Self {
        let map = live.current().ok();
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
            None => agent_report(agent, map.as_deref(), entries, is_private),
        });
        self.agents = judged.collect();
        if let Err(MapError::Missing { .. }) = &self.outcome {
            let what = "run this. Then paste the lines below into that file.";
            self.help = to_a_missing_map(live.location(), what, "echo");
        }
        if let Some(map) = &map {
            self.notes.extend(missing_rules(live.location(), map));
        }
        if !is_private {
            let command = visible(command).and_then(shell_word);
            self.unabridged = Some(command.unwrap_or_else(|| "keyhole".to_owned()));
            self.roots
                .iter_mut()
                .for_each(|root| *root = "others could replace one".to_owned());
            let bound = self.bindings.iter_mut().map(|binding| {
                binding.name = None;
                &mut binding.file
            });
            let entries = self.outcome.iter_mut().flatten();
            for entry in entries.chain(bound) {
                (entry.path, entry.detail) = (None, None);
            }
        }
        self
    }
}

fn agent_report(
    &(agent, key, path): &(&'static str, &str, &str),
    map: Option<&Map>,
    entries: &[EntryReport],
    is_private: bool,
) -> AgentReport {
    let table = format!("[keys.{key}]\npath = \"{path}\"\nagents = [\"{agent}\"]\n");
    let caller = AgentName::try_from(agent).ok();
    let is_it = |name: &AgentName| caller.as_ref().is_some_and(|caller| name.means(caller));
    let of = map.map(Map::entries).unwrap_or_default();
    let is_for = |entry: &Entry| entry.agents().map(|names| names.iter().any(is_it));
    let at = of.iter().position(|(own, _)| own.expose() == key);
    let found = at.and_then(|at| Some((entries.get(at)?, is_for(of.get(at)?.1))));
    let is_served =
        found.is_some_and(|(entry, bound)| entry.result.is_ok() && bound != Some(false));
    let said = match found.map(|(entry, bound)| (entry.line, entry.result, bound)) {
        None => {
            let named = of.iter().find(|(_, entry)| is_for(entry) == Some(true));
            let meant = named.or(of.first().filter(|_| of.len() == 1));
            let meant = meant.map_or("Put".to_owned(), |(_, entry)| {
                let line = entry.line();
                format!("If line {line} is meant for it, change its key to {key}. Otherwise put")
            });
            format!(
                "the map has no entry with its key. {meant} this at its end, with the path of your file:\n\n{table}"
            )
        }
        Some((line, _, Some(false))) => format!(
            "line {line} has its key, but for other agents: write agents = [\"{agent}\"] there"
        ),
        Some((line, Err(code), _)) => {
            let more = match is_private {
                true => "",
                false => "; run the command above in a terminal of your own",
            };
            format!("{}, line {line}{more}", code.as_str())
        }
        Some((line, Ok(_), None)) => format!(
            "would be served, and so would any other agent. Under line {line}, add: agents = [\"{agent}\"]\nIf line {line} has the path as well, remove it, and put this at the end of the map, with the path:\n\n{table}"
        ),
        Some((line, Ok(_), _)) => format!("would be served, line {line}"),
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
    let temporary = env::var_os("CLAUDE_CODE_TMPDIR").map(PathBuf::from);
    let tasks = folders_of_tasks(OS, temporary, env::temp_dir());
    let shown = own.as_deref().map_or(Some("~/.claude"), visible);
    let (Some(shown), Some(_)) = (
        shown.map(str::to_owned),
        tasks
            .iter()
            .map(|folder| visible(folder))
            .collect::<Option<Vec<_>>>(),
    ) else {
        return Some(
            "CLAUDE_CONFIG_DIR, or the folder for temporary files, has a character that is not shown, so no rule for it can be told; use another place".to_owned(),
        );
    };
    let folder = own.unwrap_or_else(|| home.join(".claude"));
    let file = folder.join("settings.json");
    #[expect(clippy::disallowed_methods, reason = "the client's own settings")]
    let settings = fs::read(file).unwrap_or_default();
    let settings = decoded(&settings);
    let settings: Value = match settings.as_deref().map(serde_json::from_str) {
        Some(Ok(settings)) => settings,
        _ if settings.is_some_and(|text| text.trim().is_empty()) => Value::Null,
        _ => {
            return Some(format!(
                "{shown}/settings.json is not JSON; fix it, and check again"
            ));
        }
    };
    let denied = settings["permissions"]["deny"].as_array();
    let denied = denied.into_iter().flatten().filter_map(Value::as_str);
    let denied: Vec<&str> = denied
        .filter_map(|rule| match rule {
            "Read" => Some("//**"),
            rule => rule.strip_prefix("Read(")?.strip_suffix(')'),
        })
        .collect();
    let is_denied = |place: &Path| {
        denied.iter().any(|rule| {
            let pattern = match rule.strip_prefix('/') {
                Some(rest) => PathBuf::from(rest),
                None => location.expand(rule).unwrap_or_default(),
            };
            let (pattern, place) = (pattern.as_os_str(), place.as_os_str());
            means(pattern.as_encoded_bytes(), place.as_encoded_bytes())
        })
    };
    // What is in a folder.
    let is_denied_in = |folder: &Path| is_denied(&folder.join("x"));
    let mut missing = Vec::new();
    if !is_denied_in(&folder.join("projects")) {
        let slash = if shown.starts_with('~') { "" } else { "/" };
        missing.push(format!("Read({slash}{shown}/projects/**)"));
    }
    for folder in &tasks {
        if !is_denied_in(folder) {
            missing.push(format!("Read(/{}/**)", visible(folder)?));
        }
    }
    let keys = AGENTS
        .iter()
        .filter_map(|(_, key, _)| Key::try_from(*key).ok());
    let files = keys.filter_map(|key| location.expand(map.find(&key)?.path()));
    // A rule for a link does not cover the link's target.
    let is_open = |file: PathBuf| {
        #[expect(
            clippy::disallowed_methods,
            reason = "what the client may be asked to read"
        )]
        let real = fs::canonicalize(&file);
        !is_denied(&file) || real.is_ok_and(|real| !is_denied(&real))
    };
    if files.into_iter().any(is_open) {
        missing.push("Read(FOLDER/**) with the folder of your file".to_owned());
    }
    (!missing.is_empty()).then(|| {
        format!(
            "the main conversation can read your private file. Add to permissions.deny in {shown}/settings.json: {}",
            missing.join(", ")
        )
    })
}

/// The text, as the client reads it: a byte order mark says which encoding it has.
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

/// Whether a rule's pattern means this place, or a folder above it: `*` stands for any text in
/// a name, and `**` for any text.
fn means(pattern: &[u8], place: &[u8]) -> bool {
    match (pattern, place) {
        ([], [] | [b'/', ..]) => true,
        ([b'*', b'*', b'/', rest @ ..], _) if means(rest, place) => true,
        ([b'*', b'*', rest @ ..], _) => (0..=place.len()).any(|at| means(rest, &place[at..])),
        ([b'*', rest @ ..], _) => {
            let name = place.split(|byte| *byte == b'/').next();
            let end = name.map_or(0, <[u8]>::len);
            (0..=end).any(|at| means(rest, &place[at..]))
        }
        ([wanted, rest @ ..], [found, more @ ..]) => wanted == found && means(rest, more),
        _ => false,
    }
}

/// For the start of a session: a line if the map cannot be used, as the client shows it to
/// its user; otherwise nothing.
pub(crate) fn brief(live: &LiveMap) -> Option<String> {
    let code = live.current().err()?.code();
    let said = format!(
        "keyhole: {}, so its agents get no file; /keyhole:check says what to write",
        code.as_str()
    );
    Some(json!({ "systemMessage": said }).to_string())
}
