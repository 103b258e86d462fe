//! Builds the guest, turns it into a component, and precompiles it. `sandbox`
//! embeds the results.
#![expect(
    clippy::disallowed_methods,
    reason = "it runs when the program is built"
)]

use keyhole_componentize::{ComponentizeError, component, core_module, describe, precompile};
use std::{
    env, fs,
    path::{Path, PathBuf},
};

fn main() {
    if let Err(message) = run() {
        // Prints one clear line, instead of a panic with a backtrace.
        println!("cargo::error={message}");
    }
}

fn run() -> Result<(), String> {
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(variable("OUT_DIR")?);
    let target = variable("TARGET")?;
    for input in [
        "../../guest/src",
        "../../guest/Cargo.toml",
        "../../wit",
        "../../Cargo.lock",
        "../../Cargo.toml",
    ] {
        println!("cargo::rerun-if-changed={input}");
    }

    let component = build(&here, &out).map_err(|error| error.to_string())?;
    let image = precompile(&component, &target).map_err(|error| error.to_string())?;
    let wit = describe(&component).map_err(|error| error.to_string())?;
    let guest = out.join("guest.component.wasm");
    write(&guest, &component)?;
    // For those that depend on this crate.
    println!("cargo::metadata=component={}", guest.display());
    write(&out.join("guest.component.wit"), wit.as_bytes())?;
    write(&out.join("guest.image"), &image)
}

fn build(here: &Path, out: &Path) -> Result<Vec<u8>, ComponentizeError> {
    let manifest = here.join("../../guest/Cargo.toml");
    let manifest = manifest
        .canonicalize()
        .map_err(|error| ComponentizeError::Read {
            path: manifest,
            error,
        })?;
    component(&core_module(
        &manifest,
        "keyhole_guest",
        &out.join("guest"),
    )?)
}

fn variable(name: &str) -> Result<String, String> {
    env::var(name).map_err(|error| format!("{name}: {error}"))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    fs::write(path, bytes).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
