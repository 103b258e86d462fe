//! An entry for the map, with a new key.

use super::{Names, Said, SetupError, UserMap, given::plain};
use crate::{
    check::{Secrets, judge, remedy},
    hex::hex,
    limits::Limits,
    loader::Loader,
    map::{FrozenMap, Map},
    printable::printable,
    resources::runtime,
    sandbox::Sandbox,
};
use std::{
    io::{self, IsTerminal as _},
    path::Path,
    sync::Arc,
};
use toml_writer::TomlStringBuilder;

/// The number of random bytes in a key: 128 bits.
const RANDOM: usize = 16;

/// The entry for `file`. Warnings say what would keep the file from being served now.
pub(super) fn for_file(
    file: &Path,
    names: &Names,
    max_bytes: Option<u64>,
    user: &UserMap,
) -> Result<Said, SetupError> {
    let path = written(file)?;
    let taken = |name: &str| {
        user.map
            .as_ref()
            .is_some_and(|map| map.binding(name).is_some())
    };
    if names.bind.as_deref().is_some_and(taken) {
        return Err(SetupError::BindingExists);
    }
    let text = table(&fresh()?, &path, names, max_bytes);
    let text = user.conceals(
        text,
        &[Some(&path), names.bind.as_deref(), names.agent.as_deref()],
    )?;
    let mut warnings = warnings(&text, user)?;
    if io::stdout().is_terminal() {
        warnings.push(format!(
            "put this at the end of your map, {}; or let the shell do it: see `keyhole setup key --help`",
            printable(user.location.file())
        ));
    }
    Ok(Said { text, warnings })
}

/// The path as the map should have it: as the user gave it, if it means the same in
/// the map.
fn written(file: &Path) -> Result<String, SetupError> {
    let text = plain(file).ok_or(SetupError::OddPath)?;
    // The text may be a key in the wrong place, so this check comes before anything
    // prints it.
    if !text.ends_with(".md") {
        return Err(SetupError::NotMarkdown);
    }
    if text.starts_with("~/") {
        return Ok(text.to_owned());
    }
    if text.starts_with('~') {
        return Err(SetupError::OddPath);
    }
    let absolute = std::path::absolute(file).map_err(SetupError::Start)?;
    plain(&absolute)
        .map(str::to_owned)
        .ok_or(SetupError::OddPath)
}

fn fresh() -> Result<String, SetupError> {
    let mut bytes = [0; RANDOM];
    getrandom::fill(&mut bytes).map_err(SetupError::Random)?;
    Ok(format!("k-{}", hex(&bytes)))
}

/// The entry as a table of its own, not as a line under `[keys]`: that header may
/// stand in a map only once, and an appended line would belong to whatever table
/// comes last. It begins with an empty line, because a file may not end with one.
fn table(key: &str, path: &str, names: &Names, max_bytes: Option<u64>) -> String {
    let quote = |text| TomlStringBuilder::new(text).as_basic();
    let quoted = |text| toml_writer::ToTomlValue::to_toml_value(&quote(text));
    let mut text = format!("\n[keys.\"{key}\"]\npath = {}\n", quoted(path));
    if let Some(bytes) = max_bytes {
        text += &format!("max_bytes = {bytes}\n");
    }
    if let Some(agent) = &names.agent {
        text += &format!("agents = [{}]\n", quoted(agent));
    }
    if let Some(bind) = &names.bind {
        text += &format!("\n[bindings.{bind}]\nkey = \"{key}\"\n");
    }
    text
}

/// Loads the file as a call would, under the rules of the user's map.
fn warnings(text: &str, user: &UserMap) -> Result<Vec<String>, SetupError> {
    let limits = Limits::default();
    let entry = Map::parse(text.as_bytes(), &user.location).map_err(SetupError::Entry)?;
    let map = Arc::new(match &user.map {
        Some(map) => map.apply_rules_to(entry),
        None => entry,
    });
    let frozen = FrozenMap::hold(&map, limits)?;
    let loader = Loader::new(frozen, Sandbox::embedded(limits)?, limits);
    let runtime = runtime().map_err(SetupError::Start)?;
    let load = async |key: &crate::map::Key, caller: &crate::caller::Caller| {
        let content = loader.load(key.expose(), caller).await?;
        Ok(content.text.len() as u64)
    };
    let secrets = Secrets::of(&map, [].into_iter());
    let mut warnings = Vec::new();
    for entry in map.entries() {
        let report = runtime.block_on(judge(&entry, &secrets, &user.location, &load));
        if let Err(code) = report.result {
            warnings.push(format!("warning: {}: {}", code.as_str(), remedy(code)));
        }
        warnings.extend(report.warnings.iter().map(|why| format!("warning: {why}")));
    }
    runtime.shutdown_background();
    Ok(warnings)
}
