//! One client's recipe, with this program and the user's names in it.

use super::{
    Names, Said, SetupError, UserMap,
    clients::{Audience, Part, Recipe},
    given::{is_expanded, quoted, script_text, shell_word, yaml_text},
    program::Program,
};
use crate::check::make;
use keyhole_core::{AgentName, Binding, BindingName, Map};
use keyhole_walk::printable::printable;

/// The binding's name in the examples. It is the default if the user names none.
const BINDING: &str = "scanner-catalog";
/// The agent's name there.
const AGENT: &str = "identifier-scanner";

pub(super) fn of(recipe: &Recipe, names: &Names, user: &UserMap) -> Result<Said, SetupError> {
    let program = Program::this()?;
    let bind = names.bind.as_deref().unwrap_or(BINDING);
    let agent = names.agent.as_ref();
    let filled = Filled::new(
        recipe,
        &program.path,
        names.bind.as_deref(),
        names.agent.as_deref(),
    )?;
    let mut text = filled.fill(recipe.who);
    if let (Audience::Client, Some(agent)) = (recipe.audience, agent) {
        text += &format!(" All of them count as the agent {agent}.");
    }
    text.push('\n');
    if let Some(caution) = &program.caution {
        text += &format!("\nCareful: {caution}.\n");
    }
    if names.bind.is_none() {
        text += &format!("\nThe name {bind} is an example; --bind takes another.\n");
    }
    text += &format!("\n{}\n", map(recipe, user, &program.path, bind, agent)?);
    for part in &recipe.parts {
        text += &format!("\n{}:\n\n{}", filled.fill(part.place), filled.block(part));
    }
    for note in &recipe.notes {
        text += &format!("\n{}\n", filled.fill(note));
    }
    user.conceals(text, &[names.bind.as_deref(), names.agent.as_deref()])
        .map(Said::from)
}

/// What the map needs for this client.
fn map(
    recipe: &Recipe,
    user: &UserMap,
    program: &str,
    bind: &str,
    agent: Option<&AgentName>,
) -> Result<String, SetupError> {
    let file = user.live.location().file();
    let shown = printable(file);
    let found = user
        .map
        .as_ref()
        .and_then(|map| Some((map, map.binding(bind)?)));
    if let Some((map, binding)) = found {
        let line = binding.entry().line();
        return Ok(match lacks(recipe, map, (bind, binding), agent) {
            None => format!("Your map, {shown}, has [bindings.{bind}] already, on line {line}."),
            Some(what) => {
                format!("Your map, {shown}, has [bindings.{bind}] on line {line}, but {what}.")
            }
        });
    }
    let mut options = match agent {
        Some(agent) => agent_option(agent)?,
        None => String::new(),
    };
    let mut why = String::new();
    if let Some(most) = recipe.max_bytes {
        options += &format!(" --max-bytes {most}");
        why = format!("\n\n{}.", why_limited(recipe));
    }
    let what = format!("has no [bindings.{bind}]");
    let add = add_entry(user, program, &what, &format!(" --bind {bind}{options}"))?;
    Ok(add + &why)
}

pub(super) fn agent_option(agent: &str) -> Result<String, SetupError> {
    let agent = shell_word(agent).ok_or(SetupError::OddAgent)?;
    Ok(format!(" --agent {agent}"))
}

/// The command that adds to the map what it lacks.
pub(super) fn add_entry(
    user: &UserMap,
    program: &str,
    lacks: &str,
    options: &str,
) -> Result<String, SetupError> {
    let file = user.live.location().file();
    let program = shell_word(program).ok_or(SetupError::OddProgram)?;
    let key = format!("{program} setup key FILE{options}");
    let (how, lines) = match make(file, &format!("{key} >>")) {
        Some(lines) => ("Add it", lines),
        None => ("Put at its end what this prints", key),
    };
    let shell = if cfg!(windows) { "bat" } else { "sh" };
    Ok(format!(
        "Your map, {}, {lacks} yet. {how}: replace FILE by the path of your Markdown file.\n\n```{shell}\n{lines}\n```",
        printable(file)
    ))
}

fn why_limited(recipe: &Recipe) -> String {
    format!(
        "{} cuts a longer result, or keeps it in a file that others may read; with the limit, Keyhole refuses such a file instead",
        recipe.title
    )
}

/// What keeps this agent from getting the binding's file as it should.
fn lacks(
    recipe: &Recipe,
    map: &Map,
    (name, binding): (&str, &Binding),
    agent: Option<&AgentName>,
) -> Option<String> {
    let entry = binding.entry();
    if let Some(most) = recipe.max_bytes
        && entry.max_bytes() > most
    {
        return Some(format!(
            "it allows files of {} bytes: add max_bytes = {most} to it; {}",
            entry.max_bytes(),
            why_limited(recipe)
        ));
    }
    match (map.find_bound(name, agent), agent) {
        (Some(_), None) => None,
        (Some(_), Some(_)) if entry.agents().is_some() => None,
        (Some(_), Some(agent)) => Some(format!(
            "any agent may have its file: add agents = [{}] to it",
            quoted(agent)
        )),
        (None, Some(_)) => Some("it is for other agents: add this one to its agents".to_owned()),
        (None, None) => Some("it is for its agents only: name one of them with --agent".to_owned()),
    }
}

/// Parts of an example, each with its replacement.
struct Filled(Vec<(&'static str, String)>);

impl Filled {
    fn new(
        recipe: &Recipe,
        program: &str,
        given: Option<&str>,
        agent: Option<&str>,
    ) -> Result<Self, SetupError> {
        let bind = given.unwrap_or(BINDING);
        if agent.is_some_and(is_expanded) {
            return Err(SetupError::OddAgent);
        }
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
        let mut places = vec![
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
        ];
        // The agent and its file have the binding's name, so that a second binding's do
        // not replace them.
        if recipe.audience != Audience::Client
            && let Some(name) = agent.or(given)
        {
            match (is_agent(name), agent) {
                (true, _) => places.push((AGENT, name.to_owned())),
                (false, None) => places.push((AGENT, format!("agent-{name}"))),
                (false, Some(_)) => return Err(SetupError::NotItsAgent),
            }
        }
        Ok(Self(places))
    }

    /// Fills in the text in one pass, so it never replaces a part of a replacement.
    fn fill(&self, text: &str) -> String {
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
    fn block(&self, part: &Part) -> String {
        let language = match part.example.rsplit('.').next() {
            Some("md") => "markdown",
            Some("mjs") => "js",
            Some(ending) => ending,
            None => "",
        };
        // The fence is longer than any in the text.
        let fence = match part.text.contains("```") {
            true => "````",
            false => "```",
        };
        format!("{fence}{language}\n{}{fence}\n", self.fill(part.text))
    }
}

/// Whether each client with agents accepts this as the name of an agent and of its file.
fn is_agent(name: &str) -> bool {
    BindingName::try_from(name).is_ok() && is_word(name)
}

/// Whether a name in the form of a binding's name is a string in YAML even without
/// quotes.
fn is_word(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && !["null", "true", "false", "yes", "no", "on", "off", "y", "n"].contains(&name)
}
