//! Compiles the guest, and the host's escape of a text, for an engine that counts their
//! instructions. The programs here have no compiler, as the host has none.

use keyhole_componentize::core_module;
use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
};
use wasmtime::Engine;

#[path = "counting.rs"]
mod counting;

fn main() {
    if let Err(error) = run() {
        // One clear line, instead of a panic with a backtrace.
        println!("cargo::error={error}");
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    // The host's build script says where it is.
    let guest = PathBuf::from(env::var("DEP_KEYHOLE_GUEST_COMPONENT")?);
    for input in [
        "build.rs",
        "counting.rs",
        "escape",
        "../host/src/mcp/escape.rs",
        "../Cargo.lock",
        "../Cargo.toml",
    ] {
        println!("cargo::rerun-if-changed={input}");
    }
    println!("cargo::rerun-if-changed={}", guest.display());
    println!("cargo::rerun-if-env-changed=KEYHOLE_GUEST_CARGO");
    let manifest = Path::new("escape/Cargo.toml").canonicalize()?;
    let escape = core_module(&manifest, "keyhole_escape", &out.join("escape"))?;
    let mut config = counting::config();
    let engine = Engine::new(config.target(&env::var("TARGET")?)?)?;
    fs::write(
        out.join("guest.image"),
        engine.precompile_component(&fs::read(guest)?)?,
    )?;
    fs::write(out.join("escape.image"), engine.precompile_module(&escape)?)?;
    Ok(())
}
