//! The guest that is built into this program.

use wasmtime::{Engine, component::Component};

/// The component as it was built, for whoever wants to look into it. Not what
/// runs: that is the machine code made from these bytes in the same build.
pub const COMPONENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/guest.component.wasm"));

/// What [`COMPONENT`] imports and exports, as WIT read from its bytes.
pub const COMPONENT_WIT: &str = include_str!(concat!(env!("OUT_DIR"), "/guest.component.wit"));

/// [`COMPONENT`] as machine code for this program's target.
static IMAGE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/guest.image"));

/// Loads the embedded image.
pub(super) fn component(engine: &Engine) -> wasmtime::Result<Component> {
    // SAFETY: `IMAGE` was made by `Engine::precompile_component` in this
    // program's own build script and is part of the program, so nobody can have
    // changed it who could not change the program itself. An image of another
    // version or of other settings is refused by `deserialize`.
    unsafe { Component::deserialize(engine, IMAGE) }
}
