//! What attacks share: their directory, and words for the result of an attempt.

use crate::bindings::{
    exports::keyhole::context::loader::LoadError,
    wasi::filesystem::{
        preopens,
        types::{Descriptor, DescriptorFlags, ErrorCode, OpenFlags, PathFlags},
    },
};
use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec::Vec,
};

/// What an attack answers: what it got, in words.
pub(crate) type Answer = Result<String, LoadError>;

pub(crate) fn directory() -> Result<Descriptor, LoadError> {
    let (directory, _) = preopens::get_directories()
        .pop()
        .ok_or(LoadError::NotFound)?;
    Ok(directory)
}

pub(crate) const FOLLOW: PathFlags = PathFlags::SYMLINK_FOLLOW;
/// A link at the end of a path is not followed.
pub(crate) fn no_follow() -> PathFlags {
    PathFlags::empty()
}

pub(crate) fn open(
    from: &Descriptor,
    follow: PathFlags,
    path: &str,
) -> Result<Descriptor, ErrorCode> {
    from.open_at(follow, path, OpenFlags::empty(), DescriptorFlags::READ)
}

/// The start of a file, which must be looked at before it can be read.
pub(crate) fn start_of(file: &Descriptor) -> Result<String, ErrorCode> {
    file.stat()?;
    let (bytes, _) = file.read(1000, 0)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The granted file, open, and ready to be read.
pub(crate) fn granted() -> Result<Descriptor, LoadError> {
    let file = open(&directory()?, no_follow(), "granted.md").map_err(refused)?;
    file.stat().map_err(refused)?;
    Ok(file)
}

/// What an honest guest answers where a file call fails: that the file has not settled, or more.
fn refused(code: ErrorCode) -> LoadError {
    match code {
        ErrorCode::WouldBlock => LoadError::Changed,
        _ => LoadError::Internal,
    }
}

pub(crate) fn granted_file() -> Answer {
    start_of(&granted()?).map_err(refused)
}

/// The absolute path of the directory around everything: see the crate.
pub(crate) fn surroundings() -> String {
    granted_file()
        .unwrap_or_default()
        .lines()
        .nth(1)
        .unwrap_or_default()
        .to_string()
}

/// The outcome of an `open`: the refusal, or the start of the file.
pub(crate) fn got(opened: Result<Descriptor, ErrorCode>) -> String {
    match opened.map(|opened| start_of(&opened)) {
        Ok(Ok(start)) => format!("read {:?}", start.lines().next().unwrap_or_default()),
        Ok(Err(error)) => format!("OPENED, then {}", error.name()),
        Err(error) => error.name().to_string(),
    }
}

/// `3 not-permitted, 1 no-entry`: how often each outcome came, in alphabetical order.
pub(crate) fn tally(outcomes: impl IntoIterator<Item = String>) -> Answer {
    let mut counts = BTreeMap::<String, usize>::new();
    for outcome in outcomes {
        *counts.entry(outcome).or_default() += 1;
    }
    let parts: Vec<_> = counts
        .iter()
        .map(|(outcome, count)| format!("{count} {outcome}"))
        .collect();
    Ok(parts.join(", "))
}

/// Opens each path, with following a link at its end and without, and counts the outcomes.
/// `HOME` in a path is the directory around everything.
pub(crate) fn try_all(paths: &[&str]) -> Answer {
    let (directory, home) = (directory()?, surroundings());
    tally(paths.iter().flat_map(|path| {
        let path = path.replace("HOME", &home);
        [FOLLOW, no_follow()].map(|follow| got(open(&directory, follow, &path)))
    }))
}

/// The refusal's name, or that there was none.
pub(crate) fn refusal<T>(tried: Result<T, ErrorCode>) -> String {
    match tried {
        Ok(_) => "DONE".to_string(),
        Err(error) => error.name().to_string(),
    }
}
