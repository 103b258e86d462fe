//! The long form: `./x model [SEEDS]`, and `--replay SCENE PROGRAM SCRIPT`.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "its purpose")]

use keyhole_model::{
    decision::decide,
    explore::explore,
    play::{Program, story},
    scenes, story,
    walks::walk,
};
use std::{env, process::exit, time::Instant};

fn main() {
    let args: Vec<String> = env::args().skip(1).collect();
    if let [flag, scene, program, script] = &args[..]
        && flag == "--replay"
    {
        let (scene, program) = (scenes::named(scene), Program::named(program));
        let script = story::read(script).unwrap();
        println!("{}", story(&scene.unwrap(), program.unwrap(), &script));
        return;
    }
    let seeds: usize = args
        .first()
        .map_or(1_000_000, |seeds| seeds.parse().unwrap());
    let began = Instant::now();
    let decided = decide(3);
    println!("{} worlds, {:.1?}", decided.worlds, began.elapsed());
    let mut failures: Vec<_> = decided.differs.into_iter().collect();
    let (scenes, program) = (scenes::all(), Program::Keyhole);
    for scene in &scenes {
        let explored = explore(scene, program, scene.depth + 1);
        println!("{}: {explored}", scene.name);
        let violation = explored.violation;
        failures.extend(violation.map(|found| story(scene, program, &found.script)));
    }
    let began = Instant::now();
    failures.extend((0..seeds).find_map(|seed| {
        let scene = &scenes[seed % scenes.len()];
        let found = walk(scene, program, seed as u64)?;
        Some(format!(
            "seed {seed}: {}",
            story(scene, program, &found.script)
        ))
    }));
    println!("{seeds} random runs, {:.1?}", began.elapsed());
    println!("{}", failures.join("\n"));
    exit(i32::from(!failures.is_empty()));
}
