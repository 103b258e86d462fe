//! Builds the guest, turns it into a component, and precompiles it. `sandbox` embeds the results.
#![expect(clippy::disallowed_methods, reason = "it builds the program")]

use keyhole_componentize::{component, core_module, describe, precompile};
use std::{env, error::Error, fs, path::PathBuf};

fn main() {
    if let Err(error) = run() {
        // Prints one clear line, instead of a panic with a backtrace.
        println!("cargo::error={error}");
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let inputs = "guest/src guest/Cargo.toml wit Cargo.lock Cargo.toml";
    for input in inputs.split(' ') {
        println!("cargo::rerun-if-changed=../../{input}");
    }

    let manifest = here.join("../../guest/Cargo.toml").canonicalize()?;
    let module = core_module(&manifest, "keyhole_guest", &out.join("guest"))?;
    let component = component(&module)?;
    let guest = out.join("guest.component.wasm");
    fs::write(&guest, &component)?;
    // For those that depend on this crate.
    println!("cargo::metadata=component={}", guest.display());
    fs::write(out.join("guest.component.wit"), describe(&component)?)?;
    let image = precompile(&component, &env::var("TARGET")?)?;
    fs::write(out.join("guest.image"), image)?;
    Ok(())
}
