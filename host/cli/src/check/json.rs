//! The report for programs.

use super::{Report, Warning};
use keyhole_core::{MapError, Refusal};
use keyhole_setup::PLUGIN;
use keyhole_walk::printable::is_visible;
use serde_json::{Value, json};

impl Report {
    /// The report as JSON, with escapes for what a terminal would not show as itself.
    pub(crate) fn to_json(&self) -> String {
        let mut text = String::new();
        for c in format!("{:#}\n", self.to_value()).chars() {
            match c == '\n' || is_visible(c) {
                true => text.push(c),
                false => {
                    let units = c.encode_utf16(&mut [0; 2]).to_vec();
                    text.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
                }
            }
        }
        text
    }

    /// The report as JSON. Its shape is stable: within 0.4, fields may be added, but no
    /// field is renamed, removed or given another meaning. Every field is always there,
    /// and `null` if it does not apply, or its text may be a key. Each `line` is one of the
    /// map, from 1; each `message` and `help` is for people, and may be reworded.
    fn to_value(&self) -> Value {
        let all = self.outcome.as_deref().ok();
        let of = |is_binding| {
            let all = all.into_iter().flatten();
            all.filter(move |entry| entry.is_binding == is_binding)
        };
        // Each fault is told once: an entry's is its code, so it is not among the warnings.
        let warnings = all.map(|all| {
            let of_lines = all.iter().flat_map(|entry| {
                let warnings = entry.warnings.iter();
                warnings
                    .map(|warning| json!({ "line": entry.line, "message": warning.to_string() }))
            });
            let roots = self
                .roots
                .iter()
                .map(|root| format!("no file in this root is served: {root}"));
            let of_none = roots.chain(self.unguarded.iter().chain(&self.notes).cloned());
            let of_none = of_none.map(|message| json!({ "line": null, "message": message }));
            of_lines.chain(of_none).collect::<Value>()
        });
        json!({
            // `null` if `--map` names it and no readable file is there, or if it is not UTF-8.
            "map": self.map.as_ref().and_then(|map| map.to_str()),
            // Whether everything would be served, and to nobody who guesses, as exit code 0 says.
            "ok": self.exit_code() == 0,
            // In the order of the map; `null` if the map itself is invalid.
            "entries": all.map(|_| of(false).map(|entry| json!({
                "line": entry.line,
                // As written in the map; `null` if it does not end in `.md`, or holds a key.
                "path": entry.path,
                // Whether it is for its agents only.
                "bound": entry.is_bound,
                // Whether the key may be guessed.
                "weak_key": entry.warnings.iter().any(|warning| {
                    matches!(warning, Warning::WeakKey | Warning::GuessableKey)
                }),
                "ok": entry.result.is_ok(),
                "bytes": entry.result.ok(),
                "code": entry.result.err().map(Refusal::as_str),
                "message": entry.message(),
            })).collect::<Value>()),
            "bindings": all.map(|_| of(true).map(|binding| json!({
                "name": binding.name,
                "line": binding.line,
                "path": binding.path,
                "bound": binding.is_bound,
                "ok": binding.is_served(),
                "bytes": binding.result.ok(),
                // `null` also if it is not served because it shows a key.
                "code": binding.result.err().map(Refusal::as_str),
                "message": binding.message(),
            })).collect::<Value>()),
            // The agent of Claude Code's plugin, if that asks.
            "agents": self.agent.iter().map(|agent| json!({
                "name": PLUGIN.0, "ok": agent.is_served, "message": agent.said,
            })).collect::<Value>(),
            // What does not keep a file from being served; without a line, what is not
            // about one.
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
