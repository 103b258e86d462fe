//! One run: one to three servers, one after the other, over one disk.

use crate::{
    rng::Rng,
    session::session,
    sim::{self, Broken, Faults, Sim},
    world::World,
};

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// The first broken promise.
    pub trouble: Option<String>,
    /// One number for all that happened.
    pub trace: u64,
    /// The run in words, if that was wanted.
    pub story: Vec<String>,
    /// How many documents were served.
    pub given: usize,
    /// How many milliseconds of simulated time it took.
    pub ms: u64,
}

/// Plays the run of this seed.
#[must_use]
pub fn play(seed: u64, broken: Option<Broken>, tell: bool) -> Played {
    let mut rng = Rng::new(seed);
    let world = World::new(&mut rng);
    let servers = 1 + rng.below(3);
    sim::set(Some(Sim::new(rng, world, broken, tell)));
    for server in 1..=servers {
        sim::with(|sim| {
            sim.faults = faults(&mut sim.rng);
            sim.note(("server", server), |sim| {
                format!(
                    "server {server} of {servers} starts; faults: {:?}",
                    sim.faults
                )
            });
        });
        session(server == servers);
        if sim::with(|sim| sim.trouble.is_some()) {
            break;
        }
    }
    let mut sim = sim::set(None).unwrap();
    Played {
        trace: sim.traced(),
        story: sim.story(),
        given: sim.given.len(),
        ms: sim.world.elapsed() / 1_000_000,
        trouble: sim.trouble,
    }
}

/// A third of all runs are without faults, so that these do not hide the rest.
fn faults(rng: &mut Rng) -> Faults {
    if rng.once_in(3) {
        return Faults::default();
    }
    Faults {
        fails: rng.of(&[0, 0, 60, 400]),
        exhausted: rng.of(&[0, 0, 60, 400]),
        interrupted: rng.of(&[0, 3, 30]),
        short: rng.of(&[0, 1, 2, 5]),
        hangs: rng.of(&[0, 0, 40, 200, 1000]),
        no_thread: rng.of(&[0, 0, 5, 20]),
    }
}
