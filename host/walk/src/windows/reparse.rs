//! Where a reparse point leads, if it is a link.

use super::security::{u16_at, u32_at};

/// `IO_REPARSE_TAG_SYMLINK`
pub(crate) const SYMLINK: u32 = 0xA000_000C;
/// `IO_REPARSE_TAG_MOUNT_POINT`: a junction, or a volume mounted at a directory.
pub(crate) const JUNCTION: u32 = 0xA000_0003;

/// `SYMLINK_FLAG_RELATIVE`
const RELATIVE: u32 = 1;

/// The target of a link: from a drive's root, or relative to the directory that holds
/// the link. None means that it leads elsewhere: to another computer, to a volume
/// without a letter, or to the root of whichever drive is current.
pub(crate) fn target(data: &[u8]) -> Option<String> {
    let tag = u32_at(data, 0)?;
    // Tag, length, padding; then offset and length of the name that counts, and of the
    // name for people; then the flags, for a symbolic link only; then both names.
    let (names, flags) = match tag {
        SYMLINK => (20, u32_at(data, 16)?),
        JUNCTION => (16, 0),
        _ => return None,
    };
    let (offset, length) = (u16_at(data, 8)?, u16_at(data, 10)?);
    let start = names + usize::from(offset);
    let name = data.get(start..start + usize::from(length))?;
    let units: Vec<u16> = name
        .chunks_exact(2)
        .map(|unit| u16::from_le_bytes([unit[0], unit[1]]))
        .collect();
    let name = String::from_utf16(&units).ok()?;
    if flags & RELATIVE != 0 {
        let is_relative = !name.starts_with(['\\', '/']) && !name.contains(':');
        return (is_relative && !name.is_empty()).then_some(name);
    }
    let name = name.strip_prefix(r"\??\")?;
    super::names::is_from_drive(name).then(|| name.to_owned())
}

#[cfg(test)]
mod tests;
