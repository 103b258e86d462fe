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
    scenes,
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

const NOT_GRANTED: &str = "the map does not grant this";
const BELIEVED: &str = "the host believed a map that its owner never saved so";
const NEVER_SAVED: &str = "what was served was never saved so";

fn find(scene: &Arc<Scene>, program: Program) -> Option<Violation> {
    explore(scene, program, scene.depth).violation
}

fn is_broken(scene: &Arc<Scene>, program: Program, breaks: &str) {
    let violation = find(scene, program);
    let violation = violation.unwrap_or_else(|| panic!("{}, {program:?}", scene.name));
    println!("{}", story(scene, program, &violation));
    assert!(violation.what.contains(breaks), "{}", violation.what);
}

#[test]
fn a_bad_example_breaks_a_promise_in_each_scene_of_a_known_break() {
    use Program::{Hasty, SettlingOnce, Trusting};
    for (name, program, breaks) in [
        ("root-name", Trusting, NOT_GRANTED),
        ("map-directory", Trusting, NOT_GRANTED),
        ("foreign-mount", Trusting, BELIEVED),
        ("volume-without-owners", Trusting, BELIEVED),
        ("kernel-file-system", Trusting, BELIEVED),
        ("save-in-place", Hasty, NEVER_SAVED),
        ("save-over", Hasty, NEVER_SAVED),
        ("edit-over", Hasty, BELIEVED),
        ("save-in-place", SettlingOnce, NEVER_SAVED),
        ("save-after-save", SettlingOnce, NEVER_SAVED),
        // Somebody else may write the mapped file, and it is served with their text.
        ("note-for-all", Trusting, NOT_GRANTED),
        ("note-of-a-group", Trusting, NOT_GRANTED),
        ("note-with-an-access-list", Trusting, NOT_GRANTED),
        ("note-of-another", Trusting, NOT_GRANTED),
        ("note-in-a-foreign-mount", Trusting, NOT_GRANTED),
        ("note-in-a-shared-directory", Trusting, NOT_GRANTED),
    ] {
        is_broken(&scenes::named(name), program, breaks);
    }
}

#[test]
fn what_is_not_promised_of_a_file_that_is_saved_otherwise_happens() {
    for scene in scenes::not_promised() {
        is_broken(&scene, Program::Keyhole, NEVER_SAVED);
    }
}

/// Hands each scene to `judge`, on all cores.
fn each_scene(judge: impl Fn(&Arc<Scene>) + Sync) {
    let (scenes, next) = (scenes::all(), AtomicUsize::new(0));
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(scene) = scenes.get(next.fetch_add(1, Ordering::Relaxed)) {
                    judge(scene);
                }
            });
        }
    });
}

#[track_caller]
fn keeps_all(scene: &Arc<Scene>, found: Option<Violation>) {
    if let Some(violation) = found {
        panic!("{}", story(scene, Program::Keyhole, &violation));
    }
}

#[test]
fn in_no_order_of_events_is_a_promise_broken() {
    each_scene(|scene| keeps_all(scene, find(scene, Program::Keyhole)));
}

#[test]
fn what_is_left_out_makes_no_difference() {
    each_scene(|scene| {
        // A bad example is judged as well: it has more different outcomes.
        for program in [Program::Keyhole, Program::Trusting] {
            let depth = if scene.width() < 4 {
                scene.depth.min(2)
            } else {
                1
            };
            let plain = explore_plainly(scene, program, depth);
            let explored = explore(scene, program, depth);
            let name = &scene.name;
            let is_broken = explored.violation.is_some();
            assert_eq!(plain.violation.is_some(), is_broken, "{name}, {program:?}");
            // If a violation ends it, the rest is not explored.
            if !is_broken {
                let plain: BTreeSet<_> = plain.answers.into_iter().collect();
                assert_eq!(plain, explored.answers, "{name}, {program:?}");
            }
        }
    });
}

#[test]
fn random_runs_find_what_the_bad_examples_break() {
    for (name, program) in [
        ("root-name", Program::Trusting),
        ("map-directory", Program::Trusting),
        ("save-over", Program::Hasty),
    ] {
        let found = walk(&scenes::named(name), program, 2000);
        println!("{name}: {found:?}");
        assert!(found.is_some(), "{name}");
    }
}

#[test]
fn in_random_runs_with_many_moves_no_promise_is_broken() {
    each_scene(|scene| keeps_all(scene, walk(scene, Program::Keyhole, 300)));
}
