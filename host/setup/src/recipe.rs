//! What one client needs, with a program and the user's names in it.

use crate::{
    Unfit, User,
    clients::{Audience, Client, PLUGIN_NAME, Part},
    file::{File, root_of},
    paste::{may_be_expanded, quoted, quoted_for_sh, text_if_printable},
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The name that a binding has in the examples of docs/examples. Setup replaces it by the user's.
pub const EXAMPLE_BINDING: &str = "scanner-catalog";
/// The name that the binding's agent has in the examples.
pub const EXAMPLE_AGENT: &str = "identifier-scanner";
/// The folder of the user's file in the examples.
const EXAMPLE_FOLDER: &str = "~/notes";
/// The folder in the examples by which a server and its guard share tickets.
const EXAMPLE_TICKETS: &str = "/home/me/.local/state/keyhole/claude-code";

/// The longest binding's name with which `mcp__NAME__load_context` has the 60 characters that
/// every client takes. Some cut a longer one, or refuse it.
pub const MAX_BINDING_NAME: usize = 41;

/// Why the name of one of the client's own agents is refused, or the name `plugin`.
const NAME_IS_TAKEN: &str = "the client, or Keyhole's plugin, has this name itself; choose another";

/// What to know of a hook.
const NOTES_ON_HOOKS: [&str; 2] = [
    "Write into the agent's own text: \"You are given a file before you begin. If there is none, or if you read that it was not loaded, stop and report that. Never go on without it.\"",
    "A file of more than 10,000 characters (in Codex and Copilot: bytes) is refused. If the client shortens the agent's conversation, the file is gone. The agent is known by its name alone: a project can bring an agent of the same name, which then gets the file. Whoever may run commands as you can run this one too: do not allow it to any conversation.",
];

impl Client {
    /// The name of a binding if the user says none: `scanner-catalog` in a client that gives all
    /// its conversations the file; in any other, `identifier-scanner`, which its agent has, too.
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

    /// Checks that a server of ours, and its agent, may have this name in this client, as `notes`
    /// may in each.
    ///
    /// # Errors
    /// If the name has more than 41 bytes; if it is `plugin`, or the name of one of the client's
    /// own agents, such as `explore`; or if it is no name for an agent (`is_agents_name`), as
    /// `Notes`. The last does not count in a client whose conversations all get the file
    /// ([`Audience::Client`]), since setup makes no agent there.
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

    /// Checks that a hook in this client may be for the agent of this name, such as
    /// `acme:reviewer`. The hook is for an agent that is there already, so capitals may be in it.
    ///
    /// # Errors
    /// If the name is `plugin`, or that of one of the client's own agents; or if it has another
    /// character than letters, digits, `-`, `_` and `:`.
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

/// What is needed to write one client's texts for one user.
#[derive(Clone, Copy)]
pub struct Recipe<'a> {
    /// The user.
    pub user: &'a User<'a>,
    /// The client.
    pub client: &'a Client,
    /// The name of the binding; for a hook, that of the agent.
    pub name: &'a str,
    /// The agent that the user named, which the server gets as its option `--agent`. None if the
    /// user named none.
    pub agent: Option<&'a str>,
}

impl Recipe<'_> {
    /// What to fill into the client's examples for this user: see `filled_with`, here with the path
    /// of this program and the user's folder for tickets. If there is a `file`, its folder takes
    /// the place of `~/notes` in the examples; or if that folder is the home or above the home, the
    /// file's own path does.
    ///
    /// # Errors
    /// Those of `filled_with`. An example that needs the folder for tickets is refused, too, if a
    /// client would misread the folder's path.
    pub fn filled(self, file: Option<&File>) -> Result<Filled, Unfit> {
        let user = self.user;
        let folder = user.tickets();
        // None if clients would misread the path. `filled_with` then refuses an example with it.
        let tickets = text_if_printable(&folder).filter(|text| !may_be_expanded(text));
        let mut filled = self.filled_with(&user.program.path, tickets)?;
        if let Some(file) = file {
            let root = root_of(&file.real, &user.home);
            let readable = root.as_ref().unwrap_or(&file.written);
            filled.put(&quoted(EXAMPLE_FOLDER), &quoted(readable));
        }
        Ok(filled)
    }

    /// What to fill into the client's examples, such as `"command": "keyhole"`: the path of the
    /// `program`, the folder for `tickets`, the client's folders that a variable has moved, and the
    /// names of binding and agent for `scanner-catalog` and `identifier-scanner`.
    ///
    /// # Errors
    /// - If `tickets` is None (clients would misread the path), and an example has that folder.
    /// - If the client does not take the name of the binding or of the agent (`agents_name`).
    /// - If the path of a folder that a variable has moved cannot be written.
    pub(crate) fn filled_with(self, program: &str, tickets: Option<&str>) -> Result<Filled, Unfit> {
        let Self { client, name, .. } = self;
        let mut parts = client.parts.iter();
        if tickets.is_none() && parts.any(|part| part.text.contains(EXAMPLE_TICKETS)) {
            return Err("the folder for Keyhole's tickets, in XDG_STATE_HOME or ~/.local/state, has a character in its path that clients would replace or misread; set XDG_STATE_HOME to another".into());
        }
        let agents_name = self.agents_name()?;
        // Where several of the texts below match, the one that is put first counts. So a longer
        // text is put before a shorter one that begins like it: `scanner-catalog:` before
        // `scanner-catalog`.
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

    /// The name that the agent gets in the client's texts. In a client whose conversations all get
    /// the file ([`Audience::Client`]), that is the examples' own, `identifier-scanner`. In any
    /// other client, it is `self.agent`; or if that is None, the binding's name.
    ///
    /// # Errors
    /// - If `self.agent` begins with `-`, or holds `$`, `{` or `}`.
    /// - If the client does not take the name of the binding or of the agent ([`Client::takes`]).
    fn agents_name(&self) -> Result<&str, Unfit> {
        if let Some(agent) = self.agent
            && (may_be_expanded(agent) || agent.starts_with('-'))
        {
            return Err("an agent's name may not hold $, { or } here, for which clients put other text, or begin with -".into());
        }
        self.client.takes(self.name)?;
        // If the agent has its binding's name, each binding has an agent of its own.
        let name = match self.client.audience {
            Audience::Client => EXAMPLE_AGENT,
            _ => self.agent.unwrap_or(self.name),
        };
        self.client.takes(name)?;
        Ok(name)
    }

    /// Adds to `filled` each of the client's folders that a variable has moved: `~/.codex` in an
    /// example becomes the path that `CODEX_HOME` names. A folder at its usual place stays
    /// `~/.codex`.
    ///
    /// # Errors
    /// If a variable names a path that is relative, or has a character that cannot be written in
    /// the client's texts.
    fn put_folders(self, filled: &mut Filled) -> Result<(), Unfit> {
        let home = &self.user.home;
        for folder in &self.client.folders {
            let usual = folder.usual;
            let now = self.user.folder(folder)?;
            if now == home.join(usual.trim_start_matches("~/")) {
                continue;
            }
            let moved = text_if_printable(&now).ok_or(
                "a folder of the client has a character in its path that cannot be written here",
            )?;
            // In a client's rule, an absolute path begins with two slashes: `Read(//opt/codex`.
            filled.put(&format!("Read({usual}"), &format!("Read(/{moved}"));
            filled.put(usual, moved);
        }
        Ok(())
    }

    /// If the server is to call as an agent (`self.agent`, such as `reviewer`), adds to `filled`
    /// the option for that: behind `"--bind", "scanner-catalog"`, where the arguments stand in the
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

    /// The texts by which a hook of the client gives the agent `self.name` its file: the settings
    /// with the hook, what to know of hooks, and then the client's own texts to paste, which keep
    /// the file from others. If the client has such texts, and the user named no `file`, what to
    /// know of pasting all by hand comes last.
    ///
    /// # Errors
    /// If the client has no hooks; if its hooks cannot be for this agent (`takes_hook_for`); if the
    /// path of the map cannot be printed; or if the client's texts cannot be filled (`filled`).
    pub fn hook(self, file: Option<&File>) -> Result<Hook, Unfit> {
        let (client, agent) = (self.client, self.name);
        let hooks = client.hook.ok_or(
            "only claude-code, codex and copilot-cli hand a file over by a hook; name one of them",
        )?;
        client.takes_hook_for(agent)?;
        let settings = self.hook_settings()?;
        // `self.name` is the agent's. The client's own texts name a binding: the usual one.
        let usual = Recipe {
            name: client.usual_name(),
            agent: None,
            ..self
        };
        // The path of the settings, in the client's folder, which a variable may have moved.
        // Neither a program nor a folder for tickets is in that path: both are left empty.
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

    /// The client's settings with a hook that runs `keyhole inject --map PATH` when an agent of the
    /// name `self.name` starts: `{ "hooks": { "SubagentStart": [ … ] } }`. For Copilot CLI, the
    /// command stands beside the agent's name; for the other clients, in a list `hooks` there.
    ///
    /// # Errors
    /// If the path of the map has a character that cannot be printed.
    fn hook_settings(self) -> Result<Value, Unfit> {
        let map = text_if_printable(&self.user.map.location.file)
            .ok_or("the path of the map holds a character that cannot be printed here; move it")?;
        // The command names the map, so that no variable of a project's settings can name another.
        let program = quoted_for_sh(&self.user.program.path);
        let command = format!("{program} inject --map {}", quoted_for_sh(map));
        // Clients take this as a regular expression, also Claude Code if a `:` is in the name.
        // Without `^` and `$`, an agent whose name holds this one would get the file, too.
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

/// What to fill into a client's examples, in the order in which a text is looked for.
#[derive(Debug, Default)]
pub struct Filled(Vec<Replacement>);

/// A text of the examples, and what takes its place.
#[derive(Debug)]
struct Replacement {
    text: String,
    with: String,
}

impl Filled {
    /// Adds a replacement. Where one that was added earlier matches, the earlier one counts.
    fn put(&mut self, text: &str, with: &str) {
        self.0.push(Replacement {
            text: text.to_owned(),
            with: with.to_owned(),
        });
    }

    /// The text with all replacements made: if `notes` is to take the place of `scanner`,
    /// `"a scanner"` becomes `"a notes"`. A text that replaces another is not searched again. Where
    /// several replacements match at one place, the one that was added first counts.
    pub fn fill(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut unread = text;
        while let Some(c) = unread.chars().next() {
            let mut matching = self.0.iter().filter(|one| unread.starts_with(&one.text));
            if let Some(first) = matching.next() {
                filled += &first.with;
                unread = &unread[first.text.len()..];
            } else {
                filled.push(c);
                unread = &unread[c.len_utf8()..];
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

    /// The path on this machine of the file that setup makes of a part: for `~/.codex/a.toml`, the
    /// file `.codex/a.toml` in `home`; or if the filled path is absolute, since a variable has
    /// moved the folder, just that.
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
