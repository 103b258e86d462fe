//! The `keyhole` command. The library does the work.

use std::process::ExitCode;

/// Cargo.toml says why.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    keyhole::cli::run()
}
