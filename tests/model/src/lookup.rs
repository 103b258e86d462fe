//! The way from a path to a node, by the kernel's rules. It notes what a look-up has
//! looked at, to know which changes the look-up would have seen.

use crate::disk::{Disk, Id, Node, Who, X};
use keyhole::walk::Fault;
use std::rc::Rc;

/// Something that one party may look at and another may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// What this name in this directory stands for.
    Name(Id, Rc<str>),
    /// The mode, owner, times or content of a node.
    Node(Id),
    /// Which inode numbers are free.
    Numbers,
    /// What time it is.
    Clock,
    /// All of these, for everything that changes with the time.
    All,
}

impl Part {
    /// Whether a look at the one shows a change of the other.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        self == other || *self == Self::All || *other == Self::All
    }
}

/// Whether a look at `looked` shows a change of `written`.
#[must_use]
pub fn meet(written: &[Part], looked: &[Part]) -> bool {
    written.iter().any(|w| looked.iter().any(|l| w.meets(l)))
}

const MAX_LINKS: usize = 40;

impl Disk {
    /// What `name` is in `directory`.
    ///
    /// # Errors
    /// As `openat`'s.
    pub fn child(
        &self,
        directory: Id,
        name: &str,
        who: Who,
        looked: &mut Vec<Part>,
    ) -> Result<Id, Fault> {
        looked.push(Part::Node(directory));
        looked.push(Part::Name(directory, name.into()));
        let entries = self.nodes[directory].entries().ok_or(Fault::Missing)?;
        if !self.nodes[directory].lets(who, X) {
            return Err(Fault::Denied);
        }
        entries.get(name).copied().ok_or(Fault::Missing)
    }

    /// The node at `path`. It follows links on the way, and a link at the last name only if
    /// `follow` says so.
    ///
    /// # Errors
    /// As the kernel's; [`Fault::IsLink`] if there are too many links.
    pub fn find(
        &self,
        path: &str,
        who: Who,
        follow: bool,
        looked: &mut Vec<Part>,
    ) -> Result<Id, Fault> {
        let mut passed = Vec::new();
        self.walk(path, who, follow, &mut passed, looked)?;
        Ok(passed.pop().unwrap_or(0))
    }

    /// The directory that has the last name of `path`, and that name.
    ///
    /// # Errors
    /// As the kernel's.
    pub fn parent(
        &self,
        path: &str,
        who: Who,
        looked: &mut Vec<Part>,
    ) -> Result<(Id, Rc<str>), Fault> {
        let (directory, name) = path.rsplit_once('/').ok_or(Fault::Missing)?;
        Ok((self.find(directory, who, true, looked)?, name.into()))
    }

    /// `passed` is the start of the walk, and what the walk passed; empty means `/`.
    fn walk(
        &self,
        path: &str,
        who: Who,
        follow: bool,
        passed: &mut Vec<Id>,
        looked: &mut Vec<Part>,
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
                    looked.push(Part::Node(found));
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
