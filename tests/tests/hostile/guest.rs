//! A component that attacks, in the same host as the real guest.
//!
//! The attacks themselves are in `tests/hostile/src/`, and what each of them may get is in
//! its list of them.

use super::ground::{CANARY, Ground, limits_for, outcome};

/// Makes the sections of the table from the list, and a test for each attack.
macro_rules! attacks {
    ($($module:ident { $($name:ident: $about:literal => $promise:literal;)* })*) => {
        $(pub(super) mod $module {
            pub(in super::super) const ATTACKS: &[[&str; 3]] =
                &[$([stringify!($name), $about, $promise]),*];

            $(#[test]
            fn $name() {
                super::attack(stringify!($name), $promise);
            })*
        })*
    };
}
include!("../../hostile/src/registry.rs");

/// Lets the guest attack twice, because it might have learned something from the first
/// attack. Each time it gets what is promised, and no more.
fn attack(name: &str, promise: &str) {
    let max_bytes = if name == "long_answer" { 100 } else { 1 << 20 };
    let keys = [(name, max_bytes), ("honest", 1 << 20)];
    let ground = Ground::new(keys.into_iter().filter(|(key, _)| *key != "without_grant"));
    let loader = ground.attacked(limits_for(promise));
    let before = ground.state();
    for _ in 0..2 {
        let got = outcome(ground.load(&loader, name));
        assert!(!got.contains(CANARY) && !got.contains("root:"), "{got}");
        assert_eq!(got, promise);
        ground.is_served(&loader, "honest");
    }
    assert_eq!(ground.state(), before);
}
