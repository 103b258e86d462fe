//! The native half of Keyhole: it confines, the guest decides.
//!
//! (front page to be written)

pub mod cli;
mod code;
mod contract;
mod demo;
pub mod limits;
mod loader;
pub mod mcp;
pub mod sandbox;
mod serve;

pub use code::Code;
pub use contract::contract;
pub use loader::{Content, Loader};
pub use serve::{ServeError, serve};
