use super::{MAX_CLAUDE_CHARS, is_too_long_for_claude};

#[test]
fn what_is_too_long_for_claude_code_is_told_by_its_utf_16_units_and_not_by_bytes() {
    for (character, units) in [("a", 1), ("\u{e9}", 1), ("\u{20ac}", 1), ("\u{1f511}", 2)] {
        let most = character.repeat(MAX_CLAUDE_CHARS / units);
        assert!(!is_too_long_for_claude(&most), "{character}");
        assert!(is_too_long_for_claude(&(most + "a")), "{character}");
    }
}
