use super::printable_text;

#[test]
fn what_is_shown_cannot_move_the_cursor_or_turn_the_line_around() {
    assert_eq!(
        printable_text("a\x1b[31m\n\u{202e}é"),
        "a\\u{1b}[31m\\n\\u{202e}é"
    );
}
