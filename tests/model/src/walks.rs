//! Random runs, with more moves than can be explored.

use crate::{
    explore::Script,
    play::{Program, Violation, play},
    scene::Scene,
};
use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner},
};
use std::{
    cell::RefCell,
    sync::{Arc, Mutex},
};

/// The most moves that one run tries. Most of them are not possible at their step.
const MOST: usize = 144;

/// So many random runs, the same ones each time, until one breaks a promise. That one is
/// shortened.
pub fn walk(scene: &Arc<Scene>, program: Program, runs: u32) -> Option<Violation> {
    let width = scene.moves.len();
    // Each move with the number of steps before it, in one of several magnitudes.
    let moves = (1..6u32).prop_flat_map(move |most| vec((0..1usize << most, 0..width), 0..MOST));
    let config = Config {
        cases: runs,
        failure_persistence: None,
        ..Config::default()
    };
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let found = RefCell::new(None);
    let _ = TestRunner::new_with_rng(config, random).run(&moves, |moves| {
        let mut step = 0;
        let script = moves.into_iter().map(|(steps, index)| {
            step += steps;
            (step, index)
        });
        let script = Arc::new(Mutex::new(Script::new(script.collect())));
        let Some(violation) = play(scene, program, script, false).0 else {
            return Ok(());
        };
        found.replace(Some(violation));
        Err(TestCaseError::fail("a broken promise"))
    });
    found.into_inner()
}
