//! What rules of Claude Code deny, as the client reads them.

use serde_json::Value;
use std::path::Path;

/// Our own programs, which would pass the rules about files.
const PROGRAMS: [&str; 4] = [
    "Bash(*keyhole* inject*)",
    "Bash(*keyhole* serve*)",
    "Bash(*keyhole* setup*)",
    "Bash(*keyhole* withhold*)",
];

/// What settings deny to read.
#[derive(Clone, Debug, Default)]
pub struct Denied(pub(super) Vec<String>);

impl Denied {
    /// As `permissions.deny` has it.
    pub fn of(settings: &Value) -> Self {
        let rules = settings["permissions"]["deny"].as_array();
        let rules = rules.into_iter().flatten().filter_map(Value::as_str);
        Self(rules.map(str::to_owned).collect())
    }

    /// The rules for our own programs, as far as there is no such rule.
    pub fn missing_programs(&self) -> impl Iterator<Item = String> {
        let missing = PROGRAMS.into_iter().filter(|wanted| !self.covers(wanted));
        missing.map(str::to_owned)
    }

    pub(super) fn covers(&self, wanted: &str) -> bool {
        self.0.iter().any(|rule| covers(rule, wanted))
    }

    /// Whether a rule denies this place, or a folder above it.
    pub(super) fn has(&self, place: &Path, home: &Path) -> bool {
        self.any(place, home, |_| true)
    }

    /// Whether a rule denies this file by its own name, and not by a folder's.
    pub(super) fn names(&self, file: &Path, home: &Path) -> bool {
        self.any(file, home, |(pattern, names)| {
            pattern.len() == names.len() && !pattern.contains(&"**")
        })
    }

    /// Whether a rule that denies the place is such a one. Some rules deny all places.
    fn any(&self, place: &Path, home: &Path, is_such: impl Fn((&[&str], &[&str])) -> bool) -> bool {
        fn names(place: &Path) -> Option<Vec<&str>> {
            let names = place.iter().map(|name| name.to_str());
            names.skip(usize::from(place.is_absolute())).collect()
        }
        let all = names(place);
        let in_home = place.strip_prefix(home).ok().and_then(names);
        self.0.iter().any(|rule| {
            if matches!(&**rule, "Read" | "Read(*)") {
                return true;
            }
            let pattern = rule
                .strip_prefix("Read(")
                .and_then(|rule| rule.strip_suffix(')'));
            // With one slash, it is for the folder of the settings; with none, for the session's.
            let of_files = pattern.and_then(|pattern| match pattern.strip_prefix("//") {
                Some(rest) => Some((rest, all.as_ref()?)),
                None => Some((pattern.strip_prefix("~/")?, in_home.as_ref()?)),
            });
            let Some((pattern, names)) = of_files.filter(|(pattern, _)| !pattern.is_empty()) else {
                return false;
            };
            // A slash at the end means a folder, and so all that is in it.
            let pattern = match pattern.strip_suffix('/') {
                Some(folder) => format!("{folder}/**"),
                None => pattern.to_owned(),
            };
            let pattern: Vec<_> = pattern.split('/').collect();
            leads_to(&pattern, names) && is_such((&pattern, names))
        })
    }
}

/// Whether a rule's pattern means this place, or a folder above it. `**` stands for names, but
/// only where it is a whole name itself.
fn leads_to(pattern: &[&str], place: &[&str]) -> bool {
    match (pattern, place) {
        ([], _) => true,
        (["**", rest @ ..], [_, more @ ..]) => leads_to(rest, place) || leads_to(pattern, more),
        ([one, rest @ ..], [name, more @ ..]) => is_like(one, name) && leads_to(rest, more),
        _ => false,
    }
}

/// Whether a rule denies each command that the rule `other` does.
fn covers(rule: &str, other: &str) -> bool {
    let is_pattern = rule.starts_with("Bash(") && rule.ends_with(')');
    rule == "Bash" || is_pattern && stands_for(rule, other)
}

/// Whether a pattern means this name, in any letter case: `*` stands for any text, `?` for a
/// character, `[ab]` for one of these, and `[a-z]` for one of a range.
fn is_like(pattern: &str, name: &str) -> bool {
    means(&pattern.to_lowercase(), &name.to_lowercase(), true)
}

/// Whether a pattern means this text: `*` stands for any, also for a `*` of the text.
pub(crate) fn stands_for(pattern: &str, text: &str) -> bool {
    means(pattern, text, false)
}

/// The same of both; what stands for one character does so only in the name of a file.
fn means(pattern: &str, text: &str, is_file: bool) -> bool {
    fn is(pattern: &[char], text: &[char], is_file: bool) -> bool {
        match (pattern, text) {
            ([], []) => true,
            (['*', rest @ ..], _) => (0..=text.len()).any(|at| is(rest, &text[at..], is_file)),
            (['?', rest @ ..], [_, more @ ..]) if is_file => is(rest, more, is_file),
            (['[', rest @ ..], [one, more @ ..]) if is_file => {
                let mut parts = rest.splitn(2, |c| *c == ']');
                let (Some(set), Some(rest)) = (parts.next(), parts.next()) else {
                    return false;
                };
                let is_in = match set {
                    [from, '-', to] => (from..=to).contains(&one),
                    set => set.contains(one) && set.iter().all(|c| c.is_alphanumeric()),
                };
                is_in && is(rest, more, is_file)
            }
            ([wanted, rest @ ..], [one, more @ ..]) => wanted == one && is(rest, more, is_file),
            _ => false,
        }
    }
    let letters = |text: &str| text.chars().collect::<Vec<_>>();
    is(&letters(pattern), &letters(text), is_file)
}

#[cfg(test)]
mod tests;
