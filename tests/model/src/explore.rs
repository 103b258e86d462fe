//! All orders of events up to a depth, without those that make no difference.
//!
//! The host is plain code that waits for each step's answer. So a run starts from the
//! beginning with a list of choices, and the next list is the next branch of the tree
//! (depth first). Two rules keep the tree small, and neither loses anything:
//!
//! - **A move waits until it is seen.** A move changes some `Part`s; if the next
//!   step of the host looks at none of them, the move and the step can change places
//!   and nobody could tell. So the search tries a move only right before a step that
//!   looks at something it changed, or that lets time pass, or before another move that
//!   needs it and is itself seen there. If a step looks at a name, the node that it
//!   finds there counts too. The end of a call looks at nothing: a move that only a
//!   later call sees is tried at the begin of that call, before which all are tried.
//! - **A state is left once.** What the host does from here on depends on what it
//!   was told so far, on the disk, the clock, the user's saves and the moves that
//!   are left; what is promised depends on the texts saved since the call began.
//!   If all of that was the same in another run, this one ends.
//!
//! One number of 64 bits stands for a state. With ten million states, the chance
//! that any two share a number is one in 300,000.

use crate::{
    disk::Disk,
    lookup::{Part, meet},
    moves::Effect,
    play::{Answer, Program, Violation, play},
    scene::Scene,
    world::{Chooser, Next, World},
};
use std::{
    collections::{BTreeSet, HashSet},
    hash::{DefaultHasher, Hash, Hasher as _},
    ops::RangeInclusive,
    sync::{Arc, Mutex},
};

/// What was explored.
#[derive(Debug, Default)]
pub struct Explored {
    /// The first broken promise, with the fewest moves.
    pub violation: Option<Violation>,
    /// The outcomes of the calls, in all runs.
    pub answers: BTreeSet<Answer>,
}

/// Explores a scene with up to `depth` moves, one more each time, until the first
/// violation.
pub fn explore(scene: &Arc<Scene>, program: Program, depth: usize) -> Explored {
    search(scene, program, 0..=depth, false)
}

/// Explores a scene with exactly `depth` moves, and leaves nothing out. This tests that
/// what [`explore`] leaves out makes no difference. It continues after a violation.
pub fn explore_plainly(scene: &Arc<Scene>, program: Program, depth: usize) -> Explored {
    search(scene, program, depth..=depth, true)
}

fn search(
    scene: &Arc<Scene>,
    program: Program,
    depths: RangeInclusive<usize>,
    plain: bool,
) -> Explored {
    let mut explored = Explored::default();
    for depth in depths {
        let search = Arc::new(Mutex::new(Search {
            depth,
            plain,
            ..Search::default()
        }));
        loop {
            search.lock().unwrap().restart();
            let (violation, files) = play(scene, program, search.clone(), false);
            explored.answers.extend(files.world().answers.drain(..));
            explored.violation = explored.violation.or(violation);
            let is_over = explored.violation.is_some() && !plain;
            if is_over || !search.lock().unwrap().turn() {
                break;
            }
        }
        if explored.violation.is_some() {
            break;
        }
    }
    explored
}

/// A choice that was made, and the choices that remain.
struct Branch {
    step: usize,
    options: Vec<Next>,
    at: usize,
}

#[derive(Default)]
struct Search {
    depth: usize,
    /// Nothing is left out.
    plain: bool,
    branches: Vec<Branch>,
    seen: HashSet<u64>,
    /// In this run: the next branch, the moves that are left, and those that were made
    /// since the last step.
    cursor: usize,
    left: usize,
    step: usize,
    made: Vec<Effect>,
}

impl Search {
    fn restart(&mut self) {
        (self.cursor, self.left, self.step) = (0, self.depth, usize::MAX);
        self.made.clear();
    }

    fn turn(&mut self) -> bool {
        self.branches.truncate(self.cursor);
        while let Some(branch) = self.branches.last_mut() {
            branch.at += 1;
            if branch.at < branch.options.len() {
                return true;
            }
            self.branches.pop();
        }
        false
    }

    fn take(&mut self, world: &World, next: Next) -> Next {
        if let Next::Move(index) = next {
            self.left -= 1;
            self.made.extend(plan(world, index));
        }
        next
    }

    /// Whether the next step sees each move since the last step, or sees a later move
    /// that needs that move.
    fn are_seen(&self, looks: &[Part], last: Option<&Effect>) -> bool {
        let made: Vec<_> = self.made.iter().chain(last).collect();
        let mut seen = vec![false; made.len()];
        for (index, effect) in made.iter().enumerate().rev() {
            seen[index] = meet(&effect.writes, looks)
                || made.iter().zip(&seen).skip(index + 1).any(|(later, seen)| {
                    *seen
                        && (meet(&effect.writes, &later.reads)
                            || meet(&effect.writes, &later.writes)
                            || meet(&later.writes, &effect.reads))
                });
        }
        seen.into_iter().all(|seen| seen)
    }

    fn is_new(&mut self, world: &World) -> bool {
        let mut hasher = DefaultHasher::new();
        (world.digest(), self.left).hash(&mut hasher);
        self.seen.insert(hasher.finish())
    }
}

fn plan(world: &World, index: usize) -> Option<Effect> {
    world.scene.moves[index].plan(&world.disk, &world.scene.saves, &world.progress)
}

impl Chooser for Search {
    fn next(&mut self, world: &World, looks: &dyn Fn(&Disk) -> Vec<Part>) -> Next {
        if self.step != world.step {
            self.step = world.step;
            self.made.clear();
        }
        if let Some(branch) = self.branches.get(self.cursor) {
            if branch.step != world.step {
                return Next::Proceed;
            }
            let next = branch.options[branch.at];
            self.cursor += 1;
            return self.take(world, next);
        }
        let looks = looks(&world.disk);
        let may_proceed = self.plain || self.are_seen(&looks, None);
        if may_proceed && !self.is_new(world) && !self.plain {
            return Next::Cut;
        }
        let mut options = Vec::new();
        if may_proceed {
            options.push(Next::Proceed);
        }
        if self.left > 0 {
            for index in 0..world.scene.moves.len() {
                if let Some(effect) = plan(world, index)
                    && (self.plain || self.left > 1 || self.are_seen(&looks, Some(&effect)))
                {
                    options.push(Next::Move(index));
                }
            }
        }
        match &options[..] {
            [] => return Next::Cut,
            [Next::Proceed] => return Next::Proceed,
            _ => {}
        }
        let first = options[0];
        self.branches.push(Branch {
            step: world.step,
            options,
            at: 0,
        });
        self.cursor += 1;
        self.take(world, first)
    }
}

/// Plays a script: moves, each with the step that it comes before.
pub(crate) struct Script {
    moves: std::vec::IntoIter<(usize, usize)>,
}

impl Script {
    pub(crate) fn new(script: Vec<(usize, usize)>) -> Self {
        Self {
            moves: script.into_iter(),
        }
    }
}

impl Chooser for Script {
    fn next(&mut self, world: &World, _: &dyn Fn(&Disk) -> Vec<Part>) -> Next {
        while let Some((step, index)) = self.moves.as_slice().first().copied()
            && step <= world.step
        {
            self.moves.next();
            // A move that is not possible is left out.
            if plan(world, index).is_some() {
                return Next::Move(index);
            }
        }
        Next::Proceed
    }
}
