//! What a call would publish, by its words alone: nothing is looked up here.
//!
//! The words are a help, and no proof: what a script does, nobody sees in its name.

mod folders;
mod noted;
mod publishing;
mod pushes;
mod reader;
mod shells;
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

/// The tool of a server sends something away if its name has one of these words: `addComment`.
/// `address` and `deployment` are other words.
const SHORT_SENDING_WORDS: [&str; 4] = ["add", "deploy", "post", "schedule"];

/// The same, if a word of its name begins with one of these: `create_issue`, `editjira`.
const SENDING_WORDS: [&str; 24] = [
    "append",
    "attach",
    "comment",
    "commit",
    "create",
    "draft",
    "edit",
    "forward",
    "insert",
    "merge",
    "patch",
    "publish",
    "push",
    "reply",
    "review",
    "save",
    "send",
    "submit",
    "transition",
    "update",
    "upload",
    "upsert",
    "worklog",
    "write",
];

/// The tool of a server only reads if one of these is the first or the second word of its name, and
/// no word before it sends: `list_commits`, `notion-get-comments`.
const READING_WORDS: [&str; 8] = [
    "fetch", "find", "get", "list", "query", "read", "search", "view",
];

/// Tools that write a file of this machine.
const LOCAL_TOOLS: [&str; 2] = ["edit_file", "write_file"];

/// The tool of a server sends files away if a word of its name begins with one of these.
const FILE_WORDS: [&str; 4] = ["attach", "file", "push", "upload"];

/// What a call of this tool may publish: of Bash and Monitor, by their command; of a server's
/// `create_issue`, its input. None if it publishes nothing that we know: `git status`, `Read`,
/// `list_issues`.
pub fn call(tool: &str, input: &Value, at: At<'_>) -> Option<Call> {
    if SHELL_TOOLS.contains(&tool) {
        return call_of_command(input["command"].as_str()?, at);
    }
    let (_, name) = tool.strip_prefix("mcp__")?.split_once("__")?;
    let words = words_of_name(name);
    if !sends(&words) || LOCAL_TOOLS.contains(&name) {
        return None;
    }
    let mut texts = Vec::new();
    for (_, field) in input.as_object().into_iter().flatten() {
        add_texts(&mut texts, field);
    }
    // The server may read a file that a text names.
    let mut files = texts.clone();
    if !words.iter().any(|word| begins_with(word, &FILE_WORDS)) {
        // `src/a.rs` in a comment only says where something is.
        files.retain(|text| text.starts_with('/') || text.starts_with("~/"));
    }
    // The part has the folder, which decides on the lists. Nothing leaves of a repository.
    Some(Call {
        text: texts.join("\n"),
        parts: vec![Part {
            folder: at.folder.to_owned(),
            files,
            ..Part::default()
        }],
        is_too_much: false,
    })
}

/// The words of a tool's name, in small letters: `add`, `worklog`, `to` and `issue` of
/// `addWorklogToIssue`, `add_worklog_to_issue` and `ADD-WORKLOG-TO-ISSUE`; `pr` and `comment` of
/// `PRComment`.
fn words_of_name(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_behind_capital = true;
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        let is_mark = !c.is_alphanumeric();
        let is_before_small_letter = chars.peek().is_some_and(|next| next.is_lowercase());
        if is_mark || (c.is_uppercase() && (!is_behind_capital || is_before_small_letter)) {
            words.push(String::new());
        }
        is_behind_capital = c.is_uppercase();
        if let Some(word) = words.last_mut()
            && !is_mark
        {
            word.push(c.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a tool whose name has these words sends something: true for `create_list` and
/// `issue_write`, and false for `list_comments` and `run_query`.
fn sends(words: &[String]) -> bool {
    for (index, word) in words.iter().enumerate() {
        if index < 2 && READING_WORDS.contains(&word.as_str()) {
            return false;
        }
        let is_short = SHORT_SENDING_WORDS.contains(&word.as_str());
        if is_short || begins_with(word, &SENDING_WORDS) {
            return true;
        }
    }
    false
}

/// Whether this word begins with one of these.
fn begins_with(word: &str, starts: &[&str]) -> bool {
    starts.iter().any(|start| word.starts_with(start))
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
