//! The known clients, as `clients.txt` has them, with the examples of docs/examples.

/// What one client needs in its configuration. `clients.txt` says what each field is.
#[derive(Debug, Default)]
pub struct Recipe {
    /// The name that the user types.
    pub name: &'static str,
    /// The name that its makers use.
    pub title: &'static str,
    /// Who gets the document.
    pub audience: Audience,
    /// The same, in a sentence.
    pub who: &'static str,
    /// The texts that it needs.
    pub parts: Vec<Part>,
    /// The longest document that arrives whole.
    pub max_bytes: Option<u64>,
    /// The last step, in the client's words.
    pub say: &'static str,
    /// What else to know.
    pub notes: Vec<&'static str>,
    /// What else to know if the user does by hand what setup would do or refuse.
    pub by_hand: Vec<&'static str>,
    /// The file of its settings that has hooks for agents, and the last step then.
    pub hook: Option<(&'static str, &'static str)>,
    /// What shows that it is here.
    pub here: Vec<&'static str>,
}

/// Who gets the document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audience {
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

/// A text that goes into one file.
#[derive(Debug)]
pub struct Part {
    /// The name of the example. Its ending says which format it has.
    pub example: &'static str,
    /// The example.
    pub text: &'static str,
    /// What to do with the text, which follows.
    pub place: &'static str,
    /// The file that setup writes it to, if it does.
    pub to: Option<&'static str>,
}

/// Examples with their texts.
macro_rules! examples {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../../docs/examples/", $name)))),*]
    };
}

const EXAMPLES: &[(&str, &str)] = examples!(
    "agent-mcp-gateway-rules.json" "agent-mcp-gateway.json" "bernstein-mcp-servers.yaml"
    "claude-agent-sdk.mjs" "claude-code-agent.md" "claude-desktop.json" "codex-profile.toml" "copilot-agent.md" "cursor.json"
    "gemini-cli-agent.md" "gemini-cli-policy.toml" "opencode-agent.md" "opencode.json"
    "qwen-code-agent.md" "qwen-code-settings.json" "vscode.json"
);

/// All recipes. A line that is not as `clients.txt` says would be left out, so a test
/// counts them.
pub fn all() -> impl Iterator<Item = Recipe> {
    let text = include_str!("clients.txt");
    text.split("\n\n").skip(1).filter_map(recipe)
}

/// The recipe of the client that the user types so, if there is one.
pub fn named(name: &str) -> Option<Recipe> {
    all().find(|recipe| recipe.name == name)
}

fn recipe(text: &'static str) -> Option<Recipe> {
    let mut lines = text.lines();
    let mut head = lines.next()?.split(" | ");
    let mut recipe = Recipe {
        name: head.next()?,
        title: head.next()?,
        audience: match head.next()? {
            "agent" => Audience::Agent,
            "ruled" => Audience::Ruled,
            "session" => Audience::Session,
            _ => Audience::Client,
        },
        ..Recipe::default()
    };
    for line in lines {
        let (field, value) = line.split_once(' ')?;
        match field {
            "who" => recipe.who = value,
            "part" => {
                let (example, place) = value.split_once(' ')?;
                let (_, text) = EXAMPLES.iter().find(|(name, _)| *name == example)?;
                recipe.parts.push(Part {
                    example,
                    text,
                    place,
                    to: None,
                });
            }
            "to" => recipe.parts.last_mut()?.to = Some(value),
            "say" => recipe.say = value,
            "most" => recipe.max_bytes = value.parse().ok(),
            "note" => recipe.notes.push(value),
            "paste" => recipe.by_hand.push(value),
            "hook" => recipe.hook = value.split_once(' '),
            "here" => recipe.here = value.split("; ").collect(),
            _ => return None,
        }
    }
    Some(recipe)
}
