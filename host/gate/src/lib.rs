//! The gate: what a call would publish is compared with the lists of the map.
//!
//! [`call`] says what a call would publish, by its words. `gather` collects it, with git.
//! [`compare`] finds what of it a list has. [`gate`] is the hook that asks, and [`scan`] the
//! command for people. [`said`] has what they read. [`hand_over`] gives the plugin's scanner what
//! would be published, and compares nothing.
#![forbid(unsafe_code)]

pub mod call;
pub mod compare;
mod error;
pub mod gate;
mod gather;
pub mod hand_over;
pub mod said;
pub mod scan;
mod shell;
mod stream;

pub use error::Uncompared;
