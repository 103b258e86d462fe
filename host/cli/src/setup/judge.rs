//! What a call would get with a map that is only planned.

use crate::check::{Finding, Judge, ReadMap, Secrets, Taker};
use keyhole_core::{
    Loader, Map, Refusal,
    limits::{Limits, MAX_CLAUDE_CHARS},
    sandbox::Sandbox,
};
use keyhole_serve::{
    inject::MAX_DOCUMENT,
    resources::{make_threads, runtime},
    start::StartError,
};
use keyhole_setup::{Named, Plan, Request, all_of};
use std::sync::Arc;

/// Whether the file reaches whom it is for with this map; or why not, and what to do.
pub(super) fn is_served(map: &Arc<Map>, plan: &Plan, request: &Request) -> Result<(), String> {
    let (table, name) = (plan.table.0, &*plan.table.1);
    let named = Named { table, name };
    let found = all_of(map).find(|(other, _)| *other == named);
    let (_, entry) = found.ok_or("the map has no entry for it")?;
    let untried = |why: StartError| format!("the file cannot be tried: {why}");
    let limits = Limits::default();
    let sandbox = Sandbox::embedded(limits).map_err(|why| untried(why.into()))?;
    let runtime = runtime(|| {}).map_err(|why| untried(why.into()))?;
    make_threads(&runtime, 1).map_err(|why| untried(why.into()))?;
    let loader = Loader::new(ReadMap(Arc::clone(map)).into(), sandbox, limits);
    let judge = Judge {
        map,
        secrets: &Secrets::of(map),
        location: &request.user.map.location,
        loader: &loader,
    };
    let report = runtime.block_on(judge.report(named, entry, Taker::Anybody));
    let is_for_claude = request.client.is_claude_code();
    let size = match report.result {
        Err(Refusal::TooLarge) => {
            let most = format!("the {} bytes that its entry allows", entry.max_bytes);
            return Err(format!("the file has more than {most}: shorten it"));
        }
        Err(code) => {
            let (code, why) = (code.as_str(), report.message().unwrap_or_default());
            return Err(format!("the file would be refused as {code}: {why}"));
        }
        Ok(_) if is_for_claude => report.chars as u64,
        Ok(bytes) => bytes,
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
