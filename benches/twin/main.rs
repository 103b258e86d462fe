//! Our server without the sandbox: `keyhole-twin MAP`.
//!
//! It has the same map, resolution, loader, protocol and runtime; only the guest runs
//! natively. It parses no command line, so it starts a little faster than is fair.

use keyhole::{Callers, LiveMap, Loader, Location, limits::Limits, mcp::Surface, serve_loader};
use keyhole_benches::Native;
use std::{env, error::Error, path::Path, sync::Arc};

/// As the packaged program, so that the two differ in the sandbox only.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> Result<(), Box<dyn Error>> {
    let map = env::args_os().nth(1).ok_or("usage: keyhole-twin MAP")?;
    let location = Location::find(Some(Path::new(&map)), |name| env::var_os(name))?;
    let limits = Limits::default();
    let loader = Loader::new(Arc::new(LiveMap::new(location)), Native, limits);
    Ok(serve_loader(loader, Callers::Unknown, Surface::General)?)
}
