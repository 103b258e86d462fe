//! The engine's configuration: the one place, shared by build and run.
//!
//! `assemble` includes this file to precompile components. Wasmtime refuses an
//! image that was made under other settings, so a difference cannot go unnoticed.

use wasmtime::{Config, WasmBacktraceDetails};

/// Linear memory's reserved address space, in bytes, for each running call. It
/// holds the largest file that is served by default with room to spare; a
/// larger one is moved as it grows. Wasmtime's own default, 4 GiB a memory,
/// fails under `ulimit -v`.
const MEMORY_RESERVATION: u64 = 4 << 20;

/// Unmapped address space behind a memory, in bytes. With a reservation under
/// 4 GiB each access is checked anyway, so the guard is kept to one wasm page.
const MEMORY_GUARD: u64 = 64 << 10;

/// The stack that the guest may use, in bytes. The guest's deepest path needs a
/// few KiB; a runaway recursion is stopped early.
const WASM_STACK: usize = 256 << 10;

/// The settings under which a component is precompiled, loaded and run.
pub(crate) fn config() -> Config {
    let mut config = Config::new();
    config
        // What the guest may be made of: a component, and nothing it does not need.
        .wasm_component_model(true)
        .concurrency_support(false)
        .wasm_relaxed_simd(false)
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_tail_call(false)
        // How a guest that computes for ever is stopped.
        .epoch_interruption(true)
        .max_wasm_stack(WASM_STACK)
        // How much address space a call takes.
        .memory_reservation(MEMORY_RESERVATION)
        .memory_guard_size(MEMORY_GUARD)
        .guard_before_linear_memory(false)
        // A trap is reported as `internal` and no more, so its frames are not kept.
        .wasm_backtrace_max_frames(None)
        // Else WASMTIME_BACKTRACE_DETAILS in a user's environment decides, and an
        // image that was made without it is refused.
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .generate_address_map(false)
        .native_unwind_info(false);
    config
}
