//! A component that imports more than the host offers.

use super::ground::{Ground, component};
use keyhole_core::{
    limits::Limits,
    sandbox::{Sandbox, SandboxError},
};

/// A test for each interface that the build script found.
macro_rules! imports {
    ($($name:ident: $interface:literal = $image:expr;)*) => {
        pub(super) const ATTACKS: &[[&str; 3]] = &[$([
            stringify!($name),
            concat!("imports all of `", $interface, "`"),
            "not instantiated",
        ]),*];

        $(#[test]
        fn $name() {
            static IMAGE: &[u8] = $image;
            is_not_instantiated(IMAGE);
        })*
    };
}
include!(concat!(env!("OUT_DIR"), "/imports.rs"));

/// The sandbox cannot load the component, so that no call of it ever begins.
fn is_not_instantiated(image: &'static [u8]) {
    let refused = Sandbox::new(&component(image).unwrap(), Limits::default())
        .err()
        .unwrap();
    let SandboxError::Contract(error) = refused else {
        panic!("{refused:?}");
    };
    let error = format!("{error:#}");
    assert!(
        error.contains("a matching implementation was not found in the linker"),
        "{error}"
    );

    let ground = Ground::new([("key", 1024)]);
    let limits = Limits::default();
    let honest = ground.loader(Sandbox::embedded(limits).unwrap(), limits);
    ground.is_served(&honest, "key");
}
