//! `serve` behind the second wall, and on systems that lack a part of it. What a process
//! can try there is in `host/wall/tests/sealed`.

use crate::docs::is_committed;
use keyhole_tests::{World, fail_calls, skipped, workspace};
use keyhole_wall::{
    Rights, Standing,
    list::{CALLS, Call},
};
use rustix::io::Errno;
use serde_json::Value;
use std::{fs, os::unix::fs::symlink, path::Path, thread};

fn world() -> World {
    World::new()
        .file("notes/a.md", "first")
        .map("[keys]\nk-1 = '~/notes/a.md'\n")
}

fn sealed() -> World {
    world().argument("--sealed")
}

/// Whether this system has the whole wall.
pub(crate) fn stands() -> bool {
    let here = Standing::here();
    // What `--sealed` needs.
    let stands = here.system_calls && here.landlock >= Some(4);
    if !stands {
        skipped(here);
    }
    stands
}

#[test]
fn it_serves_what_is_there_now_by_the_map_that_was_there_at_the_start() {
    if !stands() {
        return;
    }
    let world = sealed();
    let mut client = world.client();
    client.load("k-1").is("first");
    world.write("notes/a.md", "in place");
    client.load("k-1").is("in place");
    world.write("notes/new", "renamed");
    fs::rename(world.path("notes/new"), world.path("notes/a.md")).unwrap();
    world.replace_map("[keys]\nk-2 = '~/notes/a.md'\n");
    client.load("k-1").is("renamed");
    client.load("k-2").refused("unknown-key");
    fs::remove_file(world.path("notes/a.md")).unwrap();
    client.load("k-1").refused("not-found");
    symlink(world.map_path(), world.path("notes/a.md")).unwrap();
    client.load("k-1").refused("outside-root");
    client.end();
}

/// Behind the wall nobody can ask for its access list.
#[test]
fn it_refuses_what_is_in_a_directory_that_a_group_may_write_to() {
    if !stands() {
        return;
    }
    let world = sealed();
    world.mode("notes", 0o775);
    let mut client = world.client();
    client.load("k-1").refused("untrusted");
    client.end();
}

/// Who is in a group is read at the start: behind the wall nobody can ask.
#[test]
fn it_serves_what_a_group_of_the_user_alone_may_write_to() {
    if !stands() {
        return;
    }
    let world = world();
    world.mode("notes/a.md", 0o664);
    let mut client = world.client();
    let is_alone = client.load("k-1").code().is_none();
    client.end();
    if !is_alone {
        return skipped("this user's group is not his alone");
    }
    let mut client = world.argument("--sealed").client();
    client.load("k-1").is("first");
    client.end();
}

/// How many filters of system calls a task has. A container may have given it some.
pub(crate) fn filters(task: impl AsRef<Path>) -> Option<u32> {
    let status = fs::read_to_string(task.as_ref().join("status")).unwrap();
    let mut lines = status.lines();
    let count = lines.find_map(|line| line.strip_prefix("Seccomp_filters:"))?;
    count.trim().parse().ok()
}

#[test]
fn every_thread_is_behind_the_wall() {
    if !stands() {
        return;
    }
    for arguments in [
        &[][..],
        &["--agent", "reader"],
        &["--require-ticket"],
        &["--sealed"],
    ] {
        let world = world().directory("data");
        let data = world.path("data");
        let world = world.env("CLAUDE_PLUGIN_DATA", data);
        let mut client = world.arguments(arguments).client();
        // A call starts a second thread. Without a ticket, one of them is refused.
        let _ = client.load("k-1");
        let tasks = format!("/proc/{}/task", client.process_id());
        let tasks: Vec<_> = fs::read_dir(tasks).unwrap().collect();
        assert!(tasks.len() > 1);
        for task in tasks {
            let task = task.unwrap().path();
            assert!(filters(&task) > filters("/proc/thread-self"), "{task:?}");
            let status = fs::read_to_string(task.join("status")).unwrap();
            assert!(status.contains("NoNewPrivs:\t1\n"), "{status}");
        }
        client.end();
    }
}

const NO_LANDLOCK: (i64, Errno) = (libc::SYS_landlock_create_ruleset, Errno::NOSYS);
const NO_FILTER: (i64, Errno) = (libc::SYS_seccomp, Errno::INVAL);

#[test]
fn a_system_that_lacks_a_part_of_the_wall_is_refused() {
    if !stands() {
        return;
    }
    let unsupported = (NO_LANDLOCK.0, Errno::OPNOTSUPP);
    let landlock = "--sealed needs Linux 6.7 or newer with Landlock";
    for (lacks, needed) in [
        (NO_LANDLOCK, landlock),
        (unsupported, landlock),
        (NO_FILTER, "--sealed needs a kernel with seccomp filters"),
    ] {
        let said = lacking(&[lacks], || sealed().serve().does_not_start());
        assert!(said.contains(needed), "{said}");
        assert!(said.contains("serve without --sealed"), "{said}");
    }
}

#[test]
fn a_missing_part_is_said_once_and_check_says_which_parts_stand() {
    if !stands() {
        return;
    }
    for lacks in [&[NO_LANDLOCK][..], &[NO_FILTER], &[NO_LANDLOCK, NO_FILTER]] {
        let (said, checked) = lacking(lacks, || {
            let world = world();
            let mut client = world.client();
            client.load("k-1").is("first");
            client.hang_up();
            let ended = client.ended();
            assert_eq!(ended.exit, Some(0));
            (ended.stderr, walls(&world))
        });
        let begins = "keyhole: the second wall is not whole";
        assert!(said.starts_with(begins), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        let has = |part| !lacks.contains(&part);
        let (landlock, filter) = (has(NO_LANDLOCK), has(NO_FILTER));
        assert_eq!(said.contains("no Landlock"), !landlock, "{said}");
        assert_eq!(said.contains("no system-call filter"), !filter, "{said}");
        assert_eq!(checked["landlock"].is_u64(), landlock, "{checked}");
        assert_eq!(checked["system_calls"], filter, "{checked}");
    }
    let said = walls(&world());
    assert!(said["landlock"].as_u64() >= Some(4), "{said}");
    assert_eq!(said["system_calls"], true);
}

fn walls(world: &World) -> Value {
    world.run(["check", "--json"]).json()["second_wall"].take()
}

/// Runs `then` as if the kernel lacked these calls.
fn lacking<T: Send>(calls: &[(i64, Errno)], then: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let done = scope.spawn(|| {
            // A filter covers this thread and what it starts. Without `seccomp`, no
            // other filter can be installed, so that call comes last.
            for (call, errno) in calls {
                fail_calls([(*call, Vec::new())], *errno);
            }
            then()
        });
        done.join().unwrap()
    })
}

/// The page contains calls that only one architecture has.
#[cfg(target_arch = "x86_64")]
#[test]
fn the_page_shows_the_list() {
    let path = "docs/second-wall.md";
    let page = fs::read_to_string(workspace().join(path)).unwrap();
    let head = page.find("| `openat` |").unwrap();
    let end = head + page[head..].find("\n\n").unwrap();
    let row = |call: &Call| {
        let yes = |rights| call.within.contains(&rights).then_some("yes");
        let [plain, tickets, sealed] =
            [Rights::Read, Rights::Tickets, Rights::Sealed].map(|rights| yes(rights).unwrap_or(""));
        let (name, condition, why) = (call.name, call.condition, call.why);
        format!("| `{name}` | {plain} | {tickets} | {sealed} | {condition} | {why} |")
    };
    let rows: Vec<_> = CALLS.iter().map(row).collect();
    let rows = rows.join("\n");
    is_committed(path, &format!("{}{rows}{}", &page[..head], &page[end..]));
}
