//! Whether nobody but the user and root could have changed something.
//!
//! An object is trusted if the user or root owns it, and its mode lets nobody else write to it.
//! Root can change anything anyway. This holds for the map, a mapped file, a root, every link on
//! the way to one of them, and every directory from `/` on. So a directory that several users share
//! is refused, as OpenSSH refuses it (`StrictModes`): whoever may write there could put one of the
//! user's own files in the place of another.
//!
//! In a sticky directory, such as `/tmp`, others may create files, but not move or remove
//! what belongs to somebody else. So a path may pass it, to a directory. But a file or a link
//! in it is refused: somebody else could have moved it there from a directory that is not
//! sticky, or made a hard link to it. So is a directory in which others may create files: to
//! move a directory, one needs the right to write to it, and a sticky one gives that.
//!
//! A group whose only member is the user counts as the user, as in Debian's OpenSSH, so
//! that homes under `umask 002` work. `group.rs` says exactly what this means.
//!
//! Whoever changes this rule also changes the words of `check`, and the rule for users in
//! docs/map.md. The new rule needs a case in the tests of `walk`, and a scene in
//! tests/model/src/scenes/trust.rs.

use crate::{FileSystem, Kind, Policy, Stat, WalkError, Walker, printable::printable};
use std::path::PathBuf;

const OTHERS_WRITE: u32 = 0o002;
pub(crate) const GROUP_WRITE: u32 = 0o020;
/// Only the owner of an object or of its directory may move or remove its name.
const STICKY: u32 = 0o1000;
/// Root can change any file anyway.
pub(crate) const ROOT: u32 = 0;

/// What is not trusted, and why. It is for the user who runs `keyhole check`: it names a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .why.says(&printable(.path)))]
pub struct Distrust {
    /// The directory, link or file, by the path where it was found.
    pub path: PathBuf,
    /// Why it is not trusted.
    pub why: DistrustReason,
}

/// Why something is not trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DistrustReason {
    /// Neither the user nor root owns it.
    ForeignOwner,
    /// In this sandbox, nobody can tell who owns it.
    UnknownOwner,
    /// Others may write to it.
    WritableByOthers,
    /// A group may write to it, and nothing shows that the user is alone in that group.
    WritableByGroup,
    /// A group may write to it, and this file does not say who is in it.
    UnknownGroup(&'static str),
    /// It is in a directory where others may create files, and they could have moved it there.
    Movable,
    /// It has an access list, on macOS, that lets somebody change it or cannot be read.
    AccessList,
    /// It is a file with a second name, on macOS.
    SecondName,
    /// It is in a file system that another user mounted, or may have mounted, and who controls
    /// everything that it reports.
    ForeignMount,
    /// It is in a file system that keeps no owners: it tells every user that they own everything.
    NoOwners,
    /// It is in a file system that lets others in, and whose own program decides what they may do.
    Unchecked,
    /// It is in procfs, sysfs or the like, whose content the kernel makes up.
    KernelFileSystem,
    /// The user is the overflow user, as whom the system shows every owner that it cannot name.
    NobodysUser,
}

/// The advice that takes the place of the word `SHUT` in a message.
const SHUT: &str =
    "keep your file, or a copy of it, in a folder that only you can write to, such as ~/private";

/// Where Nix and Guix keep what they built. Root owns it, and a group of builders may write.
const STORES: [&str; 2] = ["/nix/store/", "/gnu/store/"];

impl DistrustReason {
    /// The reason as a sentence for the user, and what to do:
    /// `others can write to /a/b; keep your file, …`. `path` takes the place of `PATH`, and
    /// [`SHUT`] that of `SHUT`. Only for [`Self::Movable`] does the sentence depend on the path:
    /// see [`STORES`].
    fn says(self, path: &str) -> String {
        let is_in_store = STORES.iter().any(|store| path.starts_with(store));
        let said = match self {
            Self::ForeignOwner => "PATH belongs to another user; use another place",
            Self::UnknownOwner => {
                "owners are unknown here: this is a sandbox in which PATH belongs to a user without a number; run keyhole outside of it"
            }
            Self::WritableByOthers => "others can write to PATH; SHUT",
            Self::WritableByGroup => "other users in its group may write to PATH; SHUT",
            Self::UnknownGroup(file) => &format!(
                "a group can write to PATH, and {file} does not say clearly who is in it; SHUT"
            ),
            Self::Movable if is_in_store => {
                "PATH lies directly in a store, where builders can add files; let the link lead to a file outside of the store (in home-manager: mkOutOfStoreSymlink), or put a directory into the store, with the file in it. Every user can read what is in the store"
            }
            Self::Movable => "others can add files beside PATH; move it into a folder of your own",
            Self::AccessList => {
                "others may change PATH by its access list, or it cannot be read; ls -led shows each entry with its number, and chmod -a# NUMBER removes one that allows something (keep \"deny delete\")"
            }
            Self::SecondName => {
                "PATH has a second name, which others could have made; put a copy in its place, in a directory that only you can write to"
            }
            Self::ForeignMount => {
                "PATH is in a file system that another user mounted, or of which nobody can tell here; use another place"
            }
            Self::NoOwners => {
                "PATH is in a file system that keeps no owners, so that every user could change what it leads to; use another place, or, unless it is FAT or exFAT, have the volume keep owners (diskutil enableOwnership)"
            }
            Self::Unchecked => {
                "PATH is in a FUSE file system that lets other users in and does not check what modes say; mount it without allow_other, or with default_permissions"
            }
            Self::KernelFileSystem => {
                "PATH is in a file system of the kernel, where no files are kept; use another place"
            }
            Self::NobodysUser => {
                "this system shows every unknown owner as your user, so nothing proves that a file is yours; run keyhole as another user"
            }
        };
        said.replace("SHUT", SHUT).replacen("PATH", path, 1)
    }
}

impl Stat {
    /// Whether others may create files in this directory, which was found to be trusted: `0o1777`
    /// as for `/tmp`, not `0o755`. Such a directory is sticky, since no other one would be trusted.
    pub const fn others_may_write(&self) -> bool {
        self.mode & STICKY != 0 && self.mode & (OTHERS_WRITE | GROUP_WRITE) != 0
    }

    /// Whether this is a directory with the sticky bit: others who may write there can create
    /// files, and move none. False for a file, for which the bit has no meaning.
    pub(crate) fn is_sticky_directory(&self) -> bool {
        self.kind == Kind::Directory && self.mode & STICKY != 0
    }
}

impl<F: FileSystem> Walker<F> {
    /// Checks that an open object is trusted. `stat` is what the object reports. `around` is what
    /// the directory reports in which the object was found; that directory and its mount are
    /// trusted. `around` is None for `/`, and for a directory that a walk found before: then the
    /// mount and the fourth reason are not looked at. `path` is for the error only.
    ///
    /// The first of these that applies is the reason why the object is not trusted:
    ///
    /// 1. Nobody knows who the user is.
    /// 2. The mount is not trusted. This is asked only if the object's device number is not that of
    ///    its directory: each file system has its own number.
    /// 3. Neither the user nor root owns the object.
    /// 4. Others could have moved the object here: others may create files in its directory, as in
    ///    `/tmp`, and the object is a file, a link, or a directory in which others may create
    ///    files.
    /// 5. Somebody else may write to the object: by an access list; by the mode's bits for others;
    ///    or as a member of a group, if anyone but the user and root is in that group, or nobody
    ///    knows who is. Under [`Policy::GroupFile`], each group that may write is a reason. A
    ///    sticky directory is trusted whatever its mode says, and a link has no mode.
    ///
    /// # Errors
    /// [`WalkError::Untrusted`] with the first reason; [`WalkError::System`] if there are too few
    /// descriptors, too little memory or time, or if the mount cannot be asked.
    pub(crate) fn check(
        &self,
        handle: &F::Handle,
        stat: &Stat,
        around: Option<&Stat>,
        policy: Policy,
        path: impl FnOnce() -> PathBuf,
    ) -> Result<(), WalkError> {
        let mount = match around {
            Some(around) if around.device != stat.device => self.files.mount(handle, stat)?,
            _ => None,
        };
        // If others may write to a trusted directory, it is a sticky one.
        let others_write_around = around.is_some_and(Stat::others_may_write);
        use DistrustReason::{
            ForeignOwner, Movable, NobodysUser, UnknownOwner, WritableByGroup, WritableByOthers,
        };
        let untrusted = |why| Err(Distrust { path: path(), why }.into());
        let Some(user) = self.files.user() else {
            return untrusted(NobodysUser);
        };
        let is_own = [user, ROOT].contains(&stat.owner);
        let is_directory = stat.kind == Kind::Directory;
        let why = match mount {
            Some(why) => Some(why),
            None if !is_own && self.files.is_nameless(stat.owner) => Some(UnknownOwner),
            None if !is_own => Some(ForeignOwner),
            // Others could have moved a file or a link here, or a directory to which they may
            // write: a sticky one (any other one is refused below).
            None if others_write_around && (!is_directory || stat.others_may_write()) => {
                Some(Movable)
            }
            // A link has no mode of its own, so nobody is asked who may write to it.
            None if stat.kind == Kind::Link => None,
            None => match self.files.writing_groups(handle, stat)? {
                // An access list lets somebody else write, or nobody can tell.
                Err(why) => Some(why),
                Ok(_) if stat.is_sticky_directory() => None,
                Ok(_) if stat.mode & OTHERS_WRITE != 0 => Some(WritableByOthers),
                Ok(all) if policy == Policy::GroupFile && !all.is_empty() => Some(WritableByGroup),
                // The first reason that one of the groups gives, if any does.
                Ok(all) => {
                    let mut others = all.iter().map(|group| self.others_in(*group, user));
                    others.find_map(Result::transpose).transpose()?
                }
            },
        };
        why.map_or(Ok(()), untrusted)
    }
}
