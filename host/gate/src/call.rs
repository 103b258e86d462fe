//! What a call would publish, by its words alone: nothing is looked up here.
//!
//! The words are a help, and no proof: what a script does, nobody sees in its name.

mod folders;
mod noted;
mod publishing;
mod reader;
mod variables;
mod words;

use keyhole_outgoing::Wanted;
use reader::call_of_command;
use serde_json::Value;
use std::path::{Path, PathBuf};
pub(crate) use words::expand;

/// What one call may publish.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// What leaves with the call itself: a message, a title, the arguments of a tool.
    pub text: String,
    /// What leaves of each folder.
    pub parts: Vec<Part>,
    /// Whether the call names more than is looked at. Then nothing else is told.
    pub is_too_much: bool,
}

/// What a call may publish of one folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The folder in which the words mean something.
    pub folder: PathBuf,
    /// What leaves of its repository. None if the call sends only its text and its files.
    pub wanted: Option<Wanted>,
    /// Words that may name files whose text leaves as it is, also if the repository has them.
    pub files: Vec<String>,
    /// Words that may name files and folders. They leave as they are, with all that is below.
    pub trees: Vec<String>,
}

/// Where a call is made.
#[derive(Clone, Copy, Debug)]
pub struct At<'p> {
    /// The session's folder.
    pub folder: &'p Path,
    /// The user's home, which `~` means.
    pub home: Option<&'p Path>,
}

/// The tools that run a shell's command.
const SHELL_TOOLS: [&str; 2] = ["Bash", "Monitor"];

/// The tool of a server sends something away if its name has one of these.
const SENDING_TOOLS: [&str; 19] = [
    "_write",
    "add_message",
    "comment",
    "commit",
    "create",
    "draft",
    "editjira",
    "merge",
    "patch",
    "post",
    "publish",
    "push",
    "reply",
    "review",
    "save",
    "send",
    "submit",
    "update",
    "upload",
];

/// The tool of a server only reads if its name begins with one of these: `list_commits`.
const READING_TOOLS: [&str; 4] = ["get_", "list_", "read_", "search_"];

/// What a call of this tool may publish: of Bash and Monitor, by their command; of a server's
/// `create_issue`, its input. None if it publishes nothing that we know: `git status`, `Read`,
/// `list_issues`.
pub fn call(tool: &str, input: &Value, at: At<'_>) -> Option<Call> {
    if SHELL_TOOLS.contains(&tool) {
        return call_of_command(input["command"].as_str()?, at);
    }
    let (_, name) = tool.strip_prefix("mcp__")?.split_once("__")?;
    let lowercase_name = name.to_ascii_lowercase();
    let mut reading = READING_TOOLS.iter();
    let mut sending = SENDING_TOOLS.iter();
    if reading.any(|start| lowercase_name.starts_with(start))
        || !sending.any(|word| lowercase_name.contains(word))
    {
        return None;
    }
    let mut texts = Vec::new();
    for (_, field) in input.as_object().into_iter().flatten() {
        add_texts(&mut texts, field);
    }
    // The part has the folder, which decides on the lists. Nothing leaves of a repository, but the
    // server may read a file that a text names.
    Some(Call {
        text: texts.join("\n"),
        parts: vec![Part {
            folder: at.folder.to_owned(),
            files: texts,
            ..Part::default()
        }],
        is_too_much: false,
    })
}

/// Adds each string and number in this value of a tool's input, and the name of each field in it,
/// which may be a file's. Null, true and false add nothing. The names of the input's outermost
/// fields are the tool's own: the caller leaves them out.
fn add_texts(texts: &mut Vec<String>, value: &Value) {
    match value {
        Value::String(string) => texts.push(string.clone()),
        Value::Number(number) => texts.push(number.to_string()),
        Value::Array(values) => values.iter().for_each(|value| add_texts(texts, value)),
        Value::Object(fields) => {
            for (name, field) in fields {
                texts.push(name.clone());
                add_texts(texts, field);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests;
