//! One case: the files, the call, and the result that must come back.

use crate::{
    table::{Number, RawCase, Table},
    text::Text,
    tree::{Entry, system},
};
use std::{
    io,
    path::{Path, PathBuf},
};

/// The table's `max-bytes` for a grant without one.
const DEFAULT_MAX_BYTES: u64 = 65_536;
/// The table's `key` for a case without one.
const DEFAULT_KEY: &str = "k-good";
/// The directory of a case that is preopened.
const ROOT: &str = "root";

/// Every case of the table, in its order.
///
/// # Panics
/// If the table is not well formed: it says which case, and why.
#[must_use]
pub fn cases() -> Vec<Case> {
    parse(include_str!("../../cases.toml")).unwrap_or_else(|error| panic!("cases.toml: {error}"))
}

/// What [`cases`] does, for any table.
pub(crate) fn parse(table: &str) -> Result<Vec<Case>, String> {
    let table: Table = toml::from_str(table).map_err(|error| error.to_string())?;
    table
        .case
        .into_iter()
        .map(|raw| {
            let name = raw.name.clone();
            Case::try_from(raw).map_err(|error| format!("{name:?}: {error}"))
        })
        .collect()
}

/// One case of the table.
#[derive(Clone, Debug)]
pub struct Case {
    name: String,
    why: Option<String>,
    tree: Vec<Entry>,
    key: String,
    granted_key: String,
    grant: Option<Grant>,
    preopen: bool,
    expected: Expected,
}

/// The host's answer for the granted key: the contract's `grant`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The granted name, well formed or not.
    pub name: String,
    /// The largest file that may be returned, in bytes.
    pub max_bytes: u64,
}

#[derive(Clone, Debug)]
enum Expected {
    Answer(Vec<u8>),
    Error(String),
}

impl Case {
    /// The promise that the case keeps, unique in the table.
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
        &self.key
    }

    /// The host's answer for `asked`: the case's grant for the granted key, and nothing
    /// for any other key. The host would answer even for a key that is not well formed,
    /// so that the guest has to refuse it.
    #[must_use]
    pub fn grant_for(&self, asked: &str) -> Option<&Grant> {
        self.grant
            .as_ref()
            .filter(|_| asked.as_bytes() == self.granted_key.as_bytes())
    }

    /// What must come back: the answer's bytes, or the contract's name of the
    /// error (`not-found`).
    ///
    /// # Errors
    /// Not a failure: the case expects this error.
    pub fn expected(&self) -> Result<Vec<u8>, &str> {
        match &self.expected {
            Expected::Answer(bytes) => Ok(bytes.clone()),
            Expected::Error(name) => Err(name),
        }
    }

    /// Why the case's files cannot be on this system, if so. On Linux and macOS all can.
    #[must_use]
    pub fn lacks(&self) -> Option<&'static str> {
        self.tree.iter().find_map(Entry::lacks)
    }

    /// Creates the case's files in `fresh`, which must be an empty directory,
    /// and returns the directory below it to preopen, if the case has one.
    ///
    /// # Errors
    /// The file system's error.
    pub fn build(&self, fresh: &Path) -> io::Result<Option<PathBuf>> {
        let root = fresh.join(ROOT);
        system::directory(&root)?;
        for entry in &self.tree {
            entry.create(&root)?;
        }
        Ok(self.preopen.then_some(root))
    }
}

impl TryFrom<RawCase> for Case {
    type Error = String;

    fn try_from(raw: RawCase) -> Result<Self, String> {
        let tree: Vec<Entry> = raw
            .tree
            .into_iter()
            .map(Entry::try_from)
            .collect::<Result<_, _>>()?;
        let expected = match (raw.ok, raw.ok_hex, raw.ok_from, raw.error) {
            (Some(text), None, None, None) => Expected::Answer(text.join().into_bytes()),
            (None, Some(hex), None, None) => Expected::Answer(hex.unhex()?),
            (None, None, Some(path), None) => Expected::Answer(content_of(&path, &tree)?),
            (None, None, None, Some(name)) => Expected::Error(name),
            _ => return Err("needs one of ok, ok-hex, ok-from, error".into()),
        };
        if let Expected::Answer(bytes) = &expected
            && str::from_utf8(bytes).is_err()
        {
            return Err("no answer can be other than UTF-8".into());
        }
        let grant = match raw.grant {
            None => None,
            Some(grant) => Some(Grant {
                name: grant.name.join(),
                max_bytes: match grant.max_bytes {
                    None => DEFAULT_MAX_BYTES,
                    Some(Number::Plain(number)) => number,
                    Some(Number::Digits(digits)) => digits
                        .parse()
                        .map_err(|error| format!("max-bytes {digits:?}: {error}"))?,
                },
            }),
        };
        if grant.is_none() && raw.granted_key.is_some() {
            return Err("a granted-key needs a grant".into());
        }
        let key = raw.key.map_or_else(|| DEFAULT_KEY.into(), |key| key.join());
        Ok(Self {
            name: raw.name,
            why: raw.why,
            tree,
            granted_key: raw
                .granted_key
                .map_or_else(|| key.clone(), |key| key.join()),
            key,
            grant,
            preopen: raw.preopen.unwrap_or(true),
            expected,
        })
    }
}

/// The content of the tree's file at this path. It comes from the table and not from the
/// disk, so that a file that was written wrongly does not confirm itself.
fn content_of(path: &Text, tree: &[Entry]) -> Result<Vec<u8>, String> {
    let path = PathBuf::from(path.join());
    tree.iter()
        .find(|entry| entry.path == path)
        .and_then(Entry::content)
        .ok_or_else(|| format!("ok-from: the tree has no file {path:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_what_the_table_says() {
        let [case] = &parse(
            r#"
            [[case]]
            name = "n"
            tree = [{ path = "x.md", hex = ["61", { text = "62", times = 2 }], mode = 0o640 }]
            key = ["a", { text = "k", times = 3 }]
            granted-key = "other"
            grant = { name = "x.md", max-bytes = "18446744073709551615" }
            ok-from = "x.md"
            "#,
        )
        .unwrap()[..] else {
            panic!("one case")
        };
        assert_eq!(case.key(), "akkk");
        assert_eq!(case.grant_for("akkk"), None);
        let grant = case.grant_for("other").unwrap();
        assert_eq!((grant.name.as_str(), grant.max_bytes), ("x.md", u64::MAX));
        assert_eq!(case.expected(), Ok(b"abb".to_vec()));

        // Windows has no modes.
        assert_eq!(case.lacks().is_some(), cfg!(windows));
        if case.lacks().is_some() {
            return;
        }
        let fresh = tempfile::tempdir().unwrap();
        let root = case.build(fresh.path()).unwrap().unwrap();
        assert_eq!(std::fs::read(root.join("x.md")).unwrap(), b"abb");
    }

    #[test]
    fn a_table_with_a_mistake_is_refused() {
        for (mistake, says) in [
            ("ok = ''\nextra = 1", "unknown field"),
            ("", "needs one of ok"),
            ("ok = ''\nerror = 'internal'", "needs one of ok"),
            ("ok-hex = '6'", "half a byte"),
            ("ok-hex = 'zz'", "hexadecimal"),
            ("ok-hex = 'ff'", "UTF-8"),
            ("ok-from = 'x.md'", "no file"),
            ("ok = ''\ngranted-key = 'k'", "needs a grant"),
            ("ok = [{ text = 'a' }]", "did not match"),
            ("ok = [{ text = 'a', times = 1, x = 1 }]", "did not match"),
            ("ok = ''\ngrant = { name = 'x', max = 1 }", "unknown field"),
            (
                "ok = ''\ngrant = { name = 'x', max-bytes = -1 }",
                "did not match",
            ),
            (
                "ok = ''\ngrant = { name = 'x', max-bytes = 'x' }",
                "invalid digit",
            ),
            ("ok = ''\ntree = [{ path = 'x' }]", "needs one of text"),
            (
                "ok = ''\ntree = [{ path = 'x', text = '', size = 1 }]",
                "needs one of text",
            ),
            (
                "ok = ''\ntree = [{ path = 'x', make = 'device' }]",
                "unknown variant",
            ),
            (
                "ok = ''\ntree = [{ path = 'x', make = 'fifo', mode = 0 }]",
                "not a file",
            ),
            ("ok = ''\ntree = [{ path = '/x', text = '' }]", "no path"),
            (
                "ok = ''\ntree = [{ path = 'a/../../x', text = '' }]",
                "no path",
            ),
            ("ok = ''\ntree = [{ path = '..', text = '' }]", "no path"),
        ] {
            let error = parse(&format!("[[case]]\nname = 'n'\n{mistake}\n")).unwrap_err();
            assert!(error.contains(says), "{mistake}: {error}");
        }
    }
}
