//! All orders of events up to a depth, in all scenes.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

use keyhole_model::{
    explore::{explore, explore_plainly},
    play::{Code, Violation, story},
    scene::Scene,
    scenes, story,
    walks::walk,
};
use std::{
    collections::BTreeSet,
    rc::Rc,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

fn named(name: &str) -> Rc<Scene> {
    Rc::new(scenes::named(name).unwrap())
}

/// Explores, and prints the effort.
fn find(scene: &Rc<Scene>, code: Code) -> Option<Violation> {
    let explored = explore(scene, code, scene.depth);
    println!(
        "{}, {code:?}: {} states, {} runs, {} moves, {:.2} s",
        scene.name,
        explored.states,
        explored.runs,
        explored.depth,
        explored.time.as_secs_f64()
    );
    explored.violation
}

const NOT_GRANTED: &str = "the map does not grant this";
const BELIEVED: &str = "the host believed what another could have written";
const NEVER_SAVED: &str = "what was served was never saved so";

#[test]
fn the_bad_example_breaks_a_promise_in_each_scene_of_a_known_break() {
    for (name, breaks) in [
        ("root-name", NOT_GRANTED),
        ("map-directory", NOT_GRANTED),
        ("map-from-procfs", BELIEVED),
        ("key-file", BELIEVED),
        ("fifo", "hangs in the open of a FIFO"),
        ("lease", "hangs in the open of a file under a lease"),
        ("save-in-place", NEVER_SAVED),
        ("save-over", NEVER_SAVED),
        ("edit-by-mapping", NOT_GRANTED),
    ] {
        let scene = named(name);
        let violation = find(&scene, Code::Old).unwrap();
        println!("{}", story(&scene, Code::Old, &violation.script));
        assert!(violation.what.contains(breaks), "{}", violation.what);
    }
}

/// Hands the scenes to `judge`, on all cores.
fn each(judge: impl Fn(Rc<Scene>) + Sync) {
    let next = AtomicUsize::new(0);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                let turn = || next.fetch_add(1, Ordering::Relaxed);
                // A scene stays with the thread that made it.
                while let Some(scene) = scenes::all().into_iter().nth(turn()) {
                    judge(Rc::new(scene));
                }
            });
        }
    });
}

#[test]
fn in_no_order_of_events_is_a_promise_broken() {
    each(|scene| {
        if let Some(violation) = find(&scene, Code::Keyhole) {
            panic!("{}", story(&scene, Code::Keyhole, &violation.script));
        }
    });
}

#[test]
fn what_is_left_out_makes_no_difference() {
    let compared = AtomicUsize::new(0);
    each(|scene| {
        // The bad example is judged as well: it has more different outcomes.
        for code in [Code::Keyhole, Code::Old] {
            let depth = if scene.moves.len() < 3 { 2 } else { 1 };
            let plain = explore_plainly(&scene, code, depth);
            let explored = explore(&scene, code, depth);
            compared.fetch_add(plain.runs, Ordering::Relaxed);
            assert_eq!(
                plain.violation.is_some(),
                explored.violation.is_some(),
                "{}, {code:?}",
                scene.name
            );
            // If a violation ends it, the rest is not explored.
            if explored.violation.is_none() {
                let plain: BTreeSet<_> = plain.answers.into_iter().collect();
                assert_eq!(plain, explored.answers, "{}, {code:?}", scene.name);
            }
        }
    });
    println!("{} runs compared", compared.into_inner());
}

#[test]
fn a_violation_replays_byte_for_byte_from_what_is_written_down() {
    let scene = named("root-name");
    let violation = find(&scene, Code::Old).unwrap();
    let script = story::read(&story::written(&violation.script)).unwrap();
    let told = story(&scene, Code::Old, &script);
    assert!(told.contains(&violation.what), "{told}");
    assert!(
        told.contains("mallory: exchange /srv/his and /srv/root\n"),
        "{told}"
    );
    assert_eq!(told, story(&scene, Code::Old, &violation.script));
}

#[test]
fn random_runs_find_what_the_bad_example_breaks() {
    for name in ["root-name", "fifo", "save-over"] {
        let scene = named(name);
        let found = (0..20_000).find_map(|seed| Some((seed, walk(&scene, Code::Old, seed)?)));
        let (seed, violation) = found.unwrap();
        assert_eq!(walk(&scene, Code::Old, seed), Some(violation.clone()));
        println!("{name}: seed {seed}, {}", story::written(&violation.script));
    }
}

#[test]
fn in_random_runs_with_many_moves_no_promise_is_broken() {
    let scenes: Vec<_> = scenes::all().into_iter().map(Rc::new).collect();
    for seed in 0..20_000 {
        let scene = &scenes[seed % scenes.len()];
        if let Some(violation) = walk(scene, Code::Keyhole, seed as u64) {
            panic!(
                "seed {seed}: {}",
                story(scene, Code::Keyhole, &violation.script)
            );
        }
    }
}
