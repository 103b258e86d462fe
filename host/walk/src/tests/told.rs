//! The real file system, except for what it is told to report.

use crate::{
    DistrustReason, FileSystem, GroupFiles, Handle, Kind, Stat, System, SystemError, Writers,
};
use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    ffi::{OsStr, OsString},
    fs,
    os::unix::fs::MetadataExt as _,
    path::Path,
    sync::OnceLock,
    time::{Duration, SystemTime},
};

type Id = (u64, u64);

pub(crate) struct Told {
    /// What is different in the report of an object.
    pub(crate) stats: HashMap<Id, fn(&mut Stat)>,
    /// What is different in all reports.
    pub(crate) all_stats: fn(&mut Stat),
    /// What reading a file gives instead of its content.
    pub(crate) contents: HashMap<Id, &'static [u8]>,
    pub(crate) user: Option<u32>,
    pub(crate) groups: OnceLock<GroupFiles>,
    /// How often it reports that a last name is a link.
    pub(crate) links: Cell<usize>,
    /// How many objects it was asked to hold.
    pub(crate) held: Cell<usize>,
    /// What happens in each hold.
    pub(crate) at_hold: Box<dyn Fn(usize)>,
    /// The most that each read may return; and what each read asked for, and from where.
    pub(crate) at_most: usize,
    pub(crate) reads: RefCell<Vec<(usize, u64)>>,
    /// What happens behind each read.
    pub(crate) then: Box<dyn Fn(usize)>,
    pub(crate) now: Cell<SystemTime>,
    /// For how long time passed, each time, and what happens meanwhile.
    pub(crate) pauses: RefCell<Vec<Duration>>,
    pub(crate) meanwhile: Box<dyn Fn(usize)>,
}

impl Default for Told {
    fn default() -> Self {
        Self {
            stats: HashMap::new(),
            all_stats: |_| {},
            contents: HashMap::new(),
            user: System.user(),
            groups: OnceLock::new(),
            links: Cell::new(0),
            held: Cell::new(0),
            at_hold: Box::new(|_| {}),
            at_most: usize::MAX,
            reads: RefCell::default(),
            then: Box::new(|_| {}),
            now: Cell::new(SystemTime::now()),
            pauses: RefCell::default(),
            meanwhile: Box::new(|_| {}),
        }
    }
}

impl Told {
    /// With this difference in what the object at `path` reports.
    pub(crate) fn of(path: &Path, differs: fn(&mut Stat)) -> Self {
        Self {
            stats: HashMap::from([(id(path), differs)]),
            ..Self::default()
        }
    }

    /// With these bytes as the content of the file at `path`.
    pub(crate) fn holding(mut self, path: &str, bytes: &'static [u8]) -> Self {
        self.contents.insert(id(Path::new(path)), bytes);
        self
    }

    fn says_link(&self) -> bool {
        let left = self.links.get();
        self.links.set(left.saturating_sub(1));
        left > 0
    }

    fn differs(&self, mut stat: Stat) -> Stat {
        (self.all_stats)(&mut stat);
        if let Some(differs) = self.stats.get(&stat.id()) {
            differs(&mut stat);
        }
        stat
    }

    fn opened(&self, (handle, stat): (Handle, Stat)) -> (Handle, Stat) {
        (handle, self.differs(stat))
    }
}

fn id(path: &Path) -> Id {
    let found = fs::symlink_metadata(path).unwrap();
    (found.dev(), found.ino())
}

impl FileSystem for Told {
    type Handle = Handle;

    fn root(&self) -> Result<(Handle, Stat), SystemError> {
        Ok(self.opened(System.root()?))
    }

    fn hold(&self, directory: &Handle, name: &OsStr) -> Result<(Handle, Stat), SystemError> {
        self.held.set(self.held.get() + 1);
        (self.at_hold)(self.held.get());
        Ok(self.opened(System.hold(directory, name)?))
    }

    fn kind(&self, directory: &Handle, name: &OsStr) -> Result<Kind, SystemError> {
        match self.says_link() {
            true => Ok(Kind::Link),
            false => System.kind(directory, name),
        }
    }

    fn open(&self, directory: &Handle, name: &OsStr) -> Result<(Handle, Stat), SystemError> {
        match self.says_link() {
            true => Err(SystemError::IsLink),
            false => Ok(self.opened(System.open(directory, name)?)),
        }
    }

    fn stat(&self, handle: &Handle) -> Result<Stat, SystemError> {
        Ok(self.differs(System.stat(handle)?))
    }

    fn read_link(
        &self,
        link: &Handle,
        directory: &Handle,
        name: &OsStr,
    ) -> Result<OsString, SystemError> {
        System.read_link(link, directory, name)
    }

    fn mount(&self, handle: &Handle, stat: &Stat) -> Result<Option<DistrustReason>, SystemError> {
        System.mount(handle, stat)
    }

    fn writing_groups(&self, handle: &Handle, stat: &Stat) -> Result<Writers, SystemError> {
        System.writing_groups(handle, stat)
    }

    fn read(&self, file: &Handle, bytes: &mut [u8], offset: u64) -> Result<usize, SystemError> {
        self.reads.borrow_mut().push((bytes.len(), offset));
        assert!(self.reads.borrow().len() < 100, "it reads without end");
        let most = bytes.len().min(self.at_most);
        let bytes = bytes.get_mut(..most).unwrap();
        let got = match self.contents.get(&System.stat(file)?.id()) {
            None => System.read(file, bytes, offset)?,
            Some(content) => {
                let rest = content.get(offset as usize..).unwrap_or_default();
                let got = rest.len().min(most);
                bytes[..got].copy_from_slice(&rest[..got]);
                got
            }
        };
        (self.then)(self.reads.borrow().len());
        Ok(got)
    }

    fn user(&self) -> Option<u32> {
        self.user
    }

    fn is_known(&self, group: u32) -> bool {
        System.is_known(group)
    }

    fn groups(&self) -> &OnceLock<GroupFiles> {
        &self.groups
    }

    fn now(&self) -> SystemTime {
        self.now.get()
    }

    fn pause(&self, time: Duration) {
        self.pauses.borrow_mut().push(time);
        (self.meanwhile)(self.pauses.borrow().len());
    }
}
