//! The report for programs.

use super::{EntryReport, Report, Warning};
use keyhole_core::{MapError, Refusal};
use keyhole_setup::PLUGIN;
use keyhole_walk::printable::is_visible;
use serde_json::{Value, json};

impl Report {
    /// The report as JSON, with escapes for what a terminal would not show as itself.
    pub(crate) fn to_json(&self) -> String {
        let mut text = String::new();
        for c in format!("{:#}\n", self.to_value()).chars() {
            if c == '\n' || is_visible(c) {
                text.push(c);
            } else {
                let units = c.encode_utf16(&mut [0; 2]).to_vec();
                text.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
            }
        }
        text
    }

    /// The report as JSON. Its shape is stable: fields may be added, but no field is renamed,
    /// removed or given another meaning. Every field is always there, and `null` if it does not
    /// apply, or its text may be a key. Each `line` is one of the map, from 1; each `message` and
    /// `help` is for people, and may be reworded.
    fn to_value(&self) -> Value {
        let all = self.outcome.as_deref().ok();
        let of = |is_binding| {
            let all = all.into_iter().flatten();
            let all = all.filter(move |entry| entry.is_binding == is_binding);
            // In the order of the map; `null` if the map itself is invalid.
            self.outcome
                .is_ok()
                .then(|| all.map(of_one).collect::<Value>())
        };
        // Each fault is told once: an entry's is its code, so it is not among the warnings.
        let warnings = all.map(|all| {
            let of_lines = all.iter().flat_map(|entry| {
                let warnings = entry.warnings.iter();
                warnings.map(|one| json!({ "line": entry.line, "message": one.to_string() }))
            });
            let roots = self
                .roots
                .iter()
                .map(|root| format!("no file in this root is served: {root}"));
            let others = roots.chain(self.faults.iter().chain(&self.notes).cloned());
            let others = others.map(|message| json!({ "line": null, "message": message }));
            of_lines.chain(others).collect::<Value>()
        });
        json!({
            // `null` if `--map` names it and no readable file is there, or if it is not UTF-8.
            "map": self.map.as_ref().and_then(|map| map.to_str()),
            // As exit code 0 says.
            "ok": self.exit_code() == 0,
            "entries": of(false),
            "bindings": of(true),
            // The agent of Claude Code's plugin, if that asks.
            "agents": self.agent.iter().map(|(ok, said)| json!({
                "name": PLUGIN.0, "ok": ok, "message": said,
            })).collect::<Value>(),
            "warnings": warnings,
            // What is wrong with the map itself.
            "error": self.outcome.as_ref().err().map(|error| json!({
                "code": error.code().as_str(),
                "message": self.said(error),
                "line": match error { MapError::Parse { source, .. } => Some(source.line()), _ => None },
                "help": self.help,
            })),
            // What a server with this map gives up on this system: the version of Landlock's
            // interface, whether system calls are filtered, and whether it can read beneath
            // the map's roots only.
            "second_wall": {
                "landlock": self.wall.landlock,
                "system_calls": self.wall.system_calls,
                "roots": self.wall.roots,
            },
        })
    }
}

fn of_one(entry: &EntryReport) -> Value {
    let is_weak = |one: &Warning| matches!(one, Warning::WeakKey | Warning::GuessableKey);
    let mut value = json!({
        "line": entry.line,
        // As written in the map; `null` if it does not end in `.md`, or holds a key.
        "path": entry.path,
        // Whether it is for its agents only.
        "bound": entry.is_bound,
        "ok": entry.is_served(),
        "bytes": entry.result.ok(),
        // `null` also for a binding that shows a key.
        "code": entry.result.err().map(Refusal::as_str),
        "message": entry.message(),
    });
    if entry.is_binding {
        value["name"] = json!(entry.name);
    } else {
        value["weak_key"] = json!(entry.warnings.iter().any(is_weak));
    }
    value
}
