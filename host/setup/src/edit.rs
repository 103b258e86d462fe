//! A file's text with a few changes: every other byte stays.

use crate::PLUGIN;
use keyhole_walk::printable::printable_text;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ops::Range;

/// Why a file cannot be edited safely. The texts name no content of the file but keys of
/// ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EditError {
    /// It is not valid in its format.
    #[error("it is not valid {0}; fix that first")]
    Syntax(&'static str),
    /// It is not text.
    #[error("it is not UTF-8 text")]
    NotText,
    /// A key stands there twice: programs differ in which one counts.
    #[error("it has a key twice; remove one")]
    Duplicate,
    /// Something else stands where ours would be.
    #[error(
        "{0} is something else there than setup would write; change it yourself, or choose another name if this one is taken"
    )]
    Differs(String),
    /// What stands there is ours, but another line takes it back.
    #[error("a line after {0} undoes it there: the last one that matches counts; move that one up")]
    Undone(String),
    /// It cannot be told from the rest any more.
    #[error(
        "it was changed since setup wrote it. Take this away there yourself, and run this again: {}",
        printable_text(.0)
    )]
    Changed(String),
    /// The user has changed the line that is to be another now.
    #[error(
        "it was changed by hand since setup wrote it. Write this line there yourself, and run this again: {}",
        printable_text(.0)
    )]
    ByHand(String),
    /// The result would change something else.
    #[error("it cannot be changed there without changing more; do it by hand")]
    NotSafe,
}

/// One change: at a place of the old text, `removed` gives way to `inserted`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Change {
    /// The byte of the old text at which it begins.
    pub(crate) at: usize,
    /// What stands there, and goes.
    pub(crate) removed: String,
    /// What comes.
    pub(crate) inserted: String,
    /// Where that is, in words, such as `permissions.deny`.
    pub(crate) place: String,
}

impl Change {
    /// A text that comes at a place, where nothing goes.
    pub(crate) fn insert(at: usize, inserted: String, place: &str) -> Self {
        Self {
            at,
            removed: String::new(),
            inserted,
            place: place.to_owned(),
        }
    }

    /// A text that comes where another stands.
    pub(crate) fn replace(text: &str, old: Range<usize>, inserted: String, place: &str) -> Self {
        let removed = text.get(old.clone()).unwrap_or_default();
        Self {
            removed: removed.to_owned(),
            ..Self::insert(old.start, inserted, place)
        }
    }

    /// What takes this back, at the same place.
    pub(crate) fn back(&self) -> Self {
        let mut back = self.clone();
        std::mem::swap(&mut back.removed, &mut back.inserted);
        back
    }

    /// For the user: the place, and each line that comes or goes, but no key.
    pub(crate) fn shown(&self) -> String {
        let mut text = String::new();
        if !self.place.is_empty() {
            let is_there = self.place.starts_with("the ");
            let at = if is_there { "at" } else { "in" };
            text += &format!("  {at} {}:\n", printable_text(&self.place));
        }
        for (sign, side) in [('-', &self.removed), ('+', &self.inserted)] {
            let side = side.trim_start_matches(',').trim_matches(['\r', '\n']);
            for line in side.lines().filter(|line| !line.trim().is_empty()) {
                let words = line.trim_start_matches([' ', '\t']);
                let indent = line.strip_suffix(words).unwrap_or_default();
                let indent = indent.replace('\t', "    ");
                // Who only looks may be an agent. The plugin's key is no secret.
                let is_secret = words.starts_with("[keys.") && !words.contains(PLUGIN.1);
                let words = if is_secret { "[keys.…]" } else { words };
                text += &format!("  {sign} {indent}{}\n", printable_text(words));
            }
        }
        text
    }
}

/// The text with these changes, in ascending order. None if they do not fit.
pub(crate) fn apply(text: &str, changes: &[Change]) -> Option<String> {
    let (mut new, mut done) = (String::new(), 0);
    for change in changes {
        new += text.get(done..change.at)?;
        new += &change.inserted;
        text.get(change.at..)?.strip_prefix(&*change.removed)?;
        done = change.at + change.removed.len();
    }
    Some(new + text.get(done..)?)
}

/// The text before these changes. None if it does not hold them.
pub(crate) fn undo(text: &str, changes: &[Change]) -> Option<String> {
    let (mut gone, mut come) = (0, 0);
    let mut back = Vec::new();
    for change in changes {
        back.push(Change {
            at: change.at + come - gone,
            ..change.back()
        });
        come += change.inserted.len();
        gone += change.removed.len();
    }
    apply(text, &back)
}

/// How a text ends its lines.
pub(crate) fn line_end(text: &str) -> &'static str {
    match text.find('\n').and_then(|at| at.checked_sub(1)) {
        Some(at) if text.as_bytes().get(at) == Some(&b'\r') => "\r\n",
        _ => "\n",
    }
}

/// The byte order mark, and the rest of the text.
pub(crate) fn marked(text: &str) -> (usize, &str) {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => (text.len() - rest.len(), rest),
        None => (0, text),
    }
}

/// The changes that `make` makes of a text without its mark, in order. It also says which value
/// the text has then: so nothing else has changed.
pub(crate) fn edited(
    text: &str,
    make: impl FnOnce(&str) -> Result<(Vec<Change>, Value), EditError>,
    read: impl Fn(&str) -> Result<Value, EditError>,
) -> Result<Vec<Change>, EditError> {
    let (mark, body) = marked(text);
    let (mut changes, expected) = make(body)?;
    changes.sort_by_key(|change| change.at);
    let new = apply(body, &changes).ok_or(EditError::NotSafe)?;
    if !read(&new).is_ok_and(|new| new == expected) {
        return Err(EditError::NotSafe);
    }
    changes.iter_mut().for_each(|change| change.at += mark);
    Ok(changes)
}
