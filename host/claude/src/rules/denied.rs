//! What rules of Claude Code deny. Only what both its tools and its sandbox for shells take counts
//! here. Two kinds of rules bind the tools alone: `Read` without a path, and names in another
//! letter case.

use crate::settings::items;
use serde_json::Value;
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

/// A name that no file has, in a place made up for a test of rules. Only a rule with a star there
/// denies it.
const ANY: &str = "\u{1}\u{1}";

/// The rules by which settings deny.
#[derive(Clone, Debug, Default)]
pub struct Denied(Vec<String>);

/// How a rule denies a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Denies {
    /// Not at all.
    Nothing,
    /// By a pattern such as `a/**/*`, which is for what is there when a shell starts.
    Pattern,
    /// By a folder above the place, which is denied as a whole.
    Above,
    /// By the place's own name.
    Name,
}

impl Denied {
    /// The rules in `permissions.deny` of these settings. Items that are no text are left out.
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

    /// The first rule by which the agent cannot start, or cannot call the tool of this server. None
    /// if no rule does that. For the server `notes` and the agent `writer`, these rules are
    /// `mcp__notes__load_context`, or a pattern that means it, such as `mcp__*`; and, only in these
    /// words (2.1.332), `mcp__notes`, `Agent`, `Agent(*)`, `Agent(writer)` and the same with
    /// `Task`.
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

    /// Whether these rules already deny all that `ours`, a rule of ours, denies: they have the same
    /// rule. Or else, for `Bash(…)`, they have `Bash` alone; for `Read(~/a/**)`, they deny the
    /// folder as a whole; for `Read(~/a/ids.md)`, they deny the file by its own name.
    pub(super) fn covers(&self, ours: &str, home: &Path) -> bool {
        let is_for_shells = ours.starts_with("Bash(");
        let mut rules = self.0.iter();
        if rules.any(|rule| rule == ours || is_for_shells && rule == "Bash") {
            return true;
        }
        let place = any_place_of(ours, home);
        if ours.contains('*') {
            self.denies_folder_of(&place, home)
        } else {
            self.denies_by_name(&place, home)
        }
    }

    /// Whether a rule denies the folder of this place as a whole, or a folder above that. A rule
    /// for all names there, as `Read(~/a/*)`, does not: when a shell starts, the client looks which
    /// files there are, so the shell can read those that come later.
    pub(super) fn denies_folder_of(&self, place: &Path, home: &Path) -> bool {
        let mut rules = self.0.iter();
        rules.any(|rule| denies(rule, place, home) == Denies::Above)
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

/// A place that the rule `Read(PATTERN)` denies: the pattern's path, with the name [`ANY`] for each
/// star or `**`. Another rule denies such a name only if it has a star there, too.
fn any_place_of(rule: &str, home: &Path) -> PathBuf {
    // Between two folders, `**` stands for any number of them.
    let two_names = format!("/{ANY}/{ANY}/");
    let named = rule
        .replace("/**/", &two_names)
        .replace("**", ANY)
        .replace('*', ANY);
    let path = named.trim_end_matches(')').replacen("Read(/", "", 1);
    path.replacen("Read(~", &home.to_string_lossy(), 1).into()
}

/// A rule `Read(…)` and a place, both from the same folder: the root, or the home.
struct Compared<'a> {
    /// The names in the rule's pattern: `private`, `*.md`.
    pattern: Vec<&'a str>,
    /// The names of the place: `private`, `ids.md`.
    names: Vec<&'a str>,
}

/// How a rule denies `place`. For `/home/theo/private/ids.md` and the home `/home/theo`:
/// `Read(~/private/*.md)` denies it by its name; `Read(~/private)` and `Read(~/private/**)` deny it
/// by a folder above it; `Read(~/private/**/*)` denies it by a pattern; `Read(~/b)` and `Bash(ls)` do not deny it.
fn denies(rule: &str, place: &Path, home: &Path) -> Denies {
    let Some(Compared { pattern, names }) = Compared::of(rule, place, home) else {
        return Denies::Nothing;
    };
    if !means_place(&pattern, &names) {
        Denies::Nothing
    } else if means_folder_above(&pattern, &names) {
        Denies::Above
    } else if pattern.len() == names.len() && !pattern.contains(&"**") {
        Denies::Name
    } else {
        Denies::Pattern
    }
}

impl<'a> Compared<'a> {
    /// The rule's pattern and the place's names, both from the root for `Read(//…)`, or from the
    /// home for `Read(~/…)`. A slash at the pattern's end becomes `/**`: `a/` is `a/**`. None if
    /// the rule is neither of these, the pattern has no name (`Read(//)`), the place is not in that
    /// folder, or a name is not UTF-8.
    fn of(rule: &'a str, place: &'a Path, home: &Path) -> Option<Self> {
        let inside = rule.strip_prefix("Read(")?.strip_suffix(')')?;
        // Another rule is for the folder of the settings or of the session.
        let (text, path) = match inside.strip_prefix("//") {
            Some(from_root) => (from_root, place.strip_prefix("/")),
            None => (inside.strip_prefix("~/")?, place.strip_prefix(home)),
        };
        // Several slashes count as one.
        let mut pattern: Vec<&str> = text.split('/').filter(|name| !name.is_empty()).collect();
        if pattern.is_empty() {
            return None;
        }
        // A slash at the end means a folder, and so all that is in it.
        if text.ends_with('/') {
            pattern.push("**");
        }
        let names = path.ok()?.iter().map(OsStr::to_str);
        Some(Self {
            pattern,
            names: names.collect::<Option<_>>()?,
        })
    }
}

/// Whether a rule's pattern denies a folder above this place as a whole, both as lists of names:
/// `a` and `a/**` do for `a/b.md`, but `a/*` and `a/**/*` do not.
fn means_folder_above(pattern: &[&str], place: &[&str]) -> bool {
    let folder = pattern.strip_suffix(&["**"]).unwrap_or(pattern);
    let above = place.split_last().map_or(place, |(_, above)| above);
    means_place(folder, above)
}

/// Whether a rule's pattern means this place, or a folder above it, both as lists of names:
/// `a/*.md` means `a/b.md` and `a/b.md/c`, but not `a` or `a/b`. A name `**` in the pattern stands
/// for any number of names, also for none; but at the end for at least one: `a/**` does not mean
/// `a`.
fn means_place(pattern: &[&str], place: &[&str]) -> bool {
    match (pattern, place) {
        // The whole pattern has matched: the rest of the place is in a folder that is denied.
        ([], _) => true,
        // `**` stands for no name here, or for this one and perhaps more.
        (["**", rest @ ..], [_, below @ ..]) => {
            means_place(rest, place) || means_place(pattern, below)
        }
        ([first, rest @ ..], [name, below @ ..]) => {
            matches_pattern(&characters(first), &characters(name)) && means_place(rest, below)
        }
        // The place ends before the pattern does: `a/**` does not mean `a`.
        ([_, ..], []) => false,
    }
}

/// So many `*` of one name are looked at.
const MAX_STARS: usize = 4;

/// The characters of a text, for [`matches_pattern`].
fn characters(text: &str) -> Vec<char> {
    text.chars().collect()
}

/// Whether a pattern means this name: `*` stands for any text, also for none, and `?` for one
/// character: `a*.md` means `ab.md`. A pattern with a class, such as `[ab]`, means no name here, and
/// neither does one with more than four `*`: a project's rule could take without end.
fn matches_pattern(pattern: &[char], name: &[char]) -> bool {
    if pattern.iter().filter(|c| **c == '*').count() > MAX_STARS {
        return false;
    }
    match (pattern, name) {
        ([], []) => true,
        (['*', rest @ ..], _) => (0..=name.len()).any(|at| matches_pattern(rest, &name[at..])),
        (['?', rest @ ..], [_, more @ ..]) => matches_pattern(rest, more),
        (['[', ..], _) => false,
        ([first, rest @ ..], [next, more @ ..]) => first == next && matches_pattern(rest, more),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
