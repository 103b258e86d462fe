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
use std::{collections::BTreeSet, rc::Rc};

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

fn keeps_all(scene: &Rc<Scene>) {
    if let Some(violation) = find(scene, Code::Keyhole) {
        panic!("{}", story(scene, Code::Keyhole, &violation.script));
    }
}

/// The bad example breaks this promise in the scene, and the program keeps all.
fn only_the_bad_example(name: &str, breaks: &str) {
    let scene = named(name);
    let violation = find(&scene, Code::Old).unwrap();
    println!("{}", story(&scene, Code::Old, &violation.script));
    assert!(violation.what.contains(breaks), "{}", violation.what);
    keeps_all(&scene);
}

const NOT_GRANTED: &str = "the map does not grant this";
const BELIEVED: &str = "the host believed what another could have written";
const NEVER_SAVED: &str = "what was served was never saved so";

#[test]
fn the_bad_example_serves_a_private_file_by_a_flip_of_a_roots_name() {
    only_the_bad_example("root-name", NOT_GRANTED);
}

#[test]
fn the_bad_example_takes_back_a_revoked_key_from_an_old_copy_of_the_map() {
    only_the_bad_example("map-directory", NOT_GRANTED);
}

#[test]
fn the_bad_example_believes_a_map_in_procfs() {
    only_the_bad_example("map-from-procfs", BELIEVED);
}

#[test]
fn the_bad_example_takes_another_entrys_key_for_a_bindings() {
    only_the_bad_example("key-file", BELIEVED);
}

#[test]
fn the_bad_example_hangs_in_the_open_of_a_fifo() {
    only_the_bad_example("fifo", "hangs in the open of a FIFO");
}

#[test]
fn the_bad_example_hangs_in_the_open_of_a_leased_file() {
    only_the_bad_example("lease", "hangs in the open of a file under a lease");
}

#[test]
fn the_bad_example_serves_an_empty_file_while_it_is_saved() {
    only_the_bad_example("save-in-place", NEVER_SAVED);
}

#[test]
fn the_bad_example_serves_a_mixture_of_two_versions() {
    only_the_bad_example("save-over", NEVER_SAVED);
}

#[test]
fn the_bad_example_serves_a_key_that_was_removed_through_a_mapping() {
    only_the_bad_example("edit-by-mapping", NOT_GRANTED);
}

#[test]
fn in_no_order_of_events_is_a_promise_broken() {
    for scene in scenes::all() {
        keeps_all(&Rc::new(scene));
    }
}

#[test]
fn what_is_left_out_makes_no_difference() {
    let mut compared = 0;
    for scene in scenes::all().into_iter().map(Rc::new) {
        // The bad example is judged as well: it has more different outcomes.
        for code in [Code::Keyhole, Code::Old] {
            let depth = if scene.moves.len() < 3 { 2 } else { 1 };
            let plain = explore_plainly(&scene, code, depth);
            let explored = explore(&scene, code, depth);
            compared += plain.runs;
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
    }
    println!("{compared} runs compared");
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
