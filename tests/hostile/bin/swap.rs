//! `swap A B`: exchanges two names, again and again, until its input ends. Prints
//! `ready` when it has begun. Each exchange is atomic; their number is even, so that in
//! the end everything is where it was. It pauses from time to time: otherwise a file
//! that it swaps would never settle.

use rustix::{
    fs::{CWD, RenameFlags, renameat_with},
    io::Errno,
};
use std::{
    env,
    io::{Read as _, Write as _, stdin, stdout},
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

/// How many exchanges there are between two pauses.
const EXCHANGES: usize = 60_000;
const PAUSE: Duration = Duration::from_millis(150);

fn main() -> ExitCode {
    let mut names = env::args_os().skip(1);
    let (Some(a), Some(b)) = (names.next(), names.next()) else {
        return ExitCode::from(2);
    };
    let exchange = || renameat_with(CWD, &a, CWD, &b, RenameFlags::EXCHANGE);
    let done = AtomicBool::new(false);
    let swapped = thread::scope(|scope| {
        scope.spawn(|| {
            let _ = stdin().read_to_end(&mut Vec::new());
            done.store(true, Ordering::Relaxed);
        });
        let _ = stdout().write_all(b"ready\n");
        while !done.load(Ordering::Relaxed) {
            for _ in 0..EXCHANGES / 2 {
                exchange()?;
                exchange()?;
            }
            thread::sleep(PAUSE);
        }
        Ok::<_, Errno>(())
    });
    match swapped {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
