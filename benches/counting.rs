//! An engine that counts the instructions of WebAssembly. The build script compiles for
//! it, and `tests/counts/fuel.rs` runs on it.

/// Not the host's own settings, which say nothing about what an instruction does.
pub(crate) fn config() -> wasmtime::Config {
    let mut config = wasmtime::Config::new();
    config
        .consume_fuel(true)
        .wasm_component_model(true)
        .concurrency_support(false);
    config
}
