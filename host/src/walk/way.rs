//! How far a walk has come: the names that are left, and the directories that it
//! passed, all of them held.

use super::{
    Directories, Distrust, FileSystem, Kind, Mount, Policy, Stat, WalkError, Walked, Walker, Why,
    group, paths,
    trust::{self, Seat},
};
use std::ffi::{OsStr, OsString};

/// The longest chain of directories, in names. PATH_MAX allows 2048 names of one
/// character; each one holds a descriptor until the walk ends.
const MAX_DEPTH: usize = 128;

/// A directory on the way, held.
pub(super) struct Step<H> {
    pub(super) handle: H,
    stat: Stat,
    /// As it was called where it was found.
    name: OsString,
    mount: Mount,
    /// Whether it was found to be trusted. Nobody asks twice.
    judged: bool,
}

/// The names that are still to be walked, last first.
#[derive(Default)]
pub(super) struct Names(Vec<OsString>);

impl Names {
    /// Puts the names of `path` before all others. Empty ones and `.` are left out,
    /// but at the end: there they say that what comes before is a directory.
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
}

/// The directories from `/` to where the walk has come, all of them held.
pub(super) struct Way<'a, F: FileSystem> {
    walker: &'a Walker<F>,
    policy: Policy,
    user: u32,
    root: Step<F::Handle>,
    steps: Vec<Step<F::Handle>>,
}

impl<'a, F: FileSystem> Way<'a, F> {
    pub(super) fn from_root(walker: &'a Walker<F>, policy: Policy) -> Result<Self, WalkError> {
        let handle = walker.files.root()?;
        let stat = walker.files.stat(&handle)?;
        Ok(Self {
            walker,
            policy,
            user: walker.files.user(),
            root: Step {
                handle,
                stat,
                name: OsString::new(),
                // Whose `/` is, everything is.
                mount: Mount::Ordinary,
                judged: false,
            },
            steps: Vec::new(),
        })
    }

    pub(super) fn here(&self) -> &Step<F::Handle> {
        self.steps.last().unwrap_or(&self.root)
    }

    /// Holds one directory more. The one that it stands in is judged now, as it is
    /// no longer the last.
    pub(super) fn enter(
        &mut self,
        handle: F::Handle,
        stat: Stat,
        name: OsString,
    ) -> Result<(), WalkError> {
        if self.policy.directories != Directories::None {
            self.judge_here()?;
        }
        if self.steps.len() == MAX_DEPTH {
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

    /// One directory up, to the one that was passed, not to what is above by now.
    /// `/` is above itself.
    pub(super) fn back(&mut self) {
        self.steps.pop();
    }

    pub(super) fn back_to_root(&mut self) {
        self.steps.clear();
    }

    /// The mount that something in this directory belongs to. Only another device
    /// number can mean another mount of another file system.
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
        self.steps.last_mut().unwrap_or(&mut self.root).judged = true;
        Ok(())
    }

    /// A link is followed only if the user or root made it, in a directory where no
    /// other could have moved it to.
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
        let passed = self.steps.iter().map(|step| &*step.name);
        let path = paths::path(passed.chain([name].into_iter().filter(|name| !name.is_empty())));
        Distrust { path, why }
    }

    /// The walk ends in this directory.
    pub(super) fn end(mut self) -> Result<Walked<F::Handle>, WalkError> {
        if self.policy.directories == Directories::All {
            self.judge_here()?;
        }
        Ok(self.into_walked(None, OsString::new()))
    }

    /// The walk ends with this open file in this directory.
    pub(super) fn end_with(
        mut self,
        file: F::Handle,
        name: &OsStr,
    ) -> Result<Walked<F::Handle>, WalkError> {
        self.judge_here()?;
        let stat = self.walker.files.stat(&file)?;
        if stat.kind != Kind::File {
            return Err(WalkError::NotAFile);
        }
        let mount = self.mount_of(&file, &stat, name)?;
        self.judge(&file, &stat, mount, self.here().stat.is_shared(), name)?;
        Ok(self.into_walked(Some((file, stat)), OsString::new()))
    }

    pub(super) fn into_walked(
        self,
        file: Option<(F::Handle, Stat)>,
        name: OsString,
    ) -> Walked<F::Handle> {
        let Self {
            root, mut steps, ..
        } = self;
        let mut passed = vec![root.stat.id()];
        passed.extend(steps.iter().map(|step| step.stat.id()));
        let (handle, stat) = match (file, steps.pop()) {
            (Some(file), last) => {
                steps.extend(last);
                steps.push(root);
                file
            }
            (None, Some(last)) => {
                steps.push(root);
                (last.handle, last.stat)
            }
            (None, None) => (root.handle, root.stat),
        };
        Walked {
            handle,
            stat,
            name,
            passed,
            _held: steps.into_iter().map(|step| step.handle).collect(),
        }
    }
}
