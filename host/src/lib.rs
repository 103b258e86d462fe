//! The native half of Keyhole: it confines, the guest decides.
//!
//! (front page to be written)

mod check;
pub mod cli;
mod code;
mod contract;
mod demo;
mod grant;
mod guesses;
pub mod limits;
mod loader;
mod map;
pub mod mcp;
pub mod sandbox;
pub mod seal;
mod serve;

pub use check::{EntryReport, Report, check};
pub use code::Code;
pub use contract::contract;
pub use grant::Grant;
pub use loader::{Content, Loader, MapSource};
pub use map::{
    Entry, FreezeError, FrozenMap, Key, KeyError, LiveMap, Location, LocationError, Map, MapError,
    ParseError, resolve,
};
pub use serve::{ServeError, serve, serve_sealed};
