//! Whoever owns the mapped file holds a write lease on it. An open then waits, for
//! 45 s as a rule, until the kernel takes the lease away. A few calls once made
//! every other key `busy` for that long.

use crate::hostile::skipped;
use keyhole_tests::World;
use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

/// As many as once held every thread.
const CALLS: usize = 16;

#[test]
fn a_write_lease_on_a_file_refuses_its_own_key_at_once_and_no_other() {
    if !cfg!(target_os = "linux") {
        return skipped("write_lease", "only Linux has leases");
    }
    let world = World::new()
        .file("leased.md", "leased\n")
        .file("other.md", "other\n")
        .map("[keys]\nk-leased = '~/leased.md'\nk-other = '~/other.md'\n");
    let mut client = world.client();
    client.load("k-leased").is("leased\n");
    let holder = Holder::start(&world.path("leased.md"));
    for _ in 0..2 {
        let calls: Vec<_> = (0..CALLS).map(|_| client.call("k-leased")).collect();
        client.load("k-other").is("other\n");
        for call in calls {
            client.answer(call).refused("changed");
        }
        client.load("k-other").is("other\n");
    }
    holder.end();
    client.load("k-leased").is("leased\n");
    client.end();
}

/// The process that holds the lease. It is stopped on drop.
struct Holder(Child);

impl Holder {
    fn start(file: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_lease"))
            .arg(file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert_eq!(line, "ready\n");
        Self(child)
    }

    /// It held the lease to the end.
    fn end(mut self) {
        drop(self.0.stdin.take());
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // Both fail where it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
