//! All orders of events up to a depth, in all scenes.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

use keyhole_model::{
    explore::{explore, explore_plainly},
    play::{Program, Violation, story},
    scene::Scene,
    scenes, story,
    walks::walk,
};
use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

fn named(name: &str) -> Arc<Scene> {
    scenes::named(name).unwrap()
}

/// Explores, and prints the effort.
fn find(scene: &Arc<Scene>, program: Program) -> Option<Violation> {
    let explored = explore(scene, program, scene.depth);
    println!("{}, {program:?}: {explored}", scene.name);
    explored.violation
}

const NOT_GRANTED: &str = "the map does not grant this";
const BELIEVED: &str = "the host believed a map that its owner never saved so";
const NEVER_SAVED: &str = "what was served was never saved so";
const HANGS: &str = "the call hangs in the open of a file";

fn is_broken(scene: &Arc<Scene>, program: Program, breaks: &str) {
    let violation = find(scene, program).unwrap();
    println!("{}", story(scene, program, &violation.script));
    assert!(violation.what.contains(breaks), "{}", violation.what);
}

#[test]
fn the_bad_example_breaks_a_promise_in_each_scene_of_a_known_break() {
    for (name, breaks) in [
        ("root-name", NOT_GRANTED),
        ("map-directory", NOT_GRANTED),
        ("map-from-procfs", BELIEVED),
        ("key-file", NOT_GRANTED),
        ("fifo", HANGS),
        ("lease", HANGS),
        ("own-directories", NOT_GRANTED),
        ("shared-root", NOT_GRANTED),
        ("link-among-others", NOT_GRANTED),
        ("save-in-place", NEVER_SAVED),
        ("save-over", NEVER_SAVED),
        ("edit-over", BELIEVED),
        // Somebody else may write the mapped file, and it is served with their text.
        ("note-for-all", NOT_GRANTED),
        ("note-of-a-group", NOT_GRANTED),
        ("note-with-an-access-list", NOT_GRANTED),
        ("note-of-another", NOT_GRANTED),
        ("note-in-a-foreign-mount", NOT_GRANTED),
        ("note-in-a-shared-directory", NOT_GRANTED),
    ] {
        is_broken(&named(name), Program::ByPath, breaks);
    }
}

#[test]
fn what_is_not_promised_of_a_file_that_is_saved_otherwise_happens() {
    for scene in scenes::not_promised() {
        is_broken(&scene, Program::Keyhole, NEVER_SAVED);
    }
}

/// Hands the numbers below `end` to `judge`, on all cores.
fn each(end: usize, judge: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                let turn = || Some(next.fetch_add(1, Ordering::Relaxed));
                while let Some(number) = turn().filter(|number| *number < end) {
                    judge(number);
                }
            });
        }
    });
}

#[test]
fn in_no_order_of_events_is_a_promise_broken() {
    let scenes = scenes::all();
    each(scenes.len(), |number| {
        let scene = &scenes[number];
        if let Some(violation) = find(scene, Program::Keyhole) {
            panic!("{}", story(scene, Program::Keyhole, &violation.script));
        }
    });
}

#[test]
fn what_is_left_out_makes_no_difference() {
    let (scenes, compared) = (scenes::all(), AtomicUsize::new(0));
    each(scenes.len(), |number| {
        let scene = &scenes[number];
        // A bad example is judged as well: it has more different outcomes.
        for program in [Program::Keyhole, Program::ByPath] {
            let depth = if scene.width() < 3 { 2 } else { 1 };
            let plain = explore_plainly(scene, program, depth);
            let explored = explore(scene, program, depth);
            compared.fetch_add(plain.runs, Ordering::Relaxed);
            let name = scene.name;
            let is_broken = explored.violation.is_some();
            assert_eq!(plain.violation.is_some(), is_broken, "{name}, {program:?}");
            // If a violation ends it, the rest is not explored.
            if !is_broken {
                let plain: BTreeSet<_> = plain.answers.into_iter().collect();
                assert_eq!(plain, explored.answers, "{name}, {program:?}");
            }
        }
    });
    println!("{} runs compared", compared.into_inner());
}

#[test]
fn a_violation_replays_byte_for_byte_from_what_is_written_down() {
    let (scene, program) = (named("root-name"), Program::ByPath);
    let violation = find(&scene, program).unwrap();
    let script = story::read(&story::written(&violation.script)).unwrap();
    let told = story(&scene, program, &script);
    assert!(told.contains(&violation.what), "{told}");
    let exchanged = "mallory: exchange /srv/his and /srv/root\n";
    assert!(told.contains(exchanged), "{told}");
    assert_eq!(told, story(&scene, program, &violation.script));
}

#[test]
fn random_runs_find_what_the_bad_example_breaks() {
    for name in ["root-name", "fifo", "save-over"] {
        let scene = named(name);
        let run = |seed| walk(&scene, Program::ByPath, seed);
        let (seed, violation) = (0..20_000)
            .find_map(|seed| Some((seed, run(seed)?)))
            .unwrap();
        println!("{name}: seed {seed}, {}", story::written(&violation.script));
        assert_eq!(run(seed), Some(violation));
    }
}

#[test]
fn in_random_runs_with_many_moves_no_promise_is_broken() {
    let scenes = scenes::all();
    each(20_000, |seed| {
        let scene = &scenes[seed % scenes.len()];
        if let Some(violation) = walk(scene, Program::Keyhole, seed as u64) {
            let story = story(scene, Program::Keyhole, &violation.script);
            panic!("seed {seed}: {story}");
        }
    });
}
