//! The settings by which a client's hook hands one agent its document: `--inject`.

use super::{
    Output, SetupError, UserMap,
    recipe::{add_entry, agent_option},
};
use keyhole_core::AgentName;
use keyhole_setup::{
    hook::{self, RULE},
    paste::plain,
    program::Program,
};
use keyhole_walk::printable::printable;

/// What to know in each client.
const NOTES: &str = "A longer document than 10,000 characters (in Codex and Copilot: bytes) is refused. If the client shortens the agent's conversation, the document is gone.

The agent is known by its name alone: a project can bring an agent of the same name, which then gets the document. So its entry names it without a marketplace. Whoever may run commands as you can run this one too: do not allow it to any conversation.";

pub(super) fn of(client: &str, agent: &AgentName, user: &UserMap) -> Result<Output, SetupError> {
    if !["claude-code", "codex", "copilot-cli"].contains(&client) {
        return Err(SetupError::NoHook);
    }
    if !hook::is_name(agent) {
        return Err(SetupError::NoMatcher);
    }
    let program = Program::this()?;
    let map = plain(user.live.location().file()).ok_or(SetupError::OddMap)?;
    let hook = hook::of(client, agent, &program.path, map).ok_or(SetupError::OddMap)?;
    let note = match client {
        "claude-code" => "\nIf you allow Bash to a conversation, deny it this command: add \"Bash(*keyhole* inject*)\" to permissions.deny there.\n".to_owned(),
        _ if hook.note.is_empty() => String::new(),
        _ => format!("\n{}\n", hook.note),
    };
    let caution = program
        .caution
        .map_or_else(String::new, |caution| format!("\nCareful: {caution}.\n"));
    let text = format!(
        "Only the agent {agent} gets the document, when it starts: it calls no tool, and no prompt holds a key.\n\
         {caution}\n{}\n\n\
         Put this into {}, beside what you have there:\n\n\
         ```json\n{:#}\n```\n\
         {note}\n{RULE}\n\n{NOTES}\n",
        entry(agent, user, &program.path)?,
        hook.file,
        hook.value,
    );
    user.conceals(text, &[Some(agent)]).map(Output::from)
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
            &agent_option(agent),
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
