//! Agents' files of Claude Code that start a server of ours.
#![expect(
    clippy::disallowed_methods,
    reason = "it looks at files of the client, and opens nothing of the map"
)]

use serde_json::Value;
use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

/// The most folders and files that are looked at.
const MAX_FOUND: usize = 4096;
/// The longest file that is read, in bytes. The client reads it at each start.
const MAX_BYTES: u64 = 1 << 20;

/// An agent's file that starts `keyhole serve --bind NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnAgent {
    /// The file.
    pub file: PathBuf,
    /// The binding.
    pub bind: String,
    /// Whether the server takes only calls with a ticket, and a hook of the agent leaves one.
    /// Otherwise a session that is started as this agent gets the file.
    pub is_guarded: bool,
}

/// Those in this folder of agents, and in the folders in it, as the client finds them.
pub fn own_agents(folder: &Path) -> Vec<OwnAgent> {
    let mut found = vec![folder.to_owned()];
    let (mut agents, mut seen) = (Vec::new(), HashSet::new());
    while let Some(path) = found.pop().filter(|_| seen.len() < MAX_FOUND) {
        // Links could lead in a circle.
        let is_new = fs::canonicalize(&path).is_ok_and(|real| seen.insert(real));
        let kind = fs::metadata(&path).ok().filter(|_| is_new);
        if kind.as_ref().is_some_and(fs::Metadata::is_dir) {
            let inside = fs::read_dir(&path).into_iter().flatten().flatten();
            found.extend(inside.map(|found| found.path()));
        } else if path.extension().is_some_and(|ending| ending == "md")
            && kind.is_some_and(|file| file.is_file() && file.len() <= MAX_BYTES)
        {
            let text = fs::read_to_string(&path).ok();
            agents.extend(text.iter().flat_map(|text| servers(&path, text)));
        }
    }
    agents.sort_by(|one, other| one.file.cmp(&other.file));
    agents
}

/// A line of YAML without its comment, which begins behind a blank and outside of quotes.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    let comment = line.char_indices().find(|(_, c)| {
        let begins = *c == '#' && before == ' ' && quote.is_none();
        if quote == Some(*c) {
            quote = None;
        } else if quote.is_none() && matches!(c, '"' | '\'') {
            quote = Some(*c);
        }
        before = *c;
        begins
    });
    line.get(..comment.map_or(line.len(), |(at, _)| at))
        .unwrap_or_default()
}

/// The servers that the head of an agent's file starts. It is YAML, in any of its forms, of which
/// only the words count.
fn servers(file: &Path, text: &str) -> Vec<OwnAgent> {
    let text = text.trim_start_matches('\u{feff}').replace('\r', "\n");
    let mut lines = text.lines();
    let is_fence = |line: &&str| line.trim_end() == "---";
    if !lines.next().is_some_and(|line| is_fence(&line)) {
        return Vec::new();
    }
    let head = lines
        .take_while(|line| !is_fence(line))
        .map(without_comment);
    let head: Vec<&str> = head
        .filter(|line| !line.starts_with("description:"))
        .collect();
    let is_of_word = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    let all = head.iter().flat_map(|line| line.split(|c| !is_of_word(c)));
    let words: Vec<&str> = all.filter(|word| !["", "-"].contains(word)).collect();
    if !words.iter().any(|word| word.contains("keyhole")) {
        return Vec::new();
    }
    // Behind an option stands its value.
    let is_command = |at: &usize| {
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        matches!(words.get(*at), Some(&("serve" | "guard")))
            && !before.is_some_and(|word| word.starts_with("--"))
    };
    let starts: Vec<usize> = (0..words.len()).filter(is_command).collect();
    let ends = starts.iter().skip(1).copied().chain([words.len()]);
    let commands: Vec<&[&str]> = starts
        .iter()
        .zip(ends)
        .filter_map(|(at, end)| words.get(*at..end))
        .collect();
    let bound = |command: &[&str]| {
        let at = command.iter().position(|word| *word == "--bind")?;
        command.get(at + 1).map(|name| (*name).to_owned())
    };
    let hooks = head.iter().find_map(|line| line.strip_prefix("hooks:"));
    let hooks = hooks.and_then(|hooks| serde_json::from_str::<Value>(hooks).ok());
    let guards = |name: &str| match &hooks {
        Some(hooks) => is_guard(hooks, name),
        // In another form than setup writes.
        None => {
            words.contains(&"PreToolUse")
                && commands.iter().any(|command| {
                    command.first() == Some(&"guard")
                        && !command.contains(&"--after")
                        && bound(command).as_deref() == Some(name)
                })
        }
    };
    let servers = commands
        .iter()
        .filter(|command| command.first() == Some(&"serve"));
    let agents = servers.filter_map(|command| {
        let bind = bound(command)?;
        Some(OwnAgent {
            file: file.to_owned(),
            is_guarded: command.contains(&"--require-ticket") && guards(&bind),
            bind,
        })
    });
    agents.collect()
}

/// Whether one of these hooks asks the guard of this binding before each call, and waits.
fn is_guard(hooks: &Value, bind: &str) -> bool {
    let tool = format!("mcp__{bind}__load_context");
    let groups = hooks["PreToolUse"].as_array().into_iter().flatten();
    let ours = groups.filter(|group| group["matcher"] == *tool);
    let mut ours = ours.flat_map(|group| group["hooks"].as_array().into_iter().flatten());
    ours.any(|hook| {
        let args = hook["args"].as_array().into_iter().flatten();
        let args: Vec<&str> = args.filter_map(Value::as_str).collect();
        args.first() == Some(&"guard")
            && args.windows(2).any(|pair| pair == ["--bind", bind])
            && !args.contains(&"--after")
            && hook.get("if").is_none()
            && hook.get("async").is_none()
    })
}

#[cfg(test)]
mod tests;
