//! Who may have which file, and how they get it. It knows no protocol. ARCHITECTURE.md has the way
//! of one call through it: [`Loader`], [`Caller`], [`LiveMap`], [`Grant`], [`sandbox`].
#![deny(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files"))]

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
compile_error!("Keyhole runs on Linux and macOS only; on Windows, run it in WSL2");

mod agent;
mod call;
mod caller;
mod grant;
pub mod limits;
mod loader;
mod map;
mod refusal;
pub mod sandbox;
pub mod ticket;

pub use agent::{AgentName, Malformed};
pub use call::{Target, call};
pub use caller::Caller;
pub use grant::{Executor, Grant, Granted};
pub use loader::{Content, Load, Loader};
pub use map::{
    Binding, BindingName, Entry, Key, LiveMap, Location, LocationError, Map, MapError, MapMistake,
    Maps, Table, absolute, locate, map_in,
};
pub use refusal::Refusal;
pub use ticket::Unverified;
