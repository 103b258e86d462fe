//! `keyhole withhold`: takes out of an agent's report what quotes its document, before the
//! agent's parent reads it.
//!
//! The plugin's module asks, on standard input: when an agent starts, about the agent; when it
//! reports or sends a message, for the text without quotations. In a client without modules, a
//! SubagentStop hook can only have the agent write its report again. Nothing is verified here:
//! whoever may run this may run `keyhole inject` as well, and read the document.

use crate::{
    guard::{agents_named_in, write_answer},
    inject::{Loading, start_and_warn},
    resources::room_to_compare,
    streams::Waiting,
};
use keyhole_claude::hook::{HookError, NOT_UNDERSTOOD, read_input};
use keyhole_core::{
    AgentName, Caller, Key, LiveMap, Refusal, Target, absolute, limits::is_too_long_for_claude,
};
use keyhole_withhold::withhold as without_quotations;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{env, io, path::PathBuf};

/// What an agent reads whose report quotes its document. What may stay of the report follows.
const WRITE_AGAIN: &str = "keyhole: your report quotes your private document, so it was not delivered. Write it again without that: nothing of the document, and nothing that you found by it. Places (file:line) and rule names may stay. This may stay of it:\n";

/// What an agent reads whose report could not be compared.
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

/// Answers the question of the plugin's module, or, with `stop`, that of a SubagentStop hook.
pub fn withhold(map: Result<LiveMap, String>, stop: bool) -> Result<(), HookError> {
    if stop {
        answer_hook(map)
    } else {
        answer_module(map)
    }
}

/// Answers the module.
///
/// - `"withhold"`: whether the map withholds the agent's reports.
/// - `"report"`: if it does, the report without quotations.
/// - `"agents"`: if there is no report, whom the map names.
/// - `"refused": "code: advice"`: the map or the agent's document does not load. If it is the
///   map, there is nothing else.
///
/// On an error, the module withholds the whole report.
fn answer_module(map: Result<LiveMap, String>) -> Result<(), HookError> {
    // The module starts this elsewhere than in the session's folder, and says the folder.
    let known_paths = Vec::from_iter(users_home());
    let loading = start_and_warn(map);
    let question: Question = read_input(Waiting(io::stdin()))?;
    let answer = loading.and_then(|loading| answer(&loading, &question, &known_paths));
    write_answer(&match answer {
        Ok(answer) => answer.to_json(),
        Err(code) => json!({ "refused": code.to_string() }),
    })
}

/// Answers a SubagentStop hook. If the agent's report quotes its document, or cannot be compared
/// with it, the agent is to write the report again, but only once. There is no answer if the report
/// quotes nothing, the map does not withhold this agent's reports, or there is no map.
///
/// # Errors
/// If the input is no question of this event, or the answer cannot be written.
fn answer_hook(map: Result<LiveMap, String>) -> Result<(), HookError> {
    // Whoever reads the report knows these folders, so their paths quote nothing. A hook starts in
    // the session's folder.
    let mut known_paths = Vec::from_iter(env::current_dir().ok());
    known_paths.extend(users_home());
    let loading = start_and_warn(map);
    let stop: Stop = read_input(Waiting(io::stdin()))?;
    if stop.hook_event_name != "SubagentStop" {
        return Err(NOT_UNDERSTOOD.into());
    }
    // The agent has written its report twice.
    if stop.stop_hook_active {
        return Ok(());
    }
    let question = Question {
        agent: stop.agent_type,
        report: Some(stop.last_assistant_message),
        folder: None,
    };
    let reason = match loading.and_then(|loading| answer(&loading, &question, &known_paths)) {
        // Without a map, no agent had a file.
        Err(Refusal::MapMissing) => return Ok(()),
        Err(_) => UNCOMPARED.to_owned(),
        // The map does not withhold this agent's reports, or this one quotes nothing.
        Ok(answer) if !answer.withhold || answer.report == question.report => return Ok(()),
        Ok(answer) => match answer.report {
            Some(report) => format!("{WRITE_AGAIN}{report}"),
            None => UNCOMPARED.to_owned(),
        },
    };
    write_answer(&json!({ "decision": "block", "reason": reason }))
}

/// The user's home, which whoever reads a report knows.
fn users_home() -> Option<PathBuf> {
    absolute(|name| env::var_os(name), "HOME")
}

/// What the map and the agent's documents say to a question.
struct Answer {
    /// Whether the map withholds the agent's reports.
    withhold: bool,
    /// Whom the map names, if there is no report.
    agents: Option<Value>,
    /// The report without quotations.
    report: Option<String>,
    /// Why no document loads, or one that the report is to be compared with.
    refused: Option<Refusal>,
}

impl Answer {
    /// The answer as the module reads it: without a field for what is None.
    fn to_json(&self) -> Value {
        let mut json = json!({ "withhold": self.withhold });
        if let Some(agents) = &self.agents {
            json["agents"] = agents.clone();
        }
        if let Some(report) = &self.report {
            json["report"] = json!(report);
        }
        if let Some(code) = self.refused {
            json["refused"] = json!(code.to_string());
        }
        json
    }
}

/// The answer to a question about an agent. Without a report, it has whom the map names, and a
/// refusal if no document of the agent loads. With a report, it has the report without quotations,
/// or a refusal if that cannot be told, or if the map withholds nothing of this agent.
///
/// `known_paths` are folders that whoever reads the report knows, such as `/home/theo`: their paths
/// quote nothing.
///
/// # Errors
/// The code of why the map cannot be used, or [`Refusal::UnknownKey`] if the agent's name is
/// malformed.
fn answer(
    loading: &Loading,
    question: &Question,
    known_paths: &[PathBuf],
) -> Result<Answer, Refusal> {
    let agent = AgentName::try_from(&*question.agent).map_err(|_| Refusal::UnknownKey)?;
    let map = loading.map.current().map_err(|error| error.code())?;
    let (mut keys, mut withheld) = (Vec::new(), Vec::new());
    for (key, entry) in map.entries_of(&agent) {
        keys.push(key);
        if entry.withhold {
            withheld.push(key);
        }
    }
    let documents = Documents { loading, agent };
    let mut answer = Answer {
        withhold: !withheld.is_empty(),
        agents: None,
        report: None,
        refused: None,
    };
    match &question.report {
        None => {
            answer.agents = Some(json!(agents_named_in(&map)));
            answer.refused = documents.require_one_that_loads(&keys).err();
        }
        // The map withheld something when the agent started, and withholds nothing now.
        Some(_) if withheld.is_empty() => answer.refused = Some(Refusal::UnknownKey),
        Some(report) => {
            let mut paths: Vec<&str> = known_paths
                .iter()
                .filter_map(|path| path.to_str())
                .collect();
            paths.extend(question.folder.as_deref());
            match documents.without_quotations(&withheld, report, &paths) {
                Ok(report) => answer.report = Some(report),
                Err(code) => answer.refused = Some(code),
            }
        }
    }
    Ok(answer)
}

/// The documents of one agent.
struct Documents<'l> {
    loading: &'l Loading,
    agent: AgentName,
}

impl Documents<'_> {
    /// The document of this key, if the agent may have it.
    fn load(&self, key: &Key) -> Result<String, Refusal> {
        let caller = Caller::Agent(self.agent.clone());
        self.loading.load(Target::OperatorsKey(key.clone()), caller)
    }

    /// Ok if the agent would get at least one of these documents: with several, it may do with one.
    ///
    /// # Errors
    /// Why it would not get the first one; [`Refusal::UnknownKey`] if there are none.
    fn require_one_that_loads(&self, keys: &[&Key]) -> Result<(), Refusal> {
        let mut why = None;
        for key in keys {
            match self.load(key) {
                Ok(text) if is_too_long_for_claude(&text) => {
                    why = why.or(Some(Refusal::TooLarge));
                }
                Ok(_) => return Ok(()),
                Err(code) => why = why.or(Some(code)),
            }
        }
        Err(why.unwrap_or(Refusal::UnknownKey))
    }

    /// The report without what quotes the documents of these keys. `known_paths` are folders whose
    /// paths quote nothing.
    ///
    /// # Errors
    /// If one of the documents does not load, or there is too little memory to compare it.
    fn without_quotations(
        &self,
        keys: &[&Key],
        report: &str,
        known_paths: &[&str],
    ) -> Result<String, Refusal> {
        let mut kept = report.to_owned();
        for key in keys {
            let text = self.load(key)?;
            room_to_compare(text.len() + kept.len())?;
            kept = without_quotations(&text, &kept, known_paths);
        }
        Ok(kept)
    }
}
