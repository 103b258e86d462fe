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
