//! The engine's configuration, used by the build and at run time.
//!
//! `componentize` includes this file to precompile components. Wasmtime refuses an
//! image that was made under other settings, so a difference cannot go unnoticed.

use wasmtime::{
    Config, Enabled, InstanceAllocationStrategy, PoolingAllocationConfig, WasmBacktraceDetails,
};

/// Calls that can be in the sandbox at once: those that run, and those that hang in the
/// kernel. `Limits::running` plus `Limits::abandoned` is at most this number.
pub(crate) const SLOTS: u32 = 16;

/// The most linear memory that `Limits::memory_bytes` can grant, in bytes: the largest
/// file, and room to put it together. Each slot reserves this much address space;
/// wasmtime's own default, 4 GiB, fails under `ulimit -v`.
pub(crate) const MAX_MEMORY: usize = 18 << 20;

/// Memory that a slot keeps between calls, in bytes, instead of returning it to the
/// operating system and asking for it again: the guest's stack and data, and a part of a
/// file, twice if it had to be cut before a character. Before the next call, what a call has touched of it is overwritten with zeros, and
/// what is there of a file that came in one part is returned.
const KEPT_MEMORY: usize = 320 << 10;

/// Unmapped address space after a memory, in bytes. With a reservation under 4 GiB each
/// access is checked anyway, so the guard is only one wasm page.
const MEMORY_GUARD: u64 = 64 << 10;

/// The stack that the guest may use, in bytes. The guest's deepest path needs a few
/// KiB; an endless recursion is stopped early.
const WASM_STACK: usize = 256 << 10;

/// The settings under which a component is precompiled, loaded and run.
pub(crate) fn config() -> Config {
    let mut config = Config::new();
    config
        // What the guest may consist of: a component, with only the features that it
        // needs.
        .wasm_component_model(true)
        .concurrency_support(false)
        .wasm_simd(false)
        .wasm_relaxed_simd(false)
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_tail_call(false)
        // How a guest that computes for ever is stopped.
        .epoch_interruption(true)
        .max_wasm_stack(WASM_STACK)
        // How much address space a call takes.
        .memory_reservation(MAX_MEMORY as u64)
        .memory_guard_size(MEMORY_GUARD)
        .guard_before_linear_memory(false)
        // Slots are created once and used in turn. Each is wiped before it is used
        // again. A memory's first content is copied, not mapped, so that wiping needs
        // no help from the operating system.
        .memory_init_cow(false)
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool()))
        // A trap is only reported as `internal`, so its frames are not kept.
        .wasm_backtrace_max_frames(None)
        // Otherwise WASMTIME_BACKTRACE_DETAILS in a user's environment decides, and an
        // image that was made without it is refused.
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .generate_address_map(false)
        // Windows loads no machine code without it.
        .native_unwind_info(cfg!(windows));
    config
}

fn pool() -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(SLOTS)
        .total_core_instances(SLOTS * 4)
        .total_memories(SLOTS)
        .total_tables(SLOTS * 4)
        .max_core_instances_per_component(16)
        .max_memories_per_component(1)
        .max_tables_per_component(8)
        .table_elements(1024)
        .max_memory_size(MAX_MEMORY)
        .linear_memory_keep_resident(KEPT_MEMORY)
        .table_keep_resident(16 << 10)
        .max_unused_warm_slots(SLOTS)
        // Stacks are for asynchronous guests, and ours is synchronous.
        .total_stacks(0)
        // If the kernel tells which pages were touched, only those are wiped.
        .pagemap_scan(Enabled::Auto);
    pool
}
