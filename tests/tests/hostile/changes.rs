//! A file that changes while it is read, again and again.

use super::{
    Outcome,
    tree::{mapped, served, world},
    world_attacks,
};
use keyhole_tests::{PATIENCE, SetOnDrop, World};
use keyhole_walk::APART;
use std::{
    fs,
    io::Write as _,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Instant,
};

world_attacks! {
    "A file that changes while it is read";
    deleted_and_restored: "the file is deleted and restored all the time" => {
        let change = |world: &World| {
            fs::remove_file(world.path("notes/a.md")).unwrap();
            world.write("notes/new", "whole");
            fs::rename(world.path("notes/new"), world.path("notes/a.md")).unwrap();
        };
        // To lose its name is a change of the file that is open.
        while_changing("whole", change, |got| matches!(got, Ok("whole") | Err("not-found" | "changed")))?;
        Ok("the whole file, `not-found`, or `changed`".to_owned())
    };
    replaced_file: "the file is replaced by another version all the time" => {
        // Longer than one read.
        let versions = ["a".repeat(100_000), "b".repeat(80_000)];
        let change = |world: &World| for version in &versions {
            world.write("notes/new", version);
            fs::rename(world.path("notes/new"), world.path("notes/a.md")).unwrap();
        };
        while_changing(&versions[0], change, |got| match got {
            Ok(text) => versions.iter().any(|version| version == text),
            Err(code) => code == "changed",
        })?;
        Ok("the whole of one version, or `changed`".to_owned())
    };
    growing_file: "the file is being rewritten, in a hundred pieces" => {
        let all = lines();
        let change = |world: &World| {
            let mut file = fs::File::create(world.path("notes/a.md")).unwrap();
            for part in all.as_bytes().chunks(1000) {
                file.write_all(part).unwrap();
            }
        };
        while_changing("", change, |got| got.map_or_else(|code| code == "changed", |text| all.starts_with(text)))?;
        Ok("what it was at one moment, or `changed`".to_owned())
    };
    shrinking_file: "the file is filled and cut off again" => {
        let all = lines();
        let change = |world: &World| {
            let file = fs::File::options().write(true).open(world.path("notes/a.md")).unwrap();
            for part in (0..4).rev() {
                file.set_len(all.len() as u64 / 4 * part).unwrap();
            }
            fs::write(world.path("notes/a.md"), &all).unwrap();
        };
        while_changing(&all, change, |got| got.map_or_else(|code| code == "changed", |text| all.starts_with(text)))?;
        Ok("what it was at one moment, or `changed`".to_owned())
    };
}

/// While `change` runs again and again, `fits` judges the text or the code of each of
/// some calls. One of them must get a text, or the test has tried nothing.
fn while_changing(
    content: &str,
    change: impl Fn(&World) + Sync,
    fits: impl Fn(Result<&str, &str>) -> bool,
) -> Outcome {
    const CALLS: usize = 20;
    let world = world().file("notes/a.md", content);
    let world = mapped(world, &[("~/notes/a.md", "")]);
    let mut client = world.client();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        // Also if an assertion fails: otherwise the other thread would never end.
        let _done = SetOnDrop(&done);
        scope.spawn(|| {
            for round in 1_u32.. {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                change(&world);
                // Now and then the file comes to rest, for longer as time goes on, so that
                // some calls get a text, however slow the machine is.
                if round % 8 == 0 {
                    thread::sleep(APART * (3 + round / 100));
                }
            }
        });
        let began = Instant::now();
        let mut texts = 0;
        for call in 0.. {
            if call >= CALLS && texts > 0 {
                break;
            }
            assert!(
                texts > 0 || call < CALLS || began.elapsed() < PATIENCE,
                "no call got a text"
            );
            let answer = client.load("k-0");
            let got = answer.text().ok_or_else(|| answer.code().unwrap());
            texts += usize::from(got.is_ok());
            assert!(fits(got), "{:.300}", answer.message().to_string());
        }
    });
    served(&mut client);
    client.end();
    Ok(String::new())
}

/// Lines that are all different, so that the test sees a part in the wrong place.
fn lines() -> String {
    (0..10_000).map(|line| format!("line {line}\n")).collect()
}
