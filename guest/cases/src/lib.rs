//! The one table of cases that every engine of Keyhole's guest must pass.
//!
//! The table is `guest/cases.toml`, plain data, which its top explains. An engine is
//! anything that runs the guest: natively, in wasmtime, in another runtime. Each calls
//! [`run_all`] with a function that runs one case, so a case cannot exist for one engine
//! and not for another. Only tests use this crate, so it panics where a library would
//! return an error.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod case;
mod run;
mod text;
mod tree;

pub use case::{Case, Grant, cases};
pub use run::run_all;
