//! What one client needs, with a program and the user's names in it.

use crate::{
    Unfit, User,
    clients::{Audience, Client, PLUGIN_NAME, Part},
    file::{File, root_of},
    paste::{is_expanded, plain, quoted, quoted_for_sh},
};
use serde_json::json;
use std::path::{Path, PathBuf};

/// The binding's name in the examples.
pub const BINDING: &str = "scanner-catalog";
/// The agent's name there.
pub const AGENT: &str = "identifier-scanner";
const FOLDER: &str = "~/notes";
const TICKETS: &str = "/home/me/.local/state/keyhole/claude-code";

/// The longest binding's name with which `mcp__NAME__load_context` has the 60 characters that
/// every client takes. Some cut a longer one, or refuse it.
pub const MAX_IN_TOOL: usize = 41;

const TAKEN: &str = "the client, or Keyhole's plugin, has this name itself; choose another";

/// What to know of a hook.
const OF_HOOKS: [&str; 2] = [
    "Write into the agent's own text: \"You are given a file before you begin. If there is none, or if you read that it was not loaded, stop and report that. Never go on without it.\"",
    "A file of more than 10,000 characters (in Codex and Copilot: bytes) is refused. If the client shortens the agent's conversation, the file is gone. The agent is known by its name alone: a project can bring an agent of the same name, which then gets the file. Whoever may run commands as you can run this one too: do not allow it to any conversation.",
];

impl Client {
    /// The name of a binding, and of its agent, if the user says none.
    pub fn usual(&self) -> &'static str {
        let is_shared = self.audience == Audience::Client;
        if is_shared { BINDING } else { AGENT }
    }

    /// Whether it is Claude Code, whose settings setup edits.
    pub fn is_claude_code(&self) -> bool {
        self.name == "claude-code" || self.is_plugin()
    }

    /// Whether it is our plugin in Claude Code, whose one agent has its own name.
    pub fn is_plugin(&self) -> bool {
        self.name == PLUGIN_NAME
    }

    /// Whether a server or an agent may have this name here; or why not.
    pub fn takes(&self, name: &str) -> Result<(), Unfit> {
        let why = if name.len() > MAX_IN_TOOL {
            "some clients cannot call the tool of a binding with so long a name: choose one of at most 41 characters"
        } else if name == PLUGIN_NAME || self.agents.contains(&name) {
            TAKEN
        } else if self.audience != Audience::Client && !is_agent(name) {
            "in this client, an agent's name is 1 to 41 of a to z, digits and -, starts with a letter, and is no word of YAML"
        } else {
            return Ok(());
        };
        Err(why.into())
    }
}

/// Whether each client with agents accepts this as the name of an agent and of its file. In YAML
/// it is a string even without quotes.
fn is_agent(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(is_plain)
        && !["null", "true", "false", "yes", "no", "on", "off", "y", "n"].contains(&name)
}

/// The names of a binding and, if that is said, of its agent.
type Names<'a> = (&'a str, Option<&'a str>);

/// What a client needs for a user, with these names.
#[derive(Clone, Copy)]
pub struct Recipe<'a>(pub &'a User<'a>, pub &'a Client, pub Names<'a>);

/// Parts of an example, each with its replacement.
#[derive(Debug, Default)]
pub struct Filled(Vec<(String, String)>);

impl Recipe<'_> {
    /// The same in its examples, with the folder of this file.
    ///
    /// # Errors
    /// If the client does not take such a name, or its folder cannot be told.
    pub fn filled(self, file: Option<&File>) -> Result<Filled, Unfit> {
        let user = self.0;
        let tickets = user.tickets();
        let tickets = plain(&tickets).filter(|text| !is_expanded(text));
        let mut filled = self.with(&user.program.path, tickets)?;
        filled.0.extend(file.map(|file| {
            let folder = root_of(&file.real, &user.home);
            let folder = folder.as_ref().unwrap_or(&file.written);
            (quoted(FOLDER), quoted(folder))
        }));
        Ok(filled)
    }

    /// The same, with another program and another folder, which a server and its guard share.
    pub(crate) fn with(self, program: &str, tickets: Option<&str>) -> Result<Filled, Unfit> {
        let Recipe(user, client, (bind, agent)) = self;
        let needs = |part: &Part| part.text.contains(TICKETS);
        if tickets.is_none() && client.parts.iter().any(needs) {
            return Err("the folder for Keyhole's tickets, in XDG_STATE_HOME or ~/.local/state, has a character in its path that clients would replace or misread; set XDG_STATE_HOME to another".into());
        }
        if agent.is_some_and(|agent| is_expanded(agent) || agent.starts_with('-')) {
            return Err("an agent's name may not hold $, { or } here, for which clients put other text, or begin with -".into());
        }
        // The agent and its file have the binding's name, so that a second binding's do not
        // replace them.
        client.takes(bind)?;
        let (is_shared, named) = (client.audience == Audience::Client, agent.unwrap_or(bind));
        let of_agent = if is_shared { AGENT } else { named };
        client.takes(of_agent)?;
        let mut places = Vec::new();
        for (text, variable) in &client.folders {
            let folder = user.folder(text, variable)?;
            if folder != user.home.join(text.trim_start_matches("~/")) {
                let folder = plain(&folder).ok_or("a folder of the client has a character in its path that cannot be written here")?;
                // A rule has one slash more.
                places.push((format!("Read({text}"), format!("Read(/{folder}")));
                places.push((text.to_string(), folder.to_owned()));
            }
        }
        // The first match is taken. So if one text is the beginning of another, the longer one
        // comes first.
        let mut put = |text: &str, with: String| places.push((text.to_owned(), with));
        let tickets = quoted(tickets.unwrap_or_default());
        for q in ['"', '\''] {
            let [old, new] = [BINDING, bind].map(|bind| format!("{q}--bind{q}, {q}{bind}{q}"));
            let option = format!(", {q}--agent{q}, ");
            // A client whose guard says which agent calls.
            let with = format!("{new}{option}{q}{of_agent}{q}");
            put(&format!("{old}{option}{q}{AGENT}{q}"), with);
            let option = agent.map(|agent| option + &quoted(agent));
            put(&old, new + &option.unwrap_or_default());
            put(&format!("{q}{TICKETS}{q}"), tickets.clone());
            put(&format!("{q}keyhole{q}"), quoted(program));
        }
        put("command: keyhole", format!("command: {}", quoted(program)));
        // As a YAML key, if the client's example uses one.
        let name = if is_agent(bind) { bind } else { &quoted(bind) };
        put("scanner-catalog:", format!("{name}:"));
        put(BINDING, bind.to_owned());
        put(AGENT, of_agent.to_owned());
        Ok(Filled(places))
    }

    /// The client's hook for an agent of this name, and what else keeps this file from others.
    ///
    /// # Errors
    /// If the client has none, or it cannot name this agent or map.
    pub fn hook(self, for_file: Option<&File>) -> Result<Hook, Unfit> {
        let Recipe(user, client, (agent, _)) = self;
        let (file, last) = client.hook.ok_or(
            "only claude-code, codex and copilot-cli hand a file over by a hook; name one of them",
        )?;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_:".contains(&byte);
        if agent == PLUGIN_NAME || client.agents.contains(&agent) {
            return Err(TAKEN.into());
        } else if !agent.bytes().all(is_plain) {
            return Err("a hook takes agents' names of letters, digits, -, _ and : only".into());
        }
        let map = plain(&user.map.location.file)
            .ok_or("the path of the map holds a character that cannot be printed here; move it")?;
        // It names the map, so that no variable of a project's settings can name another.
        let (program, map) = (quoted_for_sh(&user.program.path), quoted_for_sh(map));
        let command = format!("{program} inject --map {map}");
        // Clients search for it as a regular expression; a `:` makes it one in Claude Code.
        let matcher = format!("^{agent}$");
        let whole = if client.name == "copilot-cli" {
            let group = json!({ "matcher": matcher, "type": "command", "command": command });
            json!({ "version": 1, "hooks": { "SubagentStart": [group] } })
        } else {
            let own = json!({ "type": "command", "command": command });
            let group = json!({ "matcher": matcher, "hooks": [own] });
            json!({ "hooks": { "SubagentStart": [group] } })
        };
        // A variable may have moved the client's folder.
        let moved = Recipe(user, client, (client.usual(), None)).with("", Some(""))?;
        let place = format!(
            "Put this into {}, beside what you have there",
            moved.fill(file)
        );
        let mut texts = vec![format!("{place}:\n\n```json\n{whole:#}\n```")];
        texts.extend(OF_HOOKS.map(str::to_owned));
        let is_beside = |part: &Part| part.to.is_none();
        if client.parts.iter().any(is_beside) {
            let filled = Recipe(user, client, (client.usual(), None)).filled(for_file)?;
            texts.extend(filled.blocks(client, is_beside));
            let by_hand = client.by_hand.iter().filter(|_| for_file.is_none());
            texts.extend(by_hand.map(ToString::to_string));
        }
        Ok(Hook {
            who: format!(
                "Only the agent {agent} gets the file, when it starts: it calls no tool, and no prompt holds a key."
            ),
            texts,
            last: last.replace(AGENT, agent),
        })
    }
}

impl Filled {
    /// Fills in the text in one pass, so it never replaces a part of a replacement.
    pub fn fill(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let found = self.0.iter().find(|(place, _)| rest.starts_with(&**place));
            let length = found.map_or(c.len_utf8(), |(place, _)| place.len());
            filled += found.map_or_else(|| &rest[..length], |(_, with)| with);
            rest = &rest[length..];
        }
        filled
    }

    /// What the user pastes: each part that `is` such, in a fenced block below the place where it
    /// goes.
    pub fn blocks(&self, client: &Client, is: impl Fn(&Part) -> bool) -> Vec<String> {
        let parts = client.parts.iter().filter(|part| is(part));
        let block = |part: &Part| {
            let language = match part.example.rsplit('.').next().unwrap_or_default() {
                "md" => "markdown",
                "mjs" => "js",
                ending => ending,
            };
            let (place, text) = (self.fill(part.place), self.fill(part.text));
            // The fence is longer than any in the text.
            let fence = if text.contains("```") { "````" } else { "```" };
            format!("{place}:\n\n{fence}{language}\n{text}{fence}")
        };
        parts.map(block).collect()
    }

    /// The file of a part, on this machine.
    pub(crate) fn place(&self, to: &str, home: &Path) -> PathBuf {
        home.join(self.fill(to).trim_start_matches("~/"))
    }
}

/// The settings by which a client's hook hands one agent its file.
#[derive(Debug)]
pub struct Hook {
    /// Who gets the file by it.
    pub who: String,
    /// What to paste, each with its place, and what to know of it.
    pub texts: Vec<String>,
    /// The last step, in the client's words.
    pub last: String,
}
