//! Turns a guest into an image that the host can run. Build scripts use it.
//!
//! There are three steps, each a function: [`core_module`] compiles a crate for wasm,
//! [`component`] wraps it into a component that carries its WIT, [`precompile`]
//! turns that into machine code for one target. The host embeds the machine code, so
//! that it needs no compiler at run time. [`describe`] says what a component really
//! imports.
//!
//! This crate has the compiler, so only build scripts may depend on it. The one of
//! `keyhole-core` shows the three steps.
#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "only build scripts use it")]

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

/// The guest's target: bare wasm, without any part of an operating system that could
/// turn into an import.
pub const WASM_TARGET: &str = "wasm32-unknown-unknown";

/// The reason why a guest could not be built. Each says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ComponentizeError {
    /// Rust's core library for wasm is not installed.
    #[error(
        "the Rust target {WASM_TARGET} is missing; add it with: rustup target add {WASM_TARGET}"
    )]
    TargetMissing,
    /// A program could not be started.
    #[error("cannot run {0}: {1}")]
    Run(String, std::io::Error),
    /// The guest does not compile; cargo has said why.
    #[error("the guest {0} does not compile; cargo says why above")]
    Compile(String),
    /// A file could not be read.
    #[error("cannot read {path}: {error}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        error: std::io::Error,
    },
    /// The core module does not fit the world it claims to implement.
    #[error("cannot make a component: {0}")]
    Component(String),
    /// The engine refused the component.
    #[error("cannot precompile the component: {0}")]
    Precompile(String),
}

/// Compiles a crate of this workspace for wasm and returns the core module.
///
/// `manifest` is its Cargo.toml; `name` its library's name, with underscores; `out` a
/// directory for cargo's files that no other cargo is using. The bytes depend on the
/// sources and the toolchain, not on their place.
pub fn core_module(manifest: &Path, name: &str, out: &Path) -> Result<Vec<u8>, ComponentizeError> {
    let (program, rustc) = (tool("CARGO", "cargo"), tool("RUSTC", "rustc"));
    let cannot_run =
        |program: &Path, error| ComponentizeError::Run(program.display().to_string(), error);
    let libraries = Command::new(&rustc)
        .args(["--print", "target-libdir", "--target", WASM_TARGET])
        .output()
        .map_err(|error| cannot_run(&rustc, error))?;
    if !Path::new(String::from_utf8_lossy(&libraries.stdout).trim()).is_dir() {
        return Err(ComponentizeError::TargetMissing);
    }
    let mut cargo = Command::new(&program);
    clear_cargo_environment(&mut cargo);
    let status = cargo
        .env("RUSTC", &rustc)
        .env("CARGO_ENCODED_RUSTFLAGS", rustflags(manifest))
        .args(["rustc", "--lib", "--crate-type", "cdylib"])
        .args(["--profile", "guest", "--target", WASM_TARGET])
        .arg("--manifest-path")
        .arg(manifest)
        .arg("--target-dir")
        .arg(out)
        .status()
        .map_err(|error| cannot_run(&program, error))?;
    if !status.success() {
        return Err(ComponentizeError::Compile(name.to_owned()));
    }
    let module = out
        .join(WASM_TARGET)
        .join("guest")
        .join(format!("{name}.wasm"));
    std::fs::read(&module).map_err(|error| ComponentizeError::Read {
        path: module,
        error,
    })
}

/// Wraps a core module into a component. The component imports only what the module
/// uses of its world.
///
/// # Errors
/// [`ComponentizeError::Component`] if the module does not fit its world.
pub fn component(core_module: &[u8]) -> Result<Vec<u8>, ComponentizeError> {
    wit_component::ComponentEncoder::default()
        .validate(true)
        .module(core_module)
        .and_then(|encoder| encoder.encode())
        .map_err(|error| ComponentizeError::Component(format!("{error:#}")))
}

/// What a component imports and exports, as WIT, read from its bytes: not what its
/// source asked for, but what it has.
///
/// # Errors
/// [`ComponentizeError::Component`] if the bytes are not a component.
pub fn describe(component: &[u8]) -> Result<String, ComponentizeError> {
    let failed = |error| ComponentizeError::Component(format!("{error:#}"));
    let decoded = wit_component::decode(component).map_err(failed)?;
    let (resolve, main) = (decoded.resolve(), decoded.package());
    let others: Vec<_> = resolve
        .packages
        .iter()
        .map(|(id, _)| id)
        .filter(|id| *id != main)
        .collect();
    let mut printer = wit_component::WitPrinter::default();
    printer
        .emit_docs(false)
        .print(resolve, main, &others)
        .map_err(failed)?;
    Ok(String::from(printer.output))
}

/// The machine code of a component for `target`'s baseline processor, so that it runs
/// on any machine of that architecture.
///
/// # Errors
/// [`ComponentizeError::Precompile`] if the engine refuses the component.
pub fn precompile(component: &[u8], target: &str) -> Result<Vec<u8>, ComponentizeError> {
    keyhole_engine::config()
        .target(target)
        .and_then(|config| wasmtime::Engine::new(config))
        .and_then(|engine| engine.precompile_component(component))
        .map_err(|error| ComponentizeError::Precompile(format!("{error:#}")))
}

fn tool(variable: &str, default: &str) -> PathBuf {
    env::var_os(variable).map_or_else(|| PathBuf::from(default), PathBuf::from)
}

/// Removes the outer cargo's settings: they are for the host, not for the guest.
fn clear_cargo_environment(command: &mut Command) {
    let ours = |name: &str| {
        (name.starts_with("CARGO") && name != "CARGO_HOME" && !name.starts_with("CARGO_NET"))
            || name.starts_with("RUSTC")
            || name == "RUSTFLAGS"
            || name.starts_with("CLIPPY")
    };
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(ours) {
            command.env_remove(name);
        }
    }
}

/// Flags for the guest: the size of its memory, and no paths of this machine in its bytes.
fn rustflags(manifest: &Path) -> OsString {
    let mut flags: Vec<OsString> = vec![
        // 32 KiB of stack instead of 1 MiB: less memory to wipe after each call. And as much
        // memory as a small file needs, so that it need not grow.
        "-Clink-arg=-zstack-size=32768".into(),
        "-Clink-arg=--initial-memory=131072".into(),
        "-Cstrip=symbols".into(),
    ];
    let mut remap = |from: OsString, to: &str| {
        let mut flag = OsString::from("--remap-path-prefix=");
        flag.push(from);
        flag.push("=");
        flag.push(to);
        flags.push(flag);
    };
    if let Some(workspace) = manifest
        .ancestors()
        .find(|dir| dir.join("wit/context.wit").exists())
    {
        remap(workspace.into(), "keyhole");
    }
    if let Some(home) = env::var_os("CARGO_HOME")
        .or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cargo").into()))
    {
        remap(home, "cargo");
    }
    flags.join("\u{1f}".as_ref())
}
