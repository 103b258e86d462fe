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

/// Fails if a call for the plan's entry in this map would not get the file. The error is a sentence
/// that says why, and what to do:
///
/// - the map has no entry with the key or the binding that the plan names (`plan.table`);
/// - there is too little memory to load the file, or no thread;
/// - the file is refused, as `the file would be refused as not-utf8: Save it as UTF-8.`;
/// - the client does not take the file (see [`require_taken`]).
pub(super) fn require_served(map: &Arc<Map>, plan: &Plan, request: &Request) -> Result<(), String> {
    // Whether the entry has a key or is a binding, and the key or the binding's name.
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

/// Fails if the client of the request does not take a file of this size (in `bytes`) that is
/// served. The error is the first of these, with what to do:
///
/// - A hook is to hand over the file, and the file is blank.
/// - A hook is to hand over the file, and the file is longer than 10,000 ([`MAX_DOCUMENT`]):
///   counted in characters for Claude Code, and in bytes for any other client.
/// - The client is Claude Code, and the file has more than 500,000 characters.
fn require_taken(report: &EntryReport, bytes: u64, request: &Request) -> Result<(), String> {
    let is_for_claude = request.client.is_claude_code();
    // As the client counts what a hook hands over.
    let length = if is_for_claude {
        report.chars as u64
    } else {
        bytes
    };
    let is_blank = report.findings.contains(&Finding::EmptyFile {});
    let why = if request.is_hook && is_blank {
        "a hook hands over no empty file: write it first"
    } else if request.is_hook && length > MAX_DOCUMENT as u64 {
        "a hook hands over 10,000 characters at most (Codex, Copilot: bytes): shorten the file"
    } else if is_for_claude && report.chars > MAX_CLAUDE_CHARS {
        return Err(Finding::LongForClaudeCode {}.to_string());
    } else {
        return Ok(());
    };
    Err(why.to_owned())
}

/// The report on this entry of a planned map. The file is loaded as for a call. Here, a file that
/// is too long for Claude Code is not refused (`Taker::Anybody`): [`require_taken`] judges that.
///
/// Fails if there is too little memory, or no thread.
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
