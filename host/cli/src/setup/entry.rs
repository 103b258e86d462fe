//! An entry for the map, with a new key; or a binding, which has none.

use super::{Names, Output, SetupError, UserMap};
use crate::{
    check::{EntryReport, ReadMap, Secrets, entry_report, is_the_plugins},
    resources::runtime,
};
use keyhole_core::{Entry, Loader, Location, Map, Target, hex, limits::Limits, sandbox::Sandbox};
use keyhole_setup::{PLUGIN, paste::quoted, recipe::document};
use keyhole_walk::printable::printable;
use std::{
    io::{self, IsTerminal as _},
    path::Path,
    sync::Arc,
};

/// The entry for `file`. Warnings say what would keep the file from being served now.
pub(super) fn for_file(
    file: &Path,
    names: &Names,
    max_bytes: Option<u64>,
    user: &UserMap,
) -> Result<Output, SetupError> {
    let path = document(file, user.live.location().home())?;
    let same = |name: &str| user.map.as_ref()?.binding(name);
    if let Some(same) = names.bind.as_deref().and_then(same) {
        return Err(SetupError::BindingExists(same.entry().line()));
    }
    let table = table(&path, names, max_bytes)?;
    // A shell's `>>` has made the map before we look.
    let is_blank = |map: &Arc<Map>| {
        map.entries().is_empty() && map.bindings().is_empty() && map.roots().is_empty()
    };
    let begins = user.map.as_ref().is_none_or(is_blank);
    let with_roots = roots(&path).map(|roots| roots + &table);
    // After a header or an unfinished line, the line would name no roots.
    let has_roots = |text: &String| {
        let map = user.live.extended_by(text);
        map.is_ok_and(|map| !map.roots().is_empty())
    };
    let text = with_roots.filter(|text| begins && has_roots(text));
    let text = text.unwrap_or(table);
    let given = [Some(&*path), names.bind.as_deref(), names.agent.as_deref()];
    let text = user.conceals(text, &given)?;
    let mut warnings = warnings(&text, names, user)?;
    if io::stdout().is_terminal() {
        warnings.push(format!(
            "put this at the end of your map, {}; or let the shell do it: see `keyhole setup key --help`",
            printable(user.live.location().file())
        ));
    }
    Ok(Output { text, warnings })
}

/// The first line of a map: its one root is the file's folder. None if that is the home or
/// `/`, which is no folder for private files alone.
fn roots(path: &str) -> Option<String> {
    let folder = path.rsplit_once('/')?.0;
    let is_own = folder != "~" && Path::new(folder).file_name().is_some();
    is_own.then(|| format!("roots = [{}]\n", quoted(folder)))
}

/// A key of 128 random bits.
pub(super) fn fresh() -> Result<String, SetupError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(SetupError::Random)?;
    Ok(format!("k-{}", hex(&bytes)))
}

/// The entry as a table of its own, not as a line under `[keys]`: that header may
/// stand in a map only once, and an appended line would belong to whatever table
/// comes last. It begins with an empty line, because a file may not end with one.
fn table(path: &str, names: &Names, max_bytes: Option<u64>) -> Result<String, SetupError> {
    let name = match &names.bind {
        Some(bind) => format!("bindings.{bind}"),
        // This one has a key in its text already.
        None if names.agent.as_ref().is_some_and(is_the_plugins) => format!("keys.{}", PLUGIN.1),
        None => format!("keys.\"{}\"", fresh()?),
    };
    let mut text = format!("\n[{name}]\npath = {}\n", quoted(path));
    if let Some(bytes) = max_bytes {
        text += &format!("max_bytes = {bytes}\n");
    }
    if let Some(agent) = &names.agent {
        text += &format!("agents = [{}]\n", quoted(agent));
    }
    Ok(text)
}

/// Loads the file as a call would, with the entry in the user's map.
fn warnings(text: &str, names: &Names, user: &UserMap) -> Result<Vec<String>, SetupError> {
    let map = Arc::new(user.live.extended_by(text).map_err(SetupError::Entry)?);
    let mut warnings = Vec::new();
    let entries = map.entries();
    let new = match &names.bind {
        Some(bind) => map
            .binding(bind)
            .map(|binding| (Target::Bound(bind.clone()), binding.entry())),
        // The new entry is the last.
        None => entries
            .last()
            .map(|(key, entry)| (Target::Key(key.expose().to_owned()), *entry)),
    };
    if let Some((target, entry)) = new {
        let report = judged(&map, target, entry, user.live.location())?;
        if let (Err(code), Some(why)) = (report.result, report.message()) {
            warnings.push(format!("warning: {}: {why}", code.as_str()));
        }
        warnings.extend(report.warnings.iter().map(|why| format!("warning: {why}")));
    }
    Ok(warnings)
}

/// What a call for `target` would get with this map.
pub(super) fn judged(
    map: &Arc<Map>,
    target: Target,
    entry: &Entry,
    location: &Location,
) -> Result<EntryReport, SetupError> {
    let limits = Limits::default();
    let planned = ReadMap(Ok(Arc::clone(map))).into();
    let loader = Loader::new(planned, Sandbox::embedded(limits)?, limits);
    let runtime = runtime(limits.running, || {})?;
    let secrets = Secrets::of(map);
    let report = runtime.block_on(entry_report(
        map, target, entry, &secrets, location, &loader,
    ));
    runtime.shutdown_background();
    Ok(report)
}
