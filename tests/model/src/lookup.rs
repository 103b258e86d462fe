//! From a path to a node, by the kernel's rules. What a look-up has looked at is
//! noted, so that it is known which changes it would have seen.

use crate::disk::{Disk, Id, Node, Who, X};
use keyhole::walk::Fault;
use std::rc::Rc;

/// Something that one may look at and another change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thing {
    /// What this name in this directory stands for.
    Name(Id, Rc<str>),
    /// The mode, owner, times or content of a node.
    Node(Id),
    /// Which inode numbers are free.
    Numbers,
    /// What time it is.
    Clock,
    /// All of it: for whatever changes with the time.
    All,
}

impl Thing {
    /// Whether a change of the one is seen by who looks at the other.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        self == other || *self == Self::All || *other == Self::All
    }
}

/// Whether a change of `written` is seen by who looks at `looked`.
#[must_use]
pub fn meet(written: &[Thing], looked: &[Thing]) -> bool {
    written.iter().any(|w| looked.iter().any(|l| w.meets(l)))
}

const MAX_LINKS: usize = 40;

impl Disk {
    /// What `name` is in `directory`.
    ///
    /// # Errors
    /// As `openat` would say.
    pub fn child(
        &self,
        directory: Id,
        name: &str,
        who: Who,
        looked: &mut Vec<Thing>,
    ) -> Result<Id, Fault> {
        looked.push(Thing::Node(directory));
        looked.push(Thing::Name(directory, name.into()));
        let entries = self.nodes[directory].entries().ok_or(Fault::Missing)?;
        if !self.nodes[directory].lets(who, X) {
            return Err(Fault::Denied);
        }
        entries.get(name).copied().ok_or(Fault::Missing)
    }

    /// The node at `path`. Links on the way are followed, the last name's only if
    /// `follow` says so.
    ///
    /// # Errors
    /// As the kernel would say; [`Fault::IsLink`] if there are too many of them.
    pub fn find(
        &self,
        path: &str,
        who: Who,
        follow: bool,
        looked: &mut Vec<Thing>,
    ) -> Result<Id, Fault> {
        let mut passed = Vec::new();
        self.walk(path, who, follow, &mut passed, looked)?;
        Ok(passed.pop().unwrap_or(0))
    }

    /// The directory that the last name of `path` stands in, and that name.
    ///
    /// # Errors
    /// As the kernel would say.
    pub fn parent(
        &self,
        path: &str,
        who: Who,
        looked: &mut Vec<Thing>,
    ) -> Result<(Id, Rc<str>), Fault> {
        let (directory, name) = path.rsplit_once('/').ok_or(Fault::Missing)?;
        Ok((self.find(directory, who, true, looked)?, name.into()))
    }

    /// `passed` is where the walk begins, and what it passed; empty means `/`.
    fn walk(
        &self,
        path: &str,
        who: Who,
        follow: bool,
        passed: &mut Vec<Id>,
        looked: &mut Vec<Thing>,
    ) -> Result<(), Fault> {
        let mut names: Vec<String> = path.rsplit('/').map(str::to_owned).collect();
        let mut links = 0;
        while let Some(name) = names.pop() {
            match &*name {
                "" | "." => continue,
                ".." => {
                    passed.pop();
                    continue;
                }
                _ => {}
            }
            let found = self.child(passed.last().copied().unwrap_or(0), &name, who, looked)?;
            match &self.nodes[found].node {
                Node::Link(target) if follow || !names.is_empty() => {
                    looked.push(Thing::Node(found));
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(Fault::IsLink);
                    }
                    if target.starts_with('/') {
                        passed.clear();
                    }
                    names.extend(target.rsplit('/').map(str::to_owned));
                }
                _ => passed.push(found),
            }
        }
        Ok(())
    }
}
