//! Keyhole's guest: the part that decides.
//!
//! One call, one key, one answer: [`load()`] makes the whole decision, and it is
//! written to be read from top to bottom. It reaches the outside through two things, a
//! function (the map, reduced to this call) and a [`Directory`] (the preopened one). In the
//! sandbox they are the component's imports, in `component.rs`; natively they are whatever a
//! test passes in. So the tested code is the shipped code.
//!
//! The types are those of the contract, generated from `wit/context.wit`: if a case is
//! added there, this does not compile until it handles that case.
#![no_std]

extern crate alloc;

#[cfg(target_family = "wasm")]
mod component;
mod load;

pub use bindings::exports::keyhole::context::loader::LoadError;
pub use bindings::keyhole::context::grants::Grant;
pub use load::{Directory, File, MAX_KEY_BYTES, Stat, Time, load};

/// What `wit-bindgen` generates from the contract. Its style is not ours.
#[allow(
    missing_docs,
    unreachable_pub,
    unsafe_op_in_unsafe_fn,
    clippy::all,
    clippy::restriction,
    reason = "generated code"
)]
mod bindings {
    wit_bindgen::generate!({
        path: "../wit",
        world: "context-loader",
        generate_all,
    });
}
