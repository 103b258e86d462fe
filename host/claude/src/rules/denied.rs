//! What rules of Claude Code deny, as the client reads them.

use super::ANY;
use serde_json::Value;
use std::{ffi::OsStr, path::Path};

/// What settings deny to read.
#[derive(Clone, Debug, Default)]
pub struct Denied(pub Vec<String>);

impl Denied {
    /// As `permissions.deny` of these settings has it.
    pub fn of<'a>(settings: impl IntoIterator<Item = &'a Value>) -> Self {
        let lists = settings.into_iter().map(|one| &one["permissions"]["deny"]);
        let rules = lists.filter_map(Value::as_array).flatten();
        Self(rules.filter_map(Value::as_str).map(str::to_owned).collect())
    }

    /// Whether all is denied that one of our rules denies.
    pub(super) fn covers(&self, rule: &str, home: &Path) -> bool {
        let has = |wanted: &str| self.0.iter().any(|rule| rule == wanted);
        // Between two folders, `**` stands for any number of them.
        let names = rule.replace("/**/", &format!("/{ANY}/{ANY}/"));
        let names = names.replace("**", ANY).replace('*', ANY);
        let place = names.trim_end_matches(')').replacen("Read(/", "", 1);
        let place = place.replacen("Read(~", &home.to_string_lossy(), 1);
        if rule.starts_with("Bash(") {
            has(rule) || has("Bash")
        } else if rule.contains('*') {
            self.has(Path::new(&place), home)
        } else {
            self.names(Path::new(&place), home)
        }
    }

    /// Whether a rule denies this place, or a folder above it.
    pub(super) fn has(&self, place: &Path, home: &Path) -> bool {
        let mut rules = self.0.iter();
        rules.any(|rule| denies(rule, place, home).is_some())
    }

    /// Whether a rule denies this file by its own name, and not by a folder's.
    pub fn names(&self, file: &Path, home: &Path) -> bool {
        let mut rules = self.0.iter();
        rules.any(|rule| denies(rule, file, home) == Some(true))
    }
}

/// Whether a rule denies this place by its own name. None if it does not deny it.
fn denies(rule: &str, place: &Path, home: &Path) -> Option<bool> {
    if matches!(rule, "Read" | "Read(*)") {
        return Some(true);
    }
    let pattern = rule.strip_prefix("Read(")?.strip_suffix(')')?;
    // With one slash, it is for the folder of the settings; with none, for the session's.
    let (pattern, names) = match pattern.strip_prefix("//") {
        Some(rest) => (rest, place.strip_prefix("/")),
        None => (pattern.strip_prefix("~/")?, place.strip_prefix(home)),
    };
    let names = names.ok()?.iter().map(OsStr::to_str);
    let names = names.collect::<Option<Vec<_>>>()?;
    // A slash at the end means a folder, and so all that is in it.
    let all = if pattern.ends_with('/') { "**" } else { "" };
    let pattern = format!("{pattern}{all}").to_lowercase();
    let pattern: Vec<_> = pattern.split('/').collect();
    let is_named = pattern.len() == names.len() && !pattern.contains(&"**");
    leads_to(&pattern, &names).then_some(is_named)
}

/// Whether a rule's pattern means this place, or a folder above it, in any letter case. `**`
/// stands for names, but only where it is a whole name itself.
fn leads_to(pattern: &[&str], place: &[&str]) -> bool {
    let letters = |text: &str| text.chars().collect::<Vec<_>>();
    match (pattern, place) {
        ([], _) => true,
        (["**", rest @ ..], [_, more @ ..]) => leads_to(rest, place) || leads_to(pattern, more),
        ([one, rest @ ..], [name, more @ ..]) => {
            is_like(&letters(one), &letters(&name.to_lowercase())) && leads_to(rest, more)
        }
        _ => false,
    }
}

/// Whether a pattern means this name: `*` stands for any text, `?` for a character, `[ab]` for
/// one of these, and `[a-z]` for one of a range.
fn is_like(pattern: &[char], name: &[char]) -> bool {
    match (pattern, name) {
        ([], []) => true,
        (['*', rest @ ..], _) => (0..=name.len()).any(|at| is_like(rest, &name[at..])),
        (['?', rest @ ..], [_, more @ ..]) => is_like(rest, more),
        (['[', from, '-', to, ']', rest @ ..], [one, more @ ..]) => {
            (from..=to).contains(&one) && is_like(rest, more)
        }
        (['[', rest @ ..], [one, more @ ..]) => {
            let set = rest.split(|c| *c == ']').next().unwrap_or_default();
            let is_set = set.contains(one) && set.iter().all(|c| c.is_alphanumeric());
            let rest = rest.get(set.len() + 1..);
            is_set && rest.is_some_and(|rest| is_like(rest, more))
        }
        ([wanted, rest @ ..], [one, more @ ..]) => wanted == one && is_like(rest, more),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
