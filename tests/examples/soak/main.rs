//! A long run: many mixed calls from several clients. Each answer is checked, and the
//! servers' memory, descriptors and threads must not grow after the warm-up.
//!
//! `./x soak [CALLS]`; a million by default. It ends with 1 if an answer is wrong or a
//! server grew.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test, with a person watching"
)]

/// One client, its server, and what it expects of each answer.
mod client;
/// What a process uses of the system.
mod figures;
/// The files and the map, and a user who saves some of them continuously.
mod user;

use client::Client;
use figures::Figures;
use keyhole_tests::World;
use std::{
    collections::BTreeMap,
    process::ExitCode,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

const CALLS: u64 = 1_000_000;

/// Each has a server of its own; all use one map.
const CLIENTS: u64 = 4;

/// The warm-up's share of the calls.
const WARM_UP: u64 = 10;

fn main() -> ExitCode {
    let calls = match std::env::args().nth(1).map(|text| text.parse::<u64>()) {
        None => CALLS,
        Some(Ok(calls)) if calls >= CLIENTS * WARM_UP => calls,
        Some(_) => {
            println!("usage: soak [CALLS], at least {}", CLIENTS * WARM_UP);
            return ExitCode::from(2);
        }
    };
    // This comes before the clock runs, because the program may have to be compiled.
    keyhole_tests::binary();
    let world = user::world();
    let mut clients: Vec<Client> = (0..CLIENTS)
        .map(|number| Client::start(&world, number))
        .collect();
    let each = calls / CLIENTS;
    let began = Instant::now();

    println!("{calls} calls from {CLIENTS} clients; warm-up first");
    thread::scope(|scope| {
        for client in &mut clients {
            scope.spawn(|| client.warm_up());
        }
    });
    run(&world, &mut clients, each / WARM_UP);
    let warm: Vec<Option<Figures>> = clients.iter().map(Client::figures).collect();
    run(&world, &mut clients, each - each / WARM_UP);
    let seconds = began.elapsed().as_secs_f64();

    println!(
        "{} requests in {seconds:.0} s, and each answer as it should be:",
        each * CLIENTS
    );
    let mut counts: BTreeMap<_, u64> = BTreeMap::new();
    for (what, count) in clients.iter().flat_map(Client::counts) {
        *counts.entry(what).or_default() += count;
    }
    for (what, count) in &counts {
        println!("  {count:>9}  {what}");
    }
    let mut grew = false;
    for (number, (client, warm)) in clients.iter().zip(warm).enumerate() {
        match (warm, client.figures()) {
            (Some(warm), Some(end)) => {
                println!("server {number}: {warm} after warm-up, {end} at the end");
                grew |= end.is_more_than(&warm);
            }
            _ => println!("skipped: the figures of server {number} (this system does not tell)"),
        }
    }
    for client in clients {
        client.end();
    }
    match grew {
        false => ExitCode::SUCCESS,
        true => {
            println!("a server grew by more than {}", figures::SLACK);
            ExitCode::FAILURE
        }
    }
}

/// Makes every client make this many calls, while the user saves files.
fn run(world: &World, clients: &mut [Client], each: u64) {
    let done = AtomicU64::new(0);
    let over = AtomicBool::new(false);
    let all = each * clients.len() as u64;
    let servers: Vec<u32> = clients.iter().map(Client::server).collect();
    let began = Instant::now();
    thread::scope(|scope| {
        let user = scope.spawn(|| user::saves_until(world, &over));
        let watch = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                thread::park_timeout(Duration::from_secs(5));
                let calls = done.load(Ordering::Relaxed);
                let rate = calls as f64 / began.elapsed().as_secs_f64();
                let now = Figures::of(servers[0]);
                let now = now.map_or_else(String::new, |now| format!(", server 0: {now}"));
                println!("  {calls} of {all}, {rate:.0} a second{now}");
            }
        });
        let working: Vec<_> = clients
            .iter_mut()
            .map(|client| scope.spawn(|| client.calls(each, &done)))
            .collect();
        let wrong = working
            .into_iter()
            .filter_map(|client| client.join().err())
            .next();
        over.store(true, Ordering::Relaxed);
        watch.thread().unpark();
        user.thread().unpark();
        if let Some(wrong) = wrong {
            std::panic::resume_unwind(wrong);
        }
    });
}
