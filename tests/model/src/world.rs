//! The world of one run: the disk, the user at work, and whoever makes moves between
//! two steps of the host.

use crate::{
    disk::{Disk, Id, Inode, Label, MS},
    lookup::Part,
    moves::Move,
    play::{Answer, Program},
    save::{Stage, Step},
    scene::Scene,
};
use keyhole_walk::SystemError;
use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash, Hasher as _},
    sync::{Arc, Mutex},
};

/// What happens before the next step of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The step itself.
    Proceed,
    /// This move of the scene's list; then the chooser is asked again.
    Move(usize),
    /// Nothing more: another run has seen all that follows.
    Cut,
}

/// Decides what happens between two steps.
pub(crate) trait Chooser: Send {
    /// Returns what happens next, before a step that will look at `looks`.
    fn next(&mut self, world: &World, looks: &dyn Fn(&Disk) -> Vec<Part>) -> Next;
}

/// The longest time from the begin of one write to that of the next, or to the end of the last,
/// while a file is being saved.
const BETWEEN_WRITES: u64 = keyhole_walk::BETWEEN_LOOKS.as_nanos() as u64;
/// More steps than any call takes, even one that waits for as long as is allowed.
const MOST_STEPS: usize = 2000;
/// The longest time that a call may wait in all: four readings of the map, and four of the
/// mapped file. Each may wait for a second, and then end with the longest wait for one look.
const MOST_TIME: u64 = 8 * 3000 * MS;

pub(crate) struct World {
    pub(crate) scene: Arc<Scene>,
    pub(crate) program: Program,
    pub(crate) disk: Disk,
    /// How many steps of each save are done.
    pub(crate) progress: Vec<usize>,
    /// When each save began, or last began a write.
    moved: Vec<u64>,
    /// The complete texts that were saved when the call began, or after that.
    pub(crate) versions: BTreeMap<Arc<[u8]>, Label>,
    /// Whose texts the user's map grants, or has granted since the call began.
    pub(crate) granted: BTreeSet<Label>,
    pub(crate) call: usize,
    /// What it has opened, in order.
    pub(crate) opened: Vec<Id>,
    /// Steps of the host so far, and what it was told in them.
    pub(crate) step: usize,
    observed: DefaultHasher,
    /// The step at which the call began, and how long it has waited since.
    began: usize,
    waited: u64,
    /// Whether another run has seen all that can follow.
    pub(crate) cut: bool,
    /// What has already gone wrong: the host believes a wrong map, or does not end.
    pub(crate) trouble: Option<String>,
    /// The moves that were made, each with the step that it came before.
    pub(crate) script: Vec<(usize, usize)>,
    /// The outcomes of the calls so far.
    pub(crate) answers: Vec<Answer>,
    /// The run in words, if a story is wanted.
    pub(crate) story: Option<Vec<String>>,
    chooser: Option<Arc<Mutex<dyn Chooser>>>,
    digest: Option<u64>,
}

impl World {
    /// The scene before its first call.
    pub(crate) fn new(
        scene: &Arc<Scene>,
        program: Program,
        chooser: Arc<Mutex<dyn Chooser>>,
    ) -> Self {
        Self {
            scene: scene.clone(),
            program,
            disk: scene.disk.clone(),
            progress: vec![0; scene.saves.len()],
            moved: vec![0; scene.saves.len()],
            versions: BTreeMap::new(),
            granted: BTreeSet::new(),
            call: 0,
            opened: Vec::new(),
            step: 0,
            observed: DefaultHasher::new(),
            began: 0,
            waited: 0,
            cut: false,
            trouble: None,
            script: Vec::new(),
            answers: Vec::new(),
            story: None,
            chooser: Some(chooser),
            digest: None,
        }
    }

    /// From here on everybody else is gone. The user ends the saves that have begun.
    pub(crate) fn calm_down(&mut self) {
        self.chooser = None;
        for index in 0..self.progress.len() {
            while self.is_amid(index) {
                self.save(index);
            }
        }
    }

    /// Begins a call, a second after the last. First, it plays what others do before.
    pub(crate) fn begin(&mut self, call: usize) {
        self.call = call;
        self.interlude(&|_| vec![Part::All]);
        self.pass(1000 * MS);
        self.step += 1;
        (self.began, self.waited) = (self.step, 0);
        self.granted.clear();
        self.versions.clear();
        self.opened.clear();
        self.note_saved();
        self.note_granted();
        self.tell(|world| format!("call {}: {:?}", call + 1, world.scene.asks.get(call)));
    }

    /// Time passes. Whoever saves a file goes on, as late as possible.
    pub(crate) fn pass(&mut self, nanoseconds: u64) {
        let end = self.disk.clock + nanoseconds;
        let due = |world: &Self, index: usize| {
            let due = world.moved[index] + BETWEEN_WRITES;
            let must = !world.scene.saves[index].slow && due <= end && world.is_amid(index);
            must.then_some((due, index))
        };
        while let Some((due, index)) = (0..self.progress.len())
            .filter_map(|index| due(self, index))
            .min()
        {
            self.disk.clock = self.disk.clock.max(due);
            while self.moved[index] + BETWEEN_WRITES <= due && self.is_amid(index) {
                self.save(index);
            }
        }
        self.disk.clock = end;
    }

    pub(crate) fn wait(&mut self, nanoseconds: u64) {
        self.waited += nanoseconds;
        self.pass(nanoseconds);
    }

    /// One step of the host, which looks at `looks`. None means that the run is over.
    pub(crate) fn step<T: Hash>(
        &mut self,
        looks: impl Fn(&Disk) -> Vec<Part>,
        act: impl FnOnce(&mut Self) -> Result<T, SystemError>,
    ) -> Option<Result<T, SystemError>> {
        if self.is_over() {
            return None;
        }
        self.interlude(&looks);
        if self.cut {
            return None;
        }
        self.step += 1;
        let answer = act(self);
        let seen = answer.as_ref().map_err(std::mem::discriminant);
        seen.hash(&mut self.observed);
        if self.step - self.began > MOST_STEPS {
            self.trouble = Some("the call has no end".into());
        } else if self.waited > MOST_TIME {
            self.trouble = Some("the call takes longer than it may".into());
        }
        Some(answer)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.cut || self.trouble.is_some()
    }

    /// One number for all that can make a difference from here on.
    pub(crate) fn digest(&self) -> u64 {
        let disk = self.digest.unwrap_or_else(|| self.disk.digest());
        let mut hasher = self.observed.clone();
        (disk, self.disk.clock, self.disk.set).hash(&mut hasher);
        (self.step, self.call).hash(&mut hasher);
        (&self.progress, &self.moved).hash(&mut hasher);
        (&self.versions, &self.granted).hash(&mut hasher);
        hasher.finish()
    }

    fn interlude(&mut self, looks: &dyn Fn(&Disk) -> Vec<Part>) {
        let Some(chooser) = self.chooser.take() else {
            return;
        };
        loop {
            self.digest.get_or_insert_with(|| self.disk.digest());
            let next = chooser.lock().unwrap().next(self, looks);
            match next {
                Next::Proceed => break,
                Next::Cut => {
                    self.cut = true;
                    break;
                }
                Next::Move(index) => self.make(index),
            }
        }
        self.chooser = Some(chooser);
    }

    fn make(&mut self, index: usize) {
        let scene = self.scene.clone();
        let made = scene.moves[index];
        self.script.push((self.step, index));
        match made {
            Move::Save(save) => self.save(save),
            Move::Wait(ms) => {
                self.pass(ms * MS);
                self.tell(|_| format!("{ms} ms have passed"));
            }
            _ => {
                self.tell(|_| match made {
                    Move::SetClock(_) => format!("somebody: {made:?}"),
                    _ => format!("mallory: {made:?}"),
                });
                made.perform(&mut self.disk);
                self.note_saved();
            }
        }
        self.digest = None;
    }

    /// Whether a save has begun, and can go on.
    fn is_amid(&self, index: usize) -> bool {
        let (save, done) = (&self.scene.saves[index], self.progress[index]);
        save.stage(done) == Stage::Amid && save.plan(done, &self.disk).is_some()
    }

    fn save(&mut self, index: usize) {
        let scene = self.scene.clone();
        let (save, done) = (&scene.saves[index], self.progress[index]);
        self.tell(|_| format!("jane, in {}: {:?}", save.path, save.steps[done]));
        save.perform(done, &mut self.disk);
        if done == 0 || matches!(save.steps[done], Step::Begin(_)) {
            self.moved[index] = self.disk.clock;
        }
        self.progress[index] += 1;
        self.note_saved();
        self.note_granted();
        self.digest = None;
    }

    /// Notes each text that is complete.
    fn note_saved(&mut self) {
        let files = self.disk.nodes.iter().filter_map(Inode::file);
        for file in files.filter(|file| file.whole) {
            self.versions.insert(file.bytes.clone(), file.label);
        }
    }

    fn note_granted(&mut self) {
        let saves = &self.scene.saves;
        let stages = saves.iter().zip(&self.progress);
        let stages: Vec<_> = stages.map(|(save, done)| save.stage(*done)).collect();
        let granted = (self.scene.grants)(&stages, self.call);
        // The last call is for the other key.
        let is_last = self.call == self.scene.asks.len();
        self.granted.extend(granted);
        self.granted.extend(is_last.then_some("other"));
    }

    /// Adds a line to the story, if one is wanted.
    pub(crate) fn tell(&mut self, say: impl FnOnce(&Self) -> String) {
        if let Some(mut story) = self.story.take() {
            story.push(say(self));
            self.story = Some(story);
        }
    }
}
