//! A component that breaks the rules by which components talk to their host.
//!
//! These components are in `tests/hostile/shapes.wat`.

use super::ground::{Ground, Guests, alone, component, guest, limits_for, outcome};
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

/// Calls the component twice, if it can be loaded, and an honest one after each call.
fn call(image: &'static [u8], promise: &str) {
    if image.is_empty() {
        return assert_eq!(promise, "not compiled");
    }
    let ground = Ground::new([("key", 1024), ("honest", 1024)]);
    let limits = limits_for(promise);
    let engine = Sandbox::engine().unwrap();
    let guest = guest(&engine, limits);
    let Ok(attacker) = component(&engine, image) else {
        assert_eq!(promise, "not loaded");
        return ground.is_served(&ground.loader(alone(guest), limits), "honest");
    };
    let attacker = Some(Sandbox::new(&attacker, limits).unwrap());
    let loader = ground.loader(Guests { guest, attacker }, limits);
    for _ in 0..2 {
        assert_eq!(outcome(ground.load(&loader, "key")), promise);
        ground.is_served(&loader, "honest");
    }
}
