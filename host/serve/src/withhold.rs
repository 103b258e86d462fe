//! `keyhole withhold`: takes out of an agent's report what quotes its document, before the
//! agent's parent reads it.
//!
//! The plugin's module asks, on standard input: when an agent starts, about the agent; when it
//! reports or sends a message, for the text without quotations. In a client without modules, a
//! SubagentStop hook can only have the agent write its report again. Nothing is verified here:
//! whoever may run this may run `keyhole inject` as well, and read the document.

use crate::{
    guard::{names, write_answer},
    inject::{Loading, begin},
    resources::room_to_compare,
    streams::Waiting,
};
use keyhole_claude::hook::{HookError, NOT_UNDERSTOOD, read_input};
use keyhole_core::{AgentName, Key, LiveMap, Refusal, Target, absolute};
use keyhole_withhold::withhold as without_quotations;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{env, io, path::PathBuf};

/// What an agent reads whose report quotes its document.
const AGAIN: &str = "keyhole: your report quotes your private document, so it was not delivered. Write it again without that: nothing of the document, and nothing that you found by it. Places (file:line) and rule names may stay. This may stay of it:\n";

const UNCOMPARED: &str = "keyhole: your report could not be compared with your private document, so it was not delivered. Write it again without anything of the document. Places (file:line) and rule names may stay.";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    agent: String,
    report: Option<String>,
    /// The session's folder, which whoever reads the report knows.
    folder: Option<String>,
}

/// What a client says when an agent is about to end. There are other fields, too.
#[derive(Deserialize)]
struct Stop {
    hook_event_name: String,
    agent_type: String,
    last_assistant_message: String,
    /// Whether it goes on because of this hook already.
    stop_hook_active: bool,
}

/// Answers the question. With `stop`, it is that of a SubagentStop hook, and so is the answer.
///
/// - `"withhold"`: whether the map withholds the agent's reports.
/// - `"report"`: if it does, the report without quotations.
/// - `"agents"`: if there is no report, whom the map names.
/// - `"refused": "code: advice"`: the map or the agent's document does not load. If it is the
///   map, there is nothing else.
///
/// On an error, the module withholds the whole report.
pub fn withhold(map: Result<LiveMap, String>, stop: bool) -> Result<(), HookError> {
    // Whoever reads a report knows the user's home, and the folder of the session. A hook starts
    // there; the plugin's module starts this elsewhere, and says the folder.
    let here = env::current_dir().ok().filter(|_| stop);
    let mut known = Vec::from_iter(here);
    known.extend(absolute(|name| env::var_os(name), "HOME"));
    let loading = begin(map);
    let question = if stop {
        let stop: Stop = read_input(Waiting(io::stdin()))?;
        if stop.hook_event_name != "SubagentStop" {
            return Err(NOT_UNDERSTOOD.into());
        }
        // The agent has written its report twice.
        if stop.stop_hook_active {
            return Ok(());
        }
        Question {
            agent: stop.agent_type,
            report: Some(stop.last_assistant_message),
            folder: None,
        }
    } else {
        read_input(Waiting(io::stdin()))?
    };
    let answer = loading.and_then(|loading| answer(&loading, &question, &known));
    let has_map = answer.as_ref().err() != Some(&Refusal::MapMissing);
    let answer = answer.unwrap_or_else(|code| json!({ "refused": code.to_string() }));
    if !stop {
        return write_answer(&answer);
    }
    let reason = match answer["report"].as_str() {
        Some(report) if Some(report) != question.report.as_deref() => format!("{AGAIN}{report}"),
        // Without a map, no agent had a file.
        None if has_map && answer["withhold"] != false => UNCOMPARED.to_owned(),
        _ => return Ok(()),
    };
    write_answer(&json!({ "decision": "block", "reason": reason }))
}

fn answer(loading: &Loading, question: &Question, known: &[PathBuf]) -> Result<Value, Refusal> {
    let agent = AgentName::try_from(&*question.agent).map_err(|_| Refusal::UnknownKey)?;
    let map = loading.map.current().map_err(|error| error.code())?;
    let entries = map.entries_of(&agent);
    let load = |key: &Key| loading.load(Target::Given(key.clone()), &agent);
    let withheld = || entries.iter().filter(|(_, entry)| entry.withhold);
    let withholds = withheld().next().is_some();
    let mut answer = json!({ "withhold": withholds });
    let done = match &question.report {
        None => {
            answer["agents"] = json!(names(&map));
            // An agent with several documents may do with one.
            let mut loaded = entries.iter().map(|(key, _)| load(key).map(drop));
            let first = loaded.next().unwrap_or(Err(Refusal::UnknownKey));
            first.or_else(|code| loaded.find(Result::is_ok).unwrap_or(Err(code)))
        }
        // It is asked all the same if the map withheld it when the agent started.
        Some(_) if !withholds => Err(Refusal::UnknownKey),
        Some(report) => {
            let known = known.iter().filter_map(|path| path.to_str());
            let known: Vec<_> = known.chain(question.folder.as_deref()).collect();
            let compared = withheld().try_fold(report.clone(), |report, (key, _)| {
                let text = load(key)?;
                room_to_compare(text.len() + report.len())?;
                Ok(without_quotations(&text, &report, &known))
            });
            compared.map(|report| answer["report"] = report.into())
        }
    };
    if let Err(code) = done {
        answer["refused"] = code.to_string().into();
    }
    Ok(answer)
}
