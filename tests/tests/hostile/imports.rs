//! A component that imports more than the host offers.

use super::ground::{Ground, alone, component, guest};
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

/// The sandbox cannot load the component, so that no call of it ever begins. The engine still
/// runs another.
fn is_not_instantiated(image: &'static [u8]) {
    let (engine, limits) = (Sandbox::engine().unwrap(), Limits::default());
    let refused = Sandbox::new(&component(&engine, image).unwrap(), limits)
        .err()
        .unwrap();
    let SandboxError(error) = refused;
    let error = format!("{error:#}");
    assert!(
        error.contains("a matching implementation was not found in the linker"),
        "{error}"
    );

    let ground = Ground::new([("honest", 1024)]);
    let loader = ground.loader(alone(guest(&engine, limits)), limits);
    ground.is_served(&loader, "honest");
}
