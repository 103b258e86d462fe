//! The long form: `./x simulate [SEEDS]`, and `--replay SEED [MISTAKE]`.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "its purpose")]

use keyhole_simulate::{Broken, play};
use std::{
    env,
    process::exit,
    sync::atomic::{AtomicU64, Ordering},
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
    let number = |index: usize| args.get(index).map(|number| number.parse().unwrap());
    let (seeds, first): (u64, u64) = (number(0).unwrap_or(1_000_000), number(1).unwrap_or(0));
    let began = Instant::now();
    let (next, given, failed) = (AtomicU64::new(first), AtomicU64::new(0), AtomicU64::new(0));
    let threads = thread::available_parallelism().unwrap().get();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + seeds || failed.load(Ordering::Relaxed) >= 20 {
                        return;
                    }
                    let played = play(seed, None, false);
                    given.fetch_add(played.given as u64, Ordering::Relaxed);
                    if let Some(what) = played.trouble {
                        failed.fetch_add(1, Ordering::Relaxed);
                        println!("seed {seed}: {what}\n  to see how: ./x simulate --replay {seed}");
                    }
                    if (seed + 1 - first).is_multiple_of(50_000) {
                        let seconds = began.elapsed().as_secs_f64();
                        println!("{} seeds, {seconds:.0} s", seed + 1 - first);
                    }
                }
            });
        }
    });
    let played = next.load(Ordering::Relaxed).min(first + seeds) - first;
    println!(
        "{played} seeds, {} documents given, {} failed, {:.1} s",
        given.load(Ordering::Relaxed),
        failed.load(Ordering::Relaxed),
        began.elapsed().as_secs_f64()
    );
    exit(i32::from(failed.load(Ordering::Relaxed) > 0));
}
