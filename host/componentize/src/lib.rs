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

/// Compiles a crate of this workspace for wasm, and returns the bytes of the core module.
///
/// `manifest` is the crate's Cargo.toml; `name`, the name of its library with underscores, as
/// `keyhole_guest`; `out`, a directory for cargo's files that no other cargo is using. The bytes
/// depend on the sources and the toolchain, not on the folders in which these are.
///
/// # Errors
/// The Rust target `wasm32-unknown-unknown` is not installed; cargo or rustc cannot be started; the
/// crate does not compile; or the module cannot be read.
pub fn core_module(manifest: &Path, name: &str, out: &Path) -> Result<Vec<u8>> {
    let cargo = tool("CARGO", "cargo");
    let rustc = tool("RUSTC", "rustc");
    if !has_wasm_target(&rustc)? {
        return Err(format!(
            "the Rust target {WASM_TARGET} is missing; add it with: rustup target add {WASM_TARGET}"
        ));
    }
    // The guest is not compiled with the settings that the outer cargo has for the host.
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

/// The program in the variable `name`, such as `CARGO`, which an outer cargo sets for build
/// scripts. Without this variable, `usual`, such as `cargo`, which the system looks up in `PATH`.
fn tool(name: &str, usual: &str) -> OsString {
    env::var_os(name).unwrap_or_else(|| usual.into())
}

/// Whether the compiler has its own library for wasm, without which nothing compiles: whether the
/// folder exists that `rustc --print target-libdir` prints. False also if rustc prints an error.
///
/// # Errors
/// The compiler cannot be started.
fn has_wasm_target(rustc: &OsStr) -> Result<bool> {
    let printed = Command::new(rustc)
        .args(["--print", "target-libdir", "--target", WASM_TARGET])
        .output()
        .map_err(|error| cannot("run", rustc, error))?;
    let folder = String::from_utf8_lossy(&printed.stdout);
    Ok(Path::new(folder.trim()).is_dir())
}

/// The error if something cannot be done with a program or file: `cannot run cargo: No such file…`.
fn cannot(verb: &str, what: &OsStr, why: impl Display) -> String {
    format!("cannot {verb} {}: {why}", what.display())
}

/// Wraps a core module into a component. The component imports only what the module uses of its
/// world, which is in the module's own bytes.
///
/// # Errors
/// The module does not fit its world.
pub fn component(core_module: &[u8]) -> Result<Vec<u8>> {
    wit_component::ComponentEncoder::default()
        .validate(true)
        .module(core_module)
        .and_then(|encoder| encoder.encode())
        .map_err(|error| format!("cannot make a component: {error:#}"))
}

/// What a component imports and exports, as WIT without comments: first the component's own
/// package, then the packages that it names. This is read from the component's bytes, and so is
/// what the component has, not what its source asked for.
///
/// # Errors
/// The bytes are no component.
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

/// The error if a component cannot be described: `error`, with all that caused it.
fn unreadable(error: impl Display) -> String {
    format!("cannot read the component: {error:#}")
}

/// The machine code of a component for `target`, such as `x86_64-unknown-linux-gnu`. It uses only
/// the instructions that every processor of that architecture has.
///
/// # Errors
/// The target is unknown, or the component is not allowed by the engine's settings.
pub fn precompile(component: &[u8], target: &str) -> Result<Vec<u8>> {
    keyhole_engine::config()
        .target(target)
        .and_then(|config| wasmtime::Engine::new(config))
        .and_then(|engine| engine.precompile_component(component))
        .map_err(|error| format!("cannot precompile the component: {error:#}"))
}

/// Whether a variable is a setting of the outer cargo, which is for the host and not for the guest:
/// `RUSTFLAGS`, and each name that begins with `CARGO`, `RUSTC` or `CLIPPY`. False for `CARGO_HOME`
/// and `CARGO_NET…`, which say where cargo keeps what it downloads, and how it reaches the network:
/// these are for both. False for any other variable, such as `PATH`.
fn is_outer_cargos(variable: &OsStr) -> bool {
    let name = variable.to_str().unwrap_or_default();
    if name == "CARGO_HOME" || name.starts_with("CARGO_NET") {
        return false;
    }
    let prefixes = ["CARGO", "RUSTC", "CLIPPY"];
    name == "RUSTFLAGS" || prefixes.iter().any(|prefix| name.starts_with(prefix))
}

/// The flags for compiling the guest, in the form of `CARGO_ENCODED_RUSTFLAGS`. They set the size
/// of the guest's memory, leave out the names of its functions, and put `keyhole` and `cargo` in
/// place of two paths of this machine: the workspace's folder, and cargo's folder of dependencies.
/// If one of these folders is not found, that path stays.
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
    // Cargo separates the flags by this character.
    flags.join("\u{1f}".as_ref())
}

/// The folder of the workspace that a manifest is in: the nearest folder above the manifest that
/// has the contract, `wit/context.wit`. None if there is no such folder.
fn workspace_of(manifest: &Path) -> Option<&Path> {
    manifest
        .ancestors()
        .find(|folder| folder.join("wit/context.wit").exists())
}

/// The folder in which cargo keeps the sources of dependencies: `CARGO_HOME`, or without that
/// variable, `.cargo` in the home. None if the home is unknown too.
fn cargo_home() -> Option<PathBuf> {
    match env::var_os("CARGO_HOME") {
        Some(folder) => Some(folder.into()),
        None => Some(env::home_dir()?.join(".cargo")),
    }
}

/// The flag with which rustc writes `to` in place of the path `from`:
/// `--remap-path-prefix=/home/jane/keyhole=keyhole`.
fn remap(from: &Path, to: &str) -> OsString {
    let mut flag = OsString::from("--remap-path-prefix=");
    flag.push(from);
    flag.push(format!("={to}"));
    flag
}
