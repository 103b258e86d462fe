//! One case: the files, the call, and the result that must come back.

use crate::{
    text::Text,
    tree::{Entry, directory},
};
use serde::{Deserialize, Deserializer};
use std::{
    io,
    path::{Path, PathBuf},
};

/// The directory of a case that is preopened.
const ROOT: &str = "root";

/// The whole of `guest/cases.toml`. An unknown field is an error.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    case: Vec<Case>,
}

/// Every case of the table, in its order.
#[must_use]
pub fn cases() -> Vec<Case> {
    let table: Table = toml::from_str(include_str!("../../cases.toml")).unwrap();
    table.case
}

/// One case of the table. The table's top explains each field.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Case {
    name: String,
    why: Option<String>,
    #[serde(default)]
    tree: Vec<Entry>,
    #[serde(default = "default_key")]
    key: Text,
    granted_key: Option<Text>,
    grant: Option<Grant>,
    #[serde(default = "default_preopen")]
    preopen: bool,
    ok: Option<Text>,
    ok_hex: Option<Text>,
    ok_from: Option<Text>,
    error: Option<String>,
}

/// The host's answer for the granted key: the contract's `grant`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Grant {
    /// The granted name, well formed or not.
    #[serde(deserialize_with = "text")]
    pub name: String,
    /// The largest file that may be returned, in bytes.
    #[serde(default = "default_max_bytes", deserialize_with = "number")]
    pub max_bytes: u64,
}

fn default_key() -> Text {
    Text("k-good".into())
}

fn default_preopen() -> bool {
    true
}

fn default_max_bytes() -> u64 {
    65_536
}

fn text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(Text::deserialize(from)?.0)
}

/// A number is digits in a string if it is beyond TOML's 63 bits.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Number {
        Plain(u64),
        Digits(String),
    }
    Ok(match Number::deserialize(from)? {
        Number::Plain(number) => number,
        Number::Digits(digits) => digits.parse().unwrap(),
    })
}

impl Case {
    /// The promise that the case keeps.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the case guards against, if that is worth saying.
    #[must_use]
    pub fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }

    /// The key that the caller asks for. It need not be well formed.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key.0
    }

    /// The host's answer if the guest asks for the key `asked`: the case's grant, if `asked` is the
    /// granted key. None for any other key, and in a case without a grant. The granted key need not
    /// be well formed, so that the guest has to refuse it.
    #[must_use]
    pub fn grant_for(&self, asked: &str) -> Option<&Grant> {
        let granted_key = self.granted_key.as_ref().unwrap_or(&self.key);
        self.grant.as_ref().filter(|_| asked == granted_key.0)
    }

    /// What must come back: the answer's bytes, or as the error, the contract's name of the
    /// refusal, such as `not-found`. The bytes stand in the case as a text (`ok`), as hexadecimal
    /// digits (`ok-hex`), or as the path of one of the case's files (`ok-from`). Panics unless the
    /// case has exactly one of these three and `error`.
    pub fn expected(&self) -> Result<Vec<u8>, &str> {
        match (&self.ok, &self.ok_hex, &self.ok_from, &self.error) {
            (Some(text), None, None, None) => Ok(text.0.clone().into_bytes()),
            (None, Some(hex), None, None) => Ok(hex.unhex()),
            // The content comes from the table and not from the disk, so that a file that was
            // written wrongly does not confirm itself.
            (None, None, Some(path), None) => {
                let entry = self.tree.iter().find(|entry| entry.path.0 == path.0);
                Ok(entry.and_then(Entry::content).unwrap())
            }
            (None, None, None, Some(name)) => Err(name),
            _ => panic!("{}: needs one of ok, ok-hex, ok-from, error", self.name),
        }
    }

    /// Creates the case's files in `fresh`, which must be an empty directory,
    /// and returns the directory below it to preopen, if the case has one.
    pub fn build(&self, fresh: &Path) -> io::Result<Option<PathBuf>> {
        let root = fresh.join(ROOT);
        directory(&root)?;
        for entry in &self.tree {
            entry.create(&root)?;
        }
        Ok(self.preopen.then_some(root))
    }
}
