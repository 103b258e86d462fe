//! The long form: `./x model [RUNS]`.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "its purpose")]

use keyhole_model::{
    decision::decide,
    explore::explore,
    play::{Program, story},
    scenes,
    walks::walk,
};
use std::{env, process::exit};

fn main() {
    let runs: usize = env::args()
        .nth(1)
        .map_or(1_000_000, |runs| runs.parse().unwrap());
    let mut failures: Vec<_> = decide(3).differs.into_iter().collect();
    let (scenes, program) = (scenes::all(), Program::Keyhole);
    for scene in &scenes {
        println!("{}", scene.name);
        let found = explore(scene, program, scene.depth + 1).violation;
        let found = found.or_else(|| walk(scene, program, (runs / scenes.len()) as u32));
        failures.extend(found.map(|found| story(scene, program, &found)));
    }
    println!("{}", failures.join("\n"));
    exit(i32::from(!failures.is_empty()));
}
