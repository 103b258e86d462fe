//! The walk's interface on Windows.
//!
//! Where others have `/`, there is a place of our own in which the drives are: `C:` is a
//! name in it. From a drive's root on, each thing is opened by its name alone, relative
//! to the directory that is held, and a reparse point itself. A symbolic link or a
//! junction is a link to the walk; any other reparse point is nothing that is served.
//!
//! Names that mean something else than themselves are not there: streams, devices, 8.3
//! names (`names.rs`). Owners and lists of access are judged as owner and mode
//! (`security.rs`). What lies on a volume without lists of access is the same to every
//! user, as on a FAT drive: no map may.
//!
//! Windows notes the time of a write when the file is closed. So a file that is read is
//! opened so that nobody can have it open for writing meanwhile; while somebody has, it
//! is waited for.
//!
//! All `unsafe` of it is in `api.rs`.

pub(crate) mod api;
pub(crate) mod names;
pub(super) mod paths;
mod reparse;
pub(crate) mod security;
mod time;

use super::{Fault, FileSystem, Kind, Mount, QUIET, Stat};
use crate::os::{Trouble, trouble};
pub(crate) use api::How;
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::windows::fs::FileExt as _,
    sync::OnceLock,
    time::{Duration, SystemTime},
};
pub(crate) use time::time;
use windows_sys::{
    Wdk::Storage::FileSystem::{FILE_DIRECTORY_FILE, FILE_OPEN},
    Win32::{
        Storage::FileSystem::{
            FILE_ATTRIBUTE_DIRECTORY, FILE_ATTRIBUTE_REPARSE_POINT, FILE_READ_ATTRIBUTES,
            FILE_READ_DATA, FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_SHARE_WRITE,
            FileAttributeTagInfo, FileBasicInfo, FileIdInfo, FileStandardInfo, READ_CONTROL,
        },
        System::SystemServices::FILE_PERSISTENT_ACLS,
    },
};

/// The real file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

/// Something that is held. None: the place where the drives are.
#[derive(Debug)]
pub struct Handle(Option<File>);

/// The device number of the place where the drives are, so that each drive is another.
const DRIVES: u64 = u64::MAX;

const HOLD: How<'static> = How {
    access: FILE_READ_ATTRIBUTES | READ_CONTROL,
    share: FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
    disposition: FILE_OPEN,
    options: 0,
    descriptor: None,
};

/// Nobody can write to it meanwhile.
const READ: How<'static> = How {
    access: FILE_READ_DATA | FILE_READ_ATTRIBUTES | READ_CONTROL,
    share: FILE_SHARE_READ | FILE_SHARE_DELETE,
    ..HOLD
};

/// How often a file that somebody has open for writing is tried, [`QUIET`] apart.
const TRIES: usize = super::LOOKS;

impl FileSystem for System {
    type Handle = Handle;

    fn root(&self) -> Result<Handle, Fault> {
        Ok(Handle(None))
    }

    fn hold(&self, directory: &Handle, name: &OsStr) -> Result<Handle, Fault> {
        let name = name.to_str().ok_or(Fault::Missing)?;
        let held = match &directory.0 {
            None => {
                let drive = names::drive(name).ok_or(Fault::Missing)?;
                let how = How {
                    options: FILE_DIRECTORY_FILE,
                    ..HOLD
                };
                api::open(None, &format!(r"\??\{drive}:\"), how)?
            }
            Some(directory) => open_in(directory, name, HOLD)?,
        };
        Ok(Handle(Some(held)))
    }

    fn open(&self, directory: &Handle, name: &OsStr) -> Result<Handle, Fault> {
        let name = name.to_str().ok_or(Fault::Missing)?;
        let directory = directory.0.as_ref().ok_or(Fault::Missing)?;
        // What is no file has no time to be waited for.
        match kind(&open_in(directory, name, HOLD)?)? {
            Kind::Link => return Err(Fault::IsLink),
            Kind::File => {}
            Kind::Directory | Kind::Other => return Err(Fault::NotAFile),
        }
        let mut opened = open_in(directory, name, READ);
        for _ in 0..TRIES {
            match opened {
                Err(Fault::Busy) => self.pause(QUIET),
                _ => break,
            }
            opened = open_in(directory, name, READ);
        }
        let opened = opened?;
        match kind(&opened)? {
            Kind::Link => Err(Fault::IsLink),
            _ => Ok(Handle(Some(opened))),
        }
    }

    fn stat(&self, handle: &Handle) -> Result<Stat, Fault> {
        match &handle.0 {
            None => Ok(Stat {
                kind: Kind::Directory,
                mode: 0o755,
                owner: security::SYSTEM,
                group: 0,
                names: 1,
                device: DRIVES,
                inode: 0,
                size: 0,
                modified: (0, 0),
                changed: (0, 0),
            }),
            Some(file) => stat(file),
        }
    }

    /// By the handle: what stands there by now under its name does not matter.
    fn read_link(&self, link: &Handle, _: &Handle, _: &OsStr) -> Result<OsString, Fault> {
        let link = link.0.as_ref().ok_or(Fault::Missing)?;
        let target = reparse::target(&api::reparse_point(link)?).ok_or(Fault::Missing)?;
        Ok(target.into())
    }

    /// Whoever may give a drive its letter is the user or an administrator.
    fn mount(&self, handle: &Handle, _: &Stat) -> Result<Mount, Fault> {
        let Some(file) = &handle.0 else {
            return Ok(Mount::Ordinary);
        };
        match api::volume_flags(file).map_err(Fault::from) {
            Ok(flags) if flags & FILE_PERSISTENT_ACLS != 0 => Ok(Mount::Ordinary),
            Err(Fault::OutOfResources) => Err(Fault::OutOfResources),
            Ok(_) | Err(_) => Ok(Mount::WithoutOwners),
        }
    }

    /// The mode tells all of them.
    fn has_hidden_writers(&self, _: &Handle, _: &Stat) -> Result<bool, Fault> {
        Ok(false)
    }

    fn read(&self, file: &Handle, bytes: &mut [u8], offset: u64) -> Result<usize, Fault> {
        let file = file.0.as_ref().ok_or(Fault::NotAFile)?;
        match file.seek_read(bytes, offset) {
            // ERROR_HANDLE_EOF
            Err(error) if error.raw_os_error() == Some(38) => Ok(0),
            read => Ok(read?),
        }
    }

    /// Nobody has it open for writing: see [`READ`].
    fn settle(&self, _: &Handle) {}

    fn user(&self) -> u32 {
        security::USER
    }

    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn pause(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// What is held, as a file of the standard library's. The place where the drives are is
/// none.
pub(crate) fn into_file(handle: Handle) -> Option<File> {
    handle.0
}

/// The security identifier of the user. Empty, and so nobody's, if Windows does not say.
pub(crate) fn user() -> &'static [u8] {
    static USER: OnceLock<Vec<u8>> = OnceLock::new();
    USER.get_or_init(|| api::user().unwrap_or_default())
}

/// Opens a name that means itself, and is the name of what it opens.
pub(crate) fn open_in(directory: &File, name: &str, how: How<'_>) -> Result<File, Fault> {
    if !names::is_plain(name) {
        return Err(Fault::Missing);
    }
    let opened = match api::open(Some(directory), name, how) {
        // Whose descriptor cannot be read, is judged as a stranger's.
        Err(error)
            if Fault::from_ref(&error) == Fault::Denied && how.access & READ_CONTROL != 0 =>
        {
            let how = How {
                access: how.access & !READ_CONTROL,
                ..how
            };
            api::open(Some(directory), name, how)?
        }
        opened => opened?,
    };
    if names::may_be_short(name) && !names::is_called(name, &api::real_path(&opened)?) {
        return Err(Fault::Missing);
    }
    Ok(opened)
}

pub(crate) fn kind(file: &File) -> Result<Kind, Fault> {
    // Attributes, and the tag of a reparse point.
    let mut found = [0; 1];
    api::information(file, FileAttributeTagInfo, &mut found)?;
    let (attributes, tag) = (found[0] as u32, (found[0] >> 32) as u32);
    Ok(match tag {
        _ if !api::is_on_disk(file) => Kind::Other,
        reparse::SYMLINK | reparse::JUNCTION if attributes & FILE_ATTRIBUTE_REPARSE_POINT != 0 => {
            Kind::Link
        }
        _ if attributes & FILE_ATTRIBUTE_REPARSE_POINT != 0 => Kind::Other,
        _ if attributes & FILE_ATTRIBUTE_DIRECTORY != 0 => Kind::Directory,
        _ => Kind::File,
    })
}

fn stat(file: &File) -> Result<Stat, Fault> {
    let kind = kind(file)?;
    // Created, accessed, written, changed, attributes.
    let mut basic = [0; 5];
    api::information(file, FileBasicInfo, &mut basic)?;
    // Allocated, size, number of names and two flags.
    let mut standard = [0; 3];
    api::information(file, FileStandardInfo, &mut standard)?;
    let (device, inode) = id(file)?;
    let descriptor = api::descriptor(file).unwrap_or_default();
    let (owner, mode) = security::judge(&descriptor, user(), kind == Kind::Directory);
    let (owner, mode) = match kind {
        // The walk asks of a link only who owns it; but who may write to it can have it
        // lead elsewhere.
        Kind::Link if mode & 0o002 != 0 => security::UNKNOWN,
        _ => (owner, mode),
    };
    Ok(Stat {
        kind,
        mode,
        owner,
        group: 0,
        names: standard[2] & 0xffff_ffff,
        device,
        inode,
        size: standard[1],
        modified: time(basic[2].cast_signed()),
        changed: time(basic[3].cast_signed()),
    })
}

/// What tells two objects apart. ReFS needs 128 bits for it, so half of them tell the
/// device apart.
pub(crate) fn id(file: &File) -> Result<(u64, u64), Fault> {
    let mut found = [0; 3];
    api::information(file, FileIdInfo, &mut found)?;
    match found {
        // No number at all: who says so cannot tell.
        [_, 0, 0] | [_, u64::MAX, u64::MAX] => Err(Fault::Failed(io::ErrorKind::Unsupported)),
        [volume, low, high] => Ok((volume ^ high.rotate_left(32), low)),
    }
}

impl Fault {
    fn from_ref(error: &io::Error) -> Self {
        match trouble(error) {
            Some(Trouble::Missing) => Self::Missing,
            Some(Trouble::Denied) => Self::Denied,
            Some(Trouble::Link) => Self::IsLink,
            Some(Trouble::Busy) => Self::Busy,
            Some(Trouble::NotAFile) => Self::NotAFile,
            Some(Trouble::OutOfResources) => Self::OutOfResources,
            Some(Trouble::Other) | None => Self::Failed(error.kind()),
        }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::from_ref(&error)
    }
}
