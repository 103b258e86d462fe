//! One client's recipe, with a program and the user's names in it.

use crate::{
    clients::{Audience, Part, Recipe},
    paste::{is_expanded, plain, quoted, script_text, yaml_text},
};
use std::path::Path;

/// The binding's name in the examples.
pub const BINDING: &str = "scanner-catalog";
/// The agent's name there.
pub const AGENT: &str = "identifier-scanner";
/// The folder for tickets there.
const TICKETS_QUOTED: &str = "\"/home/me/.local/state/keyhole/claude-code\"";
const TICKETS_SCRIPT: &str = "'/home/me/.local/state/keyhole/claude-code'";

/// The longest binding's name with which `mcp__NAME__load_context` has the 60 characters that
/// every client takes. Some cut a longer one, or refuse it.
pub const MAX_IN_TOOL: usize = 41;

/// The name of a binding, and of its agent, if the user says none.
pub fn usual(audience: Audience) -> &'static str {
    match audience {
        Audience::Client => BINDING,
        _ => AGENT,
    }
}

/// The folder in which the server and the guard of a user's own agent in Claude Code keep their
/// tickets, as an argument of both: a project can set variables. It holds nothing else. `state`
/// is [`state_folder`](crate::state_folder). None if clients could read its path in another way.
pub fn tickets(state: &Path) -> Option<String> {
    let folder = state.join("claude-code");
    let text = plain(&folder).filter(|text| !is_expanded(text))?;
    Some(text.to_owned())
}

/// Why a name or a path will not do that the user gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The agent's name has not the client's form.
    #[error(
        "in this client, an agent's name is 1 to 64 of a to z, digits and -, and starts with a letter"
    )]
    NotItsAgent,
    /// Some client could not call its tool.
    #[error(
        "some clients cannot call the tool of a binding with so long a name: choose one of at most {} characters",
        MAX_IN_TOOL
    )]
    LongName,
    /// The record has what the plugin needs under this name.
    #[error("`plugin` is the name of what Keyhole's plugin needs; choose another name")]
    OfPlugin,
    /// The binding is for some agents.
    #[error("the map has this binding for its agents only: name one of them with --agent")]
    NoAgent,
    /// A server would refuse the document.
    #[error(
        "the document lies in none of the map's roots, and directly in your home, which is none to be: move it into ~/private, and name it there"
    )]
    NoRoot,
    /// A client would replace a part of the agent's name, or its server take it for an option.
    #[error(
        "an agent's name may not hold $, {{ or }} here, for which clients put other text, or begin with -"
    )]
    OddAgent,
    /// There is no such client.
    #[error("this client is not known; `keyhole setup` lists those that are")]
    UnknownClient,
    /// The client has no hook for agents.
    #[error(
        "only claude-code, codex and copilot-cli hand a document over by a hook; name one of them"
    )]
    NoHook,
    /// The name means something else in a hook.
    #[error("a hook takes agents' names of letters, digits, -, _ and : only")]
    NoMatcher,
    /// The hook names the map.
    #[error(
        "the path of the map holds a character that cannot be printed here; move it, or write its entry yourself"
    )]
    OddMap,
    /// The folder for tickets is an argument of two programs.
    #[error(
        "the folder for Keyhole's tickets, in XDG_STATE_HOME or ~/.local/state, has a character in its path that clients would replace or misread, or HOME is not set; set XDG_STATE_HOME to another"
    )]
    OddState,
    /// The path stands for the user's own.
    #[error("replace FILE by the path of your Markdown file, such as ~/notes/identifiers.md")]
    Placeholder,
    /// The path is none of a Markdown file.
    #[error(
        "only a file whose name ends in .md is served, and this name, which is not shown here, does not: rename the file"
    )]
    NotMarkdown,
    /// The path cannot be written into the map.
    #[error(
        "write the whole path, from /. Only ~/ may be short. A path is UTF-8, without control, direction or invisible characters"
    )]
    OddPath,
    /// There is no such file.
    #[error("nothing is there; make the file, or give the path of another")]
    Missing,
    /// It is a folder.
    #[error("this is a folder: name a Markdown file in it")]
    Folder,
    /// It is a device or the like.
    #[error("this is no file; name a Markdown file")]
    NotAFile,
}

/// The path of a document as the map has it: as the user gave it, if it means the same there.
///
/// # Errors
/// [`NameError`].
#[expect(clippy::disallowed_methods, reason = "it looks whether it is a folder")]
pub fn document(file: &Path, home: Option<&Path>) -> Result<String, NameError> {
    let text = plain(file).ok_or(NameError::OddPath)?;
    if file.ends_with("FILE") {
        return Err(NameError::Placeholder);
    }
    // The text may be a key in the wrong place, so this check comes before anything prints it.
    if !text.ends_with(".md") || file.extension().is_none() {
        let in_home = file.strip_prefix("~").ok().zip(home);
        let path = in_home.map_or_else(|| file.to_owned(), |(rest, home)| home.join(rest));
        return Err(match path.is_dir() {
            true => NameError::Folder,
            false => NameError::NotMarkdown,
        });
    }
    if text.starts_with("~/") {
        return Ok(text.to_owned());
    }
    let absolute = std::path::absolute(file).ok();
    let absolute = absolute.as_deref().and_then(plain);
    let absolute = absolute.filter(|_| !text.starts_with('~'));
    Ok(absolute.ok_or(NameError::OddPath)?.to_owned())
}

/// Parts of an example, each with its replacement.
#[derive(Debug)]
pub struct Filled(Vec<(&'static str, String)>);

impl Filled {
    /// For this client, program and names, and the folder for tickets, as [`tickets`] has it.
    ///
    /// # Errors
    /// If the client does not take such a name.
    pub fn new(
        recipe: &Recipe,
        program: &str,
        tickets: Option<&str>,
        given: Option<&str>,
        agent: Option<&str>,
    ) -> Result<Self, NameError> {
        let bind = given.unwrap_or(usual(recipe.audience));
        if bind.len() > MAX_IN_TOOL {
            return Err(NameError::LongName);
        }
        let needs = |part: &Part| {
            [TICKETS_QUOTED, TICKETS_SCRIPT]
                .iter()
                .any(|text| part.text.contains(text))
        };
        let tickets = match tickets {
            None if recipe.parts.iter().any(needs) => return Err(NameError::OddState),
            tickets => tickets.unwrap_or_default(),
        };
        if agent.is_some_and(|agent| is_expanded(agent) || agent.starts_with('-')) {
            return Err(NameError::OddAgent);
        }
        // The agent and its file have the binding's name, so that a second binding's do
        // not replace them.
        let of_agent = match agent.or(given) {
            Some(name) if recipe.audience != Audience::Client => match (is_agent(name), agent) {
                (true, _) => name.to_owned(),
                (false, None) => format!("agent-{name}"),
                (false, Some(_)) => return Err(NameError::NotItsAgent),
            },
            _ => AGENT.to_owned(),
        };
        let agent_option = |quote: &str| {
            agent.map_or_else(String::new, |agent| {
                format!(", {quote}--agent{quote}, {}", quoted(agent))
            })
        };
        let name = match is_word(bind) {
            true => bind.to_owned(),
            false => quoted(bind),
        };
        // The first match is taken. So if one text is the beginning of another, the
        // longer one comes first.
        let places = vec![
            // A client whose guard says which agent calls.
            (
                "\"--bind\", \"scanner-catalog\", \"--agent\", \"identifier-scanner\"",
                format!("\"--bind\", \"{bind}\", \"--agent\", \"{of_agent}\""),
            ),
            (
                "'--bind', 'scanner-catalog', '--agent', 'identifier-scanner'",
                format!("'--bind', '{bind}', '--agent', '{of_agent}'"),
            ),
            (TICKETS_QUOTED, quoted(tickets)),
            (TICKETS_SCRIPT, script_text(tickets)),
            (
                "\"--bind\", \"scanner-catalog\"",
                format!("\"--bind\", \"{bind}\"{}", agent_option("\"")),
            ),
            (
                "'--bind', 'scanner-catalog'",
                format!("'--bind', '{bind}'{}", agent_option("'")),
            ),
            ("\"keyhole\"", quoted(program)),
            ("'keyhole'", script_text(program)),
            (
                "command: keyhole",
                format!("command: {}", yaml_text(program)),
            ),
            // The name as a YAML key, if the client's example uses one.
            ("scanner-catalog:", format!("{name}:")),
            (BINDING, bind.to_owned()),
            (AGENT, of_agent),
        ];
        Ok(Self(places))
    }

    /// Fills in the text in one pass, so it never replaces a part of a replacement.
    pub fn fill(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            match self.0.iter().find(|(place, _)| rest.starts_with(place)) {
                Some((place, with)) => {
                    filled += with;
                    rest = rest.get(place.len()..).unwrap_or_default();
                }
                None => {
                    filled.push(c);
                    rest = rest.get(c.len_utf8()..).unwrap_or_default();
                }
            }
        }
        filled
    }

    /// The part as a fenced block, so that the reader can tell it from the text around
    /// it.
    pub fn block(&self, part: &Part) -> String {
        let language = match part.example.rsplit('.').next().unwrap_or_default() {
            "md" => "markdown",
            "mjs" => "js",
            ending => ending,
        };
        // The fence is longer than any in the text.
        let fence = match part.text.contains("```") {
            true => "````",
            false => "```",
        };
        format!("{fence}{language}\n{}{fence}", self.fill(part.text))
    }
}

/// Whether each client with agents accepts this as the name of an agent and of its file.
fn is_agent(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    name.len() <= 64 && is_word(name) && name.chars().all(is_plain)
}

/// Whether a name in the form of a binding's name is a string in YAML even without
/// quotes.
fn is_word(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && !["null", "true", "false", "yes", "no", "on", "off", "y", "n"].contains(&name)
}
