//! The report for programs.

use super::{BindingReport, EntryReport, Report, wall::JsonWall};
use crate::map::MapError;
use serde::Serialize;

/// The whole report. Its shape is stable: fields may be added, none is renamed,
/// removed or given another meaning. Every field is always there; `null` stands
/// for what does not apply.
#[derive(Serialize)]
struct Json<'a> {
    /// The map's absolute path. Bytes that are not UTF-8 are replaced.
    map: String,
    /// Whether every file would be served, as the exit code 0 says.
    ok: bool,
    /// In the order of the map; `null` where the map itself is wrong.
    entries: Option<Vec<JsonEntry<'a>>>,
    /// In the order of the map; `null` where the map itself is wrong.
    bindings: Option<Vec<JsonBinding<'a>>>,
    /// What is wrong with the map itself.
    error: Option<JsonError>,
    /// What a server on this system gives up; `null` if that was not looked at.
    second_wall: Option<JsonWall>,
}

/// One entry of the map.
#[derive(Serialize)]
struct JsonEntry<'a> {
    /// Redacted unless `--show-keys`.
    key: &'a str,
    /// Shorter than 16 characters.
    weak_key: bool,
    /// In the map, from 1.
    line: u32,
    /// As written in the map.
    path: &'a str,
    /// The agents that the key is bound to; `null`: any caller.
    agents: Option<&'a [String]>,
    ok: bool,
    /// Size of a file that would be served.
    bytes: Option<u64>,
    /// Stable code of one that would not.
    code: Option<&'static str>,
    /// What to do about it. For people: it may be reworded.
    message: Option<&'static str>,
}

/// One binding of the map.
#[derive(Serialize)]
struct JsonBinding<'a> {
    name: &'a str,
    /// In the map, from 1.
    line: u32,
    /// Whether its key has an entry; `null` where the key comes from a variable
    /// that is not set here.
    ok: Option<bool>,
    /// What to do about it. For people: it may be reworded.
    message: Option<String>,
}

/// What is wrong with the map.
#[derive(Serialize)]
struct JsonError {
    /// `map-missing` or `map-invalid`.
    code: &'static str,
    /// For people: it may be reworded. It never quotes the map.
    message: String,
    /// In the map, from 1, where there is a place.
    line: Option<usize>,
    /// In characters, from 1.
    column: Option<usize>,
    /// What to write instead, where there is a guess.
    help: Option<String>,
}

impl Report {
    /// The report as a JSON document in several lines, without a last line end.
    ///
    /// # Errors
    /// None that is known of: everything in it can be written as JSON.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(&Json {
            map: self.map.to_string_lossy().into_owned(),
            ok: self.exit_code() == 0,
            entries: self
                .outcome
                .as_ref()
                .ok()
                .map(|entries| entries.iter().map(entry).collect()),
            bindings: self
                .outcome
                .is_ok()
                .then(|| self.bindings.iter().map(binding).collect()),
            error: self.outcome.as_ref().err().map(error),
            second_wall: self.wall.map(JsonWall::from),
        })
    }
}

fn entry(entry: &EntryReport) -> JsonEntry<'_> {
    let code = entry.result.err();
    JsonEntry {
        key: &entry.key,
        weak_key: entry.weak_key,
        line: entry.line,
        path: &entry.path,
        agents: entry.agents.as_deref(),
        ok: code.is_none(),
        bytes: entry.result.ok(),
        code: code.map(super::Code::as_str),
        message: code.map(super::remedy),
    }
}

fn binding(binding: &BindingReport) -> JsonBinding<'_> {
    JsonBinding {
        name: &binding.name,
        line: binding.line,
        ok: binding.is_served(),
        message: binding.result.err().map(|error| error.to_string()),
    }
}

fn error(error: &MapError) -> JsonError {
    let code = error.code().as_str();
    match error {
        MapError::Parse { source, .. } => JsonError {
            code,
            message: source.message.clone(),
            line: Some(source.line),
            column: Some(source.column),
            help: source.help.clone(),
        },
        other => JsonError {
            code,
            message: other.to_string(),
            line: None,
            column: None,
            help: None,
        },
    }
}
