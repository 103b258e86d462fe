//! The long form: `./x model [SEEDS]`, and `--replay SCENE CODE SCRIPT`.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "its purpose")]

use keyhole_model::{
    decision::decide,
    explore::explore,
    play::{Code, story},
    scenes, story, walks,
};
use std::{env, process::exit, rc::Rc, time::Instant};

fn main() {
    let args: Vec<String> = env::args().skip(1).collect();
    if let [flag, scene, code, script] = &args[..]
        && flag == "--replay"
    {
        let scene = Rc::new(scenes::named(scene).unwrap());
        let code = if code == "Old" {
            Code::Old
        } else {
            Code::Keyhole
        };
        let script = story::read(script).unwrap();
        println!("{}", story(&scene, code, &script));
        return;
    }
    let seeds: u64 = args
        .first()
        .map_or(1_000_000, |seeds| seeds.parse().unwrap());
    let began = Instant::now();
    let decided = decide(3);
    println!(
        "{} worlds, {:.1} s",
        decided.worlds,
        began.elapsed().as_secs_f64()
    );
    let mut failed = decided.differs.is_some();
    if let Some(differs) = decided.differs {
        println!("{differs}");
    }
    for scene in scenes::all() {
        let scene = Rc::new(scene);
        let explored = explore(&scene, Code::Keyhole, scene.depth + 1);
        println!(
            "{}: {} states, {} runs, {} moves, {:.1} s",
            scene.name,
            explored.states,
            explored.runs,
            explored.depth,
            explored.time.as_secs_f64()
        );
        if let Some(violation) = explored.violation {
            println!("{}", story(&scene, Code::Keyhole, &violation.script));
            failed = true;
        }
    }
    let all: Vec<_> = scenes::all().into_iter().map(Rc::new).collect();
    let began = Instant::now();
    for seed in 0..seeds {
        let scene = &all[(seed % all.len() as u64) as usize];
        if let Some(violation) = walks::walk(scene, Code::Keyhole, seed) {
            println!(
                "seed {seed}: {}",
                story(scene, Code::Keyhole, &violation.script)
            );
            failed = true;
            break;
        }
    }
    println!(
        "{seeds} random runs, {:.1} s",
        began.elapsed().as_secs_f64()
    );
    exit(i32::from(failed));
}
