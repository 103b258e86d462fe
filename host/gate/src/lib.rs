//! The gate: what a call would publish is compared with the lists of the map.
#![forbid(unsafe_code)]

pub mod call;
mod shell;
