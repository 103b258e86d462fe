//! What a person or a model reads of findings. A person at a terminal reads places and rules, and
//! never a value. What is not on a terminal may be public, or a model's: it reads less.

use crate::{compare::Finding, error::Uncompared};
use keyhole_outgoing::Place;
use keyhole_walk::printable::printable_text;
use keyhole_withhold::Rule;
use std::path::Path;

/// The most characters of a place's or a rule's name in a hook's question: three lines stay three.
const MAX_NAME_CHARACTERS: usize = 80;

/// The gate looks for no more passages.
pub(crate) const MAX_PASSAGES: usize = 100;

/// What a model reads of findings: whoever reads where they are learns the list by tries.
pub const FOR_MODELS: &str = "something in what this would publish needs a person's look before it leaves the machine. Do not publish it another way; say to the user: run this in a terminal.";

/// Who reads what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// A person at a terminal, and no model.
    Person,
    /// A model, a log that may be public, or nobody knows who.
    Anybody,
}

/// The gate's question about these findings: at most three lines. `why_incomplete` says why not all
/// could be compared. None if nothing was found and all was compared. [`Reader::Anybody`], who may
/// be a model, reads one fixed sentence (`FOR_MODELS`), which tells neither places nor rules.
pub fn question(
    findings: &[Finding],
    why_incomplete: Option<Uncompared>,
    reader: Reader,
) -> Option<String> {
    let Some(first) = findings.first() else {
        return why_incomplete.map(|why| format!("Keyhole: {NOT_COMPARED} {why}"));
    };
    if reader == Reader::Anybody {
        return Some(format!("Keyhole: {FOR_MODELS}"));
    }
    let passages = match findings.len() {
        1 => "1 passage that matches".to_owned(),
        MAX_PASSAGES => format!("{MAX_PASSAGES} passages or more that match"),
        few => format!("{few} passages that match"),
    };
    let mut text = format!(
        "Keyhole: this would publish {passages} your private list. Only you can judge them:\n  {}",
        line_of_question(first)
    );
    if let Some(second) = findings.get(1) {
        text += &format!("\n  {}", line_of_question(second));
    }
    if let Some(why) = why_incomplete {
        text += &format!("          (not all could be compared: {})", why.code());
    } else if findings.len() > 2 {
        text += "          (and more: run `keyhole scan` in a terminal)";
    }
    Some(text)
}

const NOT_COMPARED: &str = "what this would publish could not be compared with your private list.";

/// A finding as a line of the question, for a person: `src/a.rs:14  Customers`. Without a place, it
/// is in the call itself.
fn line_of_question(finding: &Finding) -> String {
    let place = match &finding.place {
        None => "the call itself".to_owned(),
        Some(place) => {
            let name = shortened(&place_name(place, Reader::Person, printable_path));
            with_number(place, &name, &finding.line.to_string())
        }
    };
    let rule = shortened(&rule_name(&finding.rule, Reader::Person));
    format!("{place}  {rule}")
}

/// The name of where a text stands: a file, or a message, or what has the name that is the text.
/// `path` says what the reader reads of a path. [`Reader::Anybody`] reads no name of a branch
/// or tag, which may be a value itself.
pub(crate) fn place_name(place: &Place, reader: Reader, path: impl Fn(&Path) -> String) -> String {
    match (place, reader) {
        (Place::Lines { path: file, .. }, _) => path(file),
        (Place::Message(commit), _) => format!("message of {commit}"),
        (Place::Path(file), _) => format!("name of {}", path(file)),
        (Place::TagMessage(tag), Reader::Person) => {
            format!("message of tag {}", printable_text(tag))
        }
        (Place::Branch(branch), Reader::Person) => {
            format!("name of branch {}", printable_text(branch))
        }
        (Place::TagMessage(_), Reader::Anybody) => "message of a tag".to_owned(),
        (Place::Branch(_), Reader::Anybody) => "name of a branch".to_owned(),
    }
}

/// The name with its number, if the place has lines: `src/a.rs:14 of 3f2a91c`.
pub(crate) fn with_number(place: &Place, name: &str, number: &str) -> String {
    match place {
        Place::Lines {
            commit: Some(commit),
            ..
        } => format!("{name}:{number} of {commit}"),
        Place::Lines { .. } => format!("{name}:{number}"),
        _ => name.to_owned(),
    }
}

/// A path as a person reads it, without characters that a terminal would obey.
pub(crate) fn printable_path(path: &Path) -> String {
    printable_text(&path.to_string_lossy())
}

/// A rule's name; its number if it has no name, or a rare one that only a person may read.
pub(crate) fn rule_name(rule: &Rule, reader: Reader) -> String {
    let is_hidden = rule.is_telling && reader == Reader::Anybody;
    if is_hidden || rule.name.is_empty() {
        return format!("rule {}", rule.number);
    }
    printable_text(&rule.name)
}

/// At most [`MAX_NAME_CHARACTERS`] characters of a text.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_NAME_CHARACTERS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
