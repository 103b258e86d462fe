//! The clients that are known, one recipe each. docs/use-from.md has the same list,
//! and a test holds the two together.

use clap::{ValueEnum, builder::PossibleValue};

/// What to put where, for one client.
#[derive(Debug)]
pub(super) struct Recipe {
    /// As the user names it.
    pub(super) name: &'static str,
    /// As its makers call it.
    pub(super) title: &'static str,
    pub(super) reach: Reach,
    /// The first line. It says who gets the document.
    pub(super) who: &'static str,
    pub(super) parts: &'static [Part],
    /// What to know besides, a sentence or two each.
    pub(super) notes: &'static [&'static str],
    /// Commands that tell that the client is here.
    pub(super) commands: &'static [&'static str],
    /// Folders that do, beneath the home.
    pub(super) folders: &'static [&'static str],
}

/// Who gets the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// One agent, which the example calls so.
    Agent(&'static str),
    /// All that runs in the client.
    Client,
}

/// A text that goes into one file.
#[derive(Debug)]
pub(super) struct Part {
    /// Which example it is; and the end of its name says what format.
    pub(super) example: &'static str,
    pub(super) text: &'static str,
    /// What to do with it; the text follows.
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

/// The first line if nothing is told apart.
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
        notes: &[
            "Each call needs your leave: when asked, or as mcp__scanner-catalog__load_context among the permissions that you allow.",
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
        notes: &[],
        commands: &["cursor", "cursor-agent"],
        folders: &["~/.cursor"],
    },
    Recipe {
        name: "codex",
        title: "Codex",
        reach: Reach::Client,
        who: WHOLE,
        parts: &[part!(
            "codex.toml",
            "Put this at the end of ~/.codex/config.toml"
        )],
        notes: &[],
        commands: &["codex"],
        folders: &["~/.codex"],
    },
    Recipe {
        name: "gemini-cli",
        title: "Gemini CLI",
        reach: Reach::Client,
        who: WHOLE,
        parts: &[part!(
            "gemini-cli.json",
            "Put this into ~/.gemini/settings.json"
        )],
        notes: &[],
        commands: &["gemini"],
        folders: &["~/.gemini"],
    },
    Recipe {
        name: "agent-mcp-gateway",
        title: "agent-mcp-gateway",
        reach: Reach::Client,
        who: "The whole client gets the document if it means to: agents tell the gateway their own names, and nothing verifies them.",
        parts: &[
            part!("agent-mcp-gateway.json", "Put this into .mcp.json"),
            part!(
                "agent-mcp-gateway-rules.json",
                "Put this into .mcp-gateway-rules.json, with your agent's name for scanner"
            ),
        ],
        notes: &["Remove the line with XDG_CONFIG_HOME if you do not set that variable."],
        commands: &["agent-mcp-gateway"],
        folders: &[],
    },
    Recipe {
        name: "bernstein",
        title: "Bernstein",
        reach: Reach::Client,
        who: "The whole client gets the document if its tasks say so: each worker whose task has the words.",
        parts: &[part!(
            "bernstein-mcp-servers.yaml",
            "Write this to .sdd/config/mcp_servers.yaml"
        )],
        notes: &["Change the keywords to words of the tasks that are to have the document."],
        commands: &["bernstein"],
        folders: &[],
    },
];

/// A client that is known.
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

/// All of them.
pub(super) fn all() -> impl Iterator<Item = &'static Recipe> {
    RECIPES.iter()
}
