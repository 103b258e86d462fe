//! A guest that attacks.
//!
//! It implements the same world as Keyhole's own guest and runs in the same sandbox. The
//! key says which attack; the answer says what it got. The tests say what it may get, one
//! promise for each line of `registry.rs`.
//!
//! The granted file's second line is the absolute path of the directory around
//! everything, so that attacks know real paths.
#![cfg(target_family = "wasm")]
#![no_std]

extern crate alloc;

mod reads;
mod report;
mod resources;
mod writes;

/// What `wit-bindgen` makes from the contract. It is generated: its style is not ours.
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
        path: "../../wit",
        world: "context-loader",
        generate_all,
    });
}

use alloc::{string::String, vec::Vec};
use bindings::exports::keyhole::context::loader::{Guest, LoadError};

struct Hostile;

impl Guest for Hostile {
    fn load(key: String) -> Result<Vec<u8>, LoadError> {
        // What the tests do after each attack: an honest call.
        let answer = match key.as_str() {
            "honest" => report::granted_file(),
            attack => dispatch(attack),
        };
        answer.map(String::into_bytes)
    }
}

/// The attack that the key names.
macro_rules! attacks {
    ($($module:ident { $($name:ident: $about:literal => $promise:literal;)* })*) => {
        fn dispatch(key: &str) -> Result<String, LoadError> {
            match key {
                $($(stringify!($name) => $module::$name(),)*)*
                _ => Err(LoadError::Internal),
            }
        }
    };
}
include!("registry.rs");

bindings::export!(Hostile with_types_in bindings);

#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}
