//! The guest's part of a call: its own code, over the one file that the host grants
//! it. Here the host does for the guest what the sandbox's file calls do, step by step,
//! by the same rules for a file at rest.

use keyhole::walk::{self, FileSystem, Kind, LOOKS, QUIET, Stat};
use keyhole_guest::{Directory, Fault, File, Grant, Grants, LoadError};
use std::{
    cell::RefCell,
    ffi::OsStr,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// How long nobody must have changed an empty file: the host's own value.
const QUIET_EMPTY: Duration = Duration::from_millis(200);

/// Loads the granted name of `directory`, as the component would.
///
/// # Errors
/// The contract's case, by name.
pub fn load<F: FileSystem>(
    files: &F,
    directory: F::Handle,
    name: &str,
    max_bytes: u64,
) -> Result<String, String> {
    let granted = GrantedDirectory {
        files,
        directory,
        max_bytes,
    };
    let grant = OneGrant { name, max_bytes };
    said(keyhole_guest::load("k", &grant, Some(&granted)))
}

pub(crate) fn said(answer: Result<String, LoadError>) -> Result<String, String> {
    answer.map_err(|error| error.name().to_owned())
}

/// The grant of this call.
pub(crate) struct OneGrant<'a> {
    pub(crate) name: &'a str,
    pub(crate) max_bytes: u64,
}

impl Grants for OneGrant<'_> {
    fn find(&self, _: &str) -> Option<Grant> {
        Some(Grant {
            name: self.name.to_owned(),
            max_bytes: self.max_bytes,
        })
    }
}

struct GrantedDirectory<'a, F: FileSystem> {
    files: &'a F,
    directory: F::Handle,
    max_bytes: u64,
}

struct GrantedFile<'a, F: FileSystem> {
    files: &'a F,
    handle: F::Handle,
    /// What its `stat` was when it was found at rest, until the guest asks for it; and
    /// how often the call may still wait.
    state: RefCell<(Option<Stat>, usize)>,
    /// The guest reads nothing from here on.
    end: u64,
    /// Whether its times show every change.
    is_reliable: bool,
}

impl<'a, F: FileSystem> Directory for GrantedDirectory<'a, F> {
    type File = GrantedFile<'a, F>;

    fn is_regular(&self, name: &str) -> Result<bool, Fault> {
        let held = self.files.hold(&self.directory, OsStr::new(name));
        let stat = held
            .and_then(|held| self.files.stat(&held))
            .map_err(fault)?;
        match stat.kind {
            Kind::Link => Err(Fault::Escapes),
            kind => Ok(kind == Kind::File),
        }
    }

    fn open(&self, name: &str) -> Result<GrantedFile<'a, F>, Fault> {
        let opened = self.files.open(&self.directory, OsStr::new(name));
        let handle = opened.map_err(fault)?;
        let mut looks = LOOKS;
        let (stat, is_reliable) = settle(self.files, &handle, self.max_bytes, &mut looks)?;
        Ok(GrantedFile {
            files: self.files,
            handle,
            state: RefCell::new((Some(stat), looks)),
            end: stat.size.min(self.max_bytes).saturating_add(1),
            is_reliable,
        })
    }
}

/// Waits until the file is at rest.
fn settle<F: FileSystem>(
    files: &F,
    file: &F::Handle,
    max_bytes: u64,
    looks: &mut usize,
) -> Result<(Stat, bool), Fault> {
    let mut stat = look(files, file)?;
    loop {
        if stat.size > max_bytes {
            return Ok((stat, true));
        }
        let is_reliable = stat.is_reliable(files.now());
        if !is_reliable {
            wait(files, looks, QUIET)?;
        } else if !is_settled(&stat, files.now()) {
            let quiet = match stat.size {
                0 => QUIET_EMPTY,
                _ => QUIET,
            };
            wait(files, looks, quiet)?;
            stat = look(files, file)?;
            continue;
        }
        files.settle(file);
        let again = look(files, file)?;
        if again == stat {
            return Ok((stat, is_reliable));
        }
        stat = again;
        wait(files, looks, QUIET)?;
    }
}

/// Whether nobody has changed it for long enough: for longer if the file is empty.
fn is_settled(stat: &Stat, now: SystemTime) -> bool {
    let changed = UNIX_EPOCH + Duration::new(stat.changed.0 as u64, stat.changed.1 as u32);
    let age = now.duration_since(changed);
    stat.is_settled(now) && (stat.size > 0 || age.is_ok_and(|age| age >= QUIET_EMPTY))
}

/// Waits once, and counts this as the number of looks that take as long.
fn wait<F: FileSystem>(files: &F, looks: &mut usize, time: Duration) -> Result<(), Fault> {
    let cost = time.as_millis() / QUIET.as_millis();
    let left = usize::try_from(cost)
        .ok()
        .and_then(|cost| looks.checked_sub(cost));
    *looks = left.ok_or(unsettled())?;
    files.pause(time);
    Ok(())
}

fn look<F: FileSystem>(files: &F, file: &F::Handle) -> Result<Stat, Fault> {
    let stat = files.stat(file).map_err(fault)?;
    match stat.kind {
        Kind::File => Ok(stat),
        _ => Err(Fault::NotAFile),
    }
}

impl<F: FileSystem> File for GrantedFile<'_, F> {
    fn stat(&self) -> Result<keyhole_guest::Stat, Fault> {
        let (first, looks) = &mut *self.state.borrow_mut();
        let stat = match first.take() {
            Some(stat) => stat,
            None => {
                if !self.is_reliable {
                    wait(self.files, looks, QUIET)?;
                    self.files.settle(&self.handle);
                }
                look(self.files, &self.handle)?
            }
        };
        Ok(told(&stat, self.is_reliable))
    }

    fn read(&self, len: u64, offset: u64) -> Result<Vec<u8>, Fault> {
        let len = len.min(self.end.saturating_sub(offset));
        let mut bytes = vec![0; len as usize];
        if bytes.is_empty() {
            return Ok(bytes);
        }
        let read = self.files.read(&self.handle, &mut bytes, offset);
        bytes.truncate(read.map_err(fault)?);
        Ok(bytes)
    }
}

/// What the guest sees. Times that do not show every change are left out.
pub(crate) fn told(stat: &Stat, is_reliable: bool) -> keyhole_guest::Stat {
    let time = |(seconds, nanoseconds): walk::Time| {
        let told = (seconds.try_into().ok()?, nanoseconds.try_into().ok()?);
        is_reliable.then_some(told)
    };
    keyhole_guest::Stat {
        regular: stat.kind == Kind::File,
        size: stat.size,
        modified: time(stat.modified),
        changed: time(stat.changed),
    }
}

/// The sandbox's answer for a file that does not come to rest.
fn unsettled() -> Fault {
    Fault::Unsettled
}

/// The guest's reading of the sandbox's name for a refusal.
pub(crate) fn fault(fault: walk::Fault) -> Fault {
    match fault {
        walk::Fault::Missing => Fault::Missing,
        walk::Fault::Denied => Fault::Denied,
        walk::Fault::IsLink => Fault::Escapes,
        walk::Fault::NotAFile => Fault::NotAFile,
        walk::Fault::Busy => Fault::Unsettled,
        walk::Fault::OutOfResources | walk::Fault::Failed(_) => Fault::Other,
    }
}
