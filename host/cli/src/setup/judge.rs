//! What a call would get with a map that is only planned.

use crate::check::{EntryReport, Finding, Taker, UsableMap};
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

/// Fails if a call for the plan's entry in this map would not get the file. The error says why, and
/// what to do: the map has no such entry, the file cannot be loaded or is refused, or the client
/// does not take it (see [`require_taken`]).
pub(super) fn require_served(map: &Arc<Map>, plan: &Plan, request: &Request) -> Result<(), String> {
    let (table, name) = &plan.table;
    let planned = Named {
        table: *table,
        name,
    };
    let found = all_entries(map).find(|(named, _)| *named == planned);
    let (named, entry) = found.ok_or("the map has no entry for it")?;
    let report = load(map, named, entry, request)
        .map_err(|why| format!("the file cannot be tried: {why}"))?;
    let bytes = match report.size_or_refusal {
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
    require_taken(&report, bytes, request)
}

/// Fails if the client of the request does not take a served file of this size: its hook is to hand
/// over a blank file, or one of more than [`MAX_DOCUMENT`]; or the client is Claude Code, and the
/// file is too long for it. The error says what to do.
fn require_taken(report: &EntryReport, bytes: u64, request: &Request) -> Result<(), String> {
    let is_for_claude = request.client.is_claude_code();
    // How long the file is for a hook: Claude Code counts characters, and other clients bytes.
    let size = if is_for_claude {
        report.chars as u64
    } else {
        bytes
    };
    let is_blank = report.findings.contains(&Finding::EmptyFile {});
    let why = if request.is_hook && is_blank {
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

/// The report on this entry of a planned map. The file is loaded as for a call, and may be longer
/// than Claude Code takes (`Taker::Anybody`). Fails if there is too little memory, or no thread.
fn load(
    map: &Arc<Map>,
    named: Named<'_>,
    entry: &Entry,
    request: &Request,
) -> Result<EntryReport, StartError> {
    let sandbox = Sandbox::embedded(Limits::default())?;
    let runtime = runtime(|| {})?;
    make_threads(&runtime, 1)?;
    let usable = UsableMap::of(map, &request.user.map.location, sandbox);
    Ok(runtime.block_on(usable.report(named, entry, Taker::Anybody)))
}
