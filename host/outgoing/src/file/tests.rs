//! What bytes of a file stand for.

use super::{contents_or_target, folder, text};
use crate::Uncollected;
use std::{fs, path::Path};

#[test]
fn of_what_is_mostly_no_text_only_what_can_be_read_is_a_text() {
    let image = b"\x89PNG\0\x01\x02ab\0\xff Title of it\0\0\x03\x04\x05four\0\0\0\0";
    assert_eq!(text(image), " Title of it four ");
    let one_nul = b"a\r\n\nb\tc, and a line of text\0";
    assert_eq!(text(one_nul), "a\r\n\nb\tc, and a line of text\0");
    assert_eq!(text(b"\xff\xfea\0b\0"), "ab\n");
    let false_mark = text(b"\xff\xfe12 Main Street");
    assert!(false_mark.ends_with("\n\u{fffd}\u{fffd}12 Main Street"));
}

#[test]
fn utf_16_without_its_mark_is_a_text_wherever_it_begins() {
    let line = "Königin, 12 Main Street\n";
    let units = || line.encode_utf16();
    let little: Vec<u8> = units().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = units().flat_map(u16::to_be_bytes).collect();
    assert_eq!(text(&little), line);
    assert_eq!(text(&big), line);
    // Git ends a line behind `\n`, so the line's last NUL begins the next one.
    let middle = [&b"\0"[..], &little[..little.len() - 1]].concat();
    assert_eq!(text(&middle), line);
    // An ASCII text in front is kept.
    let mixed = [&b"before "[..], &little, &little].concat();
    assert_eq!(text(&mixed), format!("before {line}{line}"));
    // Most of this is NULs, at both places.
    assert_eq!(text(b"\0\0\0\0\0\0some\0\0\0\0text\0\0\0\0"), "some text ");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "it is a folder of our own")]
fn no_name_of_a_project_leads_out_of_the_checkout() {
    let world = tempfile::tempdir().unwrap();
    let real = fs::canonicalize(world.path()).unwrap();
    fs::create_dir_all(real.join("top/a")).unwrap();
    fs::write(real.join("list"), "x").unwrap();
    fs::write(real.join("top/a/b"), "y").unwrap();
    let top = folder(&real.join("top")).unwrap();
    let read = |name: &str| contents_or_target(&top, Path::new(name), 9);
    assert_eq!(read("a/b"), Ok(Some(b"y".to_vec())));
    for name in ["../list", "a/../../list", "/list"] {
        assert_eq!(read(name), Err(Uncollected::Unreadable), "{name}");
    }
}
