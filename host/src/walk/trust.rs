//! Whether nobody but the user and root could have changed something.
//!
//! An object is trusted if the user or root owns it, and its mode lets nobody else
//! write to it. Root can change anything anyway.
//!
//! In a sticky directory, such as `/tmp`, others may make new names, but not move or
//! remove what belongs to somebody else. So a path may pass it. But an object in it must
//! not have a second name, because that could be a hard link that somebody else made.
//!
//! A group whose only member is the user counts as the user, as in Debian's OpenSSH, so
//! that homes under `umask 002` work. `group.rs` says exactly what this means.

use super::{
    paths::{OWNERS, SHUT},
    system::{Kind, Mount, Stat},
};
use crate::printable::printable;
use std::path::PathBuf;

const OTHERS_WRITE: u32 = 0o002;
const GROUP_WRITE: u32 = 0o020;
/// Only the owner of an object or of its directory may move or remove its name.
const STICKY: u32 = 0o1000;
/// Root can change any file anyway.
const ROOT: u32 = 0;

/// What is not trusted, and why. It is for the user who runs `keyhole check`: it names
/// a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .why.says(&printable(.path)))]
pub struct Distrust {
    /// The directory, link or file, by the path where it was found.
    pub path: PathBuf,
    /// Why it is not trusted.
    pub why: Why,
}

/// Why something is not trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Neither the user nor root owns it.
    ForeignOwner,
    /// Others may write to it.
    WritableByOthers,
    /// It is a file or link with a second name, in a directory where others may
    /// make names; on macOS, a file with a second name anywhere.
    SecondName,
    /// It is in a file system that another user mounted.
    ForeignMount,
    /// It is in a file system that keeps no owners.
    NoOwners,
    /// It is in procfs, sysfs or the like.
    KernelFileSystem,
}

impl Why {
    /// What is wrong with `path`, and what to run.
    fn says(self, path: &str) -> String {
        match self {
            Self::ForeignOwner => format!(
                "{path} belongs to another user, who could change what it leads to; make it your own, or use another place"
            ),
            Self::WritableByOthers => {
                format!("others can write to {path}, and so change what it leads to; {SHUT}")
            }
            Self::SecondName => format!(
                "{path} has a second name, which others could have made; put a copy in its place, in a directory that only you can write to"
            ),
            Self::ForeignMount => {
                format!("{path} is in a file system that another user mounted; use another place")
            }
            Self::NoOwners => format!(
                "{path} is in a file system that keeps no owners, so that every user could change what it leads to; {OWNERS}"
            ),
            Self::KernelFileSystem => format!(
                "{path} is in a file system of the kernel, where no files are kept; use another place"
            ),
        }
    }
}

impl Stat {
    /// Whether others may make names in this trusted directory. If so, it is sticky.
    pub(super) const fn is_shared(&self) -> bool {
        self.mode & STICKY != 0 && self.mode & (OTHERS_WRITE | GROUP_WRITE) != 0
    }
}

/// What the mode of a directory or file does not say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seat {
    /// Others may make names in the directory that holds it.
    pub(super) shared: bool,
    /// An access control list lets others write.
    pub(super) hidden_writers: bool,
}

/// Why a directory or file is not trusted. None means that it is trusted.
///
/// `seat` describes where it is. `own_group` says whether the only member of the
/// object's group is the user; it is called only if this matters.
pub(super) fn object<E>(
    stat: &Stat,
    mount: Mount,
    seat: Seat,
    user: u32,
    own_group: impl FnOnce() -> Result<bool, E>,
) -> Result<Option<Why>, E> {
    if let Some(why) = origin(stat, mount, user) {
        return Ok(Some(why));
    }
    if seat.shared && stat.kind != Kind::Directory && stat.names != 1 {
        return Ok(Some(Why::SecondName));
    }
    if seat.hidden_writers {
        // On macOS, the ACL of a file is only known if the file has one name.
        let by_name = cfg!(target_os = "macos") && stat.kind != Kind::Directory && stat.names != 1;
        return Ok(Some(match by_name {
            true => Why::SecondName,
            false => Why::WritableByOthers,
        }));
    }
    if stat.kind == Kind::Directory && stat.mode & STICKY != 0 {
        return Ok(None);
    }
    if stat.mode & OTHERS_WRITE != 0 || (stat.mode & GROUP_WRITE != 0 && !own_group()?) {
        return Ok(Some(Why::WritableByOthers));
    }
    Ok(None)
}

/// Why a link is not trusted. It has no mode of its own: only its owner counts.
pub(super) fn link(stat: &Stat, mount: Mount, shared: bool, user: u32) -> Option<Why> {
    origin(stat, mount, user).or((shared && stat.names != 1).then_some(Why::SecondName))
}

fn origin(stat: &Stat, mount: Mount, user: u32) -> Option<Why> {
    match mount {
        Mount::Kernel => Some(Why::KernelFileSystem),
        Mount::AnothersOwn => Some(Why::ForeignMount),
        Mount::WithoutOwners => Some(Why::NoOwners),
        Mount::Ordinary if stat.owner != user && stat.owner != ROOT => Some(Why::ForeignOwner),
        Mount::Ordinary => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Distrust, Kind, Mount, Seat, Stat, Why, link, object};

    const USER: u32 = 1000;
    const STRANGER: u32 = 1001;

    fn stat(kind: Kind, mode: u32, owner: u32, names: u64) -> Stat {
        Stat {
            kind,
            mode,
            owner,
            group: 7,
            names,
            device: 1,
            inode: 1,
            size: 0,
            modified: (0, 0),
            changed: (0, 0),
        }
    }

    #[test]
    fn what_the_user_or_root_owns_is_trusted_unless_the_mount_is_anothers() {
        use Mount::{AnothersOwn, Kernel, Ordinary};
        for (mount, owner, why) in [
            (Ordinary, USER, None),
            (Ordinary, 0, None),
            (Ordinary, STRANGER, Some(Why::ForeignOwner)),
            (AnothersOwn, USER, Some(Why::ForeignMount)),
            (Kernel, 0, Some(Why::KernelFileSystem)),
        ] {
            assert_eq!(
                link(&stat(Kind::Link, 0o777, owner, 2), mount, false, USER),
                why
            );
            let seat = Seat {
                shared: false,
                hidden_writers: false,
            };
            let found = object(
                &stat(Kind::File, 0o644, owner, 2),
                mount,
                seat,
                USER,
                || Err("a group that may not write does not matter"),
            );
            assert_eq!(found, Ok(why));
        }
    }

    #[test]
    fn among_names_that_others_may_make_a_second_name_is_not_trusted_but_of_a_directory() {
        let seat = Seat {
            shared: true,
            hidden_writers: false,
        };
        for (kind, names, trusted) in [
            (Kind::File, 1, true),
            (Kind::File, 2, false),
            (Kind::Directory, 2, true),
        ] {
            let found = object(
                &stat(kind, 0o755, USER, names),
                Mount::Ordinary,
                seat,
                USER,
                || Ok::<_, ()>(false),
            );
            assert_eq!(found, Ok((!trusted).then_some(Why::SecondName)));
        }
        for (names, why) in [(1, None), (2, Some(Why::SecondName))] {
            assert_eq!(
                link(
                    &stat(Kind::Link, 0o777, USER, names),
                    Mount::Ordinary,
                    true,
                    USER
                ),
                why
            );
        }
    }

    #[test]
    fn a_directory_is_shared_if_it_is_sticky_and_others_may_write_to_it() {
        for (mode, shared) in [
            (0o1777, true),
            (0o1775, true),
            (0o1757, true),
            (0o1755, false),
            (0o0777, false),
            (0o0755, false),
        ] {
            let stat = stat(Kind::Directory, mode, USER, 2);
            assert_eq!(stat.is_shared(), shared, "{mode:o}");
        }
    }

    #[test]
    fn a_user_is_told_which_path_is_not_trusted_and_why() {
        let mut said = std::collections::BTreeSet::new();
        for (why, what) in [
            (Why::ForeignOwner, "belongs to another user"),
            (Why::WritableByOthers, super::SHUT),
            (Why::SecondName, "second name"),
            (Why::ForeignMount, "another user mounted"),
            (Why::KernelFileSystem, "of the kernel"),
        ] {
            let path = "/home/jane".into();
            let text = Distrust { path, why }.to_string();
            assert!(text.contains("/home/jane") && text.contains(what), "{text}");
            said.insert(text);
        }
        assert_eq!(said.len(), 5);
    }
}
