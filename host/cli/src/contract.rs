//! `keyhole contract`: what this program can touch, for a person who is to grant it.

use keyhole_core::{
    hex,
    limits::Limits,
    sandbox::{COMPONENT, COMPONENT_WIT},
};
use sha2::{Digest, Sha256};

/// The component's imports and exports as WIT, read from its bytes. Comments at the
/// top state its size and its SHA-256. The whole text is valid WIT.
#[must_use]
pub(crate) fn wit() -> String {
    format!(
        "// The component in this program: {} bytes\n// sha256:{}\n\n{COMPONENT_WIT}",
        COMPONENT.len(),
        hex(&Sha256::digest(COMPONENT)),
    )
}

/// The component, what it can import, from its own bytes, and what each call gives it. What
/// the map adds is in the report of `keyhole check`.
#[must_use]
pub(crate) fn screen() -> String {
    let limits = Limits::default();
    let imports: String = COMPONENT_WIT
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("import "))
        .map(|import| match import.contains("wasi:clocks") {
            true => format!("{import}  (a type only: it has no function)\n"),
            false => format!("{import}\n"),
        })
        .collect();
    format!(
        "The component that reads: {} bytes, sha256:{}\n\
         {imports}\
         each call gets one key; one grant; one directory, in which there is one name, to read\n\
         at most {} s of time, {} MiB of memory, {} handles\n\
         no arguments, environment, clocks, random numbers, sockets or standard streams\n",
        COMPONENT.len(),
        hex(&Sha256::digest(COMPONENT)),
        limits.deadline.as_secs(),
        limits.memory_bytes >> 20,
        limits.handles,
    )
}
