//! The native half of Keyhole: it confines, the guest decides.
//!
//! (front page to be written)

mod caller;
mod check;
pub mod cli;
mod code;
mod contract;
mod demo;
mod grant;
pub mod guard;
pub mod limits;
mod loader;
mod map;
pub mod mcp;
pub mod sandbox;
mod serve;
pub mod ticket;

pub use caller::{Caller, Callers};
pub use check::{EntryReport, Report, check};
pub use code::Code;
pub use contract::contract;
pub use grant::Grant;
pub use loader::{Content, Loader};
pub use map::{
    Entry, Key, KeyError, LiveMap, Location, LocationError, Map, MapError, ParseError, resolve,
};
pub use serve::{ServeError, serve};
