//! The real program, sealed.

use libtest_mimic::Trial;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_keyhole");

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        Trial::test("a_sealed_server_serves_what_is_there_now", || {
            serves_what_is_there_now();
            Ok(())
        }),
        Trial::test("a_sealed_server_does_not_follow_the_map", || {
            does_not_follow_the_map();
            Ok(())
        }),
        Trial::test("every_thread_of_a_sealed_server_is_sealed", || {
            every_thread_is_sealed();
            Ok(())
        }),
        Trial::test("a_sealed_server_does_not_start_without_a_map", || {
            does_not_start_without_a_map();
            Ok(())
        }),
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

    fn command(&self) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .args(["serve", "--sealed", "--map"])
            .arg(self.path("map.toml"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn serve(&self) -> Server {
        let mut process = self.command().spawn().unwrap();
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

    /// What a server that does not start says.
    fn refusal(&self, command: &mut Command) -> String {
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(output.stdout.is_empty());
        String::from_utf8(output.stderr).unwrap()
    }
}

/// A server, stopped on drop.
struct Server {
    process: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Server {
    fn request(&mut self, message: Value) -> Value {
        writeln!(self.to.as_ref().unwrap(), "{message}").unwrap();
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// The text that the tool answers with.
    fn load(&mut self, key: &str) -> String {
        let answer = self.request(
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
                "name": "load_context", "arguments": {"key": key},
            }}),
        );
        let text = answer["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Ends the session, which must be in order and in silence.
    fn end(mut self) {
        drop(self.to.take());
        assert!(self.process.wait().unwrap().success());
        let mut said = String::new();
        let mut stderr = self.process.stderr.take().unwrap();
        stderr.read_to_string(&mut said).unwrap();
        assert_eq!(said, "");
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

fn every_thread_is_sealed() {
    let world = World::new();
    let mut server = world.serve();
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

fn does_not_start_without_a_map() {
    let world = World::new();
    world.map("secret = 1\n");
    let said = world.refusal(&mut world.command());
    assert!(said.contains("cannot start: "), "{said}");
    assert!(said.contains("map-invalid: "), "{said}");
    fs::remove_file(world.path("map.toml")).unwrap();
    let said = world.refusal(&mut world.command());
    assert!(said.contains("map-missing: "), "{said}");
}

/// A kernel that lacks Landlock, played by a filter that answers as it would.
pub(crate) fn a_system_without_landlock() -> Trial {
    /// `landlock_create_ruleset`, on every machine.
    const CREATE_RULESET: i64 = 444;
    Trial::test("a_system_without_landlock_is_refused", || {
        for errno in [rustix::io::Errno::NOSYS, rustix::io::Errno::OPNOTSUPP] {
            let filter: BpfProgram = SeccompFilter::new(
                BTreeMap::from([(CREATE_RULESET, Vec::new())]),
                SeccompAction::Allow,
                SeccompAction::Errno(errno.raw_os_error() as u32),
                std::env::consts::ARCH.try_into()?,
            )?
            .try_into()?;
            let output = std::thread::spawn(move || {
                // It holds for this thread and what it starts.
                seccompiler::apply_filter(&filter).unwrap();
                let world = World::new();
                world.refusal(&mut world.command())
            });
            let said = output.join().unwrap();
            assert!(
                said.contains("--sealed needs Linux 6.7 or newer with Landlock"),
                "{said}"
            );
            assert!(said.contains("serve without --sealed"), "{said}");
        }
        Ok(())
    })
}
