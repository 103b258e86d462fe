//! Random runs, with more moves than can be explored, each from one seed.

use crate::{
    disk::Disk,
    explore::Script,
    lookup::Part,
    play::{Program, Violation, play},
    scene::Scene,
    world::{Chooser, Next, World},
};
use std::sync::{Arc, Mutex};

/// The most moves in one run.
const MOST: usize = 24;

/// Moves at random.
struct Random {
    state: u64,
    left: usize,
    /// One in this many steps has a move before it.
    rarity: u64,
}

impl Random {
    fn new(seed: u64) -> Self {
        let mut random = Self {
            state: seed,
            left: MOST,
            rarity: 1,
        };
        random.rarity = [1, 2, 4, 8, 16, 32][random.below(6) as usize];
        random
    }

    /// SplitMix64.
    fn below(&mut self, end: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}

impl Chooser for Random {
    fn next(&mut self, world: &World, _: &dyn Fn(&Disk) -> Vec<Part>) -> Next {
        if self.left == 0 || self.below(self.rarity) != 0 {
            return Next::Proceed;
        }
        let scene = &world.scene;
        // A few tries, instead of a list of all possible moves.
        for _ in 0..6 {
            let index = self.below(scene.moves.len() as u64) as usize;
            let can = scene.moves[index].plan(&world.disk, &scene.saves, &world.progress);
            if can.is_some() {
                self.left -= 1;
                return Next::Move(index);
            }
        }
        Next::Proceed
    }
}

/// One random run. It shortens what it finds by leaving out moves.
pub fn walk(scene: &Arc<Scene>, program: Program, seed: u64) -> Option<Violation> {
    let random = Arc::new(Mutex::new(Random::new(seed)));
    let (violation, _) = play(scene, program, random, false);
    let mut shortest = violation?;
    let mut at = 0;
    while at < shortest.script.len() {
        let mut shorter = shortest.script.clone();
        shorter.remove(at);
        let chooser = Arc::new(Mutex::new(Script::new(&shorter)));
        match play(scene, program, chooser, false).0 {
            Some(violation) if violation.script.len() < shortest.script.len() => {
                shortest = violation;
                at = 0;
            }
            _ => at += 1,
        }
    }
    Some(shortest)
}
