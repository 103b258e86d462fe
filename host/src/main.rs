//! The `keyhole` command. What it does is in the library; this is its edge.

use std::process::ExitCode;

/// See Cargo.toml for why.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    keyhole::cli::run()
}
