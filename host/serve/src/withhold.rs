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
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{env, io, path::PathBuf};

/// What an agent reads whose report quotes its document. What may stay of the report follows.
const WRITE_AGAIN: &str = "keyhole: your report quotes your private document, so it was not delivered. Write it again without that: nothing of the document, and nothing that you found by it. Places (file:line) and rule names may stay. This may stay of it:\n";

/// What an agent reads whose report could not be compared.
const UNCOMPARED: &str = "keyhole: your report could not be compared with your private document, so it was not delivered. Write it again without anything of the document. Places (file:line) and rule names may stay.";

/// A question about an agent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    /// The agent's name.
    agent: String,
    /// The agent's report or message. None: the agent is about to start.
    report: Option<String>,
    /// The session's folder. Whoever reads the report knows this path.
    folder: Option<String>,
}

/// What a client says when an agent is about to end. There are other fields, too.
#[derive(Deserialize)]
struct Stop {
    hook_event_name: String,
    agent_type: String,
    last_assistant_message: String,
    /// Whether a SubagentStop hook has kept the agent from its end already.
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

/// Answers the module's question with a JSON object: an [`Answer`]; or only `"refused": "code:
/// advice"` if this process cannot start as a server does, the map cannot be used, or the agent's
/// name is malformed.
///
/// # Errors
/// If the question cannot be read or understood, or the answer cannot be written. The module then
/// withholds the whole report.
fn answer_module(map: Result<LiveMap, String>) -> Result<(), HookError> {
    // This process does not start in the session's folder: the question has that folder.
    let public_folders = Vec::from_iter(users_home());
    let loading = start_and_warn(map);
    let question: Question = read_input(Waiting(io::stdin()))?;
    let answer = loading.and_then(|loading| answer(&loading, &question, &public_folders));
    write_answer(&match answer {
        Ok(answer) => json!(answer),
        Err(code) => json!({ "refused": code.to_string() }),
    })
}

/// Answers a SubagentStop hook, which runs when an agent has written its report. The answer makes
/// the agent write the report again, if the report quotes the agent's document ([`WRITE_AGAIN`]) or
/// cannot be compared with it ([`UNCOMPARED`]). There is no answer, and the report is delivered, in
/// four cases: the agent was made to write again already; there is no map; the map does not
/// withhold this agent's reports; or the report quotes nothing.
///
/// # Errors
/// If the input is for another event or cannot be understood, or the answer cannot be written.
fn answer_hook(map: Result<LiveMap, String>) -> Result<(), HookError> {
    // This process starts in the session's folder.
    let mut public_folders = Vec::from_iter(env::current_dir().ok());
    public_folders.extend(users_home());
    let loading = start_and_warn(map);
    let stop: Stop = read_input(Waiting(io::stdin()))?;
    if stop.hook_event_name != "SubagentStop" {
        return Err(NOT_UNDERSTOOD.into());
    }
    // This is the agent's second report, and a third is not asked for.
    if stop.stop_hook_active {
        return Ok(());
    }
    let question = Question {
        agent: stop.agent_type,
        report: Some(stop.last_assistant_message),
        folder: None,
    };
    let reason = match loading.and_then(|loading| answer(&loading, &question, &public_folders)) {
        // Without a map, no agent had a file.
        Err(Refusal::MapMissing) => return Ok(()),
        Err(_) => UNCOMPARED.to_owned(),
        // A report that is the same without quotations has none.
        Ok(answer) if !answer.withhold || answer.report == question.report => return Ok(()),
        Ok(answer) => match answer.report {
            Some(without_quotations) => format!("{WRITE_AGAIN}{without_quotations}"),
            None => UNCOMPARED.to_owned(),
        },
    };
    write_answer(&json!({ "decision": "block", "reason": reason }))
}

/// The user's home. None if `HOME` is no absolute path.
fn users_home() -> Option<PathBuf> {
    absolute(|name| env::var_os(name), "HOME")
}

/// What the map and the agent's documents say to a question. The module gets no field that is None.
#[derive(Default, Serialize)]
struct Answer {
    /// Whether the map withholds the agent's reports.
    withhold: bool,
    /// The agents that the map names; `*` is any agent. Only without a report.
    #[serde(skip_serializing_if = "Option::is_none")]
    agents: Option<Value>,
    /// The report without quotations.
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<String>,
    /// Why the agent gets no document, or why the report cannot be compared: "code: advice".
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

/// The answer to a question about an agent:
///
/// - without a report: the agents that the map names; and `refused`, if the agent gets no document;
/// - with a report: the report without what quotes the agent's withheld documents; or `refused`, if
///   no document is withheld, or if one does not load or cannot be compared.
///
/// `public_folders` are folders whose paths every reader of the report knows, such as `/home/theo`:
/// these paths do not count as quotations.
///
/// # Errors
/// [`Refusal::UnknownKey`] if the agent's name is malformed, or the code of why the map cannot be
/// used.
fn answer(
    loading: &Loading,
    question: &Question,
    public_folders: &[PathBuf],
) -> Result<Answer, Refusal> {
    let agent = AgentName::try_from(&*question.agent).map_err(|_| Refusal::UnknownKey)?;
    let map = loading.map.current().map_err(|error| error.code())?;
    let mut keys = Vec::new();
    let mut withheld_keys = Vec::new();
    for (key, entry) in map.entries_of(&agent) {
        keys.push(key);
        if entry.withhold {
            withheld_keys.push(key);
        }
    }
    let documents = Documents { loading, agent };
    let mut answer = Answer {
        withhold: !withheld_keys.is_empty(),
        ..Answer::default()
    };
    let Some(report) = &question.report else {
        answer.agents = Some(json!(agents_named_in(&map)));
        let loads = documents.require_one_that_loads(&keys);
        answer.refused = loads.err().map(|code| code.to_string());
        return Ok(answer);
    };
    let mut public_paths: Vec<&str> = public_folders
        .iter()
        .filter_map(|path| path.to_str())
        .collect();
    public_paths.extend(question.folder.as_deref());
    match documents.without_quotations(&withheld_keys, report, &public_paths) {
        Ok(without_quotations) => answer.report = Some(without_quotations),
        Err(code) => answer.refused = Some(code.to_string()),
    }
    Ok(answer)
}

/// The documents of one agent.
struct Documents<'l> {
    loading: &'l Loading,
    agent: AgentName,
}

impl Documents<'_> {
    /// The document of this key.
    ///
    /// # Errors
    /// The code of why the agent gets none.
    fn load(&self, key: &Key) -> Result<String, Refusal> {
        let caller = Caller::Agent(self.agent.clone());
        self.loading.load(Target::OperatorsKey(key.clone()), caller)
    }

    /// Ok if one of these documents loads, and is not too long for Claude Code: an agent with
    /// several may need no more than one.
    ///
    /// # Errors
    /// Why the agent does not get the first document ([`Refusal::TooLarge`] if that is too long),
    /// or [`Refusal::UnknownKey`] if there are no keys.
    fn require_one_that_loads(&self, keys: &[&Key]) -> Result<(), Refusal> {
        let mut first_refusal = None;
        for key in keys {
            let refusal = match self.load(key) {
                Ok(text) if is_too_long_for_claude(&text) => Refusal::TooLarge,
                Ok(_) => return Ok(()),
                Err(code) => code,
            };
            first_refusal = first_refusal.or(Some(refusal));
        }
        Err(first_refusal.unwrap_or(Refusal::UnknownKey))
    }

    /// The report without what quotes the documents of these keys. `public_paths` may stay.
    ///
    /// # Errors
    /// [`Refusal::UnknownKey`] if there are no keys: the map withheld a document when the agent
    /// started, and withholds none now. Else the code of why one of the documents does not load, or
    /// [`Refusal::OutOfResources`] if there is too little memory to compare it.
    fn without_quotations(
        &self,
        keys: &[&Key],
        report: &str,
        public_paths: &[&str],
    ) -> Result<String, Refusal> {
        if keys.is_empty() {
            return Err(Refusal::UnknownKey);
        }
        let mut kept = report.to_owned();
        for key in keys {
            let document = self.load(key)?;
            room_to_compare(document.len() + kept.len())?;
            kept = without_quotations(&document, &kept, public_paths);
        }
        Ok(kept)
    }
}
