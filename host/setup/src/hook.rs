//! The settings by which a client's hook hands one agent its document.

use crate::paste::sh_word;
use serde_json::{Map, Value, json};

/// What a client takes for its hook.
#[derive(Debug)]
pub struct Hook {
    /// The file of the client's settings, in its home.
    pub file: &'static str,
    /// What goes there.
    pub value: Map<String, Value>,
    /// What else to do.
    pub note: &'static str,
}

/// What the agent's own text must have, since the hook cannot stop the agent.
pub const RULE: &str = "Write into the agent's own text: \"You are given a document before you begin. If there is none, or if you read that it was not loaded, stop and report that. Never go on without it.\"";

/// The hook of `client` for this agent, whose name may hold letters, digits, `-`, `_` and `:`.
/// None if the client has none, or if a shell would not read the paths.
pub fn of(client: &str, agent: &str, program: &str, map: &str) -> Option<Hook> {
    let (file, note) = match client {
        "claude-code" => ("~/.claude/settings.json", ""),
        "codex" => (
            "~/.codex/hooks.json",
            "Codex runs the hook only after you have trusted it: start `codex`, and look at `/hooks`.",
        ),
        "copilot-cli" => ("~/.copilot/hooks/keyhole.json", ""),
        _ => return None,
    };
    // It names the map, so that no variable of a project's settings can name another.
    let command = format!("{} inject --map {}", sh_word(program)?, sh_word(map)?);
    // Clients search for it as a regular expression; a `:` makes it one in Claude Code.
    let matcher = format!("^{agent}$");
    let value = match client {
        "copilot-cli" => json!({
            "version": 1,
            "hooks": { "SubagentStart": [{ "matcher": matcher, "type": "command", "command": command }] },
        }),
        _ => json!({
            "hooks": { "SubagentStart": [
                { "matcher": matcher, "hooks": [{ "type": "command", "command": command }] },
            ] },
        }),
    };
    let Value::Object(value) = value else {
        return None;
    };
    Some(Hook { file, value, note })
}
