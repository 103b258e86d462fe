//! The settings by which a client's hook hands one agent its document.

use crate::{
    clients,
    paste::{plain, quoted_for_sh},
    recipe::{AGENT, NameError},
};
use serde_json::{Value, json};
use std::path::Path;

/// What a client takes for its hook.
#[derive(Debug)]
pub struct Hook {
    /// The file of the client's settings, in its home.
    pub file: &'static str,
    /// What goes there.
    pub value: Value,
    /// The last step, in the client's words.
    pub last: String,
}

/// What to know of a hook in each client.
pub const NOTES: &str = "A longer document than 10,000 characters (in Codex and Copilot: bytes) is refused. If the client shortens the agent's conversation, the document is gone.

The agent is known by its name alone: a project can bring an agent of the same name, which then gets the document. So its entry names it without a marketplace. Whoever may run commands as you can run this one too: do not allow it to any conversation.";

/// What the agent's own text must have, since the hook cannot stop the agent.
pub const RULE: &str = "Write into the agent's own text: \"You are given a document before you begin. If there is none, or if you read that it was not loaded, stop and report that. Never go on without it.\"";

/// Who gets the document by it.
pub fn who(agent: &str) -> String {
    format!(
        "Only the agent {agent} gets the document, when it starts: it calls no tool, and no prompt holds a key."
    )
}

/// The hook of `client` for this agent.
///
/// # Errors
/// If the client has none, or it cannot name this agent or map.
pub fn of(client: &str, agent: &str, program: &str, map: &Path) -> Result<Hook, NameError> {
    let recipe = clients::named(client).ok_or(NameError::UnknownClient)?;
    let (file, last) = recipe.hook.ok_or(NameError::NoHook)?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_:".contains(&byte);
    if !agent.bytes().all(is_plain) {
        return Err(NameError::NoMatcher);
    }
    let map = plain(map).ok_or(NameError::OddMap)?;
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
    let last = last.replace(AGENT, agent);
    Ok(Hook { file, value, last })
}
