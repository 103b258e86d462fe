//! Tests of the real program behind the wall.

use crate::world::without;
use libtest_mimic::Trial;
use rustix::io::Errno;
use serde_json::{Value, json};
use std::{
    fs::{self, Permissions},
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_keyhole");

const SEALED: &[&str] = &["serve", "--sealed"];

/// Each test under its function's name.
macro_rules! tests {
    ($($name:ident),+) => {
        vec![$(Trial::test(stringify!($name), || { $name(); Ok(()) })),+]
    };
}

pub(crate) fn trials() -> Vec<Trial> {
    tests![
        serves_what_is_there_now,
        does_not_follow_the_map,
        every_thread_is_behind_the_wall,
        leaves_no_core_and_hides_its_memory,
        check_says_which_walls_stand,
        does_not_start_without_a_map
    ]
}

/// Tests on systems that lack a part of the wall. A filter simulates them.
pub(crate) fn on_lesser_systems() -> Vec<Trial> {
    tests![
        a_system_without_landlock_is_refused,
        a_system_without_filters_is_refused,
        a_missing_part_is_said_once
    ]
}

/// A map with the key `k-1`, whose file is `notes/a.md`.
struct World(TempDir);

impl World {
    fn new() -> Self {
        let world = Self(TempDir::new().unwrap());
        fs::create_dir(world.path("notes")).unwrap();
        fs::write(world.path("notes/a.md"), "first").unwrap();
        world.map("[keys]\nk-1 = 'notes/a.md'\n");
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn map(&self, text: &str) {
        fs::write(self.path("map.toml"), text).unwrap();
        let mode = fs::Permissions::from_mode(0o600);
        fs::set_permissions(self.path("map.toml"), mode).unwrap();
    }

    fn program(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .args(arguments)
            .arg("--map")
            .arg(self.path("map.toml"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn serve(&self) -> Server {
        Server::start(&mut self.program(SEALED))
    }
}

/// The error message of a sealed server that does not start.
fn refusal(world: &World) -> String {
    let output = world.program(SEALED).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

/// A server, stopped on drop.
struct Server {
    process: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Server {
    fn start(command: &mut Command) -> Self {
        let mut process = command.spawn().unwrap();
        let mut server = Server {
            to: process.stdin.take(),
            from: BufReader::new(process.stdout.take().unwrap()),
            process,
        };
        server.request(
            json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            }}),
        );
        server
    }

    fn request(&mut self, message: Value) -> Value {
        writeln!(self.to.as_ref().unwrap(), "{message}").unwrap();
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// The text of the tool's answer.
    fn load(&mut self, key: &str) -> String {
        let answer = self.request(
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
                "name": "load_context", "arguments": {"key": key},
            }}),
        );
        let text = answer["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Ends the session. It must end without an error and without a message on
    /// standard error.
    fn end(self) {
        assert_eq!(self.ended(), "");
    }

    /// Ends the session, which must end without an error, and returns what standard
    /// error says.
    fn ended(mut self) -> String {
        drop(self.to.take());
        assert!(self.process.wait().unwrap().success());
        let mut said = String::new();
        let mut stderr = self.process.stderr.take().unwrap();
        stderr.read_to_string(&mut said).unwrap();
        said
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn serves_what_is_there_now() {
    let world = World::new();
    let mut server = world.serve();
    assert_eq!(server.load("k-1"), "first");
    fs::write(world.path("notes/a.md"), "in place").unwrap();
    assert_eq!(server.load("k-1"), "in place");
    fs::write(world.path("notes/new"), "renamed").unwrap();
    fs::rename(world.path("notes/new"), world.path("notes/a.md")).unwrap();
    assert_eq!(server.load("k-1"), "renamed");
    fs::remove_file(world.path("notes/a.md")).unwrap();
    assert!(server.load("k-1").starts_with("not-found: "));
    std::os::unix::fs::symlink("../map.toml", world.path("notes/a.md")).unwrap();
    assert!(server.load("k-1").starts_with("outside-root: "));
    assert!(server.load("k-2").starts_with("unknown-key: "));
    server.end();
}

fn does_not_follow_the_map() {
    let world = World::new();
    let mut server = world.serve();
    world.map("[keys]\nk-2 = 'notes/a.md'\n");
    assert_eq!(server.load("k-1"), "first");
    assert!(server.load("k-2").starts_with("unknown-key: "));
    server.end();
}

/// The arguments of each kind of server that has a wall.
const SERVERS: [&[&str]; 4] = [
    &["serve"],
    &["serve", "--agent", "reader"],
    &["serve", "--require-ticket"],
    SEALED,
];

/// Such a server. Only the one with tickets uses the plugin's folder.
fn start(world: &World, arguments: &[&str]) -> Server {
    let data = world.path("data");
    fs::create_dir(&data).unwrap();
    fs::set_permissions(&data, Permissions::from_mode(0o700)).unwrap();
    let mut command = world.program(arguments);
    Server::start(command.env("CLAUDE_PLUGIN_DATA", data))
}

fn every_thread_is_behind_the_wall() {
    for arguments in SERVERS {
        let world = World::new();
        let mut server = start(&world, arguments);
        // A call starts a second thread.
        server.load("k-1");
        let tasks = format!("/proc/{}/task", server.process.id());
        let mut threads = 0;
        for task in fs::read_dir(tasks).unwrap() {
            let status = fs::read_to_string(task.unwrap().path().join("status")).unwrap();
            for line in ["NoNewPrivs:\t1\n", "Seccomp:\t2\n"] {
                assert!(status.contains(line), "{status}");
            }
            threads += 1;
        }
        assert!(threads > 1);
        server.end();
    }
}

fn leaves_no_core_and_hides_its_memory() {
    for arguments in SERVERS {
        let world = World::new();
        let mut server = start(&world, arguments);
        server.load("k-1");
        let process = format!("/proc/{}", server.process.id());
        let limits = fs::read_to_string(format!("{process}/limits")).unwrap();
        let core = limits.lines().find(|line| line.starts_with("Max core"));
        let core: Vec<_> = core.unwrap().split_whitespace().collect();
        assert_eq!(core[4..6], ["0", "0"], "{limits}");
        // These files belong to root only because the process hides its memory: a
        // user who is not root could not change their owner.
        let memory = fs::metadata(format!("{process}/mem")).unwrap();
        assert_eq!(std::os::unix::fs::MetadataExt::uid(&memory), 0);
        server.end();
    }
}

fn check(world: &World) -> Value {
    let output = world.program(&["check", "--json"]).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

fn check_says_which_walls_stand() {
    let said = check(&World::new());
    let landlock = said["second_wall"]["landlock"].as_u64();
    assert!(landlock >= Some(4), "{said}");
    assert_eq!(said["second_wall"]["system_calls"], true);
}

fn does_not_start_without_a_map() {
    let world = World::new();
    world.map("secret = 1\n");
    let said = refusal(&world);
    assert!(said.contains("cannot start: "), "{said}");
    assert!(said.contains("map-invalid: "), "{said}");
    fs::remove_file(world.path("map.toml")).unwrap();
    let said = refusal(&world);
    assert!(said.contains("map-missing: "), "{said}");
}

fn a_system_without_landlock_is_refused() {
    for errno in [Errno::NOSYS, Errno::OPNOTSUPP] {
        let said = lacking(&[(libc::SYS_landlock_create_ruleset, errno)], refusal);
        let needed = "--sealed needs Linux 6.7 or newer with Landlock";
        assert!(said.contains(needed), "{said}");
        assert!(said.contains("serve without --sealed"), "{said}");
    }
}

fn a_system_without_filters_is_refused() {
    let said = lacking(&[(libc::SYS_seccomp, Errno::INVAL)], refusal);
    let needed = "--sealed needs a kernel with seccomp filters";
    assert!(said.contains(needed), "{said}");
}

fn a_missing_part_is_said_once() {
    let landlock = (libc::SYS_landlock_create_ruleset, Errno::NOSYS);
    let filter = (libc::SYS_seccomp, Errno::NOSYS);
    for lacks in [&[landlock][..], &[filter], &[landlock, filter]] {
        let (said, checked) = lacking(lacks, |world| {
            let mut server = Server::start(&mut world.program(&["serve"]));
            assert_eq!(server.load("k-1"), "first");
            (server.ended(), check(world))
        });
        let begins = "keyhole: the second wall is not whole";
        assert!(said.starts_with(begins), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        let landlock = !lacks.contains(&landlock);
        let filter = !lacks.contains(&filter);
        assert_eq!(said.contains("no Landlock"), !landlock, "{said}");
        assert_eq!(said.contains("no system-call filter"), !filter, "{said}");
        let wall = &checked["second_wall"];
        assert_eq!(wall["landlock"].is_u64(), landlock, "{checked}");
        assert_eq!(wall["system_calls"], filter, "{checked}");
    }
}

/// Runs `then` as if the kernel lacked these calls.
fn lacking<T: Send>(calls: &[(i64, Errno)], then: impl FnOnce(&World) -> T + Send) -> T {
    std::thread::scope(|scope| {
        let done = scope.spawn(|| {
            // A filter covers this thread and what it starts. Without `seccomp`, no
            // other filter can be installed, so that call comes last.
            for (call, errno) in calls {
                without(*call, *errno);
            }
            then(&World::new())
        });
        done.join().unwrap()
    })
}
