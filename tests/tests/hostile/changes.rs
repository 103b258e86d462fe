//! A file that changes while it is read, again and again.

use super::{
    Outcome,
    tree::{mapped, served, world},
    world_attacks,
};
use keyhole_tests::World;
use std::{
    fs,
    io::Write as _,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

world_attacks! {
    "A file that changes while it is read";
    deleted_and_restored: "the file is deleted and restored all the time, for 200 calls";
    replaced_file: "the file is replaced by another version all the time, for 200 calls";
    growing_file: "the file is being rewritten, in a hundred pieces, for 100 calls";
    shrinking_file: "the file is filled and cut off again, for 100 calls";
}

/// While `change` runs again and again, `fits` judges the text or the code of each of
/// many calls. Some of them must get a text, or the test has tried nothing.
fn while_changing(
    calls: usize,
    world: World,
    change: impl Fn(&World) + Sync,
    fits: impl Fn(Result<&str, &str>) -> bool,
) {
    let world = mapped(world, &["~/notes/a.md"]);
    let mut client = world.client();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        // Also if an assertion fails: otherwise the other thread would never end.
        let _stop = Stop(&done);
        scope.spawn(|| {
            for round in 1.. {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                change(&world);
                // Now and then the file comes to rest, so that some calls get a text.
                if round % 16 == 0 {
                    thread::sleep(PAUSE);
                }
            }
        });
        let mut texts = 0;
        // At most twenty times as many calls, if few get through.
        for call in 0.. {
            if call >= calls && texts > 0 {
                break;
            }
            assert!(call < calls * 20, "no call got a text");
            let answer = client.load("k-0");
            let got = answer.text().ok_or_else(|| answer.code().unwrap());
            texts += usize::from(got.is_ok());
            assert!(fits(got), "{:.300}", answer.message().to_string());
        }
    });
    served(&mut client);
    client.end();
}

struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The pause after each change. A file takes 20 ms to come to rest.
const PAUSE: Duration = Duration::from_millis(60);

/// Lines that are all different, so that the test sees a part in the wrong place.
fn lines() -> String {
    (0..10_000).map(|line| format!("line {line}\n")).collect()
}

fn deleted_and_restored() -> Outcome {
    let world = world().file("notes/a.md", "whole");
    let change = |world: &World| {
        fs::remove_file(world.path("notes/a.md")).unwrap();
        fs::write(world.path("notes/new"), "whole").unwrap();
        fs::rename(world.path("notes/new"), world.path("notes/a.md")).unwrap();
    };
    while_changing(200, world, change, |got| {
        // To lose its name is a change of the file that is open.
        matches!(got, Ok("whole") | Err("not-found" | "changed"))
    });
    Ok("the whole file, `not-found`, or `changed`".to_owned())
}

fn replaced_file() -> Outcome {
    // Longer than one read.
    let versions = ["a".repeat(100_000), "b".repeat(80_000)];
    let world = world().file("notes/a.md", &versions[0]);
    let change = |world: &World| {
        for version in &versions {
            fs::write(world.path("notes/new"), version).unwrap();
            fs::rename(world.path("notes/new"), world.path("notes/a.md")).unwrap();
        }
    };
    while_changing(200, world, change, |got| match got {
        Ok(text) => versions.iter().any(|version| version == text),
        // To lose its name is a change of the file that is open.
        Err(code) => code == "changed",
    });
    Ok("the whole of one version, or `changed`".to_owned())
}

fn growing_file() -> Outcome {
    let all = lines();
    let world = world().file("notes/a.md", "");
    let change = |world: &World| {
        let mut file = fs::File::create(world.path("notes/a.md")).unwrap();
        for part in all.as_bytes().chunks(1000) {
            file.write_all(part).unwrap();
        }
        thread::sleep(PAUSE);
    };
    while_changing(100, world, change, |got| match got {
        Ok(text) => all.starts_with(text),
        Err(code) => code == "changed",
    });
    Ok("what it was at one moment, or `changed`".to_owned())
}

fn shrinking_file() -> Outcome {
    let all = lines();
    let world = world().file("notes/a.md", &all);
    let change = |world: &World| {
        let file = fs::File::options()
            .write(true)
            .open(world.path("notes/a.md"))
            .unwrap();
        for part in (0..4).rev() {
            file.set_len(all.len() as u64 / 4 * part).unwrap();
        }
        thread::sleep(PAUSE);
        fs::write(world.path("notes/a.md"), &all).unwrap();
        thread::sleep(PAUSE);
    };
    while_changing(100, world, change, |got| match got {
        Ok(text) => all.starts_with(text),
        Err(code) => code == "changed",
    });
    Ok("what it was at one moment, or `changed`".to_owned())
}
