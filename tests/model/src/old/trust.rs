//! `host/src/map/trust.rs`, as it was.

use crate::files::Files;
use keyhole::walk::{Fault, Kind, Stat};

const OTHERS_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;
const ROOT: u32 = 0;
const USER: u32 = crate::disk::JANE.uid;
const MAX_LINKS: usize = 40;

/// The way to a file: the directory of each name, and the links.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Way(Vec<Step>);

#[derive(Debug, PartialEq, Eq)]
struct Step {
    directory: String,
    access: Access,
    link: Option<Access>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    uid: u32,
    mode: u32,
}

impl Way {
    pub(super) fn to(files: &Files, file: &str) -> Result<Self, Fault> {
        let (mut at, mut steps) = (file.to_owned(), Vec::new());
        while steps.len() <= MAX_LINKS {
            let directory = match at.rsplit_once('/') {
                Some((directory, _)) if !directory.is_empty() => directory.to_owned(),
                _ => "/".to_owned(),
            };
            let (_, found) = files.symlink_metadata(&at)?;
            let target = match found.kind {
                Kind::Link => {
                    let target = files.path_of_link(&at)?;
                    Some(match target.starts_with('/') {
                        true => target,
                        false => format!("{directory}/{target}"),
                    })
                }
                _ => None,
            };
            steps.push(Step {
                access: Access::of(&files.metadata(&directory)?.1),
                link: target.is_some().then(|| Access::of(&found)),
                directory,
            });
            match target {
                Some(target) => at = target,
                None => return Ok(Self(steps)),
            }
        }
        Err(Fault::IsLink)
    }

    pub(super) fn check(&self) -> Result<(), String> {
        self.0.iter().try_for_each(|step| {
            step.access.check_directory()?;
            step.link.map_or(Ok(()), |link| link.check(true))
        })
    }
}

impl Access {
    pub(super) fn of(stat: &Stat) -> Self {
        Self {
            uid: stat.owner,
            mode: stat.mode,
        }
    }

    pub(super) fn check_file(self) -> Result<(), String> {
        self.check(self.mode & OTHERS_WRITE == 0)
    }

    fn check_directory(self) -> Result<(), String> {
        self.check(self.mode & OTHERS_WRITE == 0 || self.mode & STICKY != 0)
    }

    fn check(self, closed: bool) -> Result<(), String> {
        match (self.uid == USER || self.uid == ROOT, closed) {
            (true, true) => Ok(()),
            _ => Err("untrusted".into()),
        }
    }
}
