//! The walk's interface on Windows.
//!
//! On other systems the walk starts at `/`. Here it starts above the drives, in a place
//! of our own: `C:` is a name in it. From a drive's root on, it opens each object by its
//! single name, relative to the open directory. It opens a reparse point itself and
//! does not follow it. A symbolic link or a junction counts as a link. The walk serves
//! nothing through any other reparse point.
//!
//! Names that mean something else than themselves do not exist for the walk: streams,
//! devices, 8.3 names (`names.rs`). Owners and access lists are translated into owner
//! and mode (`security.rs`). On a volume without access lists, such as a FAT drive,
//! everything belongs to every user: no map may be there.
//!
//! Windows records the time of a write when the file is closed. So the walk opens a
//! file such that nobody can have it open for writing at the same time; if somebody
//! has, the walk waits.
//!
//! All `unsafe` code for it is in `api.rs`.

pub mod api;
mod names;
pub mod paths;
mod reparse;
pub mod security;

use crate::{
    error::SystemError,
    system::{FileSystem, Kind, Stat},
    trust::DistrustReason,
};
pub use api::How;
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::windows::fs::FileExt as _,
    sync::OnceLock,
    time::Duration,
};
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

/// An open object. None means the place above the drives.
#[derive(Debug)]
pub struct Handle(Option<File>);

/// What the place above the drives reports. No drive has the same device number.
const ABOVE_DRIVES: Stat = Stat {
    kind: Kind::Directory,
    mode: 0o755,
    owner: security::SYSTEM,
    group: 0,
    names: 1,
    device: u64::MAX,
    inode: 0,
    size: 0,
    modified: (0, 0),
    changed: (0, 0),
};

const HOLD: How<'static> = How {
    access: FILE_READ_ATTRIBUTES | READ_CONTROL,
    share: FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
    disposition: FILE_OPEN,
    options: 0,
    descriptor: None,
};

/// With this, nobody can write to the file while it is open.
const READ: How<'static> = How {
    access: FILE_READ_DATA | FILE_READ_ATTRIBUTES | READ_CONTROL,
    share: FILE_SHARE_READ | FILE_SHARE_DELETE,
    ..HOLD
};

/// How often the walk tries a file that somebody has open for writing, and the time between:
/// a second in total.
const TRIES: usize = 50;
const PAUSE: Duration = Duration::from_millis(20);

impl Handle {
    /// An object that was just opened, and what it reports.
    fn of(file: File) -> Result<(Self, Stat), SystemError> {
        let stat = stat(&file)?;
        Ok((Self(Some(file)), stat))
    }

    /// The open object as a file of the standard library. The place above the drives is
    /// none.
    pub fn into_file(self) -> Result<File, SystemError> {
        self.0.ok_or(SystemError::Missing)
    }
}

impl FileSystem for System {
    type Handle = Handle;

    fn root(&self) -> Result<(Handle, Stat), SystemError> {
        Ok((Handle(None), ABOVE_DRIVES))
    }

    fn hold(&self, directory: &Handle, name: &OsStr) -> Result<(Handle, Stat), SystemError> {
        let name = name.to_str().ok_or(SystemError::Missing)?;
        Handle::of(match &directory.0 {
            None => {
                let drive = names::drive(name).ok_or(SystemError::Missing)?;
                let how = How {
                    options: FILE_DIRECTORY_FILE,
                    ..HOLD
                };
                api::open(None, &format!(r"\??\{drive}:\"), how)?
            }
            Some(directory) => open_in(directory, name, HOLD)?,
        })
    }

    fn open(&self, directory: &Handle, name: &OsStr) -> Result<(Handle, Stat), SystemError> {
        let name = name.to_str().ok_or(SystemError::Missing)?;
        let directory = directory.0.as_ref().ok_or(SystemError::Missing)?;
        // Only a file can be open for writing, so the walk waits for nothing else.
        match kind(&open_in(directory, name, HOLD)?)? {
            Kind::Link => return Err(SystemError::IsLink),
            Kind::File => {}
            Kind::Directory | Kind::Other => return Err(SystemError::NotAFile),
        }
        let mut opened = open_in(directory, name, READ);
        for _ in 0..TRIES {
            match opened {
                Err(SystemError::Busy) => self.pause(PAUSE),
                _ => break,
            }
            opened = open_in(directory, name, READ);
        }
        let (handle, stat) = Handle::of(opened?)?;
        match stat.kind {
            Kind::Link => Err(SystemError::IsLink),
            _ => Ok((handle, stat)),
        }
    }

    fn stat(&self, handle: &Handle) -> Result<Stat, SystemError> {
        handle.0.as_ref().map_or(Ok(ABOVE_DRIVES), stat)
    }

    /// By the handle: it does not matter what now has this name.
    fn read_link(&self, link: &Handle, _: &Handle, _: &OsStr) -> Result<OsString, SystemError> {
        let link = link.0.as_ref().ok_or(SystemError::Missing)?;
        let target = reparse::target(&api::reparse_point(link)?).ok_or(SystemError::Missing)?;
        Ok(target.into())
    }

    /// Only the user or an administrator may give a drive its letter.
    fn mount(&self, handle: &Handle, _: &Stat) -> Result<Option<DistrustReason>, SystemError> {
        let Some(file) = &handle.0 else {
            return Ok(None);
        };
        match api::volume_flags(file).map_err(SystemError::from) {
            Ok(flags) if flags & FILE_PERSISTENT_ACLS != 0 => Ok(None),
            Err(SystemError::OutOfResources) => Err(SystemError::OutOfResources),
            Ok(_) | Err(_) => Ok(Some(DistrustReason::NoOwners)),
        }
    }

    /// The mode covers all of them.
    fn hidden_writers(&self, _: &Handle, _: &Stat) -> Result<Option<DistrustReason>, SystemError> {
        Ok(None)
    }

    fn read(&self, file: &Handle, bytes: &mut [u8], offset: u64) -> Result<usize, SystemError> {
        let file = file.0.as_ref().ok_or(SystemError::NotAFile)?;
        match file.seek_read(bytes, offset) {
            // ERROR_HANDLE_EOF
            Err(error) if error.raw_os_error() == Some(38) => Ok(0),
            read => Ok(read?),
        }
    }

    fn user(&self) -> Option<u32> {
        Some(security::USER)
    }
}

/// The security identifier of the user. If Windows does not tell it, this is empty, so
/// it equals nobody's.
pub fn user() -> &'static [u8] {
    static USER: OnceLock<Vec<u8>> = OnceLock::new();
    USER.get_or_init(|| api::user().unwrap_or_default())
}

/// Opens a name that means itself, and is the name of what it opens.
pub fn open_in(directory: &File, name: &str, how: How<'_>) -> Result<File, SystemError> {
    if !names::is_plain(name) {
        return Err(SystemError::Missing);
    }
    let opened = match api::open(Some(directory), name, how) {
        // An object whose descriptor cannot be read counts as a stranger's.
        Err(error)
            if paths::error_of(&error) == SystemError::Denied && how.access & READ_CONTROL != 0 =>
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
        return Err(SystemError::Missing);
    }
    Ok(opened)
}

/// What an open object is.
pub fn kind(file: &File) -> Result<Kind, SystemError> {
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

fn stat(file: &File) -> Result<Stat, SystemError> {
    let kind = kind(file)?;
    // Created, accessed, written, changed, attributes.
    let mut basic = [0; 5];
    api::information(file, FileBasicInfo, &mut basic)?;
    // Allocated, size, number of names and two flags.
    let mut standard = [0; 3];
    api::information(file, FileStandardInfo, &mut standard)?;
    let (device, inode) = id(file)?;
    let descriptor = api::descriptor(file).unwrap_or_default();
    let (owner, mode) = security::owner_and_mode(&descriptor, user(), kind == Kind::Directory);
    let (owner, mode) = match kind {
        // The walk checks only who owns a link; but whoever may write to a link can
        // change its target.
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

/// Identifies an object. ReFS needs 128 bits for this, so half of them go into the
/// device number.
fn id(file: &File) -> Result<(u64, u64), SystemError> {
    let mut found = [0; 3];
    api::information(file, FileIdInfo, &mut found)?;
    match found {
        // No number at all: this file system cannot tell objects apart.
        [_, 0, 0] | [_, u64::MAX, u64::MAX] => Err(SystemError::Failed(io::ErrorKind::Unsupported)),
        [volume, low, high] => Ok((volume ^ high.rotate_left(32), low)),
    }
}

/// Seconds and nanoseconds since 1970. Windows counts tenths of microseconds from 1601.
pub fn time(ticks: i64) -> (i64, i64) {
    const EPOCH: i64 = 116_444_736_000_000_000;
    const PER_SECOND: i64 = 10_000_000;
    let ticks = ticks.saturating_sub(EPOCH);
    let (seconds, rest) = (ticks.div_euclid(PER_SECOND), ticks.rem_euclid(PER_SECOND));
    (seconds, rest * 100)
}
