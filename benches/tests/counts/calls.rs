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
    /// For each directory on the way. It is opened, looked at and closed, on the way to the map,
    /// to the file and to its root. More would make calls slow for files that lie deep.
    directory: f64,
}

/// On most file systems: 17, and 9. Three ways are walked: to the map, to the file and to its
/// root.
const MOST: Most = Most {
    call: 19.0,
    directory: 9.5,
};

/// Whether the files are in a file system that is counted: ext4, XFS, Btrfs, tmpfs, or an
/// overlay, as in a container.
fn is_counted(files: &Files) -> bool {
    const COUNTED: [u32; 5] = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630];
    rustix::fs::statfs(files.home()).is_ok_and(|found| COUNTED.contains(&(found.f_type as u32)))
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
    if !is_counted(&FILES[0]) {
        return skipped("counted for local file systems only");
    }
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
    let way = MOST.directory * above;
    assert!(near > 10.0 && near <= MOST.call + way, "{near} {way}");
    let more = (far - near) / (above_far - above);
    assert!(more > 0.9 && more <= MOST.directory, "{near} {far}");
}
