//! The native half of Keyhole: the host confines, the guest decides.
//!
//! A user keeps a map of opaque keys to Markdown files. An MCP client that was
//! given a key calls the tool `load_context` and gets the file. These parts are between
//! the two, in the order of a call:
//!
//! 1. [`mcp`]: the protocol. It takes one parameter, the key (a bound server takes none),
//!    and answers with content or with a [`Code`], which carries no data.
//! 2. [`Loader`]: one call end to end, within its [`limits`].
//! 3. [`LiveMap`]: the map as it is now. [`resolve`] turns its entry for the key
//!    into a [`Grant`]: an open directory, and a name in it.
//! 4. [`sandbox`]: a new store for the guest, with that grant and nothing else. The
//!    guest, a component that is built into this program, decides whether the caller may
//!    have the file, and reads it.
//!
//! The host never trusts what the guest returns. The guest could not reach another file
//! if it tried: in this process, only this call's grant leads from a key to a file.
//!
//! ```
//! use keyhole::{Caller, Code, LiveMap, Loader, Location, limits::Limits, sandbox::Sandbox};
//! use std::{fs, sync::Arc};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let home = tempfile::tempdir()?;
//! let map = home.path().join("context-map.toml");
//! fs::write(home.path().join("names.md"), "- Jane Q. Example\n")?;
//! fs::write(&map, "[keys]\n\"k-2c1f8a96d0e34b57\" = \"names.md\"\n")?;
//! # #[cfg(unix)]
//! # fs::set_permissions(&map, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
//!
//! let limits = Limits::default();
//! let live = LiveMap::new(Location::find(Some(&map), |name| std::env::var_os(name))?);
//! let loader = Loader::new(Arc::new(live), Sandbox::embedded(limits)?, limits);
//!
//! let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
//! runtime.block_on(async {
//!     // Nobody has said who asks: an entry that is bound to agents would be refused.
//!     let caller = Caller::Nobody;
//!     let content = loader.load("k-2c1f8a96d0e34b57", &caller).await.unwrap();
//!     assert_eq!(content.text, "- Jane Q. Example\n");
//!     assert_eq!(loader.load("k-guessed", &caller).await.unwrap_err(), Code::UnknownKey);
//! });
//! # Ok(())
//! # }
//! ```

#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
compile_error!("Keyhole runs on Linux, macOS and Windows; other systems are not supported");

mod agent;
#[cfg(unix)]
mod arenas;
mod call;
mod caller;
mod check;
pub mod cli;
mod code;
mod contract;
mod demo;
mod engine;
mod gates;
mod grant;
pub mod guard;
mod guesses;
mod hex;
pub mod limits;
mod loader;
mod map;
pub mod mcp;
mod os;
mod os_error;
mod printable;
mod resources;
pub mod sandbox;
pub mod seal;
mod serve;
mod settle;
mod setup;
mod shell;
mod threads;
pub mod ticket;
mod usage;
pub mod walk;
mod watch;

pub use agent::{AgentName, BadAgentName};
pub use call::Content;
pub use caller::{Caller, Callers};
pub use check::{BindingReport, EntryReport, Report, Warning, check};
pub use code::Code;
pub use contract::contract;
pub use grant::Grant;
pub use loader::Loader;
#[doc(hidden)]
pub use map::Maps;
pub use map::{
    BadBindingName, Binding, BindingError, BindingName, Entry, FreezeError, FrozenMap, Key,
    KeyError, LiveMap, Location, LocationError, Map, MapError, MapSource, ParseError, locate,
    resolve,
};
pub use serve::{ServeError, serve, serve_key, serve_loader, serve_sealed};
#[doc(hidden)]
pub use threads::{Job, Runner};
