//! `host/src/map/live.rs` and `stamp.rs`, as they were.

use super::trust::{Access, Way};
use crate::files::{Files, Handle};
use keyhole::{
    Location, Map,
    walk::{Fault, FileSystem as _, Kind, LOOKS, QUIET, Stat, Time},
};
use std::rc::Rc;

/// The identity of a file, and of one state of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    id: (u64, u64),
    size: u64,
    modified: Time,
    changed: Time,
}

#[derive(Debug, Default)]
pub(crate) struct Live {
    seen: Option<Seen>,
}

#[derive(Debug)]
struct Seen {
    stamp: Stamp,
    way: Way,
    outcome: Result<Rc<Map>, String>,
}

impl Live {
    pub(super) fn current(&mut self, files: &Files, at: &Location) -> Result<Rc<Map>, String> {
        let path = at.file().to_str().unwrap();
        let (_, stat) = look(files, path).inspect_err(|_| self.seen = None)?;
        if let Some(seen) = &self.seen
            && seen.stamp == Stamp::of(&stat)
            && Way::to(files, path).is_ok_and(|way| way == seen.way)
        {
            return seen.outcome.clone();
        }
        self.seen = None;
        let mut before = None;
        for _ in 0..LOOKS {
            let (file, stat) = look(files, path)?;
            let stamp = Stamp::of(&stat);
            if !stat.is_settled(files.now()) && before != Some(stamp) {
                before = Some(stamp);
                files.pause(QUIET);
                continue;
            }
            let Some(way) = way(files, path, &stat)? else {
                continue;
            };
            let bytes = read(files, &file, &way);
            let after = files.stat(&file).map_err(unreadable)?;
            if Stamp::of(&after) != stamp {
                continue;
            }
            let outcome = bytes
                .and_then(|bytes| Map::parse(&bytes, at).map_err(|error| format!("{error:?}")))
                .map(Rc::new);
            self.seen = stat.is_reliable(files.now()).then(|| Seen {
                stamp,
                way,
                outcome: outcome.clone(),
            });
            return outcome;
        }
        Err("unsettled".into())
    }
}

fn look(files: &Files, path: &str) -> Result<(Handle, Stat), String> {
    let file = files.open_path(path, true).map_err(unreadable)?;
    let stat = files.stat(&file).map_err(unreadable)?;
    match stat.kind {
        Kind::File => Ok((file, stat)),
        _ => Err("no file".into()),
    }
}

/// The path to the file. None means that somebody replaced the file in the meantime.
fn way(files: &Files, path: &str, stat: &Stat) -> Result<Option<Way>, String> {
    let look = || -> Result<_, Fault> {
        let way = Way::to(files, path)?;
        let (_, there) = files.metadata(path)?;
        Ok((stat.id() == there.id()).then_some(way))
    };
    match look() {
        Ok(found) => Ok(found),
        Err(Fault::Missing) => Ok(None),
        Err(fault) => Err(unreadable(fault)),
    }
}

fn read(files: &Files, file: &Handle, way: &Way) -> Result<Vec<u8>, String> {
    let stat = files.stat(file).map_err(unreadable)?;
    Access::of(&stat).check_file()?;
    way.check()?;
    super::binding::read_all(files, file).map_err(unreadable)
}

pub(super) fn unreadable(fault: Fault) -> String {
    format!("unreadable: {fault:?}")
}

impl Stamp {
    fn of(stat: &Stat) -> Self {
        Self {
            id: stat.id(),
            size: stat.size,
            modified: stat.modified,
            changed: stat.changed,
        }
    }
}
