//! System calls of the real server, behind its wall.

use crate::{FILES, trace::count_calls};
use keyhole_benches::{
    client::{Client, of_key},
    files::{Files, SMALL_KEY},
};
use keyhole_tree::skipped;
use std::{env, io, process::Command};

/// The most system calls of a warm call of 1 KiB.
struct Most {
    /// But for those on the way. Each is in the time of a call, and few calls on a path that an
    /// attacker may race are few to check.
    call: f64,
    /// For each directory on the way. It is opened, looked at and closed, on the way to the map
    /// and on the way to the file. More would make calls slow for files that lie deep.
    directory: f64,
}

/// On this machine's own file systems: 22, and 6.
const LOCAL: Most = Most {
    call: 24.0,
    directory: 6.5,
};

/// In an overlay, as in a container: 27, and 8. What lies beneath may hang, so each object is
/// looked at twice.
const OVERLAY: Most = Most {
    call: 29.0,
    directory: 8.5,
};

/// The limits where the files are. Other file systems that may hang are not counted: None.
fn most(files: &Files) -> Option<Most> {
    let found = rustix::fs::statfs(files.home()).ok()?;
    match found.f_type as u32 {
        0x794c_7630 => Some(OVERLAY),
        // ext4, XFS, Btrfs, tmpfs
        0xef53 | 0x5846_5342 | 0x9123_683e | 0x0102_1994 => Some(LOCAL),
        _ => None,
    }
}

/// So many calls that how a session begins and ends does not show.
const MANY: usize = 100;

/// The system calls of a session that has so many calls; in the best of some sessions,
/// because how much memory a thread asks for depends on what others do at that moment.
fn session(files: &Files, calls: usize) -> io::Result<f64> {
    let this = env::current_exe()?;
    let program = this.ancestors().nth(2).unwrap().join("keyhole");
    // It would be wrong to pass without it.
    assert!(program.is_file(), "not built: cargo build -p keyhole");
    let mut least = u32::MAX;
    for _ in 0..5 {
        let mut serve = Command::new(&program);
        serve.args(["serve", "--map"]).arg(files.map(10));
        let counted = count_calls(serve.env_clear(), |to, from| {
            let mut client = Client::new(to, from).unwrap();
            client.calls(&of_key(SMALL_KEY), calls).unwrap();
        })?;
        least = least.min(counted);
    }
    Ok(least.into())
}

#[test]
fn a_warm_call_makes_few_system_calls() {
    let Some(most) = most(&FILES[0]) else {
        return skipped("counted for local file systems only");
    };
    let each = |files| Ok((session(files, MANY + 5)? - session(files, 5)?) / MANY as f64);
    let counted: io::Result<Vec<f64>> = FILES.iter().map(each).collect();
    let (near, far) = match counted {
        Ok(counted) => (counted[0], counted[1]),
        Err(error) => return skipped(format!("no program can be followed here: {error}")),
    };
    println!("{near} {far}");
    let [above, above_far] = FILES
        .each_ref()
        .map(|files| files.home().components().count() as f64);
    let way = most.directory * above;
    assert!(near > 10.0 && near <= most.call + way, "{near} {way}");
    let more = (far - near) / (above_far - above);
    assert!(more > 0.9 && more <= most.directory, "{near} {far}");
}
