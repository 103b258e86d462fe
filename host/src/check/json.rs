//! The report for programs.

use super::{BindingReport, EntryReport, Report, Warning, wall::JsonWall};
use crate::{map::MapError, walk::Distrust};
use serde::Serialize;

/// The whole report. Its shape is stable: within 0.2, fields may be added, but no
/// field is renamed, removed or given another meaning. Every field is always there.
/// `null` means that it does not apply, or that its text may be a key.
#[derive(Serialize)]
struct Json<'a> {
    /// The map's absolute path. Bytes that are not UTF-8 are replaced. `null` if
    /// `--map` names it and no readable file is there.
    map: Option<String>,
    /// Whether everything would be served, as exit code 0 says.
    ok: bool,
    /// In the order of the map; `null` if the map itself is invalid.
    entries: Option<Vec<JsonEntry<'a>>>,
    /// In the order of the map; `null` if the map itself is invalid.
    bindings: Option<Vec<JsonBinding<'a>>>,
    /// Problems that do not keep a file from being served; `null` if the map itself
    /// is invalid.
    warnings: Option<Vec<JsonWarning>>,
    /// What is wrong with the map itself.
    error: Option<JsonError>,
    /// What a server on this system gives up; `null` if the check did not look.
    second_wall: Option<JsonWall>,
}

/// One entry of the map.
#[derive(Serialize)]
struct JsonEntry<'a> {
    /// The line in the map, counted from 1. It identifies the entry.
    line: u32,
    /// As written in the map; `null` if it does not end in `.md`, or contains a key.
    path: Option<&'a str>,
    /// Whether the key is bound to agents.
    bound: bool,
    /// Whether the key may be guessed: it has fewer than 16 characters, or fewer than
    /// 6 different ones.
    weak_key: bool,
    ok: bool,
    /// Size of a file that would be served.
    bytes: Option<u64>,
    /// Stable code of a file that would not be served.
    code: Option<&'static str>,
    /// What to do about it. For people: it may be reworded.
    message: Option<&'static str>,
}

/// One binding of the map.
#[derive(Serialize)]
struct JsonBinding<'a> {
    /// `null` if it contains a key.
    name: Option<&'a str>,
    /// The line in the map, counted from 1.
    line: u32,
    /// Whether its key has an entry; `null` if the key comes from a variable that is
    /// not set here.
    ok: Option<bool>,
    /// What to do about it. For people: it may be reworded.
    message: Option<String>,
}

/// What the user should know about the map.
#[derive(Serialize)]
struct JsonWarning {
    /// The line in the map, counted from 1; `null` if the warning is about a root.
    line: Option<u32>,
    /// For people: it may be reworded.
    message: String,
}

/// What is wrong with the map.
#[derive(Serialize)]
struct JsonError {
    /// `map-missing` or `map-invalid`.
    code: &'static str,
    /// For people: it may be reworded. It never quotes the map.
    message: String,
    /// The line in the map, counted from 1, if the error has a position.
    line: Option<usize>,
    /// What to write instead, if we can guess it.
    help: Option<String>,
}

impl Report {
    /// The report as a JSON document in several lines, without a newline at the end.
    ///
    /// # Errors
    /// None that we know of: everything in the report can be written as JSON.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(&Json {
            map: self
                .map
                .as_ref()
                .map(|map| map.to_string_lossy().into_owned()),
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
            warnings: self.outcome.as_ref().ok().map(|entries| {
                let entries = entries.iter().flat_map(warnings);
                entries.chain(self.roots.iter().map(root)).collect()
            }),
            error: self
                .outcome
                .as_ref()
                .err()
                .map(|error| self.json_error(error)),
            second_wall: self.wall.map(JsonWall::from),
        })
    }

    fn json_error(&self, error: &MapError) -> JsonError {
        let place = match error {
            MapError::Parse { source, .. } => Some(source),
            _ => None,
        };
        JsonError {
            code: error.code().as_str(),
            message: self.said(error),
            line: place.map(|place| place.line),
            help: place.and_then(|place| place.help.clone()),
        }
    }
}

fn warnings(entry: &EntryReport) -> impl Iterator<Item = JsonWarning> {
    entry.warnings.iter().map(|warning| JsonWarning {
        line: Some(entry.line),
        message: warning.to_string(),
    })
}

fn root(distrust: &Distrust) -> JsonWarning {
    JsonWarning {
        line: None,
        message: format!("no file in this root is served: {distrust}"),
    }
}

fn entry(entry: &EntryReport) -> JsonEntry<'_> {
    let code = entry.result.err();
    JsonEntry {
        line: entry.line,
        path: entry.path.as_deref(),
        bound: entry.is_bound,
        weak_key: entry.warnings.contains(&Warning::WeakKey),
        ok: code.is_none(),
        bytes: entry.result.ok(),
        code: code.map(super::Code::as_str),
        message: code.map(super::remedy),
    }
}

fn binding(binding: &BindingReport) -> JsonBinding<'_> {
    JsonBinding {
        name: binding.name.as_deref(),
        line: binding.line,
        ok: binding.is_served(),
        message: binding.result.as_ref().err().map(ToString::to_string),
    }
}
