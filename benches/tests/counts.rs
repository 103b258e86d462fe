//! What a call costs in things that can be counted. Unlike times, they do not vary from
//! run to run or from machine to machine. So a test can notice if a call costs more.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use allocation_counter::{AllocationInfo, measure};
use cap_std::fs::Dir;
use keyhole::{
    Grant, Key, Location, Map,
    limits::Limits,
    sandbox::{Executor as _, Sandbox},
};
use keyhole_guest::PART_BYTES;
#[cfg(target_os = "linux")]
use std::{
    env,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
};
use std::{
    fs::{self, File},
    time::{Duration, Instant},
};
use tempfile::TempDir;

const KEY: &str = "k-2c1f8a96d0e34b57";
const SMALL: u64 = 1 << 10;
const LARGE: u64 = 1 << 20;

/// What a call may allocate beside the text: handles, and what wasmtime needs.
const BESIDE: u64 = 64 << 10;

struct Ground {
    files: TempDir,
    sandbox: Sandbox,
}

impl Ground {
    fn new() -> Self {
        let files = tempfile::tempdir().unwrap();
        for size in [SMALL, LARGE] {
            let text = "a".repeat(size.try_into().unwrap());
            fs::write(files.path().join(format!("{size}.md")), text).unwrap();
        }
        Self {
            files,
            sandbox: Sandbox::embedded(Limits::default()).unwrap(),
        }
    }

    fn call(&self, size: u64) {
        let grant = Grant {
            directory: Dir::from_std_file(File::open(self.files.path()).unwrap()),
            name: format!("{size}.md"),
            max_bytes: LARGE,
        };
        let deadline = Instant::now() + Duration::from_secs(60);
        let text = self.sandbox.call(KEY, Some(grant), deadline).unwrap();
        assert_eq!(text.len() as u64, size);
    }

    /// What a call costs after another call, which has warmed all that can be warm.
    fn count(&self, size: u64) -> AllocationInfo {
        self.call(size);
        self.sandbox.tidy();
        measure(|| self.call(size))
    }
}

/// Each part once when the host reads it, and once when the guest has returned it; and all
/// of it for the answer. The guest's own memory is the pool's, so it does not count.
#[test]
fn the_host_holds_a_document_once_and_a_part_of_it_and_no_more() {
    let counted = Ground::new().count(LARGE);
    assert!(counted.bytes_total <= 3 * LARGE + BESIDE, "{counted:?}");
    assert!(
        counted.bytes_max <= LARGE + PART_BYTES + BESIDE,
        "{counted:?}"
    );
}

/// The guest holds a part at a time. If it held more, it would touch memory that its slot
/// had returned to the system, and that comes back page by page.
#[cfg(target_os = "linux")]
#[test]
fn a_large_document_takes_new_memory_for_the_answer_alone() {
    const PAGE: u64 = 4 << 10;
    let ground = Ground::new();
    let mut faults = Vec::new();
    for _ in 0..4 {
        ground.call(LARGE);
        ground.sandbox.tidy();
        let began = page_faults();
        ground.call(LARGE);
        faults.push(page_faults() - began);
    }
    let fewest = *faults.iter().min().unwrap();
    assert!(fewest <= LARGE / PAGE + 64, "{faults:?}");
}

/// The store and its instances were made before.
#[test]
fn a_call_that_finds_an_instance_makes_none() {
    let ground = Ground::new();
    let ready = ground.count(SMALL).count_total;
    // Nobody has tidied up since.
    let own = measure(|| ground.call(SMALL)).count_total;
    assert!(2 * ready < own, "{ready} {own}");
}

/// Its text is copied here once, since the map keeps it. Beside it, a map has a row for each
/// key, and an index of them. It was two strings for each key before, and the library's
/// document.
#[test]
fn a_map_of_100_000_keys_takes_few_allocations_and_three_times_its_text() {
    const KEYS: u64 = 100_000;
    let mut text = String::from("[keys]\n");
    for key in 0..KEYS {
        text += &format!("\"k-other-{key:016x}\" = \"notes/other-{key}.md\"\n");
    }
    text += "\"k-\\u0061\" = 'a.md'\n[bindings.one]\nkey = 'k-a'\n";
    let location = Location::find(Some("/maps/m.toml".as_ref()), |_| None).unwrap();
    let mut map = None;
    let counted = measure(|| map = Some(Map::parse(text.as_bytes(), &location).unwrap()));
    let key = Key::try_from("k-a").unwrap();
    assert_eq!(map.unwrap().find(&key).unwrap().path(), "a.md");
    assert!(counted.count_total <= KEYS / 100, "{counted:?}");
    let size = text.len() as u64;
    assert!(counted.bytes_max <= 3 * size, "{size} {counted:?}");
    assert!(counted.bytes_total <= 5 * size, "{size} {counted:?}");
}

/// One read for each part, and one that finds the end.
#[cfg(target_os = "linux")]
#[test]
fn a_document_is_read_in_one_read_for_each_part_and_one_for_its_end() {
    let ground = Ground::new();
    let Ok(began) = reads() else {
        println!(
            "skipped: a_document_is_read_in_one_read_for_each_part_and_one_for_its_end (the system does not count a thread's reads)"
        );
        return;
    };
    let counting = reads().unwrap() - began;
    for size in [SMALL, LARGE] {
        let began = reads().unwrap();
        ground.call(size);
        let parts = size.div_ceil(PART_BYTES);
        assert_eq!(reads().unwrap() - began - counting, parts + 1);
    }
}

/// How often a server has read when it has answered its first call, compared with how
/// often it had when it had answered the second: it then loads nothing any more.
#[cfg(target_os = "linux")]
#[test]
fn a_start_reads_requests_a_map_and_a_document_and_little_else() {
    const NAME: &str = "a_start_reads_requests_a_map_and_a_document_and_little_else";
    let program = env::current_exe().unwrap();
    let program = program.ancestors().nth(2).unwrap().join("keyhole");
    if !program.exists() {
        println!("skipped: {NAME} (no server is built beside it: name keyhole too)");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let note = home.path().join("note.md");
    fs::write(&note, "text").unwrap();
    let map = home.path().join("map.toml");
    fs::write(
        &map,
        format!("[keys]\n\"{KEY}\" = \"{}\"\n", note.display()),
    )
    .unwrap();
    let mut server = Server::start(&program, &map);
    server.call(1);
    let Ok(first) = reads_of(&format!("/proc/{}/io", server.0.id())) else {
        println!("skipped: {NAME} (only root sees how often a server has read)");
        return;
    };
    server.call(2);
    let second = reads_of(&format!("/proc/{}/io", server.0.id())).unwrap() - first;
    // The handshake, and the loader of shared libraries: 13 with glibc. The control
    // group's files, which the standard library reads to count processors, would be
    // twelve to sixteen more.
    assert!(first <= second + 18, "{first} {second}");
}

/// The real server, behind its wall.
#[cfg(target_os = "linux")]
struct Server(Child);

#[cfg(target_os = "linux")]
impl Server {
    fn start(program: &Path, map: &Path) -> Self {
        let mut server = Command::new(program)
            .args(["serve", "--map"])
            .arg(map)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map(Self)
            .unwrap();
        let client = r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"counts","version":"1"}}"#;
        server.ask(0, "initialize", client);
        server.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        server
    }

    fn call(&mut self, id: u64) {
        let call = format!(r#"{{"name":"load_context","arguments":{{"key":"{KEY}"}}}}"#);
        let answer = self.ask(id, "tools/call", &call);
        assert!(answer.contains(r#""text":"text""#), "{answer}");
    }

    fn ask(&mut self, id: u64, method: &str, params: &str) -> String {
        self.say(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#
        ));
        let mut answer = String::new();
        // It says no more than what it is asked, so nothing is lost with the buffer.
        let from = BufReader::new(self.0.stdout.as_mut().unwrap()).read_line(&mut answer);
        assert!(from.unwrap() > 0);
        answer
    }

    fn say(&mut self, line: &str) {
        writeln!(self.0.stdin.as_mut().unwrap(), "{line}").unwrap();
    }
}

#[cfg(target_os = "linux")]
impl Drop for Server {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// How often this thread has touched a page that was not there.
#[cfg(target_os = "linux")]
fn page_faults() -> u64 {
    let counts = fs::read_to_string("/proc/thread-self/stat").unwrap();
    // Its name is in brackets, and may hold anything.
    let (_, behind) = counts.rsplit_once(") ").unwrap();
    behind.split(' ').nth(7).unwrap().parse().unwrap()
}

/// How often this thread has read.
#[cfg(target_os = "linux")]
fn reads() -> std::io::Result<u64> {
    reads_of("/proc/thread-self/io")
}

#[cfg(target_os = "linux")]
fn reads_of(counts: &str) -> std::io::Result<u64> {
    let counts = fs::read_to_string(counts)?;
    let reads = counts.lines().find_map(|line| line.strip_prefix("syscr: "));
    Ok(reads.unwrap().parse().unwrap())
}
