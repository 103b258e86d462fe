//! Turns a guest into an image that the host can run. Build scripts use it.
//!
//! Its functions are the steps, and the build script of `keyhole-core` shows them. The host embeds
//! the machine code, so that it needs no compiler at run time. This crate has the compiler, so only
//! build scripts may depend on it.
#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "only build scripts use it")]

use std::{
    env,
    ffi::{OsStr, OsString},
    fmt::Display,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The guest's target: bare wasm, without any part of an operating system that could
/// turn into an import.
pub const WASM_TARGET: &str = "wasm32-unknown-unknown";

/// What is built, or why not, and what to do: build scripts only print it.
pub type Result<T> = std::result::Result<T, String>;

/// Compiles a crate of this workspace for wasm and returns the core module.
///
/// `manifest` is its Cargo.toml; `name` its library's name, with underscores; `out` a
/// directory for cargo's files that no other cargo is using. The bytes depend on the
/// sources and the toolchain, not on their place.
pub fn core_module(manifest: &Path, name: &str, out: &Path) -> Result<Vec<u8>> {
    let cargo = tool("CARGO", "cargo");
    let rustc = tool("RUSTC", "rustc");
    if !has_wasm_target(&rustc)? {
        return Err(format!(
            "the Rust target {WASM_TARGET} is missing; add it with: rustup target add {WASM_TARGET}"
        ));
    }
    let inherited = env::vars_os().filter(|(variable, _)| !is_outer_cargos(variable));
    let status = Command::new(&cargo)
        .env_clear()
        .envs(inherited)
        .env("RUSTC", &rustc)
        .env("CARGO_ENCODED_RUSTFLAGS", rustflags(manifest))
        .args(["rustc", "--lib", "--crate-type", "cdylib"])
        .args(["--profile", "guest", "--target", WASM_TARGET])
        .args([Path::new("--manifest-path"), manifest])
        .args([Path::new("--target-dir"), out])
        .status()
        .map_err(|error| cannot("run", &cargo, error))?;
    if !status.success() {
        return Err(format!(
            "the guest {name} does not compile; cargo says why above"
        ));
    }
    let module = out.join(format!("{WASM_TARGET}/guest/{name}.wasm"));
    fs::read(&module).map_err(|error| cannot("read", module.as_ref(), error))
}

/// The program that the variable `name` gives, as an outer cargo sets it for build scripts; else
/// `usual`, which is looked up in `PATH`.
fn tool(name: &str, usual: &str) -> OsString {
    env::var_os(name).unwrap_or_else(|| usual.into())
}

/// Whether the compiler has its own library for wasm, without which nothing compiles.
fn has_wasm_target(rustc: &OsStr) -> Result<bool> {
    let printed = Command::new(rustc)
        .args(["--print", "target-libdir", "--target", WASM_TARGET])
        .output()
        .map_err(|error| cannot("run", rustc, error))?;
    let folder = String::from_utf8_lossy(&printed.stdout);
    Ok(Path::new(folder.trim()).is_dir())
}

/// What cannot be done with a program or file, and why.
fn cannot(verb: &str, what: &OsStr, why: impl Display) -> String {
    format!("cannot {verb} {}: {why}", what.display())
}

/// Wraps a core module into a component, if it fits its world. The component imports only
/// what the module uses of it.
pub fn component(core_module: &[u8]) -> Result<Vec<u8>> {
    wit_component::ComponentEncoder::default()
        .validate(true)
        .module(core_module)
        .and_then(|encoder| encoder.encode())
        .map_err(|error| format!("cannot make a component: {error:#}"))
}

/// What a component imports and exports, as WIT, read from its bytes: not what its
/// source asked for, but what it has.
pub fn describe(component: &[u8]) -> Result<String> {
    let decoded = wit_component::decode(component).map_err(unreadable)?;
    let resolve = decoded.resolve();
    let main = decoded.package();
    let mut others = Vec::new();
    for (package, _) in &resolve.packages {
        if package != main {
            others.push(package);
        }
    }
    let mut printer = wit_component::WitPrinter::default();
    printer
        .emit_docs(false)
        .print(resolve, main, &others)
        .map_err(unreadable)?;
    Ok(String::from(printer.output))
}

/// Why a component cannot be described; `error` with all that caused it.
fn unreadable(error: impl Display) -> String {
    format!("cannot read the component: {error:#}")
}

/// The machine code of a component for `target`'s baseline processor, so that it runs
/// on any machine of that architecture.
pub fn precompile(component: &[u8], target: &str) -> Result<Vec<u8>> {
    keyhole_engine::config()
        .target(target)
        .and_then(|config| wasmtime::Engine::new(config))
        .and_then(|engine| engine.precompile_component(component))
        .map_err(|error| format!("cannot precompile the component: {error:#}"))
}

/// Whether a variable is a setting of the outer cargo: those are for the host, not for the guest.
/// Where cargo keeps what it downloads, and how it reaches the network, is for both.
fn is_outer_cargos(variable: &OsStr) -> bool {
    let name = variable.to_str().unwrap_or_default();
    if name == "CARGO_HOME" || name.starts_with("CARGO_NET") {
        return false;
    }
    let prefixes = ["CARGO", "RUSTC", "CLIPPY"];
    name == "RUSTFLAGS" || prefixes.iter().any(|prefix| name.starts_with(prefix))
}

/// Flags for the guest, as `CARGO_ENCODED_RUSTFLAGS` has them: the size of its memory, and no paths
/// of this machine in its bytes.
fn rustflags(manifest: &Path) -> OsString {
    let mut flags: Vec<OsString> = vec![
        // 32 KiB of stack instead of 1 MiB: less memory to wipe after each call. And as much
        // memory as a small file needs, so that it need not grow.
        "-Clink-arg=-zstack-size=32768".into(),
        "-Clink-arg=--initial-memory=131072".into(),
        "-Cstrip=symbols".into(),
    ];
    if let Some(workspace) = workspace_of(manifest) {
        flags.push(remap(workspace, "keyhole"));
    }
    if let Some(home) = cargo_home() {
        flags.push(remap(&home, "cargo"));
    }
    // Cargo's separator.
    flags.join("\u{1f}".as_ref())
}

/// The folder of the workspace that a manifest is in: the one with the contract.
fn workspace_of(manifest: &Path) -> Option<&Path> {
    manifest
        .ancestors()
        .find(|folder| folder.join("wit/context.wit").exists())
}

/// The folder in which cargo keeps the sources of dependencies.
fn cargo_home() -> Option<PathBuf> {
    match env::var_os("CARGO_HOME") {
        Some(folder) => Some(folder.into()),
        None => Some(env::home_dir()?.join(".cargo")),
    }
}

/// The flag with which rustc writes `to` in place of the path `from`.
fn remap(from: &Path, to: &str) -> OsString {
    let mut flag = OsString::from("--remap-path-prefix=");
    flag.push(from);
    flag.push(format!("={to}"));
    flag
}
