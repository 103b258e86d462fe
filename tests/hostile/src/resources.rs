//! Attacks that try to exhaust the host, or to keep it waiting.

use crate::{
    bindings::{
        exports::keyhole::context::loader::LoadError, keyhole::context::grants,
        wasi::filesystem::preopens,
    },
    report::{Answer, directory, got, granted, no_follow, open, refusal, tally},
};
use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::{
    arch::wasm32::{memory_grow, unreachable},
    hint::black_box,
    sync::atomic::{AtomicU32, Ordering},
};

/// Longer than the default limit of a file and of a host call together.
const HUGE: usize = 2 << 20;

pub(crate) fn endless_loop() -> Answer {
    loop {
        black_box(());
    }
}

pub(crate) fn endless_calls() -> Answer {
    loop {
        black_box(grants::find("endless_calls"));
    }
}

pub(crate) fn endless_read() -> Answer {
    let file = granted()?;
    loop {
        black_box(file.read(1, 0).map_err(|_| LoadError::Internal)?);
    }
}

pub(crate) fn blocked_open() -> Answer {
    Ok(got(open(&directory()?, no_follow(), "fifo.md")))
}

pub(crate) fn memory_step_by_step() -> Answer {
    while memory_grow::<0>(1) != usize::MAX {}
    Ok("was refused, and lives on".to_string())
}

pub(crate) fn memory_at_once() -> Answer {
    Ok(format!("grew: {}", memory_grow::<0>(65_535) != usize::MAX))
}

pub(crate) fn file_handles() -> Answer {
    let directory = directory()?;
    let mut open_files = Vec::new();
    loop {
        match open(&directory, no_follow(), "granted.md") {
            Ok(file) => open_files.push(file),
            Err(error) => return Ok(format!("{} after {}", error.name(), open_files.len())),
        }
    }
}

pub(crate) fn preopen_handles() -> Answer {
    let mut all = Vec::new();
    loop {
        all.push(preopens::get_directories());
    }
}

pub(crate) fn endless_lists() -> Answer {
    let directory = directory()?;
    tally((0..10_000).map(|_| refusal(directory.read_directory())))
}

pub(crate) fn thousands_of_opens() -> Answer {
    let directory = directory()?;
    tally((0..3000).map(|_| got(open(&directory, no_follow(), "granted.md"))))
}

pub(crate) fn huge_read() -> Answer {
    let file = granted()?;
    let tries = [
        (u64::MAX, 0),
        (1 << 40, 0),
        (1, u64::MAX),
        (u64::MAX, u64::MAX),
        (1, i64::MAX as u64),
    ];
    tally(tries.map(|(len, offset)| match file.read(len, offset) {
        Ok((bytes, _)) if bytes.is_empty() => "nothing".to_string(),
        Ok((bytes, _)) if bytes.starts_with(b"granted") => "its own file".to_string(),
        Ok((bytes, _)) => format!("READ {bytes:?}"),
        Err(error) => error.name().to_string(),
    }))
}

pub(crate) fn huge_path() -> Answer {
    let path = "a".repeat(HUGE);
    Ok(refusal(open(&directory()?, no_follow(), &path)))
}

pub(crate) fn huge_key() -> Answer {
    let key = "a".repeat(HUGE);
    Ok(format!("found: {}", grants::find(&key).is_some()))
}

/// The tests give this key a limit of 100 bytes.
pub(crate) fn long_answer() -> Answer {
    Ok("x".repeat(101))
}

pub(crate) fn trap_in_the_middle() -> Answer {
    let directory = directory()?;
    let file = open(&directory, no_follow(), "granted.md");
    black_box((&directory, &file));
    unreachable()
}

/// Each call has a memory of its own, so this always sees the first call.
pub(crate) fn state_between_calls() -> Answer {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let before: u32 = CALLS.fetch_add(1, Ordering::Relaxed);
    Ok::<String, _>(format!("{before} calls before this one"))
}
