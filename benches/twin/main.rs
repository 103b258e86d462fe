//! Our server without the sandbox: `keyhole-twin MAP`.
//!
//! It has the same map, resolution, loader, protocol and runtime; only the guest runs
//! natively, and there is no wall. It parses no command line, so it starts a little
//! faster than is fair.

use keyhole_benches::Native;
use keyhole_core::{Caller, LiveMap, Loader, Location, limits::Limits};
use keyhole_mcp::{Surface, run_session};
use rmcp::transport::io::stdio_pipes;
use std::{env, error::Error, path::Path, sync::Arc, time::Duration};
use tokio::{runtime::Builder, signal::ctrl_c};

/// As the packaged program, so that the two differ in the sandbox only.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> Result<(), Box<dyn Error>> {
    let map = env::args_os().nth(1).ok_or("usage: keyhole-twin MAP")?;
    let location = Location::find(Some(Path::new(&map)), |name| env::var_os(name))?;
    let limits = Limits::default();
    let loader = Loader::new(LiveMap::new(location).into(), Native, limits);

    // From here on as host/serve/src/resources.rs has it. If the pipe cannot be widened, it
    // stays as it is.
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(std::io::stdout(), 256 << 10);
    let runtime = Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(limits.running + 2)
        .thread_keep_alive(Duration::from_secs(u32::MAX.into()))
        .build()?;
    // The thread of the first call.
    runtime.spawn_blocking(|| ());
    let session = async {
        let (stdin, stdout) = stdio_pipes();
        let (callers, surface) = (Caller::Nobody, Surface::general());
        tokio::select! {
            _ = ctrl_c() => Ok(()),
            ended = run_session(Arc::new(loader), callers, surface, stdin, stdout) => ended,
        }
    };
    let done = runtime.block_on(session);
    runtime.shutdown_background();
    Ok(done?)
}
