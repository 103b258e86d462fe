use super::{is_blank, printable, printable_text, visible};
use std::path::Path;

#[test]
fn what_is_shown_cannot_move_the_cursor_or_turn_the_line_around() {
    assert_eq!(
        printable_text("a\x1b[31m\n\u{202e}é"),
        "a\\u{1b}[31m\\n\\u{202e}é"
    );
}

#[test]
fn a_path_is_shown_as_it_is_or_not_at_all() {
    for path in ["/a b/\u{e9}\u{2764}.md", "/'\"$`\\;"] {
        assert_eq!(visible(Path::new(path)), Some(path));
        assert_eq!(printable(Path::new(path)), path);
    }
    // Escape, line end, C1, direction, and what is not shown.
    for odd in "\x1b\n\r\u{9b}\u{2028}\u{202e}\u{200b}\u{2060}\u{fe0f}\u{feff}\u{e0041}".chars() {
        let path = format!("/a{odd}b.md");
        assert_eq!(visible(Path::new(&path)), None, "{odd:?}");
        let shown = printable(Path::new(&path));
        assert_eq!(shown, "a path with a character that is not shown");
    }
}

#[test]
fn a_path_that_is_not_utf_8_is_not_shown_as_another() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};
    let path = Path::new(OsStr::from_bytes(b"/a\xffb.md"));
    assert_eq!(visible(path), None);
}

#[test]
fn a_text_of_which_nothing_is_seen_is_blank() {
    for blank in [
        "",
        " \r\n\t",
        "\u{feff}",
        "\u{200b}\u{200d}\u{2060}\n",
        "\0\0\0",
        "\u{a0}\u{3000}\u{2800}\u{3164}\u{ad}",
    ] {
        assert!(is_blank(blank), "{blank:?}");
    }
    for text in [".", "\u{feff}a", "\0a", "-\n", "\u{e9}"] {
        assert!(!is_blank(text), "{text:?}");
    }
}
