//! The engine's configuration: `componentize` precompiles components under it, and `core`
//! runs them under it. Wasmtime refuses an image that was made under other settings, so a
//! difference cannot go unnoticed.
#![forbid(unsafe_code)]

use wasmtime::{
    Config, Enabled, InstanceAllocationStrategy, PoolingAllocationConfig, WasmBacktraceDetails,
};

/// How many calls can be in the sandbox at once. `Limits::running` is at most this number.
pub const SLOTS: u32 = 16;

/// Linear memory that the guest may have, in bytes: for the largest file, most of it twice if it
/// comes in pieces, stack, data and allocator. Each slot reserves this much address space;
/// wasmtime's own default, 4 GiB, fails under `ulimit -v`.
pub const MAX_MEMORY: usize = 18 << 20;

/// How many tables the guest may have: its own, and those of the adapters to its imports.
pub const MAX_TABLES: u32 = 8;

/// How many elements a table may have. Each is a function pointer, and the guest needs a few.
pub const MAX_ELEMENTS: usize = 1024;

/// Memory that a slot keeps between calls, in bytes: as much as a file of 1 MiB needs. To return
/// that much to the operating system and ask for it again takes half a millisecond. What a call had
/// in this memory is overwritten with zeros before the next call.
const KEPT_MEMORY: usize = 1280 << 10;

/// Unmapped address space after a memory, in bytes. With a reservation under 4 GiB each
/// access is checked anyway, so the guard is only one wasm page.
const MEMORY_GUARD: u64 = 64 << 10;

/// The stack that the guest may use, in bytes. The guest's deepest path needs a few
/// KiB; an endless recursion is stopped early.
const WASM_STACK: usize = 256 << 10;

/// The settings under which a component is precompiled, loaded and run: what a guest may consist
/// of, how much memory, stack and address space it gets, and how it is stopped and wiped. A
/// component that declares more than [`MAX_TABLES`], [`MAX_ELEMENTS`] or [`MAX_MEMORY`] allow is
/// refused by wasmtime.
pub fn config() -> Config {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(SLOTS)
        .total_core_instances(SLOTS * 4)
        .total_memories(SLOTS)
        .total_tables(SLOTS * 4)
        .max_core_instances_per_component(16)
        .max_memories_per_component(1)
        .max_tables_per_component(MAX_TABLES)
        .table_elements(MAX_ELEMENTS)
        .max_memory_size(MAX_MEMORY)
        .linear_memory_keep_resident(KEPT_MEMORY)
        .table_keep_resident(16 << 10)
        .max_unused_warm_slots(SLOTS)
        // With this, Linux could tell which pages a call has touched, but only to root.
        .pagemap_scan(Enabled::No);
    let mut config = Config::new();
    config
        // What the guest may consist of: a component, with only the features that it needs.
        .wasm_component_model(true)
        .concurrency_support(false)
        .wasm_simd(false)
        .wasm_relaxed_simd(false)
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_tail_call(false)
        // This also excludes subtypes. Wasmtime without its `gc` aborts when it compares two of
        // these (RUSTSEC-2026-0570).
        .wasm_gc(false)
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
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool))
        // A trap is only reported as `internal`, so its frames are not kept.
        .wasm_backtrace_max_frames(None)
        .native_unwind_info(false)
        // Otherwise WASMTIME_BACKTRACE_DETAILS in a user's environment decides, and an
        // image that was made without it is refused.
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .generate_address_map(false);
    config
}
