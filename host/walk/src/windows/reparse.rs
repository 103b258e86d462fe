//! Where a reparse point leads, if it is a link.

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

fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    let bytes = data.get(at..at + 2)?;
    Some(u16::from_le_bytes(bytes.try_into().ok()?))
}

fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    let bytes = data.get(at..at + 4)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{JUNCTION, SYMLINK, target};

    /// As NTFS keeps it, the name for people first.
    fn data(tag: u32, flags: Option<u32>, name: &str) -> Vec<u8> {
        let shown: Vec<u8> = "shown".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let mut data = tag.to_le_bytes().to_vec();
        data.extend([0; 4]);
        for number in [shown.len(), name.len(), 0, shown.len()] {
            data.extend(u16::try_from(number).unwrap_or_default().to_le_bytes());
        }
        data.extend(flags.iter().flat_map(|flags| flags.to_le_bytes()));
        data.extend(shown);
        data.extend(name);
        data
    }

    #[test]
    fn a_link_leads_to_a_drive_or_on_from_where_it_stands() {
        for (tag, flags, name, leads) in [
            (SYMLINK, Some(1), r"..\a.md", Some(r"..\a.md")),
            (SYMLINK, Some(0), r"\??\D:\a.md", Some(r"D:\a.md")),
            (JUNCTION, None, r"\??\C:\notes", Some(r"C:\notes")),
            (SYMLINK, Some(1), r"\a.md", None),
            (SYMLINK, Some(1), r"\\server\a.md", None),
            (SYMLINK, Some(1), r"C:a.md", None),
            (SYMLINK, Some(1), "", None),
            (SYMLINK, Some(0), r"C:\a.md", None),
            (SYMLINK, Some(0), r"\??\UNC\server\share\a.md", None),
            (SYMLINK, Some(0), r"\??\GLOBALROOT\Device\x", None),
            (SYMLINK, Some(0), r"\Device\NamedPipe\x", None),
            (JUNCTION, None, r"\??\Volume{1}\", None),
            (0x8000_0023, Some(0), r"\??\C:\a", None),
        ] {
            let found = target(&data(tag, flags, name));
            assert_eq!(found.as_deref(), leads, "{name}");
        }
    }

    #[test]
    fn what_is_cut_short_leads_nowhere() {
        let whole = data(SYMLINK, Some(1), "a.md");
        assert_eq!(target(&whole).as_deref(), Some("a.md"));
        for end in 0..whole.len() {
            assert_eq!(target(&whole[..end]), None, "{end}");
        }
    }
}
