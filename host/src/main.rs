//! The `keyhole` command. What it does is in the library; this is its edge.

use std::process::ExitCode;

fn main() -> ExitCode {
    keyhole::cli::run()
}
