//! The native half of Keyhole: it confines, the guest decides.
//!
//! (front page to be written)

mod check;
mod code;
pub mod limits;
mod loader;
mod map;

pub use check::{EntryReport, Report, check};
pub use code::Code;
pub use loader::{Content, Loader};
pub use map::{
    Entry, Key, KeyError, LiveMap, Location, LocationError, Map, MapError, ParseError, Resolved,
    resolve,
};
