//! Whether git stores the files of a checkout as the texts that we read.

use crate::{Passage, Place, Uncollected, file, git::Git};
use std::{collections::BTreeSet, os::unix::ffi::OsStrExt as _, path::Path};

/// The bytes of a file with attributes at most.
const MAX_ATTRIBUTES: usize = 8 << 20;

/// The attribute by which git stores a text in another encoding than the checkout has.
const ENCODING: &str = "working-tree-encoding";

/// Its values with which git stores the text as UTF-8, and a text in ASCII as such: with UTF-16LE,
/// git would take two letters for one. The last two stand for a file without the attribute.
const READ_ENCODINGS: [&str; 8] = [
    "utf-16",
    "utf-32",
    "utf-8",
    "utf16",
    "utf32",
    "utf8",
    "unset",
    "unspecified",
];

/// Checks that git stores each file whose lines are in `passages` in an encoding that we read
/// ([`READ_ENCODINGS`]). It looks at the repository's own attributes, in the folder `common`; at
/// the lines of each `.gitattributes` among them; and at what git says of the attribute for each
/// of these files. In the first two, no line may give another encoding to whatever file.
///
/// # Errors
/// [`Uncollected::Encoded`] if one is another encoding; [`Uncollected::Unreadable`] or
/// [`Uncollected::TooMuch`] if the repository's own attributes are no regular file, or have more
/// than 8 MiB; and those of git.
pub(crate) fn check(
    passages: &[Passage],
    common: &Path,
    git: &mut Git<'_>,
) -> Result<(), Uncollected> {
    // A commit may have had other attributes than these.
    let own = file::contents(&common.join("info/attributes"), MAX_ATTRIBUTES)?;
    check_attributes(&file::text(&own.unwrap_or_default()))?;
    let mut paths = BTreeSet::new();
    for passage in passages {
        let Place::Lines { path, .. } = &passage.place else {
            continue;
        };
        // These lines may be of a commit, which had other attributes than the checkout has.
        if path.ends_with(".gitattributes") {
            check_attributes(&passage.text)?;
        }
        paths.insert(path.as_os_str().as_bytes());
    }
    if paths.is_empty() {
        return Ok(());
    }
    let names: Vec<&[u8]> = paths.into_iter().collect();
    let arguments = ["check-attr", "--stdin", "-z", ENCODING];
    let output = git.run(&arguments, names.join(&0))?;
    // Of each file, git prints its path, the attribute's name, and the value.
    for value in output.split(|byte| *byte == 0).skip(2).step_by(3) {
        check_encoding(&String::from_utf8_lossy(value))?;
    }
    Ok(())
}

/// Checks that each encoding that these lines of a `.gitattributes` give to files is one that we
/// read: `*.txt working-tree-encoding=UTF-16` passes. A line that begins with `#` is a comment.
///
/// # Errors
/// [`Uncollected::Encoded`] if one is another encoding, such as `UTF-7`.
fn check_attributes(lines: &str) -> Result<(), Uncollected> {
    let lines = lines.lines().map(str::trim_start);
    for line in lines.filter(|line| !line.starts_with('#')) {
        for word in line.split_whitespace() {
            if let Some(value) = word.strip_prefix(ENCODING)
                && let Some(encoding) = value.strip_prefix('=')
            {
                check_encoding(encoding)?;
            }
        }
    }
    Ok(())
}

/// Checks that this is one of [`READ_ENCODINGS`], in capitals or not.
///
/// # Errors
/// [`Uncollected::Encoded`] if it is not.
fn check_encoding(encoding: &str) -> Result<(), Uncollected> {
    if READ_ENCODINGS.contains(&&*encoding.to_ascii_lowercase()) {
        return Ok(());
    }
    Err(Uncollected::Encoded)
}
