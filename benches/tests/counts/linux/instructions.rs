//! The instructions of the whole server, if valgrind is installed: those of the host are
//! among them, and those that only a released program has or lacks.

use super::server::{Client, Files, Kind, Note};
use crate::{
    limits::instructions::{Limits, OPTIMISED, PACKAGED, UNOPTIMISED},
    skipped,
};
use std::{
    io::Read as _,
    path::Path,
    process::{Command, Stdio},
};

/// For one call, so many are compared with none.
const CALLS: u32 = 20;

/// All instructions of a session.
fn session(map: &Path, calls: u32, note: Note) -> u64 {
    let program = Kind::Keyhole.serve(map);
    let mut valgrind = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program.get_program())
        .args(program.get_args())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (to, from) = (valgrind.stdin.take(), valgrind.stdout.take());
    let mut client = Client::new(to.unwrap(), from.unwrap());
    client.calls(1, Note::Small);
    client.calls(calls, note);
    drop(client);
    let mut said = String::new();
    let mut from = valgrind.stderr.take().unwrap();
    from.read_to_string(&mut said).unwrap();
    valgrind.wait().unwrap();
    let (_, counted) = said.split_once("Collected : ").unwrap();
    counted.lines().next().unwrap().trim().parse().unwrap()
}

#[test]
fn a_start_and_a_call_take_few_instructions() {
    const NAME: &str = "a_start_and_a_call_take_few_instructions";
    if !cfg!(target_arch = "x86_64") {
        return skipped(NAME, "the limits are those of x86-64");
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        return skipped(NAME, "valgrind is not installed");
    }
    let limits = limits(&Kind::Keyhole.program());
    let files = Files::new();
    let one = session(&files.map(), 0, Note::Small);
    let small = (session(&files.map(), CALLS, Note::Small) - one) / u64::from(CALLS);
    let large = session(&files.map(), 1, Note::Large) - one;
    let kib = (large - small) >> 10;
    println!("{one} {small} {kib}");
    assert!(one <= limits.start, "{one}");
    assert!(small <= limits.call, "{small}");
    assert!(kib <= limits.kib, "{kib}");
}

/// How a program was built, its folders say.
fn limits(program: &Path) -> Limits {
    let mut folders = program.iter().rev().skip(1);
    let mut is_in = |part: &str| {
        folders
            .next()
            .is_some_and(|folder| folder.to_string_lossy().ends_with(part))
    };
    match (is_in("dist"), is_in("-linux-musl")) {
        (true, true) => PACKAGED,
        (true, false) => OPTIMISED,
        (false, _) => UNOPTIMISED,
    }
}
