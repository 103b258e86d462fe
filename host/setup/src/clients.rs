//! The known clients: all that setup knows of one stands in its row of `clients.txt`, with the
//! examples of docs/examples. A row that does not parse fails the build.

/// One row. `clients.txt` says what each field is.
#[derive(Debug, Default)]
pub struct Client {
    /// The name that the user types.
    pub name: &'static str,
    /// The name that its makers use.
    pub title: &'static str,
    /// Who gets the file.
    pub audience: Audience,
    /// The same, in a sentence.
    pub who: &'static str,
    /// Its folders, as the texts name them, each with the variable that moves it.
    pub folders: Vec<(&'static str, &'static str)>,
    /// The names of its own agents.
    pub agents: Vec<&'static str>,
    /// Variables that it sets for its agents' commands.
    pub shell: Vec<&'static str>,
    /// The texts that it needs.
    pub parts: Vec<Part>,
    /// The longest file that arrives whole.
    pub max_bytes: Option<u64>,
    /// The last step, in the client's words.
    pub say: &'static str,
    /// What else to know.
    pub notes: Vec<&'static str>,
    /// What else to know if the user pastes all of it.
    pub by_hand: Vec<&'static str>,
    /// The file of its settings that has hooks for agents, and the last step then.
    pub hook: Option<(&'static str, &'static str)>,
    /// What shows that it is here.
    pub here: Vec<&'static str>,
}

/// Who gets the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    #[default]
    Client,
}

/// As the rows name it, and in the list.
const AUDIENCES: [(&str, Audience, &str); 5] = [
    ("plugin", Audience::Plugin, "the plugin's agent"),
    ("agent", Audience::Agent, "only one agent"),
    ("ruled", Audience::Ruled, "one agent, by rules"),
    ("session", Audience::Session, "one session"),
    ("client", Audience::Client, "the whole client"),
];

impl Audience {
    /// The same, in the list.
    pub fn in_words(self) -> &'static str {
        let row = AUDIENCES.iter().find(|row| row.1 == self);
        row.map_or("", |row| row.2)
    }
}

/// A text that goes into one file.
#[derive(Debug)]
pub struct Part {
    /// The name of the example. Its ending says which format it has.
    pub example: &'static str,
    /// The example.
    pub text: &'static str,
    /// What to do with the text, which follows.
    pub place: &'static str,
    /// The file that setup makes of it. None: setup prints it.
    pub to: Option<&'static str>,
}

/// Examples with their texts.
macro_rules! examples {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../../docs/examples/", $name)))),*]
    };
}

/// Names and texts.
type Examples<'a> = &'a [(&'static str, &'static str)];

const EXAMPLES: Examples<'_> = examples!(
    "agent-mcp-gateway-rules.json" "agent-mcp-gateway.json" "bernstein-mcp-servers.yaml"
    "claude-agent-sdk.mjs" "claude-code-agent.md" "claude-desktop.json"
    "codex-permissions.toml" "codex-profile.toml" "copilot-agent.md" "cursor.json"
    "gemini-cli-agent.md" "gemini-cli-policy.toml" "opencode-agent.md" "opencode.json"
    "qwen-code-agent.md" "qwen-code-settings.json" "vscode.json"
);

/// All clients, in the order of the list.
pub fn all() -> impl Iterator<Item = Client> {
    rows().flatten()
}

/// The client that the user types so, if there is one.
pub fn named(name: &str) -> Option<Client> {
    all().find(|client| client.name == name)
}

/// All rows. None is wrong: the build has tried them.
pub(crate) fn rows() -> impl Iterator<Item = Result<Client, String>> {
    let rows = include_str!("clients.txt").split("\n\n").skip(1);
    rows.map(|text| row(text, EXAMPLES))
}

/// One row, with its examples among these. The error names the line that is wrong.
pub(crate) fn row(text: &'static str, examples: Examples<'_>) -> Result<Client, String> {
    let mut client = Client::default();
    for line in text.lines() {
        let done = field(&mut client, line, examples);
        done.ok_or_else(|| format!("wrong in clients.txt: {line}"))?;
    }
    Ok(client)
}

fn field(client: &mut Client, line: &'static str, examples: Examples<'_>) -> Option<()> {
    if client.name.is_empty() {
        let mut head = line.split(" | ");
        (client.name, client.title) = (head.next()?, head.next()?);
        let audience = head.next()?;
        client.audience = AUDIENCES.iter().find(|row| row.0 == audience)?.1;
        return Some(());
    }
    let (field, value) = line.split_once(' ')?;
    match field {
        "who" => client.who = value,
        "folder" => client.folders.push(value.split_once(' ')?),
        "agents" => client.agents = value.split(' ').collect(),
        "shell" => client.shell = value.split(' ').collect(),
        "part" => {
            let (example, place) = value.split_once(' ')?;
            let (_, text) = examples.iter().find(|(name, _)| *name == example)?;
            client.parts.push(Part {
                example,
                text,
                place,
                to: None,
            });
        }
        "to" => client.parts.last_mut()?.to = Some(value),
        "say" => client.say = value,
        "most" => client.max_bytes = Some(value.parse().ok()?),
        "note" => client.notes.push(value),
        "paste" => client.by_hand.push(value),
        "hook" => client.hook = Some(value.split_once(' ')?),
        "here" => client.here = value.split("; ").collect(),
        _ => return None,
    }
    Some(())
}
