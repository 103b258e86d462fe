//! `keyhole gate`: a hook before each call of a shell or a server's tool. If the call may publish
//! what a list of the map has, and the map does not allow it there, a person is asked.
//!
//! git runs first. Then the process gives up its rights, and only then is a list loaded: what has
//! read a list can start no program. A call of which nothing is found is not answered.

use crate::{
    call::{At, Call, call},
    compare::{Finding, List},
    error::Uncompared,
    gather::{Gathered, ListToLoad, Places, forbidden_lists, gather},
    said::{MAX_PASSAGES, Reader, question},
};
use keyhole_claude::hook::{HookError, read_input};
use keyhole_core::{LiveMap, MapError, Refusal, Target};
use keyhole_serve::{guard::write_answer, inject::Loading, streams::Waiting};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    time::{Duration, Instant},
};

/// Nothing is compared later than this. A hook has twenty seconds, and after them the client lets
/// the call pass.
const MAX_TIME: Duration = Duration::from_secs(12);

/// If the hook is still not done after so many seconds, it is ended, and `start.sh` asks.
const ALARM_SECONDS: u32 = 15;

/// A list takes at most five seconds to load. None is begun later than this.
const LAST_LOAD: Duration = Duration::from_secs(7);

/// What one run of the hook is for.
pub struct Gate {
    /// The map, or why it is not known which one is meant.
    pub map: Result<LiveMap, String>,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// The folder for git's own files.
    pub scratch: PathBuf,
    /// Who reads the question.
    pub reader: Reader,
}

/// What the client says of a call that is about to be made. There are other fields, too.
#[derive(Deserialize)]
struct Input {
    tool_name: String,
    tool_input: Value,
    /// The session's folder.
    cwd: PathBuf,
}

impl Gate {
    /// Whether a list of the map may not be published somewhere.
    fn has_lists(&self) -> bool {
        let map = self.map.as_ref().ok().and_then(|live| live.current().ok());
        map.is_some_and(|map| !forbidden_lists(&map, None).is_empty())
    }
}

/// Reads the client's question, and asks the user if the call would publish what a list has, or if
/// that cannot be found out. Also asks if the question is not understood, and the map has a list
/// that may not be published somewhere. Otherwise there is no answer.
///
/// # Errors
/// If the answer cannot be written.
pub fn gate(gate: Gate) -> Result<(), HookError> {
    keyhole_wall::end_after(ALARM_SECONDS);
    let start = Instant::now();
    match read_input::<Input>(Waiting(io::stdin())) {
        Ok(input) => answer(gate, &input, start),
        Err(why) if gate.has_lists() => {
            let reason = format!("Keyhole: the call was not compared with your lists: {why}");
            write_answer(&asking(&reason))
        }
        Err(_) => Ok(()),
    }
}

/// When the call would publish a value of a list, or when that cannot be found out, asks the user.
/// Otherwise, this writes no answer. `gate.reader` is who reads the question.
fn answer(gate: Gate, input: &Input, start: Instant) -> Result<(), HookError> {
    let reader = gate.reader;
    let at = At {
        folder: &input.cwd,
        home: gate.home.as_deref(),
    };
    // None: the call publishes nothing that we know.
    let Some(call) = call(&input.tool_name, &input.tool_input, at) else {
        return Ok(());
    };
    let mut comparison = Comparison::default();
    let done = catch_unwind(AssertUnwindSafe(|| {
        comparison.run(gate, input, &call, start)
    }));
    // A panic, which has printed its place, is a failure like any other.
    if let Err(why) = done.unwrap_or(Err(Refusal::Internal.into())) {
        comparison.why_incomplete = Some(why);
    }
    let Some(reason) = question(&comparison.findings, comparison.why_incomplete, reader) else {
        return Ok(());
    };
    write_answer(&asking(&reason))
}

/// The answer that asks, for this reason.
fn asking(reason: &str) -> Value {
    json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "ask",
        "permissionDecisionReason": reason,
    } })
}

/// What was found, and the first reason why something could not be compared.
#[derive(Default)]
struct Comparison {
    findings: Vec<Finding>,
    why_incomplete: Option<Uncompared>,
}

impl Comparison {
    /// Compares what the call would publish with the lists. Without a map, there is nothing to
    /// compare; and neither is there if each folder of the call may publish all lists.
    ///
    /// # Errors
    /// If the map cannot be read, or nothing can be loaded from it.
    fn run(
        &mut self,
        gate: Gate,
        input: &Input,
        call: &Call,
        start: Instant,
    ) -> Result<(), Uncompared> {
        // If nobody knows where the map is, there is none.
        let Ok(live) = gate.map else { return Ok(()) };
        let map = match live.current() {
            Err(MapError::Missing(_)) => return Ok(()),
            read => read.map_err(|error| error.code())?,
        };
        let places = Places {
            home: gate.home.as_deref(),
            session: &input.cwd,
            scratch: &gate.scratch,
            start,
        };
        // Only folders that must not publish some list are in it.
        let gathered = gather(call, &map, &places, &mut self.why_incomplete);
        if gathered.is_empty() {
            return Ok(());
        }
        let loading = Loading::start(Ok(live))?;
        for one in &gathered {
            self.compare_with_lists(one, &loading, start);
        }
        Ok(())
    }

    /// Compares what was gathered with each of its lists. A list that does not load is noted, and
    /// the others are compared.
    fn compare_with_lists(&mut self, gathered: &Gathered, loading: &Loading, start: Instant) {
        for listed in &gathered.lists {
            let found = load(listed, loading, start)
                .and_then(|list| list.findings(&gathered.texts, start + MAX_TIME));
            match found {
                Err(why) => self.why_incomplete = self.why_incomplete.or(Some(why)),
                Ok(findings) => self.add(findings),
            }
        }
    }

    /// Adds these findings, at most one of each line, and at most [`MAX_PASSAGES`]. A line can come
    /// again: the call's text is compared for each folder.
    fn add(&mut self, findings: Vec<Finding>) {
        for finding in findings {
            let is_known = self
                .findings
                .iter()
                .any(|known| known.place == finding.place && known.line == finding.line);
            if !is_known && self.findings.len() < MAX_PASSAGES {
                self.findings.push(finding);
            }
        }
    }
}

/// Loads a list.
///
/// # Errors
/// [`Uncompared::Late`] if too little time is left; otherwise why the list is not loaded.
fn load(listed: &ListToLoad, loading: &Loading, start: Instant) -> Result<List, Uncompared> {
    if start.elapsed() > LAST_LOAD {
        return Err(Uncompared::Late);
    }
    let target = Target::OperatorsKey(listed.key.clone());
    List::new(loading.load(target, listed.caller.clone())?)
}
