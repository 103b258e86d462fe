//! What one client needs, with a program and the user's names in it.

use crate::{
    Unfit, User,
    clients::{Audience, Client, PLUGIN_NAME, Part},
    file::{File, root_of},
    paste::{may_be_expanded, quoted, quoted_for_sh, text_if_printable},
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The binding's name in the examples.
pub const EXAMPLE_BINDING: &str = "scanner-catalog";
/// The agent's name there.
pub const EXAMPLE_AGENT: &str = "identifier-scanner";
/// The folder of a file in the examples.
const EXAMPLE_FOLDER: &str = "~/notes";
/// The folder for tickets in the examples.
const EXAMPLE_TICKETS: &str = "/home/me/.local/state/keyhole/claude-code";

/// The longest binding's name with which `mcp__NAME__load_context` has the 60 characters that
/// every client takes. Some cut a longer one, or refuse it.
pub const MAX_BINDING_NAME: usize = 41;

/// Why a name is refused that an agent of the client's, or of ours, has.
const NAME_IS_TAKEN: &str = "the client, or Keyhole's plugin, has this name itself; choose another";

/// What to know of a hook.
const NOTES_ON_HOOKS: [&str; 2] = [
    "Write into the agent's own text: \"You are given a file before you begin. If there is none, or if you read that it was not loaded, stop and report that. Never go on without it.\"",
    "A file of more than 10,000 characters (in Codex and Copilot: bytes) is refused. If the client shortens the agent's conversation, the file is gone. The agent is known by its name alone: a project can bring an agent of the same name, which then gets the file. Whoever may run commands as you can run this one too: do not allow it to any conversation.",
];

impl Client {
    /// The name of a binding, and of its agent, if the user says none.
    pub fn usual_name(&self) -> &'static str {
        match self.audience {
            Audience::Client => EXAMPLE_BINDING,
            _ => EXAMPLE_AGENT,
        }
    }

    /// Whether it is Claude Code, whose settings setup edits.
    pub fn is_claude_code(&self) -> bool {
        self.name == "claude-code" || self.is_plugin()
    }

    /// Whether it is our plugin in Claude Code, whose one agent has its own name.
    pub fn is_plugin(&self) -> bool {
        self.name == PLUGIN_NAME
    }

    /// Checks that a server may have this name in this client. The name must be one for an agent as
    /// well, unless the whole client gets the file ([`Audience::Client`]).
    ///
    /// # Errors
    /// If the name has more than 41 bytes; if it is the name of the plugin, or of an agent of the
    /// client's own; or if it must be one for an agent, and is not (`is_agents_name`).
    pub fn takes(&self, name: &str) -> Result<(), Unfit> {
        let why = if name.len() > MAX_BINDING_NAME {
            "some clients cannot call the tool of a binding with so long a name: choose one of at most 41 characters"
        } else if name == PLUGIN_NAME || self.agents.contains(&name) {
            NAME_IS_TAKEN
        } else if self.audience != Audience::Client && !is_agents_name(name) {
            "in this client, an agent's name is 1 to 41 of a to z, digits and -, starts with a letter, and is no word of YAML"
        } else {
            return Ok(());
        };
        Err(why.into())
    }

    /// Whether a hook here may be for an agent of this name; or why not.
    fn takes_hook_for(&self, agent: &str) -> Result<(), Unfit> {
        if agent == PLUGIN_NAME || self.agents.contains(&agent) {
            return Err(NAME_IS_TAKEN.into());
        }
        let mut bytes = agent.bytes();
        if !bytes.all(|byte| byte.is_ascii_alphanumeric() || b"-_:".contains(&byte)) {
            return Err("a hook takes agents' names of letters, digits, -, _ and : only".into());
        }
        Ok(())
    }
}

/// Whether each client with agents accepts this as the name of an agent and of its file. In YAML,
/// it is a string even without quotes: `notes` is, `true` and `Notes` are not.
fn is_agents_name(name: &str) -> bool {
    let is_plain = name
        .chars()
        .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    let is_yaml = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"].contains(&name);
    is_plain && name.starts_with(|c: char| c.is_ascii_lowercase()) && !is_yaml
}

/// What a client needs for a user, with names of the user's.
#[derive(Clone, Copy)]
pub struct Recipe<'a> {
    /// The user.
    pub user: &'a User<'a>,
    /// The client.
    pub client: &'a Client,
    /// The name of the binding; for a hook, that of the agent.
    pub name: &'a str,
    /// As whom the server calls, if that is said.
    pub agent: Option<&'a str>,
}

impl Recipe<'_> {
    /// What to fill into the client's examples for this user: what `filled_with` fills in, with the
    /// path of this program and the user's folder for tickets. With a `file`, also the folder that
    /// becomes a root for it.
    ///
    /// # Errors
    /// If the client does not take the name of the binding or of the agent; or if a path that an
    /// example needs, of the tickets' folder or of the client's own, cannot be written there.
    pub fn filled(self, file: Option<&File>) -> Result<Filled, Unfit> {
        let user = self.user;
        let folder = user.tickets();
        // None if clients would misread that path: then `filled_with` refuses an example with it.
        let tickets = text_if_printable(&folder).filter(|text| !may_be_expanded(text));
        let mut filled = self.filled_with(&user.program.path, tickets)?;
        if let Some(file) = file {
            let root = root_of(&file.real, &user.home);
            // If the file's folder must not become a root, as the home, it is the file alone.
            let readable = root.as_ref().unwrap_or(&file.written);
            filled.put(&quoted(EXAMPLE_FOLDER), &quoted(readable));
        }
        Ok(filled)
    }

    /// What to fill into the client's examples: this program, this folder for `tickets` (which a
    /// server and its guard share), the client's folders that a variable has moved, and the options
    /// of the server. The binding's name takes the place of [`EXAMPLE_BINDING`], and the agent's
    /// name that of [`EXAMPLE_AGENT`].
    ///
    /// The agent is `self.agent`, or if that is None, has the binding's name. Where the whole
    /// client gets the file ([`Audience::Client`]), it keeps the example's name.
    ///
    /// # Errors
    /// If `tickets` is None, which means that its path cannot be written, and an example needs it.
    /// If the agent's name begins with `-`, or holds `$`, `{` or `}`. If the client does not take
    /// the name of the binding or of the agent; or if the path of a folder that a variable has
    /// moved cannot be written.
    pub(crate) fn filled_with(self, program: &str, tickets: Option<&str>) -> Result<Filled, Unfit> {
        let Self { client, name, .. } = self;
        let mut parts = client.parts.iter();
        if tickets.is_none() && parts.any(|part| part.text.contains(EXAMPLE_TICKETS)) {
            return Err("the folder for Keyhole's tickets, in XDG_STATE_HOME or ~/.local/state, has a character in its path that clients would replace or misread; set XDG_STATE_HOME to another".into());
        }
        if let Some(agent) = self.agent
            && (may_be_expanded(agent) || agent.starts_with('-'))
        {
            return Err("an agent's name may not hold $, { or } here, for which clients put other text, or begin with -".into());
        }
        client.takes(name)?;
        // Named like its binding, the agent of a second binding is another one.
        let agents_name = match client.audience {
            Audience::Client => EXAMPLE_AGENT,
            _ => self.agent.unwrap_or(name),
        };
        client.takes(agents_name)?;
        // Where several of the texts below match, the one that is put first counts. So a longer
        // text comes before one that it begins with.
        let mut filled = Filled::default();
        self.put_folders(&mut filled)?;
        for quote in ['"', '\''] {
            self.put_options(&mut filled, quote);
            let place = format!("{quote}{EXAMPLE_TICKETS}{quote}");
            filled.put(&place, &quoted(tickets.unwrap_or_default()));
            filled.put(&format!("{quote}keyhole{quote}"), &quoted(program));
        }
        let command = format!("command: {}", quoted(program));
        filled.put("command: keyhole", &command);
        // In YAML, the binding's name may be a key, which needs quotes if it is no agent's name.
        let key = if is_agents_name(name) {
            name
        } else {
            &quoted(name)
        };
        filled.put(&format!("{EXAMPLE_BINDING}:"), &format!("{key}:"));
        filled.put(EXAMPLE_BINDING, name);
        filled.put(EXAMPLE_AGENT, agents_name);
        Ok(filled)
    }

    /// Fills in each of the client's folders that a variable has moved: for `~/.codex` in an
    /// example, the path that `CODEX_HOME` names. A folder at its usual place stays as the examples
    /// have it.
    ///
    /// # Errors
    /// If a variable names a path that cannot be written in the client's texts.
    fn put_folders(self, filled: &mut Filled) -> Result<(), Unfit> {
        let home = &self.user.home;
        for folder in &self.client.folders {
            let usual = folder.usual;
            let found = self.user.folder(folder)?;
            if found == home.join(usual.trim_start_matches("~/")) {
                continue;
            }
            let moved = text_if_printable(&found).ok_or(
                "a folder of the client has a character in its path that cannot be written here",
            )?;
            // In a rule, an absolute path begins with two slashes.
            filled.put(&format!("Read({usual}"), &format!("Read(/{moved}"));
            filled.put(usual, moved);
        }
        Ok(())
    }

    /// If the server is to call as an agent (`self.agent`, such as `reviewer`), adds to `filled` the
    /// option for that: behind `"--bind", "scanner-catalog"`, where the arguments stand in the
    /// quotes `quote`, comes `"--agent", "reviewer"`.
    ///
    /// An example that has the option `--agent` there already gets no second one: its
    /// `identifier-scanner` is replaced like any other.
    fn put_options(self, filled: &mut Filled, quote: char) {
        let Some(agent) = self.agent else {
            return;
        };
        let old = format!("{quote}--bind{quote}, {quote}{EXAMPLE_BINDING}{quote}");
        let new = format!("{quote}--bind{quote}, {quote}{}{quote}", self.name);
        let option = format!(", {quote}--agent{quote}");
        // Of two texts that match, the one that is put first counts. So the longer one comes first.
        filled.put(&format!("{old}{option}"), &format!("{new}{option}"));
        filled.put(&old, &format!("{new}{option}, {}", quoted(agent)));
    }

    /// What the user pastes so that a hook of the client gives the agent `self.name` its file; who
    /// gets it; and the last step. The texts are the hook's settings, what to know of hooks, and
    /// the client's texts to paste, which keep the file from others. If there are texts of the
    /// client, and no `file`, also what to know if the user pastes all of it by hand.
    ///
    /// # Errors
    /// If the client has no hooks, its hooks cannot be for this agent, or the path of the map
    /// cannot be printed.
    pub fn hook(self, file: Option<&File>) -> Result<Hook, Unfit> {
        let (client, agent) = (self.client, self.name);
        let hooks = client.hook.ok_or(
            "only claude-code, codex and copilot-cli hand a file over by a hook; name one of them",
        )?;
        client.takes_hook_for(agent)?;
        let settings = self.hook_settings()?;
        // In the client's own texts, the names are the usual ones, as without a hook.
        let usual = Recipe {
            name: client.usual_name(),
            agent: None,
            ..self
        };
        // The path of the settings, in the client's folder, which a variable may have moved.
        let place = usual.filled_with("", Some(""))?.fill(hooks.file);
        let mut texts = vec![format!(
            "Put this into {place}, beside what you have there:\n\n```json\n{settings:#}\n```"
        )];
        texts.extend(NOTES_ON_HOOKS.map(str::to_owned));
        if client.parts_to_paste().next().is_some() {
            texts.extend(usual.filled(file)?.blocks(client.parts_to_paste()));
            if file.is_none() {
                texts.extend(client.by_hand.iter().map(ToString::to_string));
            }
        }
        Ok(Hook {
            who: format!(
                "Only the agent {agent} gets the file, when it starts: it calls no tool, and no prompt holds a key."
            ),
            texts,
            last: hooks.say.replace(EXAMPLE_AGENT, agent),
        })
    }

    /// The client's settings with a hook that runs `keyhole inject` when an agent of this name
    /// starts. Copilot has another form for them than the other clients.
    ///
    /// # Errors
    /// If the path of the map has a character that cannot be printed.
    fn hook_settings(self) -> Result<Value, Unfit> {
        let map = text_if_printable(&self.user.map.location.file)
            .ok_or("the path of the map holds a character that cannot be printed here; move it")?;
        // The command names the map, so that no variable of a project's settings can name another.
        let program = quoted_for_sh(&self.user.program.path);
        let command = format!("{program} inject --map {}", quoted_for_sh(map));
        // Clients search for it as a regular expression; a `:` makes it one in Claude Code.
        let matcher = format!("^{}$", self.name);
        if self.client.name == "copilot-cli" {
            let group = json!({ "matcher": matcher, "type": "command", "command": command });
            return Ok(json!({ "version": 1, "hooks": { "SubagentStart": [group] } }));
        }
        let hook = json!({ "type": "command", "command": command });
        let group = json!({ "matcher": matcher, "hooks": [hook] });
        Ok(json!({ "hooks": { "SubagentStart": [group] } }))
    }
}

/// What to fill into a client's examples.
#[derive(Debug, Default)]
pub struct Filled(Vec<Replacement>);

/// A text of the examples, and what takes its place.
#[derive(Debug)]
struct Replacement {
    text: String,
    with: String,
}

impl Filled {
    /// Adds a replacement. Where an earlier one matches, that one counts.
    fn put(&mut self, text: &str, with: &str) {
        self.0.push(Replacement {
            text: text.to_owned(),
            with: with.to_owned(),
        });
    }

    /// The text with each replacement made, in one pass from its start: so none is made in what
    /// another one put there. Where several match, the one that was put first counts.
    pub fn fill(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let mut matching = self.0.iter().filter(|one| rest.starts_with(&one.text));
            if let Some(found) = matching.next() {
                filled += &found.with;
                rest = &rest[found.text.len()..];
            } else {
                filled.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
        filled
    }

    /// What the user pastes: each of these parts, in a fenced block below the place where it goes.
    pub fn blocks<'a>(&self, parts: impl IntoIterator<Item = &'a Part>) -> Vec<String> {
        parts.into_iter().map(|part| self.block(part)).collect()
    }

    /// A part in a fenced block, below the place where it goes.
    fn block(&self, part: &Part) -> String {
        let language = match part.example.rsplit('.').next().unwrap_or_default() {
            "md" => "markdown",
            "mjs" => "js",
            ending => ending,
        };
        let (place, text) = (self.fill(part.place), self.fill(part.text));
        // The fence is longer than any in the text.
        let fence = if text.contains("```") { "````" } else { "```" };
        format!("{place}:\n\n{fence}{language}\n{text}{fence}")
    }

    /// The path of a part's file, on this machine: of `~/.codex/a.toml`, it is in `home`.
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
