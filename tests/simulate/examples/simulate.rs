//! The long form: `./x simulate [SEEDS [FIRST]]`; `--replay SEED [MISTAKE]` tells one
//! run; `--mistakes [SEEDS]` says in how many runs each deliberate mistake is found;
//! `--twice [SEEDS]` plays each seed twice and compares the traces.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "its purpose")]

use keyhole_simulate::{Broken, play};
use std::{
    env,
    process::exit,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Instant,
};

fn main() {
    let args: Vec<String> = env::args().skip(1).collect();
    if args.first().is_some_and(|flag| flag == "--replay") {
        let broken = args.get(2).map(|name| {
            let mut all = Broken::ALL.into_iter();
            all.find(|broken| format!("{broken:?}") == *name).unwrap()
        });
        let played = play(args[1].parse().unwrap(), broken, true);
        println!("{}", played.story.join("\n"));
        println!("trace {:016x}", played.trace);
        exit(i32::from(played.trouble.is_some()));
    }
    let number = |index: usize, or: u64| args.get(index).map_or(or, |n| n.parse().unwrap());
    match args.first().map(String::as_str) {
        Some("--mistakes") => {
            for broken in Broken::ALL {
                let (played, found) = run(number(1, 1000), 0, &|seed| {
                    play(seed, Some(broken), false).trouble
                });
                println!("{broken:?}: found in {} of {played} seeds", found.len());
                if let Some((seed, what)) = found.first() {
                    println!("  seed {seed}: {what:.200}");
                }
            }
        }
        Some("--twice") => {
            let (played, found) = run(number(1, 1000), 0, &|seed| {
                let (one, other) = (play(seed, None, false), play(seed, None, true));
                (one.trace != other.trace).then(String::new)
            });
            let seeds: Vec<u64> = found.iter().map(|(seed, _)| *seed).collect();
            println!("{played} seeds twice, these differ: {seeds:?}");
        }
        _ => {
            let began = Instant::now();
            let given = AtomicU64::new(0);
            let (played, found) = run(number(0, 1_000_000), number(1, 0), &|seed| {
                let played = play(seed, None, false);
                given.fetch_add(played.given as u64, Ordering::Relaxed);
                if let Some(what) = &played.trouble {
                    println!("seed {seed}: {what}\n  to see how: ./x simulate --replay {seed}");
                }
                if (seed + 1).is_multiple_of(10_000) {
                    println!("at seed {seed}, {:.0} s", began.elapsed().as_secs_f64());
                }
                played.trouble
            });
            println!(
                "{played} seeds, {} documents given, {} failed, {:.1} s",
                given.load(Ordering::Relaxed),
                found.len(),
                began.elapsed().as_secs_f64()
            );
            exit(i32::from(!found.is_empty()));
        }
    }
}

/// Plays these seeds on all cores. Returns how many, and which failed.
fn run(
    seeds: u64,
    first: u64,
    play: &(dyn Fn(u64) -> Option<String> + Sync),
) -> (u64, Vec<(u64, String)>) {
    let next = AtomicU64::new(first);
    let found = Mutex::new(Vec::new());
    let threads = thread::available_parallelism().unwrap().get();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + seeds {
                        return;
                    }
                    if let Some(what) = play(seed) {
                        found.lock().unwrap().push((seed, what));
                    }
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap();
    found.sort();
    (seeds, found)
}
