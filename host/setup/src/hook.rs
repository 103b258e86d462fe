//! The settings by which a client's hook hands one agent its document.

use crate::paste::quoted_for_sh;
use serde_json::{Value, json};

/// What a client takes for its hook.
#[derive(Debug)]
pub struct Hook {
    /// The file of the client's settings, in its home.
    pub file: &'static str,
    /// What goes there.
    pub value: Value,
    /// What else to do.
    pub note: &'static str,
}

/// What the agent's own text must have, since the hook cannot stop the agent.
pub const RULE: &str = "Write into the agent's own text: \"You are given a document before you begin. If there is none, or if you read that it was not loaded, stop and report that. Never go on without it.\"";

/// Whether a hook can name this agent.
pub fn is_name(agent: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_:".contains(&byte);
    agent.bytes().all(is_plain)
}

/// The hook of `client` for this agent.
/// None if the client has none.
pub fn of(client: &str, agent: &str, program: &str, map: &str) -> Option<Hook> {
    let (file, note) = match client {
        _ if !is_name(agent) => return None,
        "claude-code" => ("~/.claude/settings.json", ""),
        "codex" => (
            "~/.codex/hooks.json",
            "Codex runs the hook only after you have trusted it: start `codex`, and look at `/hooks`.",
        ),
        "copilot-cli" => ("~/.copilot/hooks/keyhole.json", ""),
        _ => return None,
    };
    // It names the map, so that no variable of a project's settings can name another.
    let command = format!(
        "{} inject --map {}",
        quoted_for_sh(program),
        quoted_for_sh(map)
    );
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
    Some(Hook { file, value, note })
}
