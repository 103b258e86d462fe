//! What the guest has to decide, in a second version: written only from the text of the
//! contract (`wit/context.wit`), which it quotes.

use keyhole_guest::{Directory, File, Grant, LoadError};

/// "The guest makes up to four attempts."
const ATTEMPTS: usize = 4;

/// What the contract says, in its own order. `key` is whether the key is well formed.
pub(crate) fn contract<D: Directory>(
    key: bool,
    grant: Option<Grant>,
    directory: Option<&D>,
) -> Result<Vec<u8>, LoadError> {
    // "No grant answers to the key, or the key is not well formed."
    let Grant { name, max_bytes } = grant.filter(|_| key).ok_or(LoadError::UnknownKey)?;
    // "It is not empty, `.` or `..`, and contains no `/`, `\` or NUL."
    if ["", ".", ".."].contains(&&*name) || name.bytes().any(|b| b"/\\\0".contains(&b)) {
        return Err(LoadError::OutsideRoot);
    }
    // "It is a stem and `.md`, in exactly these bytes."
    if name.len() < 4 || &name.as_bytes()[name.len() - 3..] != b".md" {
        return Err(LoadError::NotMarkdown);
    }
    // "There is a grant, but no preopened directory."
    let directory = directory.ok_or(LoadError::NotFound)?;
    for _ in 0..ATTEMPTS {
        // "The name is a directory, FIFO, socket or device, not a regular file."
        if !directory.is_regular(&name)? {
            return Err(LoadError::NotAFile);
        }
        let file = directory.open(&name)?;
        let before = file.stat()?;
        if !before.regular {
            return Err(LoadError::NotAFile);
        }
        // "The file is larger than the grant's `max-bytes`."
        if before.size > max_bytes {
            return Err(LoadError::TooLarge);
        }
        // "It answers with what it read if both `stat` are equal and the file is as long as
        // they say."
        let text = whole(&file, before.size)?;
        if text.is_some() && file.stat()? == before {
            return Ok(text.unwrap_or_default());
        }
    }
    // "Somebody wrote to the file in each attempt."
    Err(LoadError::Changed)
}

/// Everything up to the end. None if "it is not as long as it says".
fn whole(file: &impl File, size: u64) -> Result<Option<Vec<u8>>, LoadError> {
    let mut text = Vec::new();
    loop {
        let have = text.len() as u64;
        let want = size + 1 - have;
        let read = file.read(want, have)?;
        // "The file system […] broke its own rules."
        if read.len() as u64 > want {
            return Err(LoadError::Internal);
        }
        if read.is_empty() {
            return Ok((have == size).then_some(text));
        }
        text.extend(read);
        if text.len() as u64 > size {
            return Ok(None);
        }
    }
}
