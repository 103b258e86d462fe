//! Who may have which file, and how they get it, in the order of a call. It knows no protocol.
//!
//! 1. [`Loader`]: one call end to end, within its [`limits`].
//! 2. [`Caller`]: who calls, as far as the server can know it.
//! 3. [`LiveMap`]: the map as it is now. [`Entry::is_for`] says whether this caller may have this
//!    file. [`Maps::resolve`] turns the entry into a [`Grant`]: an open directory, and a name in it.
//! 4. [`sandbox`]: a new store for the guest, with that grant and nothing else. The guest, a
//!    component that is built into this crate, decides whether the call may have the file, and
//!    reads it. The host never trusts what it returns.
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
    Maps, absolute, locate,
};
pub use refusal::Refusal;
pub use ticket::Unverified;
