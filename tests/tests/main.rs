//! Keyhole's tests from the outside, a module for each behaviour, which its top names.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

mod bound;
mod build;
mod calls;
mod cli;
mod codes;
mod component;
mod content;
mod docs;
mod examples;
mod hostile;
mod hostile_client;
mod lines;
mod macos;
mod opens;
mod plugin;
mod questions;
mod regressions;
mod secrecy;
mod sessions;
#[cfg(target_os = "linux")]
mod streams;
mod surface;
#[cfg(target_os = "linux")]
mod wall;
#[cfg(target_os = "linux")]
mod wrong_host;
