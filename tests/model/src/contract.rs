//! What the guest has to decide, in a second version: written only from the text of the
//! contract (`wit/context.wit`), which it quotes.

use crate::decision::{Oracle, Question, Read};
use keyhole_guest::{Fault, LoadError};

/// What the contract says, in its own order. `key` is whether the key is well formed.
pub(crate) fn contract(
    oracle: &mut Oracle,
    key: bool,
    grant: Option<&str>,
    preopen: bool,
) -> Result<Vec<u8>, LoadError> {
    // "No grant answers to the key, or the key is not well formed."
    let name = grant.filter(|_| key).ok_or(LoadError::UnknownKey)?;
    // "It is not empty, `.` or `..`, and contains no `/`, `\` or NUL."
    if ["", ".", ".."].contains(&name) || name.bytes().any(|b| b"/\\\0".contains(&b)) {
        return Err(LoadError::OutsideRoot);
    }
    // "It is a stem and `.md`, in exactly these bytes."
    if name.len() < 4 || &name.as_bytes()[name.len() - 3..] != b".md" {
        return Err(LoadError::NotMarkdown);
    }
    // "There is a grant, but no preopened directory."
    if !preopen {
        return Err(LoadError::NotFound);
    }
    // "The name is a directory, FIFO, socket or device, not a regular file."
    if !said(oracle.fail(Question::Look, &[true, false]))? {
        return Err(LoadError::NotAFile);
    }
    said(oracle.fail(Question::Open, &[()]))?;
    // "What counts is the opened file, not its name."
    let first = said(oracle.stat(0))?;
    if !first.regular {
        return Err(LoadError::NotAFile);
    }
    // "The file is larger than the grant's `max-bytes`."
    if first.size > oracle.most {
        return Err(LoadError::TooLarge);
    }
    let mut reads = 0;
    let text = whole(oracle, &mut reads, first.size, None)?;
    // "If both are the same, nobody wrote in between."
    if said(oracle.stat(1))? != first {
        return Err(LoadError::Changed);
    }
    // "`stat` has no times at all […] Then the guest reads the file twice, and both
    // reads must be the same."
    if first.changed.is_none() {
        whole(oracle, &mut reads, first.size, Some(&text))?;
    }
    // "The file's bytes are not UTF-8."
    match std::str::from_utf8(&text) {
        Ok(_) => Ok(text),
        Err(_) => Err(LoadError::NotUtf8),
    }
}

/// Everything up to the end, or what is wrong with it: "it is not as long as it
/// says", or differs from what it was.
fn whole(
    oracle: &mut Oracle,
    reads: &mut usize,
    size: u64,
    before: Option<&[u8]>,
) -> Result<Vec<u8>, LoadError> {
    let mut text = Vec::new();
    loop {
        let want = size + 1 - text.len() as u64;
        let read = said(oracle.read(*reads, want))?;
        *reads += 1;
        match read {
            // "The file system […] broke its own rules."
            Read::TooMuch => return Err(LoadError::Internal),
            Read::Bytes(bytes) if bytes.is_empty() => break,
            Read::Bytes(bytes) => text.extend(bytes),
        }
        if text.len() as u64 > size || before.is_some_and(|before| !before.starts_with(&text)) {
            return Err(LoadError::Changed);
        }
    }
    match text.len() as u64 == size {
        true => Ok(text),
        false => Err(LoadError::Changed),
    }
}

/// The case of each refusal.
fn said<T>(answer: Result<T, Fault>) -> Result<T, LoadError> {
    answer.map_err(|fault| match fault {
        // "No such name in it."
        Fault::Missing => LoadError::NotFound,
        // "The operating system denies the host's user the file."
        Fault::Denied => LoadError::PermissionDenied,
        // "Is a symbolic link, or the file system says that it leads out."
        Fault::Escapes => LoadError::OutsideRoot,
        Fault::NotAFile => LoadError::NotAFile,
        // "The file did not come to rest, or another process holds a lease on it."
        Fault::Unsettled => LoadError::Changed,
        Fault::Other => LoadError::Internal,
    })
}
