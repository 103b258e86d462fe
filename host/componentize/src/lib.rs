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
    let tool = |name: &str, own: &str| env::var_os(name).unwrap_or_else(|| own.into());
    let (cargo, rustc) = (tool("CARGO", "cargo"), tool("RUSTC", "rustc"));
    let libraries = Command::new(&rustc)
        .args(["--print", "target-libdir", "--target", WASM_TARGET])
        .output()
        .map_err(|error| format!("cannot run {}: {error}", rustc.display()))?;
    if !Path::new(String::from_utf8_lossy(&libraries.stdout).trim()).is_dir() {
        return Err(format!(
            "the Rust target {WASM_TARGET} is missing; add it with: rustup target add {WASM_TARGET}"
        ));
    }
    let status = Command::new(&cargo)
        .env_clear()
        .envs(env::vars_os().filter(|(name, _)| !is_outer_cargos(name)))
        .env("RUSTC", &rustc)
        .env("CARGO_ENCODED_RUSTFLAGS", rustflags(manifest))
        .args(["rustc", "--lib", "--crate-type", "cdylib"])
        .args(["--profile", "guest", "--target", WASM_TARGET])
        .args([Path::new("--manifest-path"), manifest])
        .args([Path::new("--target-dir"), out])
        .status()
        .map_err(|error| format!("cannot run {}: {error}", cargo.display()))?;
    if !status.success() {
        return Err(format!(
            "the guest {name} does not compile; cargo says why above"
        ));
    }
    let module = out.join(format!("{WASM_TARGET}/guest/{name}.wasm"));
    std::fs::read(&module).map_err(|error| format!("cannot read {}: {error}", module.display()))
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
    let failed = |error| format!("cannot read the component: {error:#}");
    let decoded = wit_component::decode(component).map_err(failed)?;
    let (resolve, main) = (decoded.resolve(), decoded.package());
    let packages = resolve.packages.iter().map(|(id, _)| id);
    let others: Vec<_> = packages.filter(|id| *id != main).collect();
    let mut printer = wit_component::WitPrinter::default();
    let printed = printer.emit_docs(false).print(resolve, main, &others);
    printed.map_err(failed)?;
    Ok(String::from(printer.output))
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
fn is_outer_cargos(variable: &OsStr) -> bool {
    let name = variable.to_str().unwrap_or_default();
    (name.starts_with("CARGO") && name != "CARGO_HOME" && !name.starts_with("CARGO_NET"))
        || name.starts_with("RUSTC")
        || name == "RUSTFLAGS"
        || name.starts_with("CLIPPY")
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
    let remap = |from: &Path, to: &str| {
        let mut flag = OsString::from("--remap-path-prefix=");
        flag.push(from);
        flag.push(format!("={to}"));
        flag
    };
    let is_workspace = |directory: &&Path| directory.join("wit/context.wit").exists();
    let workspace = manifest.ancestors().find(is_workspace);
    flags.extend(workspace.map(|workspace| remap(workspace, "keyhole")));
    let own = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = own.or_else(|| Some(env::home_dir()?.join(".cargo")));
    flags.extend(home.map(|home| remap(&home, "cargo")));
    flags.join("\u{1f}".as_ref())
}
