//! Who may have which file, and how they get it. This crate knows no protocol.
//!
//! A call names a key, and gets the file. These parts are between the two, in the order of a call:
//!
//! 1. [`Loader`]: one call end to end, within its [`limits`].
//! 2. [`Caller`]: who calls, as far as the server can know it.
//! 3. [`LiveMap`]: the map as it is now. [`Map::find_for`] says whether this caller may use this
//!    key. [`Maps::resolve`] turns the entry into a [`Grant`]: an open directory, and a name in it.
//! 4. [`sandbox`]: a new store for the guest, with that grant and nothing else. The
//!    guest, a component that is built into this crate, decides whether the call may
//!    have the file, and reads it.
//!
//! The host never trusts what the guest returns. The guest could not reach another file if it
//! tried: only this call's grant leads from a key to a file.
//!
//! ```
//! use keyhole_core::{Caller, LiveMap, Loader, Location, Refusal, Target, limits::Limits, sandbox::Sandbox};
//! use std::fs;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let home = tempfile::tempdir()?;
//! let map = home.path().join("context-map.toml");
//! fs::write(home.path().join("names.md"), "- Jane Q. Example\n")?;
//! fs::write(&map, "[keys]\n\"k-2c1f8a96d0e34b57\" = \"names.md\"\n")?;
//! # for file in [&map, &home.path().join("names.md")] {
//! #     fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
//! # }
//!
//! let limits = Limits::default();
//! let live = LiveMap::new(Location::find(Some(&map), |name| std::env::var_os(name))?);
//! let loader = Loader::new(live.into(), Sandbox::embedded(limits)?, limits);
//!
//! let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
//! runtime.block_on(async {
//!     let load = |key: &str| {
//!         // Nobody has said who asks: an entry that is bound to agents would be refused.
//!         loader.load(Target::Key(key.to_owned()), Caller::Nobody)
//!     };
//!     assert_eq!(load("k-2c1f8a96d0e34b57").await.unwrap().text, "- Jane Q. Example\n");
//!     assert_eq!(load("k-2c1f8a96d0e34b58").await.unwrap_err(), Refusal::UnknownKey);
//! });
//! # Ok(())
//! # }
//! ```
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

pub use agent::{AgentName, BadAgentName, UnusableName};
pub use call::{Target, call};
pub use caller::Caller;
pub use grant::{Executor, Grant};
pub use loader::{Content, Loader};
pub use map::{
    BadBindingName, BadKey, Binding, BindingName, Entry, Key, LiveMap, Location, LocationError,
    Map, MapError, MapMistake, Maps, Unresolved, configuration, home, locate,
};
pub use refusal::Refusal;
pub use ticket::Unverified;

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
