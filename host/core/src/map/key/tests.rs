use super::Key;

#[test]
fn a_key_is_1_to_128_visible_ascii_characters() {
    for good in ["!", "~", "k-7f3a", &"k".repeat(128)] {
        assert_eq!(Key::try_from(good).unwrap().expose(), good);
    }
    for bad in ["", &"k".repeat(129), "a b", "a\n", "\u{7f}", "clé"] {
        assert!(Key::try_from(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn debug_hides_a_key() {
    let key = Key::try_from("k-secret").unwrap();
    assert_eq!(format!("{key:?}"), "Key(<redacted>)");
}

#[test]
fn a_short_key_and_one_of_few_characters_could_be_guessed() {
    for weak in ",k,k-7f3a8b1122334,aaaaaaaaaaaaaaaa,0123401234012340".split(',') {
        assert!(Key::is_guessable(weak), "{weak}");
    }
    for strong in [
        "k-7f3a8b11223344",
        "k-2c1f8a96d0e34b57",
        "0123450123450123",
        &"\u{e9}01234567".repeat(2),
    ] {
        assert!(!Key::is_guessable(strong), "{strong}");
    }
}
