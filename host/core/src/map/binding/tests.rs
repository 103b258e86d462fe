//! What a binding may be called.

use super::BindingName;

#[test]
fn a_name_is_1_to_64_of_a_to_z_digits_and_hyphens() {
    for good in ["a", "scanner-catalog", "0", "-", &"a".repeat(64)] {
        assert_eq!(good.parse::<BindingName>().as_deref(), Ok(good));
    }
    for bad in ["", "A", "a_b", "a b", "é", "a\n", &"a".repeat(65)] {
        assert!(bad.parse::<BindingName>().is_err(), "{bad}");
    }
}
