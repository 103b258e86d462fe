//! What bytes of a file stand for.

use super::text;

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
