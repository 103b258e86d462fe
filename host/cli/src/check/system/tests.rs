//! What each system makes of the same facts.

use super::keeps;
use std::io;

#[test]
fn only_on_macos_is_eperm_about_the_app() {
    for (system, error, is_kept) in [
        ("macos", 1, true),
        ("macos", 13, false),
        ("linux", 1, false),
    ] {
        let open = || Err::<(), _>(io::Error::from_raw_os_error(error));
        assert_eq!(keeps(system, open), is_kept, "{system} {error}");
    }
    assert!(!keeps("macos", || Ok(())));
}
