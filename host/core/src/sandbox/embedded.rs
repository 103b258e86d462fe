//! The guest that is built into this program.
#![expect(unsafe_code, reason = "the image of the component is code")]

use wasmtime::{Engine, component::Component};

/// The component as it was built, to inspect. What runs is the machine code made from it.
pub const COMPONENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/guest.component.wasm"));

/// What [`COMPONENT`] imports and exports, as WIT read from its bytes.
pub const COMPONENT_WIT: &str = include_str!(concat!(env!("OUT_DIR"), "/guest.component.wit"));

/// [`COMPONENT`] as machine code for this program's target.
static IMAGE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/guest.image"));

/// The guest that runs, from its machine code.
pub(super) fn component(engine: &Engine) -> wasmtime::Result<Component> {
    // SAFETY: this program's own build script made `IMAGE` with `Engine::precompile_component`, and
    // `IMAGE` is a part of the program. Whoever could change it could change the program itself.
    // `deserialize` refuses an image that was made by another version or with other settings.
    unsafe { Component::deserialize(engine, IMAGE) }
}
