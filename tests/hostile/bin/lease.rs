//! `lease FILE`: holds a write lease on the file until its input ends, and does not
//! give the lease up when the kernel asks. Prints `ready` when it has the lease.

/// From `asm-generic/fcntl.h`; the `libc` crate does not have it everywhere.
#[cfg(target_os = "linux")]
const F_SETSIG: i32 = 10;

#[cfg(target_os = "linux")]
fn main() -> std::io::Result<()> {
    use std::{
        env,
        fs::File,
        io::{Error, Read as _, Write as _, stdin, stdout},
        os::fd::AsRawFd as _,
        thread::sleep,
        time::Duration,
    };

    let path = env::args_os().nth(1).ok_or(Error::other("no file"))?;
    let file = File::options().read(true).write(true).open(path)?;
    let control = |command, argument: libc::c_int| {
        // SAFETY: these commands take a number, and the descriptor is open.
        match unsafe { libc::fcntl(file.as_raw_fd(), command, argument) } {
            -1 => Err(Error::last_os_error()),
            _ => Ok(()),
        }
    };
    // The kernel asks with SIGIO, which would end this process; SIGURG does not.
    control(F_SETSIG, libc::SIGURG)?;
    // Nobody else may have the file open.
    let mut tries = 0;
    while let Err(error) = control(libc::F_SETLEASE, libc::F_WRLCK) {
        tries += 1;
        if tries > 1000 {
            return Err(error);
        }
        sleep(Duration::from_millis(10));
    }
    stdout().write_all(b"ready\n")?;
    stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::io::Result<()> {
    Err(std::io::Error::other("only Linux has leases"))
}
