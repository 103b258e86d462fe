//! What rules of Claude Code deny, as its tools and its sandbox for shells read them. The tools
//! take more: `Read` alone, and names in another letter case. The sandbox keeps nothing by these.

use crate::settings::items;
use serde_json::Value;
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

/// A name that only a pattern means.
const ANY: &str = "\u{1}\u{1}";

/// The rules by which settings deny.
#[derive(Clone, Debug, Default)]
pub struct Denied(Vec<String>);

/// What of a place a rule denies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Denies {
    /// It denies nothing there.
    Nothing,
    /// It denies the place by a folder above it, or by a `**`.
    Above,
    /// It denies the place by its own name.
    Name,
}

impl Denied {
    /// As `permissions.deny` of these settings has it.
    pub fn of<'a>(settings: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut rules = Vec::new();
        for one in settings {
            let listed = items(&one["permissions"]["deny"]).iter();
            rules.extend(listed.filter_map(Value::as_str).map(str::to_owned));
        }
        Self(rules)
    }

    /// The rules themselves.
    pub fn into_rules(self) -> Vec<String> {
        self.0
    }

    /// The first rule by which this agent cannot start, or cannot call the tool of this server.
    /// None if no rule does that. A rule for the tool may be a pattern, as `mcp__*`; one for the
    /// server or the agent counts only as it is (2.1.332).
    pub(crate) fn stopping(&self, server: &str, agent: &str) -> Option<&str> {
        let tool = characters(&format!("mcp__{server}__load_context"));
        let exact_rules = [
            format!("mcp__{server}"),
            "Agent".to_owned(),
            "Agent(*)".to_owned(),
            format!("Agent({agent})"),
        ];
        let mut rules = self.0.iter();
        let rule = rules.find(|rule| {
            // `Task` is the older name of `Agent`, and counts, too.
            let renamed = rule.replacen("Task", "Agent", 1);
            matches_pattern(&characters(rule), &tool) || exact_rules.contains(&renamed)
        })?;
        Some(rule)
    }

    /// Whether all is denied that one of our rules denies.
    pub(super) fn covers(&self, rule: &str, home: &Path) -> bool {
        if rule.starts_with("Bash(") {
            return self.0.iter().any(|one| one == rule || one == "Bash");
        }
        let place = example(rule, home);
        if rule.contains('*') {
            self.denies_place(&place, home)
        } else {
            self.denies_by_name(&place, home)
        }
    }

    /// Whether a rule denies this place, or a folder above it.
    pub(super) fn denies_place(&self, place: &Path, home: &Path) -> bool {
        let mut rules = self.0.iter();
        rules.any(|rule| denies(rule, place, home) != Denies::Nothing)
    }

    /// Whether a rule denies this file by its own name, and not by a folder's.
    pub(super) fn denies_by_name(&self, file: &Path, home: &Path) -> bool {
        let mut rules = self.0.iter();
        rules.any(|rule| denies(rule, file, home) == Denies::Name)
    }
}

/// A place that one of our rules, `Read(PATTERN)`, denies. Where the pattern has stars, the place
/// has names that no rule denies but by stars of its own.
fn example(rule: &str, home: &Path) -> PathBuf {
    // Between two folders, `**` stands for any number of them.
    let two_names = format!("/{ANY}/{ANY}/");
    let named = rule
        .replace("/**/", &two_names)
        .replace("**", ANY)
        .replace('*', ANY);
    let path = named.trim_end_matches(')').replacen("Read(/", "", 1);
    path.replacen("Read(~", &home.to_string_lossy(), 1).into()
}

/// A rule for reading and a place, both from the folder for which the rule is.
struct Compared<'a> {
    /// The rule's pattern.
    pattern: String,
    /// The names of the place.
    names: Vec<&'a str>,
}

/// What a rule denies of this place: nothing, the place by its own name, or by a folder above it or
/// a `**`.
fn denies(rule: &str, place: &Path, home: &Path) -> Denies {
    let Some(Compared { pattern, names }) = Compared::of(rule, place, home) else {
        return Denies::Nothing;
    };
    let wanted: Vec<&str> = pattern.split('/').collect();
    if !means_place(&wanted, &names) {
        Denies::Nothing
    } else if wanted.len() == names.len() && !wanted.contains(&"**") {
        Denies::Name
    } else {
        Denies::Above
    }
}

impl<'a> Compared<'a> {
    /// The rule's pattern and the place's names, both from the root for `Read(//…)`, or from the
    /// home for `Read(~/…)`. None if the rule is neither of these, the place is not in that folder,
    /// or a name is no text.
    fn of(rule: &str, place: &'a Path, home: &Path) -> Option<Self> {
        let inside = rule.strip_prefix("Read(")?.strip_suffix(')')?;
        // Another rule is for the folder of the settings or of the session.
        let (text, path) = match inside.strip_prefix("//") {
            Some(from_root) => (from_root, place.strip_prefix("/")),
            None => (inside.strip_prefix("~/")?, place.strip_prefix(home)),
        };
        // Several slashes count as one.
        let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty()).collect();
        let mut pattern = parts.join("/");
        // A slash at the end means a folder, and so all that is in it.
        if text.ends_with('/') && !parts.is_empty() {
            pattern.push_str("/**");
        }
        let names = path.ok()?.iter().map(OsStr::to_str);
        Some(Self {
            pattern,
            names: names.collect::<Option<_>>()?,
        })
    }
}

/// Whether a rule's pattern means this place, or a folder above it. A `**` that is a whole name
/// stands for any number of names, also for none.
fn means_place(pattern: &[&str], place: &[&str]) -> bool {
    match (pattern, place) {
        ([], _) => true,
        (["**", rest @ ..], [_, below @ ..]) => {
            means_place(rest, place) || means_place(pattern, below)
        }
        ([first, rest @ ..], [name, below @ ..]) => {
            matches_pattern(&characters(first), &characters(name)) && means_place(rest, below)
        }
        _ => false,
    }
}

/// The characters of a text, for [`matches_pattern`].
fn characters(text: &str) -> Vec<char> {
    text.chars().collect()
}

/// Whether a pattern means this name: `*` stands for any text, and `?` for a character. A rule with
/// a class, such as `[ab]`, counts for nothing.
fn matches_pattern(pattern: &[char], name: &[char]) -> bool {
    match (pattern, name) {
        ([], []) => true,
        (['*', rest @ ..], _) => (0..=name.len()).any(|at| matches_pattern(rest, &name[at..])),
        (['?', rest @ ..], [_, more @ ..]) => matches_pattern(rest, more),
        (['[', ..], _) => false,
        ([wanted, rest @ ..], [one, more @ ..]) => wanted == one && matches_pattern(rest, more),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
