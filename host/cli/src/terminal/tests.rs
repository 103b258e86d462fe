use super::plain;

#[test]
fn colours_are_left_out_and_nothing_else() {
    assert_eq!(plain("a\x1b[1m\x1b[31mm b\x1b[0mc\n"), "am bc\n");
    assert_eq!(plain("\x1b[32m"), "");
    assert_eq!(plain("m"), "m");
}
