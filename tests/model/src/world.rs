//! The world of one run: the disk, the user at work, and whoever makes moves between
//! two steps of the host.

use crate::{
    disk::{Disk, Label, MS, Node},
    lookup::Part,
    moves::{MALLORYS, Move},
    save::Stage,
    scene::Scene,
};
use std::{
    cell::RefCell,
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher as _},
    rc::Rc,
};

/// What happens before the next step of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The step itself.
    Proceed,
    /// This move of the scene's list; then the chooser is asked again.
    Move(usize),
    /// Nothing more: another run has seen all that follows.
    Cut,
}

/// Decides what happens between two steps.
pub trait Chooser {
    /// Returns what happens next, before a step that will look at `looks`.
    fn next(&mut self, world: &World, looks: &dyn Fn(&Disk) -> Vec<Part>) -> Next;
}

/// How long nobody must have changed a file before it counts as saved, if no write is
/// under way. The time counts since the last write *began*, because the kernel notes
/// that. So if a save has several writes, and one takes longer than this, it counts as
/// saved after that one. The host waits for 20 ms by the time stamps, and a stamp can be
/// one tick too old.
const REST: u64 = 20 * MS;
/// More steps than any call takes, even one that waits for as long as is allowed.
pub const MOST_STEPS: usize = 6000;
/// The longest time that a call may wait in all: a second for the map, one for the file,
/// and a little more.
pub const MOST_TIME: u64 = 2200 * MS;

/// See the module.
pub struct World {
    /// The scene that is played.
    pub scene: Rc<Scene>,
    /// The disk as it is.
    pub disk: Disk,
    /// How many steps of each save are done.
    pub progress: Vec<usize>,
    /// The complete texts that were saved when the call began, or after that.
    pub versions: BTreeMap<Rc<[u8]>, Label>,
    /// Whose texts the user's map grants, or has granted since the call began.
    pub granted: Vec<Label>,
    /// Which call of the scene runs.
    pub call: usize,
    /// Steps of the host so far, and what it was told in them.
    pub step: usize,
    observed: DefaultHasher,
    /// The step at which the call began, and how long it has waited since.
    began: usize,
    waited: u64,
    /// Whether another run has seen all that can follow.
    pub cut: bool,
    /// What has already gone wrong: the host hangs, or does not end.
    pub trouble: Option<String>,
    /// The moves that were made, each with the step that it came before.
    pub script: Vec<(usize, usize)>,
    /// The outcomes of the calls so far.
    pub answers: Vec<Result<String, String>>,
    /// The run in words, if a story is wanted.
    pub story: Option<Vec<String>>,
    chooser: Option<Rc<RefCell<dyn Chooser>>>,
    digest: Option<u64>,
}

impl World {
    /// The scene before its first call.
    #[must_use]
    pub fn new(scene: &Rc<Scene>, chooser: Rc<RefCell<dyn Chooser>>) -> Self {
        Self {
            scene: scene.clone(),
            disk: scene.disk.clone(),
            progress: vec![0; scene.saves.len()],
            versions: BTreeMap::new(),
            granted: Vec::new(),
            call: 0,
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
    pub fn calm_down(&mut self) {
        self.chooser = None;
        for index in 0..self.progress.len() {
            while self.scene.saves[index].stage(self.progress[index]) == Stage::Amid
                && self.can_save(index)
            {
                self.save(index);
            }
        }
    }

    /// Begins a call, a second after the last. First, it plays what others do before.
    pub fn begin(&mut self, call: usize) {
        self.call = call;
        self.interlude(&|_| vec![Part::All]);
        self.pass(1000 * MS);
        self.step += 1;
        (self.began, self.waited) = (self.step, 0);
        self.granted.clear();
        self.versions.clear();
        self.note_saved();
        self.note_granted();
        self.tell(|world| format!("call {}: {:?}", call + 1, world.scene.asks.get(call)));
    }

    /// Time passes.
    pub fn pass(&mut self, nanoseconds: u64) {
        self.disk.clock += nanoseconds;
        self.note_saved();
    }

    /// The host waits for this long.
    pub fn wait(&mut self, nanoseconds: u64) {
        self.waited += nanoseconds;
        self.pass(nanoseconds);
    }

    /// One step of the host, which looks at `looks`. None means that the run is over.
    pub fn step<T: Hash>(
        &mut self,
        looks: impl Fn(&Disk) -> Vec<Part>,
        act: impl FnOnce(&mut Self) -> T,
    ) -> Option<T> {
        if self.is_over() {
            return None;
        }
        self.interlude(&looks);
        if self.cut {
            return None;
        }
        self.step += 1;
        let answer = act(self);
        answer.hash(&mut self.observed);
        if self.step - self.began > MOST_STEPS {
            self.trouble = Some("the call has no end".into());
        } else if self.waited > MOST_TIME {
            self.trouble = Some("the call takes longer than it may".into());
        }
        Some(answer)
    }

    /// Whether no further step counts.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.cut || self.trouble.is_some()
    }

    /// Waits until the write to this file ends.
    pub fn finish_write(&mut self, id: usize) {
        while self.disk.nodes[id]
            .file()
            .is_some_and(|file| file.writing.is_some())
        {
            let path = |index: usize| {
                let step = self.scene.saves[index].steps.get(self.progress[index])?;
                let path = step.path()?;
                let found = self
                    .disk
                    .find(path, crate::disk::ROOT, true, &mut Vec::new());
                (found == Ok(id) && step.plan(&self.disk).is_some()).then_some(index)
            };
            let Some(save) = (0..self.progress.len()).find_map(path) else {
                // Somebody removed its name, but the writer has it open.
                let file = self.disk.file_mut(id);
                file.bytes = file.writing.take().unwrap_or_default();
                self.digest = None;
                return;
            };
            self.save(save);
        }
    }

    /// One number for all that can make a difference from here on.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let disk = self.digest.unwrap_or_else(|| self.disk.digest());
        let mut hasher = self.observed.clone();
        (disk, self.disk.clock, self.step, self.call).hash(&mut hasher);
        (&self.progress, &self.versions, &self.granted).hash(&mut hasher);
        hasher.finish()
    }

    fn interlude(&mut self, looks: &dyn Fn(&Disk) -> Vec<Part>) {
        let Some(chooser) = self.chooser.take() else {
            return;
        };
        loop {
            self.digest.get_or_insert_with(|| self.disk.digest());
            let next = chooser.borrow_mut().next(self, looks);
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
                self.tell(|_| format!("{ms} ms pass"));
                self.pass(ms * MS);
            }
            _ => {
                self.tell(|_| format!("mallory: {made}"));
                made.perform(&mut self.disk);
                let text = match made {
                    Move::Write(_, text) | Move::Create(_, text) => text,
                    Move::Truncate(_) => "",
                    _ => return self.digest = None,
                };
                self.versions.insert(text.as_bytes().into(), MALLORYS);
            }
        }
        self.digest = None;
    }

    fn can_save(&self, index: usize) -> bool {
        let step = self.scene.saves[index].steps.get(self.progress[index]);
        step.is_some_and(|step| step.plan(&self.disk).is_some())
    }

    fn save(&mut self, index: usize) {
        let scene = self.scene.clone();
        let save = &scene.saves[index];
        let step = save.steps[self.progress[index]];
        self.tell(|_| format!("jane: {step}"));
        step.perform(&mut self.disk, save);
        self.progress[index] += 1;
        if save.stage(self.progress[index]) == Stage::After {
            self.versions
                .insert(save.text.as_bytes().into(), save.label);
        }
        self.note_saved();
        self.note_granted();
        self.digest = None;
    }

    /// A text that nobody has changed for long enough counts as saved.
    fn note_saved(&mut self) {
        let rest = REST.saturating_sub(self.disk.tick.min(REST));
        for inode in &mut self.disk.nodes {
            if let Node::File(file) = &mut inode.node {
                file.whole |= file.writing.is_none() && self.disk.clock - file.touched >= rest;
                if file.whole {
                    self.versions.insert(file.bytes.clone(), file.label);
                }
            }
        }
        self.digest = None;
    }

    fn note_granted(&mut self) {
        let saves = &self.scene.saves;
        let stages = saves.iter().zip(&self.progress);
        let stages: Vec<_> = stages.map(|(save, done)| save.stage(*done)).collect();
        for label in (self.scene.grants)(&stages, self.call) {
            if !self.granted.contains(label) {
                self.granted.push(label);
            }
        }
    }

    /// Adds a line to the story, if one is wanted.
    pub fn tell(&mut self, say: impl FnOnce(&Self) -> String) {
        if let Some(mut story) = self.story.take() {
            story.push(say(self));
            self.story = Some(story);
        }
    }
}
