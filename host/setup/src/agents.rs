//! Agents' files of Claude Code that start a server of ours.
#![expect(
    clippy::disallowed_methods,
    reason = "it looks at files of the client, and opens nothing of the map"
)]

use std::{
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
    let mut agents = Vec::new();
    let mut looked = 0;
    while let Some(path) = found.pop().filter(|_| looked < MAX_FOUND) {
        looked += 1;
        if let Ok(inside) = fs::read_dir(&path) {
            // A link to a folder could lead in a circle.
            let is_looked_at = |found: &fs::DirEntry| {
                let is_agent = found
                    .path()
                    .extension()
                    .is_some_and(|ending| ending == "md");
                is_agent || found.file_type().is_ok_and(|kind| kind.is_dir())
            };
            found.extend(
                inside
                    .flatten()
                    .filter(is_looked_at)
                    .map(|found| found.path()),
            );
            continue;
        }
        let is_read = fs::metadata(&path).is_ok_and(|one| one.is_file() && one.len() <= MAX_BYTES);
        let text = is_read.then(|| fs::read_to_string(&path).ok()).flatten();
        agents.extend(text.iter().flat_map(|text| servers(&path, text)));
    }
    agents.sort_by(|one, other| one.file.cmp(&other.file));
    agents
}

/// The servers that the head of an agent's file starts. It is YAML, in any of its forms, of which
/// only the words count.
fn servers(file: &Path, text: &str) -> Vec<OwnAgent> {
    let text = text.trim_start_matches('\u{feff}').replace('\r', "\n");
    let head = text
        .strip_prefix("---\n")
        .and_then(|text| text.split_once("\n---"));
    let Some((head, _)) = head.filter(|(head, _)| head.contains("keyhole")) else {
        return Vec::new();
    };
    let is_of_word = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    let words: Vec<&str> = head
        .split(|c| !is_of_word(c))
        .filter(|word| !["", "-"].contains(word))
        .collect();
    let commands = words
        .split_inclusive(|word| matches!(*word, "serve" | "guard"))
        .zip(
            words
                .split(|word| matches!(*word, "serve" | "guard"))
                .skip(1),
        )
        .filter_map(|(before, arguments)| Some((*before.last()?, arguments)));
    let commands: Vec<(&str, &[&str])> = commands.collect();
    let bound = |arguments: &[&str]| {
        let at = arguments.iter().position(|word| *word == "--bind")?;
        arguments.get(at + 1).map(|name| (*name).to_owned())
    };
    let guards = |name: &str| {
        head.contains("PreToolUse")
            && commands.iter().any(|(command, arguments)| {
                *command == "guard"
                    && !arguments.contains(&"--after")
                    && bound(arguments).as_deref() == Some(name)
            })
    };
    let servers = commands.iter().filter(|(command, _)| *command == "serve");
    let agents = servers.filter_map(|(_, arguments)| {
        let bind = bound(arguments)?;
        Some(OwnAgent {
            file: file.to_owned(),
            is_guarded: arguments.contains(&"--require-ticket") && guards(&bind),
            bind,
        })
    });
    agents.collect()
}

#[cfg(all(test, unix))]
mod tests;
