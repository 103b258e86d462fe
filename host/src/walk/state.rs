//! The state of a walk: the names that are left, and the directories that it passed,
//! all of them open.

use super::{
    System, Walked, Walker,
    error::WalkError,
    group, paths,
    policy::{Directories, Policy},
    system::{FileSystem, Kind, Mount, Stat},
    trust::{self, Distrust, Seat, Why},
};
use std::ffi::{OsStr, OsString};

/// The longest chain of directories, in names. PATH_MAX allows 2048 names of one
/// character; the walk keeps a descriptor for each until it ends.
const MAX_DEPTH: usize = 128;

/// The directories that a walk passed before its first link or `..`, all of them open.
/// A later walk of the same call need not open them again, if its path begins with the
/// same names. They were judged by these descriptors, so the judgement still holds.
#[derive(Debug)]
pub struct Trail<H = <System as FileSystem>::Handle> {
    root: Step<H>,
    steps: Vec<Step<H>>,
}

/// An open directory on the way.
#[derive(Debug)]
pub(super) struct Step<H> {
    pub(super) handle: H,
    stat: Stat,
    /// Its name in the directory where it was found.
    name: OsString,
    mount: Mount,
    /// Whether it was found to be trusted, so that it is judged only once.
    judged: bool,
}

/// The names still to walk, the last one first.
#[derive(Default)]
pub(super) struct Names(Vec<OsString>);

impl Names {
    /// Puts the names of `path` before all others. It leaves out empty names and `.`,
    /// except at the end: there they say that the name before them is a directory.
    pub(super) fn push(&mut self, path: &OsStr) {
        for (index, name) in paths::names(path).enumerate() {
            match name.as_encoded_bytes() {
                b"" | b"." if index == 0 => self.0.push(".".into()),
                b"" | b"." => {}
                _ => self.0.push(name.to_owned()),
            }
        }
    }

    pub(super) fn pop(&mut self) -> Option<OsString> {
        self.0.pop()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has_one(&self) -> bool {
        self.0.len() == 1
    }
}

/// The directories from `/` to where the walk is now, all of them open.
pub(super) struct WalkState<'a, F: FileSystem> {
    walker: &'a Walker<F>,
    policy: Policy,
    user: u32,
    root: Root<'a, F::Handle>,
    /// How many directories of the trail come before `steps`.
    along: usize,
    steps: Vec<Step<F::Handle>>,
    /// How many of `steps` the walk had passed at the first link or `..`. None means
    /// that there was no such name yet.
    straight: Option<usize>,
}

/// Where a walk begins.
enum Root<'a, H> {
    Own(Step<H>),
    Of(&'a Trail<H>),
}

impl<'a, F: FileSystem> WalkState<'a, F> {
    pub(super) fn from_root(walker: &'a Walker<F>, policy: Policy) -> Result<Self, WalkError> {
        let handle = walker.files.root()?;
        let stat = walker.files.stat(&handle)?;
        let root = Root::Own(Step {
            handle,
            stat,
            name: OsString::new(),
            // Whoever made the mount of `/` controls everything.
            mount: Mount::Ordinary,
            judged: false,
        });
        Ok(Self::from(root, walker, policy))
    }

    /// Like [`Self::from_root`], but with the open directories of `trail`.
    pub(super) fn along(
        trail: &'a Trail<F::Handle>,
        walker: &'a Walker<F>,
        policy: Policy,
    ) -> Self {
        Self::from(Root::Of(trail), walker, policy)
    }

    fn from(root: Root<'a, F::Handle>, walker: &'a Walker<F>, policy: Policy) -> Self {
        Self {
            walker,
            policy,
            user: walker.files.user(),
            root,
            along: 0,
            steps: Vec::new(),
            straight: None,
        }
    }

    pub(super) fn here(&self) -> &Step<F::Handle> {
        let root = match &self.root {
            Root::Own(root) => root,
            Root::Of(trail) => &trail.root,
        };
        let along = self.trail_steps().last();
        self.steps.last().or(along).unwrap_or(root)
    }

    /// The part of the trail that is on the way.
    fn trail_steps(&self) -> &[Step<F::Handle>] {
        match &self.root {
            Root::Own(_) => &[],
            Root::Of(trail) => trail.steps.get(..self.along).unwrap_or_default(),
        }
    }

    /// Enters the directory `name` if the trail holds it.
    pub(super) fn enter_again(&mut self, name: &OsStr) -> Result<bool, WalkError> {
        let Root::Of(trail) = &self.root else {
            return Ok(false);
        };
        let is_next = |step: &Step<_>| step.name == name && self.steps.is_empty();
        if !trail.steps.get(self.along).is_some_and(is_next) {
            return Ok(false);
        }
        if self.policy.directories != Directories::None {
            self.judge_here()?;
        }
        self.along += 1;
        Ok(true)
    }

    /// From here on, the directories are no longer those that the path itself names.
    pub(super) fn turn(&mut self) {
        let straight = self.straight.unwrap_or(self.steps.len());
        self.straight = Some(straight.min(self.steps.len()));
    }

    /// Adds an open directory. It judges the directory that holds it now, because that
    /// one is no longer the last.
    pub(super) fn enter(
        &mut self,
        handle: F::Handle,
        stat: Stat,
        name: OsString,
    ) -> Result<(), WalkError> {
        if self.policy.directories != Directories::None {
            self.judge_here()?;
        }
        if self.along + self.steps.len() == MAX_DEPTH {
            return Err(WalkError::Missing);
        }
        let mount = self.mount_of(&handle, &stat, &name)?;
        self.steps.push(Step {
            handle,
            stat,
            name,
            mount,
            judged: false,
        });
        Ok(())
    }

    /// One directory up: to the one that the walk passed, not to the one that is above
    /// now. `/` is above itself.
    pub(super) fn back(&mut self) {
        if self.steps.pop().is_none() {
            self.along = self.along.saturating_sub(1);
        }
        self.turn();
    }

    pub(super) fn back_to_root(&mut self) {
        self.along = 0;
        self.steps.clear();
        self.turn();
    }

    /// The mount of something in this directory. A mount of another file system always
    /// has another device number.
    fn mount_of(&self, handle: &F::Handle, stat: &Stat, name: &OsStr) -> Result<Mount, WalkError> {
        let mount = match stat.device == self.here().stat.device {
            true => self.here().mount,
            false => self.walker.files.mount(handle, stat)?,
        };
        match mount {
            Mount::Kernel => Err(self.distrust(Why::KernelFileSystem, name).into()),
            Mount::Ordinary | Mount::AnothersOwn | Mount::WithoutOwners => Ok(mount),
        }
    }

    fn judge_here(&mut self) -> Result<(), WalkError> {
        let here = self.here();
        if here.judged {
            return Ok(());
        }
        self.judge(&here.handle, &here.stat, here.mount, false, OsStr::new(""))?;
        match (self.steps.last_mut(), &mut self.root) {
            (Some(step), _) | (None, Root::Own(step)) => step.judged = true,
            (None, Root::Of(_)) => {}
        }
        Ok(())
    }

    /// The walk follows a link only if the user or root made it, in a directory into
    /// which nobody else could have moved it.
    pub(super) fn judge_link(&mut self, stat: &Stat, name: &OsStr) -> Result<(), WalkError> {
        self.judge_here()?;
        let here = self.here();
        match trust::link(stat, here.mount, here.stat.is_shared(), self.user) {
            None => Ok(()),
            Some(why) => Err(self.distrust(why, name).into()),
        }
    }

    fn judge(
        &self,
        handle: &F::Handle,
        stat: &Stat,
        mount: Mount,
        shared: bool,
        name: &OsStr,
    ) -> Result<(), WalkError> {
        let own_group = || -> Result<bool, WalkError> {
            Ok(self.policy.groups && group::is_of_user_alone(self.walker, stat.group)?)
        };
        let seat = Seat {
            shared,
            hidden_writers: self.walker.files.has_hidden_writers(handle, stat)?,
        };
        match trust::object(stat, mount, seat, self.user, own_group)? {
            None => Ok(()),
            Some(why) => Err(self.distrust(why, name).into()),
        }
    }

    fn distrust(&self, why: Why, name: &OsStr) -> Distrust {
        let passed = self.trail_steps().iter().chain(&self.steps);
        let passed = passed.map(|step| &*step.name);
        let path = paths::path(passed.chain([name].into_iter().filter(|name| !name.is_empty())));
        Distrust { path, why }
    }

    /// Ends the walk in this directory.
    pub(super) fn end(mut self) -> Result<Option<Walked<F::Handle>>, WalkError> {
        if self.policy.directories == Directories::All {
            self.judge_here()?;
        }
        Ok(self.into_walked(None, OsString::new()))
    }

    /// Ends the walk with this open file, which is in this directory.
    pub(super) fn end_with(
        mut self,
        file: F::Handle,
        name: &OsStr,
    ) -> Result<Option<Walked<F::Handle>>, WalkError> {
        self.judge_here()?;
        let stat = self.walker.files.stat(&file)?;
        if stat.kind != Kind::File {
            return Err(WalkError::NotAFile);
        }
        let mount = self.mount_of(&file, &stat, name)?;
        self.judge(&file, &stat, mount, self.here().stat.is_shared(), name)?;
        Ok(self.into_walked(Some((file, stat)), OsString::new()))
    }

    /// None means that the walk ended in a directory of the trail: then there is no
    /// handle to give to the caller.
    pub(super) fn into_walked(
        self,
        file: Option<(F::Handle, Stat)>,
        name: OsString,
    ) -> Option<Walked<F::Handle>> {
        let trail = self.trail_steps().iter().map(|step| step.stat.id());
        let mut passed: Vec<_> = trail.collect();
        passed.extend(self.steps.iter().map(|step| step.stat.id()));
        let Self {
            root,
            mut steps,
            straight,
            ..
        } = self;
        let (root, root_id) = match root {
            Root::Own(root) => {
                let id = root.stat.id();
                (Some(root), id)
            }
            Root::Of(trail) => (None, trail.root.stat.id()),
        };
        let is_at_root = passed.is_empty();
        passed.push(root_id);
        let (handle, stat, root) = match (file, root) {
            (Some((handle, stat)), root) => (handle, stat, root),
            (None, Some(root)) if is_at_root => (root.handle, root.stat, None),
            (None, root) => {
                let last = steps.pop()?;
                (last.handle, last.stat, root)
            }
        };
        Some(Walked {
            handle,
            stat,
            name,
            passed,
            straight: straight.unwrap_or(steps.len()),
            root,
            steps,
        })
    }
}

impl<H> Walked<H> {
    /// The end of the walk, and the trail to it if the walk began at `/` itself.
    pub(crate) fn into_trail(self) -> (H, Stat, Option<Trail<H>>) {
        let Self {
            handle,
            stat,
            straight,
            root,
            mut steps,
            ..
        } = self;
        steps.truncate(straight);
        (handle, stat, root.map(|root| Trail { root, steps }))
    }
}
