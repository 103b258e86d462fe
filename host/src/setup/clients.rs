//! The known clients, one recipe each. docs/use-from.md has the same list, and a
//! test keeps the two the same.

use clap::{ValueEnum, builder::PossibleValue};

/// What one client needs in its configuration.
#[derive(Debug)]
pub(super) struct Recipe {
    /// The name that the user types.
    pub(super) name: &'static str,
    /// The name that its makers use.
    pub(super) title: &'static str,
    pub(super) reach: Reach,
    /// The first line. It says who gets the document.
    pub(super) who: &'static str,
    pub(super) parts: &'static [Part],
    /// The longest document that arrives whole, in bytes. None if the client does
    /// not cut off or move longer documents, or if our own limit is lower.
    pub(super) max_bytes: Option<u64>,
    /// What else to know, in a sentence or two each.
    pub(super) notes: &'static [&'static str],
    /// Commands that show that the client is on this machine.
    pub(super) commands: &'static [&'static str],
    /// Folders under the home directory that show the same.
    pub(super) folders: &'static [&'static str],
}

/// Who gets the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// One agent, which has this name in the example.
    Agent(&'static str),
    /// One agent of this name too, but the whole client has the server, and only the
    /// client's rules keep others from it. Others could undo the rules.
    Ruled(&'static str),
    /// A session that is started for this purpose. It has this name in the example.
    Session(&'static str),
    /// Everything that runs in the client.
    Client,
}

/// A text that goes into one file.
#[derive(Debug)]
pub(super) struct Part {
    /// The name of the example. Its ending says which format it has.
    pub(super) example: &'static str,
    pub(super) text: &'static str,
    /// What to do with the text, which follows.
    pub(super) place: &'static str,
}

/// An example of docs/examples, and what to do with it.
macro_rules! part {
    ($example:literal, $place:literal) => {
        Part {
            example: $example,
            text: include_str!(concat!("../../../docs/examples/", $example)),
            place: $place,
        }
    };
}

/// The first line for a client that does not tell agents apart.
const WHOLE: &str = "The whole client gets the document: every conversation and every agent in it. Bind only what all of them may read.";

const RECIPES: &[Recipe] = &[
    Recipe {
        name: "claude-code",
        title: "Claude Code",
        reach: Reach::Agent("identifier-scanner"),
        who: "Only the agent identifier-scanner gets the document: the session that starts it has no such tool.",
        parts: &[part!(
            "claude-code-agent.md",
            "Write this to ~/.claude/agents/identifier-scanner.md, or to .claude/agents/identifier-scanner.md in a project that you trust"
        )],
        max_bytes: None,
        notes: &[
            "You must allow each call: when the client asks, or by adding mcp__scanner-catalog__load_context to the permissions that you allow.",
            "Keep the list of tools: without it, the agent can start others, which then have its server too.",
            "Change the agent's description and text to what it is for.",
        ],
        commands: &["claude"],
        folders: &["~/.claude"],
    },
    Recipe {
        name: "claude-desktop",
        title: "Claude Desktop",
        reach: Reach::Client,
        who: WHOLE,
        parts: &[part!(
            "claude-desktop.json",
            "Put this into claude_desktop_config.json (Settings, Developer, Edit Config)"
        )],
        max_bytes: None,
        notes: &[],
        commands: &[],
        folders: &["~/.config/Claude", "~/Library/Application Support/Claude"],
    },
    Recipe {
        name: "vscode",
        title: "VS Code",
        reach: Reach::Client,
        who: WHOLE,
        parts: &[part!("vscode.json", "Put this into .vscode/mcp.json")],
        max_bytes: None,
        notes: &[],
        commands: &["code"],
        folders: &["~/.config/Code", "~/Library/Application Support/Code"],
    },
    Recipe {
        name: "cursor",
        title: "Cursor",
        reach: Reach::Client,
        who: WHOLE,
        parts: &[part!("cursor.json", "Put this into ~/.cursor/mcp.json")],
        max_bytes: None,
        notes: &[],
        commands: &["cursor", "cursor-agent"],
        folders: &["~/.cursor"],
    },
    Recipe {
        name: "codex",
        title: "Codex",
        reach: Reach::Session("identifier-scanner"),
        who: "The whole session that you start with `codex -p identifier-scanner` gets the document, with all agents in it; no other session does. You cannot give it to one agent of a session only.",
        parts: &[part!(
            "codex-profile.toml",
            "Write this to ~/.codex/identifier-scanner.config.toml"
        )],
        max_bytes: Some(40_000),
        notes: &[
            "Start it with `codex exec --ephemeral -p identifier-scanner`, which keeps nothing. If you start it in a terminal with `codex -p identifier-scanner`, Codex keeps the session.",
            "If you set XDG_CONFIG_HOME, add env_vars = [\"XDG_CONFIG_HOME\"] at the end.",
            "Codex keeps a session, with the document in it, under ~/.codex. The shell of any other session may read that folder, and your document itself.",
        ],
        commands: &["codex"],
        folders: &["~/.codex"],
    },
    Recipe {
        name: "gemini-cli",
        title: "Gemini CLI",
        reach: Reach::Agent("identifier-scanner"),
        who: "Only the agent identifier-scanner gets the document, with the policy below: without it, the main conversation can get the tool too.",
        parts: &[
            part!(
                "gemini-cli-agent.md",
                "Write this to ~/.gemini/agents/identifier-scanner.md, or to .gemini/agents/identifier-scanner.md in a project that you trust"
            ),
            part!(
                "gemini-cli-policy.toml",
                "Write this to ~/.gemini/policies/keyhole.toml. It also stops the main conversation from reading what the client saves of the agent's session"
            ),
        ],
        max_bytes: Some(39_959),
        notes: &[
            "Keep the list of tools: without it, the agent has all tools of the session.",
            "If the binding has a key_env, the variable's name must not look like a secret's (it must not contain KEY, for example): Gemini CLI does not pass such variables to its servers.",
        ],
        commands: &["gemini"],
        folders: &["~/.gemini"],
    },
    Recipe {
        name: "qwen-code",
        title: "Qwen Code",
        reach: Reach::Agent("identifier-scanner"),
        who: "Only the agent identifier-scanner gets the document, with the settings below; in a project that you trust, an agent with the same name can replace it.",
        parts: &[
            part!(
                "qwen-code-agent.md",
                "Write this to ~/.qwen/agents/identifier-scanner.md"
            ),
            part!(
                "qwen-code-settings.json",
                "Put this into ~/.qwen/settings.json. Without it, the main conversation can read what the client saves of the agent's session, and an agent of any project can take its name"
            ),
        ],
        max_bytes: Some(28_000),
        notes: &[
            "Keep the list of tools: without it, the agent can start others.",
            "Without a terminal, start it with `--approval-mode default`.",
        ],
        commands: &["qwen"],
        folders: &["~/.qwen"],
    },
    Recipe {
        name: "opencode",
        title: "opencode",
        reach: Reach::Ruled("identifier-scanner"),
        who: "Only the agent identifier-scanner gets the document, as long as the permissions below hold and no other agent is told to continue its task: the whole client has the server.",
        parts: &[
            part!(
                "opencode.json",
                "Put this into ~/.config/opencode/opencode.json"
            ),
            part!(
                "opencode-agent.md",
                "Write this to ~/.config/opencode/agents/identifier-scanner.md"
            ),
        ],
        max_bytes: Some(51_200),
        notes: &[
            "If your `permission` is one word, such as \"ask\", replace it by { \"*\": \"ask\", \"scanner-catalog_*\": \"deny\" }: the last line that matches counts.",
            "The main conversation can start another agent to continue this one's task, and that agent then has the document. Only \"task\": { \"*\": \"deny\", \"identifier-scanner\": \"allow\" } among the permissions prevents this, and then no other agent can be started.",
            "A project's own opencode.json can undo the denial without asking you: in a project that you do not trust, start opencode with OPENCODE_DISABLE_PROJECT_CONFIG=1.",
        ],
        commands: &["opencode"],
        folders: &["~/.config/opencode"],
    },
    Recipe {
        name: "copilot-cli",
        title: "GitHub Copilot CLI",
        reach: Reach::Agent("identifier-scanner"),
        who: "Only the agent identifier-scanner gets the document, unless a session is started as that agent: the main conversation has no such tool.",
        parts: &[part!(
            "copilot-agent.md",
            "Write this to ~/.copilot/agents/identifier-scanner.agent.md, or to .github/agents/identifier-scanner.agent.md in a repository"
        )],
        max_bytes: Some(20_480),
        notes: &[
            "Keep both lists of tools. Without the first, the agent can start others, which get its server too; without the second, the client ignores the agent.",
            "Put nothing into ~/.copilot/mcp-config.json: that is for the whole client.",
        ],
        commands: &["copilot"],
        folders: &["~/.copilot"],
    },
    Recipe {
        name: "agent-sdk",
        title: "Claude Agent SDK",
        reach: Reach::Agent("identifier-scanner"),
        who: "Only the agent identifier-scanner gets the document: the program's main conversation has no such tool.",
        parts: &[part!(
            "claude-agent-sdk.mjs",
            "Put this into your program. It needs @anthropic-ai/claude-agent-sdk"
        )],
        max_bytes: None,
        notes: &[
            "Do not move the server to mcpServers among the options themselves: that gives it to the main conversation too.",
            "Keep the list of tools: without it, the agent can start others, which then have its server too.",
            "Give the server a name that no other has: one of the main conversation's with the same name wins.",
            "If you set env among the options, pass HOME and PATH on.",
        ],
        commands: &[],
        folders: &[],
    },
    Recipe {
        name: "agent-mcp-gateway",
        title: "agent-mcp-gateway",
        reach: Reach::Client,
        who: "The whole client gets the document if it tries: agents tell the gateway their own names, and nothing verifies them.",
        parts: &[
            part!("agent-mcp-gateway.json", "Put this into .mcp.json"),
            part!(
                "agent-mcp-gateway-rules.json",
                "Put this into .mcp-gateway-rules.json, and replace scanner by your agent's name"
            ),
        ],
        max_bytes: None,
        notes: &["Remove the line with XDG_CONFIG_HOME if you do not set that variable."],
        commands: &["agent-mcp-gateway"],
        folders: &[],
    },
    Recipe {
        name: "bernstein",
        title: "Bernstein",
        reach: Reach::Client,
        who: "The whole client gets the document if its tasks say so: each worker whose task contains the keywords.",
        parts: &[part!(
            "bernstein-mcp-servers.yaml",
            "Write this to .sdd/config/mcp_servers.yaml"
        )],
        max_bytes: None,
        notes: &[
            "Change the keywords to words that are in the tasks that should get the document.",
        ],
        commands: &["bernstein"],
        folders: &[],
    },
];

/// A known client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Client(&'static Recipe);

const CLIENTS: [Client; RECIPES.len()] = {
    let mut clients = [Client(&RECIPES[0]); RECIPES.len()];
    let mut next = 0;
    while next < RECIPES.len() {
        clients[next] = Client(&RECIPES[next]);
        next += 1;
    }
    clients
};

impl Client {
    pub(super) fn recipe(self) -> &'static Recipe {
        self.0
    }
}

impl ValueEnum for Client {
    fn value_variants<'a>() -> &'a [Self] {
        &CLIENTS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name).help(self.0.title))
    }
}

/// All recipes.
pub(super) fn all() -> impl Iterator<Item = &'static Recipe> {
    RECIPES.iter()
}
