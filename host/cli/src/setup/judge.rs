//! What a call would get with a map that is only planned.

use crate::check::{EntryReport, Finding, Judge, Taker};
use keyhole_core::{
    Entry, Map, Refusal,
    limits::{Limits, MAX_CLAUDE_CHARS},
    sandbox::Sandbox,
};
use keyhole_serve::{
    inject::MAX_DOCUMENT,
    resources::{make_threads, runtime},
    start::StartError,
};
use keyhole_setup::{Named, Plan, Request, all_entries};
use std::sync::Arc;

/// Loads the file of the plan's entry with this map. The error says why the file would not reach
/// whom the request is for, and what to do: no entry, a refusal, or more than the client or its
/// hook takes.
pub(super) fn require_served(map: &Arc<Map>, plan: &Plan, request: &Request) -> Result<(), String> {
    let planned = Named {
        table: plan.table.0,
        name: &plan.table.1,
    };
    let found = all_entries(map).find(|(named, _)| *named == planned);
    let (named, entry) = found.ok_or("the map has no entry for it")?;
    let report = load(map, named, entry, request)
        .map_err(|why| format!("the file cannot be tried: {why}"))?;
    let bytes = match report.result {
        Ok(bytes) => bytes,
        Err(Refusal::TooLarge) => {
            let most = entry.max_bytes;
            return Err(format!(
                "the file has more than the {most} bytes that its entry allows: shorten it"
            ));
        }
        Err(refusal) => {
            let code = refusal.as_str();
            let why = report.message().unwrap_or_default();
            return Err(format!("the file would be refused as {code}: {why}"));
        }
    };
    let is_for_claude = request.client.is_claude_code();
    // How long the file is for a hook: Claude Code counts characters, and other clients bytes.
    let size = if is_for_claude {
        report.chars as u64
    } else {
        bytes
    };
    let why = if request.is_hook && report.is_blank {
        "a hook hands over no empty file: write it first"
    } else if request.is_hook && size > MAX_DOCUMENT as u64 {
        "a hook hands over 10,000 characters at most (Codex, Copilot: bytes): shorten the file"
    } else if is_for_claude && report.chars > MAX_CLAUDE_CHARS {
        return Err(Finding::LongForClaudeCode {}.to_string());
    } else {
        return Ok(());
    };
    Err(why.to_owned())
}

/// What a call for this entry would get.
fn load(
    map: &Arc<Map>,
    named: Named<'_>,
    entry: &Entry,
    request: &Request,
) -> Result<EntryReport, StartError> {
    let sandbox = Sandbox::embedded(Limits::default())?;
    let runtime = runtime(|| {})?;
    make_threads(&runtime, 1)?;
    let judge = Judge::of(map, &request.user.map.location, sandbox);
    Ok(runtime.block_on(judge.report(named, entry, Taker::Anybody)))
}
