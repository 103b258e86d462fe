//! System calls of the real server, behind its wall.

use crate::{DEEPER, FILES, trace::count_calls};
use keyhole_benches::{
    client::{Client, of_key},
    files::{Files, SMALL_KEY},
};
use std::{env, io::Write as _, process::Command};

/// System calls of a warm call of 1 KiB, but for those on the way: 22. Each is in the time of
/// a call, and few calls on a path that an attacker may race are few to check.
const CALL: f64 = 24.0;

/// System calls for each directory on the way: 6. It is opened, looked at and closed, on
/// the way to the map and on the way to the file. More would make calls slow for files that
/// lie deep.
const DIRECTORY: f64 = 6.5;

/// So many calls that how a session begins and ends does not show.
const MANY: usize = 100;

/// The system calls of a session that has so many calls; in the best of some sessions,
/// because how much memory a thread asks for depends on what others do at that moment.
///
/// None if it cannot be counted here. The test harness does not hide that.
fn session(files: &Files, calls: usize) -> Option<usize> {
    let this = env::current_exe().unwrap();
    let program = this.ancestors().nth(2).unwrap().join("keyhole");
    // It would be wrong to pass without it.
    assert!(program.is_file(), "not built: cargo build -p keyhole");
    let one = |_| {
        let mut serve = Command::new(&program);
        serve
            .args(["serve", "--map"])
            .arg(files.map(10))
            .env_clear();
        count_calls(serve, |to, from| {
            let mut client = Client::new(to, from).unwrap();
            client.calls(&of_key(SMALL_KEY), calls).unwrap();
        })
    };
    let counted: Result<Vec<usize>, _> = (0..5).map(one).collect();
    match counted {
        Ok(counted) => {
            println!("{calls}: {counted:?}");
            counted.into_iter().min()
        }
        Err(error) => {
            let line = format!(
                "skipped: a_warm_call_makes_few_system_calls (no program can be followed here: {error})\n"
            );
            std::io::stderr().write_all(line.as_bytes()).unwrap();
            None
        }
    }
}

#[test]
fn a_warm_call_makes_few_system_calls() {
    let each = |files| Some((session(files, MANY + 5)? - session(files, 5)?) as f64 / MANY as f64);
    let (Some(near), Some(far)) = (each(&FILES[0]), each(&FILES[1])) else {
        return;
    };
    println!("{near} {far}");
    let way = DIRECTORY * FILES[0].depth() as f64;
    assert!(near > 10.0 && near <= CALL + way, "{near} {way}");
    let more = (far - near) / DEEPER as f64;
    assert!(more > 0.9 && more <= DIRECTORY, "{near} {far}");
}
