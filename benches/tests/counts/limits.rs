//! The most that each thing may cost. Beside each number stands what it was when the
//! limit was set, and where that comes from. If a change makes something cheaper, lower
//! its limit, so that the gain is kept.

use crate::LARGE;
use keyhole_guest::PART_BYTES;

/// Bytes that a call may allocate beside the text: handles, and what wasmtime needs.
pub(crate) const BESIDE: u64 = 64 << 10;

/// Bytes that are allocated for a document of 1 MiB: each part once when the host reads
/// it, and once when the guest has returned it; and all of it for the answer.
pub(crate) const LARGE_ALLOCATED: u64 = 3 * LARGE + BESIDE;

/// The same, at one time: the document, and one part of it.
pub(crate) const LARGE_HELD: u64 = LARGE + PART_BYTES + BESIDE;

/// Allocations while the sandbox is loaded: 706 on x86-64. It is a little more or less
/// by the processor's features, which wasmtime asks for.
pub(crate) const LOADING: u64 = 740;

/// Page faults of a call of 1 MiB beside those for its answer.
#[cfg(target_os = "linux")]
pub(crate) const LARGE_FAULTS: u64 = 64;

/// A map of this many keys, as in docs/performance.md.
pub(crate) const KEYS: u64 = 100_000;

/// Allocations while it is read. It was two for each key, and the library's document.
pub(crate) const MAP_ALLOCATIONS: u64 = KEYS / 100;

/// How often as much as its text a map takes at once, and in all.
pub(crate) const MAP_HELD: u64 = 3;
pub(crate) const MAP_ALLOCATED: u64 = 5;

/// Crates in the program, with its own: 121 to 128, by the system.
pub(crate) const CRATES: usize = 134;

/// Instructions of WebAssembly, most of them for each KiB of a text. They do not vary, so
/// there is little room.
pub(crate) mod fuel {
    /// What it was when the limit was set, and the most that it may be.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Limit {
        pub(crate) was: f64,
        pub(crate) most: f64,
    }

    const fn limit(was: u32) -> Limit {
        let was = was as f64;
        Limit {
            was,
            most: was * 1.1,
        }
    }

    /// All that the guest does for a document of 1 KiB.
    pub(crate) const GUEST_SMALL: Limit = limit(4_597);

    /// What it does for each KiB of a large one: 1,430 for each part of 128 KiB. If it looked
    /// whether each byte is text, it would be 2,560, with the standard library's check.
    pub(crate) const GUEST_KIB: Limit = limit(11);

    /// The same, if parts end within a character, which then comes with the next part. The
    /// part is copied to where it has no room behind it.
    pub(crate) const GUEST_CUT_KIB: Limit = limit(531);

    /// The host's escape of a text in which nothing is special, and of a list with a pair
    /// of quotes and a line end in each line. One byte after the other, it is 44,459 for
    /// both.
    pub(crate) const ESCAPE_PLAIN: Limit = limit(7_936);
    pub(crate) const ESCAPE_QUOTES: Limit = limit(11_987);
}

/// Instructions of the whole server on x86-64, as valgrind counts them.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub(crate) mod instructions {
    /// A tenth more than was counted.
    pub(crate) struct Limits {
        /// From the start to the end of a session with one call.
        pub(crate) start: u64,
        /// For one call of 1 KiB more.
        pub(crate) call: u64,
        /// For each KiB of a document of 1 MiB.
        pub(crate) kib: u64,
    }

    /// As the tests build it. A start was 7,858,000 to 9,208,000, by what its threads do first;
    /// a call 1,590,000; and a KiB 278,800. Only optimised programs show what the escape
    /// gains; see `fuel`.
    pub(crate) const UNOPTIMISED: Limits = Limits {
        start: 10_100_000,
        call: 1_750_000,
        kib: 306_700,
    };

    /// With the profile `dist`: a start was 1,590,000, a call 165,000 and a KiB 9,675.
    pub(crate) const OPTIMISED: Limits = Limits {
        start: 1_750_000,
        call: 182_000,
        kib: 10_640,
    };

    /// As packaged: a start was 1,203,000, a call 168,000 and a KiB 7,815.
    pub(crate) const PACKAGED: Limits = Limits {
        start: 1_320_000,
        call: 185_000,
        kib: 8_600,
    };
}

/// What the real server may do. The numbers hold for an unoptimised program with glibc,
/// and for one as released.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub(crate) mod server {
    /// System calls of a warm call of 1 KiB: 31, and 3 for each directory on its way. Calls
    /// that wake threads, or wait for them, are not among them.
    pub(crate) const CALL: f64 = 33.0;

    /// To open a directory on the way, to look at it, and to close it. The way is walked
    /// once a call. If map, file and roots were walked one by one, it would be twice as
    /// many or more.
    pub(crate) const DIRECTORY: f64 = 3.0;

    /// What a call takes more than the twin's: 1.0. It finds what is to be wiped.
    pub(crate) const CALL_OVER_TWIN: f64 = 3.0;

    /// System calls of a call that wait for a thread, or wake one: 1.5 to 2.7, and with
    /// many calls in flight 3.0 to 3.8.
    pub(crate) const CALL_FUTEX: f64 = 4.0;
    pub(crate) const FLOOD_FUTEX: f64 = 6.0;

    /// What a call among many takes more than one alone: 0.5.
    pub(crate) const FLOOD_OVER_ONE: f64 = 2.0;

    /// How often threads go to sleep in a call: 3, the protocol's twice and the call's
    /// once. On a busy machine it is 2.5 to 3.8. One thread more on the way would be two
    /// more.
    pub(crate) const CALL_SLEEPS: f64 = 4.2;

    /// Page faults of a warm call: none, but for 0.4 as packaged.
    pub(crate) const CALL_FAULTS: f64 = 0.5;

    /// What 1 MiB takes more than 1 KiB: one read for each of 7 further parts, and one write
    /// for each of 8 further pieces. It is more if the client is slow to read: 14 to 20.
    pub(crate) const LARGE_OVER_SMALL: f64 = 24.0;

    /// What four documents of 1 MiB at once add to the peak, in KiB: 5,500 unoptimised and as
    /// packaged, and up to 7,700 with glibc's arenas, optimised.
    pub(crate) const LARGE_PEAK: u64 = 8600;

    /// System calls of a session with one call, but for those on the way to map and file:
    /// 232. The way is walked once for the map that is read ahead, and once for the call.
    pub(crate) const START: u64 = 250;
    pub(crate) const START_DIRECTORY: u64 = 2 * DIRECTORY as u64;

    /// The same, over the twin's: 50.
    pub(crate) const START_OVER_TWIN: u64 = 65;

    /// Threads beside the first: one loads the sandbox and runs calls, another comes with
    /// the first call.
    pub(crate) const START_THREADS: u64 = 2;

    /// Reads of a start, but for those of a call: 13 by glibc, which loads libraries. The
    /// control group's files, which the standard library reads to count processors, would
    /// be twelve to sixteen more.
    pub(crate) const START_READS: u64 = 18;

    /// What 100,000 keys add to a start, in page faults and KiB: 2,320 and 9,500. The
    /// library's document took twice as many.
    pub(crate) const MAP_FAULTS: u64 = 2800;
    pub(crate) const MAP_PEAK: u64 = 12 << 10;

    /// The same, in system calls: 140. Most are for the memory of four threads.
    pub(crate) const MAP_CALLS: u64 = 175;
}
