//! The settings by which a client's hook hands one agent its document: `--inject`.

use super::{
    Said, SetupError, UserMap,
    given::{plain, quoted, sh_word},
    program::Program,
    recipe::{add_entry, agent_option},
};
use keyhole_core::AgentName;
use keyhole_walk::printable::printable;

/// What the agent's own text must have, since the hook cannot stop the agent.
const RULE: &str = "Write into the agent's own text: \"You are given a document before you begin. If there is none, or if you read that it was not loaded, stop and report that. Never go on without it.\"";

/// What to know in each client.
const NOTES: &str = "A longer document than 10,000 characters (in Codex and Copilot: bytes) is refused. If the client shortens the agent's conversation, the document is gone.

The agent is known by its name alone: a project can bring an agent of the same name, which then gets the document. So its entry names it without a marketplace. Whoever may run commands as you can run this one too: do not allow it to any conversation.";

pub(super) fn of(client: &str, agent: &AgentName, user: &UserMap) -> Result<Said, SetupError> {
    let (place, note) = match client {
        "claude-code" => (
            "~/.claude/settings.json",
            "\nIf you allow Bash to a conversation, deny it this command: add \"Bash(*keyhole* inject*)\" to permissions.deny there.\n",
        ),
        "codex" => (
            "~/.codex/hooks.json",
            "\nCodex runs the hook only after you have trusted it: start `codex`, and look at `/hooks`.\n",
        ),
        "copilot-cli" => ("~/.copilot/hooks/keyhole.json", ""),
        _ => return Err(SetupError::NoHook),
    };
    if !agent
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_:".contains(&byte))
    {
        return Err(SetupError::NoMatcher);
    }
    let program = Program::this()?;
    let file = user.live.location().file();
    // It names the map, so that no variable of a project's settings can name another.
    let map = plain(file).ok_or(SetupError::OddMap)?;
    let command = format!("{} inject --map {}", sh_word(&program.path), sh_word(map));
    let caution = program
        .caution
        .map_or_else(String::new, |caution| format!("\nCareful: {caution}.\n"));
    // Clients search for it as a regular expression; a `:` makes it one in Claude Code.
    let matcher = quoted(&format!("^{agent}$"));
    let command = format!("\"type\": \"command\", \"command\": {}", quoted(&command));
    let (first, hook) = match client {
        "copilot-cli" => (
            "\n  \"version\": 1,",
            format!("{{ \"matcher\": {matcher}, {command} }}"),
        ),
        _ => (
            "",
            format!(
                "{{\n        \"matcher\": {matcher},\n        \"hooks\": [{{ {command} }}]\n      }}"
            ),
        ),
    };
    let text = format!(
        "Only the agent {agent} gets the document, when it starts: it calls no tool, and no prompt holds a key.\n\
         {caution}\n{}\n\n\
         Put this into {place}, beside what you have there:\n\n\
         ```json\n{{{first}\n  \"hooks\": {{\n    \"SubagentStart\": [\n      {hook}\n    ]\n  }}\n}}\n```\n\
         {note}\n{RULE}\n\n{NOTES}\n",
        entry(agent, user, &program.path)?,
    );
    user.conceals(text, &[Some(agent)]).map(Said::from)
}

/// What the map has for the agent, or the command that adds it.
fn entry(agent: &AgentName, user: &UserMap, program: &str) -> Result<String, SetupError> {
    let shown = printable(user.live.location().file());
    let entries = user.map.iter().flat_map(|map| map.entries());
    let lines: Vec<_> = entries
        .filter(|(_, entry)| {
            entry
                .agents()
                .into_iter()
                .flatten()
                .any(|name| name.means(agent))
        })
        .map(|(_, entry)| entry.line())
        .collect();
    match lines[..] {
        [] => add_entry(
            user,
            program,
            "names this agent in no entry",
            &agent_option(agent)?,
        ),
        [line]
            if user
                .map
                .as_ref()
                .is_some_and(|map| map.only_key_of(agent).is_none()) =>
        {
            Ok(format!(
                "Your map, {shown}, names this agent on line {line}, but with a marketplace, of which no hook is told: write the name without it there."
            ))
        }
        [line] => Ok(format!(
            "Your map, {shown}, names this agent on line {line} already."
        )),
        [first, second, ..] => Ok(format!(
            "Your map, {shown}, names this agent on the lines {first} and {second}, but only one entry may name it: remove it from the others."
        )),
    }
}
