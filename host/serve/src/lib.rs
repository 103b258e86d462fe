//! The processes that hand files over: the server, and the hooks beside it.
//!
//! [`start`] has what happens before a byte of a client is read. [`session`] is one server.
//! [`guard`] decides about a call before the server gets it. [`inject`] hands an agent its file
//! when it starts, and [`withhold`] takes out of its report what quotes the file.
//!
//! None of them writes a file of the user's: this crate does not know the crate that does, the
//! lints in host/clippy.toml forbid the functions that would, and on Linux the kernel holds it.
#![forbid(unsafe_code)]

pub mod guard;
pub mod inject;
pub mod resources;
pub mod session;
pub mod start;
pub mod streams;
pub mod withhold;
