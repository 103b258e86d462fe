//! A component that breaks the rules by which components talk to their host.
//!
//! These components are in `tests/hostile/shapes.wat`.

use super::ground::{Ground, component, limits_for, outcome};
use keyhole_core::sandbox::Sandbox;

/// A test for each component that the build script found.
macro_rules! shapes {
    ($($name:ident: $about:literal => $promise:literal = $image:expr;)*) => {
        pub(super) const ATTACKS: &[[&str; 3]] = &[$([stringify!($name), $about, $promise]),*];

        $(#[test]
        fn $name() {
            static IMAGE: &[u8] = $image;
            call(IMAGE, $promise);
        })*
    };
}
include!(concat!(env!("OUT_DIR"), "/shapes.rs"));

/// Calls the component twice, if it can be loaded, and the real guest after each call.
fn call(image: &'static [u8], promise: &str) {
    let ground = Ground::new([("key", 1024)]);
    let limits = limits_for(promise);
    let honest = ground.loader(Sandbox::embedded(limits).unwrap(), limits);
    let Ok(component) = component(image) else {
        assert_eq!(promise, "not loaded");
        return ground.is_served(&honest, "key");
    };
    let attacked = ground.attacked_by(&component, limits);
    for _ in 0..2 {
        assert_eq!(outcome(ground.load(&attacked, "key")), promise);
        ground.is_served(&honest, "key");
    }
}
