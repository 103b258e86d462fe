//! The way from a path to a node, by the kernel's rules. It notes what a look-up has
//! looked at, to know which changes the look-up would have seen.

use crate::disk::{Disk, Id, Node, Who, X};
use keyhole_walk::SystemError;
use std::sync::Arc;

/// Something that one party may look at and another may change.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// What this name in this directory stands for.
    Name(Id, Arc<str>),
    /// The mode, owner, times or content of a node.
    Node(Id),
    /// Which inode numbers are free.
    Numbers,
    Clock,
    /// All of these, for everything that changes with the time.
    All,
}

/// Whether a look at `looked` shows a change of `written`.
pub(crate) fn meet(written: &[Part], looked: &[Part]) -> bool {
    let meets = |w: &Part, l: &Part| w == l || *w == Part::All || *l == Part::All;
    written.iter().any(|w| looked.iter().any(|l| meets(w, l)))
}

const MAX_LINKS: usize = 40;

impl Disk {
    /// What `name` is in `directory`.
    pub(crate) fn child(
        &self,
        directory: Id,
        name: &str,
        who: Who,
        looked: &mut Vec<Part>,
    ) -> Result<Id, SystemError> {
        looked.push(Part::Node(directory));
        looked.push(Part::Name(directory, name.into()));
        let entries = self.nodes[directory]
            .entries()
            .ok_or(SystemError::Missing)?;
        if !self.nodes[directory].lets(who, X) {
            return Err(SystemError::Denied);
        }
        entries.get(name).copied().ok_or(SystemError::Missing)
    }

    /// The node at `path`. It follows links on the way, and a link at the last name only if
    /// `follow` says so.
    pub(crate) fn find(
        &self,
        path: &str,
        who: Who,
        follow: bool,
        looked: &mut Vec<Part>,
    ) -> Result<Id, SystemError> {
        let mut passed = Vec::new();
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
                        return Err(SystemError::IsLink);
                    }
                    if target.starts_with('/') {
                        passed.clear();
                    }
                    names.extend(target.rsplit('/').map(str::to_owned));
                }
                _ => passed.push(found),
            }
        }
        Ok(passed.pop().unwrap_or(0))
    }

    /// The directory that has the last name of `path`, and that name.
    pub(crate) fn parent(
        &self,
        path: &str,
        who: Who,
        looked: &mut Vec<Part>,
    ) -> Result<(Id, Arc<str>), SystemError> {
        let (directory, name) = path.rsplit_once('/').ok_or(SystemError::Missing)?;
        Ok((self.find(directory, who, true, looked)?, name.into()))
    }

    /// A node's path, for a story.
    pub(crate) fn name_of(&self, id: Id) -> String {
        fn below(disk: &Disk, at: Id, id: Id) -> Option<String> {
            disk.nodes[at].entries()?.iter().find_map(|(name, child)| {
                if *child == id {
                    return Some(format!("/{name}"));
                }
                Some(format!("/{name}{}", below(disk, *child, id)?))
            })
        }
        match id {
            0 => "/".into(),
            id => below(self, 0, id).unwrap_or_else(|| "(no name any more)".into()),
        }
    }
}
