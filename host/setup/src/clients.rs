//! The known clients: all that setup knows of one stands in its row of `clients.toml`, with the
//! examples of docs/examples. A row that does not parse fails the build.

use serde::Deserialize;
use std::collections::BTreeMap;

/// The name under which the plugin is a client, and its agent one of the names that `remove` takes.
pub(crate) const PLUGIN_NAME: &str = "plugin";

/// One row. `clients.toml` says what each field is.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// The name that the user types.
    pub name: &'static str,
    /// The name that its makers use.
    pub title: &'static str,
    /// Who gets the file.
    pub audience: Audience,
    /// The same, in a sentence.
    pub who: &'static str,
    /// The client's own folders, and the variables that move them.
    #[serde(default)]
    pub folders: Vec<Folder>,
    /// The names of its own agents.
    #[serde(default)]
    pub agents: Vec<&'static str>,
    /// The variables that the client sets for its agents' commands. Each row must have this field.
    pub shell: Vec<&'static str>,
    /// The texts that it needs.
    pub parts: Vec<Part>,
    /// The longest file that an agent gets whole, in bytes. None: as long as our own limit allows.
    pub max_bytes: Option<u64>,
    /// The last step, in the client's words.
    #[serde(default)]
    pub say: &'static str,
    /// What else to know.
    pub notes: Vec<&'static str>,
    /// What else to know if the user pastes all of it.
    #[serde(default)]
    pub by_hand: Vec<&'static str>,
    /// Its hooks for agents, if it has any.
    pub hook: Option<Hooks>,
}

impl Client {
    /// The texts that the user pastes: setup makes no file of them.
    pub fn parts_to_paste(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(|part| part.to.is_none())
    }
}

/// A folder of a client's own. In a row, it is a list of these two texts.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Folder {
    /// Where it is unless it was moved, such as `~/.codex`. The client's texts name it so.
    pub usual: &'static str,
    /// The variable that moves it. That may have a path behind it, as in
    /// `XDG_CONFIG_HOME/opencode`.
    pub variable: &'static str,
}

/// Where a client has hooks for agents. In a row, it is a list of these two texts.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Hooks {
    /// The file of its settings that has them.
    pub file: &'static str,
    /// The last step then, in the client's words.
    pub say: &'static str,
}

/// Who gets the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Audience {
    /// The plugin's agent.
    Plugin,
    /// One agent.
    Agent,
    /// One, by the client's rules.
    Ruled,
    /// One session.
    Session,
    /// The whole client.
    Client,
}

impl Audience {
    /// The same, in the list.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Plugin => "the plugin's agent",
            Self::Agent => "only one agent",
            Self::Ruled => "one agent, by rules",
            Self::Session => "one session",
            Self::Client => "the whole client",
        }
    }
}

/// A text that goes into one file of the client.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The name of the example. Its ending says which format it has.
    pub example: &'static str,
    /// The example.
    #[serde(skip)]
    pub text: &'static str,
    /// Where the user puts the text: `Put this into ~/.cursor/mcp.json`. The text is printed below.
    pub place: &'static str,
    /// The path of the file that setup makes of the text. None: setup prints the text.
    pub to: Option<&'static str>,
}

/// A file of docs/examples.
#[derive(Debug)]
pub(crate) struct Example {
    /// The file's name.
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

macro_rules! examples {
    ($($name:literal)*) => {
        &[$(Example {
            name: $name,
            text: include_str!(concat!("../../../docs/examples/", $name)),
        }),*]
    };
}

pub(crate) const EXAMPLES: &[Example] = examples!(
    "agent-mcp-gateway-rules.json" "agent-mcp-gateway.json" "bernstein-mcp-servers.yaml"
    "claude-agent-sdk.mjs" "claude-code-agent.md" "claude-desktop.json"
    "codex-permissions.toml" "codex-profile.toml" "copilot-agent.md" "cursor.json"
    "gemini-cli-agent.md" "gemini-cli-policy.toml" "opencode-agent.md" "opencode.json"
    "qwen-code-agent.md" "qwen-code-settings.json" "vscode.json"
);

pub(crate) const ALL: &str = include_str!("clients.toml");

/// All clients, in the order of `clients.toml`. The build has checked that each row parses.
pub fn all() -> impl Iterator<Item = Client> {
    clients_in(ALL, EXAMPLES).into_iter().flatten()
}

/// The clients of this text, one for each of its tables `[[client]]`. Each part of a client gets
/// the text of the example that it names, such as `cursor.json`. Empty if the text has no table
/// `[[client]]`.
///
/// # Errors
/// If a table does not parse, or names an example that is not among `examples`.
pub(crate) fn clients_in(text: &'static str, examples: &[Example]) -> Result<Vec<Client>, String> {
    let mut tables: BTreeMap<&str, Vec<Client>> =
        toml::from_str(text).map_err(|why| why.to_string())?;
    let mut clients = tables.remove("client").unwrap_or_default();
    for part in clients.iter_mut().flat_map(|client| &mut client.parts) {
        let Some(example) = examples.iter().find(|one| one.name == part.example) else {
            return Err(format!("no example is called {}", part.example));
        };
        part.text = example.text;
    }
    Ok(clients)
}
