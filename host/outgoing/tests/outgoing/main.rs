//! What is told of real repositories, and that nothing of theirs runs. Each module is one promise.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests make repositories with git, and tell what they skip"
)]

mod environment;
mod hangs;
mod places;
mod setups;
mod situations;
mod size;
#[cfg(target_os = "linux")]
mod swapped;
mod world;
