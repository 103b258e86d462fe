//! `keyhole withhold`: takes out of an agent's report what quotes its document, before the
//! agent's parent reads it.
//!
//! The plugin's module asks, on standard input. When an agent starts that the map names, it
//! asks whether the agent's document would load, and whether its reports are withheld. When
//! such an agent reports, it asks for the report without quotations. Nothing is verified
//! here: whoever may run this may run `keyhole inject` as well, and read the document.

use crate::{
    guard::{GuardError, Object, read_input},
    inject::start,
};
use keyhole_core::{
    AgentName, Caller, Code, Key, LiveMap, Loader, Target, limits::Limits, sandbox::Sandbox,
};
use keyhole_withhold::withhold as without_quotations;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    io::{self, Read, Write},
    sync::Arc,
};
use tokio::runtime::Runtime;

/// Why there is no answer. The module then withholds the whole report. No message repeats
/// anything of the question.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WithholdError {
    /// The question could not be read, or is too long.
    #[error("the plugin's question cannot be read")]
    Input(#[from] GuardError),
    /// The question has an unknown form.
    #[error("this is not a question of the plugin")]
    NotUnderstood,
    /// The answer could not be written.
    #[error("the answer cannot be written: {}", .0.kind())]
    Output(io::Error),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    agent: String,
    report: Option<String>,
}

/// Answers the question on `stdin`, as JSON on `stdout`. Its reader knows the paths `known`.
///
/// - `{"withhold": true}`: the agent's document would load, and its reports are withheld, or
///   `false` if they are not.
/// - `{"report": "…"}`: the report without quotations.
/// - `{"refused": "code: advice"}`: the document does not load.
///
/// # Errors
/// [`WithholdError`].
pub(crate) fn withhold(
    map: Result<LiveMap, String>,
    known: &[String],
    stdin: impl Read,
    mut stdout: impl Write,
) -> Result<(), WithholdError> {
    let started = start(map, Limits::default());
    let Object(question): Object<Question> =
        serde_json::from_slice(&read_input(stdin)?).map_err(|_| WithholdError::NotUnderstood)?;
    let answer = started.and_then(|(map, sandbox, runtime)| {
        let answer = answer(&map, sandbox, &runtime, &question, known);
        // A read that hangs in the kernel must not keep the process alive.
        runtime.shutdown_background();
        answer
    });
    let answer = answer.unwrap_or_else(|code| json!({ "refused": code.to_string() }));
    writeln!(stdout, "{answer}")
        .and_then(|()| stdout.flush())
        .map_err(WithholdError::Output)
}

fn answer(
    live: &Arc<LiveMap>,
    sandbox: Sandbox,
    runtime: &Runtime,
    question: &Question,
    known: &[String],
) -> Result<Value, Code> {
    let agent = AgentName::try_from(&*question.agent).map_err(|_| Code::UnknownKey)?;
    let map = live.current().map_err(|error| error.code())?;
    let entries = map.entries_of(&agent);
    let loader = Loader::new(Arc::clone(live), sandbox, Limits::default());
    let load = |key: &Key| {
        let caller = Caller::Agent(agent.clone());
        let loaded = runtime.block_on(loader.load(Target::Given(key.clone()), caller));
        loaded.map(|content| content.text)
    };
    let withheld = || entries.iter().filter(|(_, entry)| entry.withholds());
    let Some(report) = &question.report else {
        // An agent with several documents may do with one.
        let mut loaded = entries.iter().map(|(key, _)| load(key).map(drop));
        let first = loaded.next().unwrap_or(Err(Code::UnknownKey));
        first.or_else(|code| loaded.find(Result::is_ok).unwrap_or(Err(code)))?;
        return Ok(json!({ "withhold": withheld().next().is_some() }));
    };
    if withheld().next().is_none() {
        return Err(Code::UnknownKey);
    }
    let known: Vec<_> = known.iter().map(String::as_str).collect();
    let report = withheld().try_fold(report.clone(), |report, (key, _)| {
        load(key).map(|text| without_quotations(&text, &report, &known))
    })?;
    Ok(json!({ "report": report }))
}
