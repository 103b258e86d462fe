//! The native half of Keyhole: it confines, the guest decides.
//!
//! (front page to be written)

mod code;
pub mod limits;
mod loader;
pub mod mcp;

pub use code::Code;
pub use loader::{Content, Loader};
