//! What the guest has to decide, in a second version: written only from the text of the
//! contract (`wit/context.wit`), which it quotes.

use crate::decision::{Oracle, Read};
use keyhole_guest::LoadError;

/// "After four such attempts it gives up."
const ATTEMPTS: usize = 4;

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
    if !oracle.look()? {
        return Err(LoadError::NotAFile);
    }
    oracle.open()?;
    // "What counts is the opened file, not its name."
    let mut before = oracle.stat(0)?;
    let mut reads = 0;
    for attempt in 1..=ATTEMPTS {
        if !before.regular {
            return Err(LoadError::NotAFile);
        }
        // "The file is larger than the grant's `max-bytes`."
        if before.size > oracle.most {
            return Err(LoadError::TooLarge);
        }
        let text = whole(oracle, &mut reads, before.size)?;
        let after = oracle.stat(attempt)?;
        // "Before and after it has read the whole of it. If the two differ, somebody wrote in
        // between."
        if let Some(text) = text
            && after == before
            // "`stat` has no change time […] Then the guest reads the whole file twice in
            // each attempt […], and both readings must be the same."
            && (before.changed.is_some()
                || whole(oracle, &mut reads, before.size)?.as_ref() == Some(&text))
        {
            return Ok(text);
        }
        before = after;
    }
    // "Somebody wrote to the file each time it was read."
    Err(LoadError::Changed)
}

/// Everything up to the end. None if "it is not as long as it says".
fn whole(oracle: &mut Oracle, reads: &mut usize, size: u64) -> Result<Option<Vec<u8>>, LoadError> {
    let mut text = Vec::new();
    loop {
        let have = text.len() as u64;
        let read = oracle.read(*reads, size + 1 - have, have)?;
        *reads += 1;
        match read {
            // "The file system […] broke its own rules."
            Read::TooMuch => return Err(LoadError::Internal),
            Read::Bytes(bytes) if bytes.is_empty() => break,
            Read::Bytes(bytes) => text.extend(bytes),
        }
        if text.len() as u64 > size {
            return Ok(None);
        }
    }
    Ok((text.len() as u64 == size).then_some(text))
}
