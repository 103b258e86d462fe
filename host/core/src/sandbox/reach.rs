//! Everything that a guest can reach.
//!
//! Two interfaces of WASI and one of ours, and behind them one name in one open directory. An
//! interface that is not linked here does not exist for a guest: a component that imports it
//! cannot be instantiated. Of the file calls, those that the contract lists are answered, and
//! all others refused.
//!
//! A new function of the contract stands in wit/context.wit, with its failures, then here and in
//! the guest's traits. It needs cases in guest/cases.toml, and an attack in tests/hostile.
//! `./x bless` then rewrites guest/component.wit, which a person reviews.

use super::bindings::{
    keyhole::context::grants,
    wasi::{
        filesystem::{
            preopens,
            types::{
                self, Advice, Datetime, DescriptorFlags, DescriptorStat, DescriptorType,
                DirectoryEntry, DirectoryEntryStream, ErrorCode, Filesize, HostDescriptor,
                HostDirectoryEntryStream, InputStream, MetadataHashValue, NewTimestamp, OpenFlags,
                OutputStream, PathFlags,
            },
        },
        io::error::Error,
    },
};
use crate::{grant::Grant, limits::MAX_MAX_BYTES, refusal::Refusal};
use keyhole_walk::{GrantedFile, Kind, System, SystemError, Time, WalkError, Walker};
use subtle::ConstantTimeEq;
use wasmtime::{
    Result, StoreLimits,
    component::{HasSelf, Linker, Resource, ResourceTable, ResourceTableError},
};

/// What one call owns. It goes when the call ends.
pub(super) struct CallState {
    /// Stops a guest that wants more memory or tables than the engine has for it.
    pub(super) limits: StoreLimits,
    /// The one key that `find` answers to.
    pub(super) key: String,
    pub(super) grant: Option<Grant>,
    pub(super) walker: Walker<System>,
    pub(super) table: ResourceTable,
    /// Why the last file call that failed did so, if the contract has no name for it.
    pub(super) cause: Option<Refusal>,
}

/// Links the imports. `wasi:io` is left out: a component that wants to stream is refused.
pub(super) fn link(linker: &mut Linker<CallState>) -> Result<()> {
    types::add_to_linker::<CallState, HasSelf<CallState>>(linker, |state| state)?;
    preopens::add_to_linker::<CallState, HasSelf<CallState>>(linker, |state| state)?;
    grants::add_to_linker::<CallState, HasSelf<CallState>>(linker, |state| state)
}

impl preopens::Host for CallState {
    /// The directory of the granted file, under a name that reveals nothing.
    fn get_directories(&mut self) -> Result<Vec<(Held, String)>> {
        if self.grant.is_none() {
            return Ok(Vec::new());
        }
        let handle = self.table.push(Descriptor::Preopen)?;
        Ok(vec![(handle, "/".to_owned())])
    }
}

impl grants::Host for CallState {
    /// The grant of this call, if it has one and `key` is the key that it was made with. The two
    /// are compared in constant time.
    fn find(&mut self, key: String) -> Result<Option<grants::Grant>> {
        let own_key = self.key.as_bytes();
        let is_same: bool = own_key.ct_eq(key.as_bytes()).into();
        match &self.grant {
            Some(grant) if is_same => Ok(Some(grants::Grant {
                name: grant.name.clone(),
                max_bytes: grant.max_bytes,
            })),
            _ => Ok(None),
        }
    }
}

/// What a guest's handle stands for.
#[allow(unreachable_pub, reason = "the generated bindings name it")]
#[derive(Debug)]
pub enum Descriptor {
    /// The preopened directory, in which there is one name.
    Preopen,
    File(GrantedFile),
}

#[allow(unreachable_pub, reason = "the generated bindings name it")]
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The contract does not grant it.
    #[error("not granted")]
    NotGranted,
    /// The file cannot be had.
    #[error(transparent)]
    File(#[from] WalkError),
    /// The handle does not exist, or is one too many. The guest is stopped.
    #[error(transparent)]
    Trap(#[from] ResourceTableError),
}

type Answer<T> = Result<T, FileError>;
/// A guest's handle.
type Held = Resource<Descriptor>;
type Stream = Resource<DirectoryEntryStream>;

/// Stubs that return `not-permitted`.
macro_rules! refuse {
    ($($name:ident($($argument:ty),*) -> $answer:ty;)*) => {
        $(fn $name(&mut self, _: Held, $(_: $argument),*) -> Answer<$answer> {
            Err(FileError::NotGranted)
        })*
    };
}

impl HostDescriptor for CallState {
    /// The type of what has the granted name: a file, link, directory, or something else. The size
    /// is always 0, and there are no times: only those of the open file count.
    ///
    /// # Errors
    /// [`FileError::NotGranted`] for any other name (see `granted`); or why it cannot be looked at.
    fn stat_at(&mut self, handle: Held, follow: PathFlags, name: String) -> Answer<DescriptorStat> {
        let grant = self.granted(&handle, follow, &name)?;
        let kind = match GrantedFile::kind(&self.walker, &grant.directory, &grant.name)? {
            Kind::File => DescriptorType::RegularFile,
            Kind::Link => DescriptorType::SymbolicLink,
            Kind::Directory => DescriptorType::Directory,
            Kind::Other => DescriptorType::Unknown,
        };
        Ok(stat(kind, 0))
    }

    /// Opens the file of the granted name to read it.
    ///
    /// # Errors
    /// [`FileError::NotGranted`] for any other name (see `granted`), and for any flag but `READ`: a
    /// guest that asks to write, create or truncate gets nothing. [`FileError::File`] if others
    /// could have changed the file, if it is just being written, or if the system says no.
    /// [`FileError::Trap`] if the guest has too many handles.
    fn open_at(
        &mut self,
        handle: Held,
        follow: PathFlags,
        name: String,
        how: OpenFlags,
        flags: DescriptorFlags,
    ) -> Answer<Held> {
        let grant = self.granted(&handle, follow, &name)?;
        if how != OpenFlags::empty() || flags != DescriptorFlags::READ {
            return Err(FileError::NotGranted);
        }
        // No map sets a higher limit than 8 MiB. But the size of an allocation must not rely on
        // that.
        let max_bytes = grant.max_bytes.min(MAX_MAX_BYTES);
        let file = GrantedFile::open(&self.walker, &grant.directory, &grant.name, max_bytes)?;
        Ok(self.table.push(Descriptor::File(file))?)
    }

    /// What an open file reports: its size, and when it was written and changed. The preopened
    /// directory is refused.
    fn stat(&mut self, handle: Held) -> Answer<DescriptorStat> {
        let Descriptor::File(file) = self.table.get_mut(&handle)? else {
            return Err(FileError::NotGranted);
        };
        let look = file.look(&self.walker)?;
        Ok(DescriptorStat {
            data_modification_timestamp: datetime(look.modified),
            status_change_timestamp: datetime(look.changed),
            ..stat(DescriptorType::RegularFile, look.size)
        })
    }

    /// At most `length` bytes of an open file from `offset` on, and whether there are none, which
    /// means the end. The preopened directory is refused.
    fn read(&mut self, handle: Held, length: u64, offset: u64) -> Answer<(Vec<u8>, bool)> {
        let Descriptor::File(file) = self.table.get(&handle)? else {
            return Err(FileError::NotGranted);
        };
        let bytes = file.read(&self.walker, length, offset)?;
        let is_end = bytes.is_empty();
        Ok((bytes, is_end))
    }

    fn drop(&mut self, handle: Held) -> Result<()> {
        Ok(self.table.delete(handle).map(drop)?)
    }

    /// The call cannot return an error, so it always says no.
    fn is_same_object(&mut self, _: Held, _: Held) -> Result<bool> {
        Ok(false)
    }

    refuse! {
        read_via_stream(Filesize) -> Resource<InputStream>;
        write_via_stream(Filesize) -> Resource<OutputStream>;
        append_via_stream() -> Resource<OutputStream>;
        advise(Filesize, Filesize, Advice) -> ();
        sync_data() -> ();
        sync() -> ();
        get_flags() -> DescriptorFlags;
        get_type() -> DescriptorType;
        set_size(Filesize) -> ();
        set_times(NewTimestamp, NewTimestamp) -> ();
        set_times_at(PathFlags, String, NewTimestamp, NewTimestamp) -> ();
        write(Vec<u8>, Filesize) -> Filesize;
        read_directory() -> Stream;
        create_directory_at(String) -> ();
        link_at(PathFlags, String, Held, String) -> ();
        readlink_at(String) -> String;
        remove_directory_at(String) -> ();
        rename_at(String, Held, String) -> ();
        symlink_at(String, String) -> ();
        unlink_file_at(String) -> ();
        metadata_hash() -> MetadataHashValue;
        metadata_hash_at(PathFlags, String) -> MetadataHashValue;
    }
}

/// No guest ever has such a stream.
impl HostDirectoryEntryStream for CallState {
    fn read_directory_entry(&mut self, _: Stream) -> Answer<Option<DirectoryEntry>> {
        Err(FileError::NotGranted)
    }

    fn drop(&mut self, _: Stream) -> Result<()> {
        Ok(())
    }
}

impl types::Host for CallState {
    /// This is about errors of streams, and there are no streams.
    fn filesystem_error_code(&mut self, _: Resource<Error>) -> Result<Option<ErrorCode>> {
        Ok(None)
    }

    /// The code that the guest gets for a refusal. Four reasons have no code in the contract: that
    /// the time is over, that resources are missing, that this process may not read there, and that
    /// others could have changed the file. Such a reason is kept in `CallState::cause`, and the
    /// call ends with it.
    ///
    /// # Errors
    /// A trap has no code: it stops the guest.
    fn convert_error_code(&mut self, refusal: FileError) -> Result<ErrorCode> {
        let error = match refusal {
            FileError::NotGranted => return Ok(ErrorCode::NotPermitted),
            FileError::Trap(error) => return Err(error.into()),
            FileError::File(error) => error,
        };
        Ok(match error {
            WalkError::System(SystemError::Missing) => ErrorCode::NoEntry,
            WalkError::System(SystemError::Denied) => ErrorCode::Access,
            WalkError::System(SystemError::IsLink) => ErrorCode::Loop,
            WalkError::System(SystemError::NotAFile) => ErrorCode::NoSuchDevice,
            WalkError::System(SystemError::Busy) => ErrorCode::WouldBlock,
            WalkError::System(SystemError::Failed(_)) => ErrorCode::Io,
            error @ WalkError::System(SystemError::Late | SystemError::OutOfResources) => {
                self.cause = Some(error.into());
                ErrorCode::Io
            }
            error @ (WalkError::System(SystemError::Confined) | WalkError::Untrusted(_)) => {
                self.cause = Some(error.into());
                ErrorCode::NotPermitted
            }
        })
    }
}

impl CallState {
    /// The grant, if `handle` is the preopened directory, `name` is the granted name, and no link
    /// is to be followed. Else, and without a grant, [`FileError::NotGranted`]: if `a.md` is
    /// granted, `b.md` and `./a.md` are not. [`FileError::Trap`] for a handle that does not exist.
    fn granted(&self, handle: &Held, follow: PathFlags, name: &str) -> Answer<&Grant> {
        let Descriptor::Preopen = self.table.get(handle)? else {
            return Err(FileError::NotGranted);
        };
        match &self.grant {
            Some(grant) if grant.name == name && follow == PathFlags::empty() => Ok(grant),
            _ => Err(FileError::NotGranted),
        }
    }
}

/// The report of one object, with one name and without times.
fn stat(type_: DescriptorType, size: u64) -> DescriptorStat {
    DescriptorStat {
        type_,
        link_count: 1,
        size,
        data_access_timestamp: None,
        data_modification_timestamp: None,
        status_change_timestamp: None,
    }
}

/// A file's time for WASI. None for a time before 1970, which WASI does not have.
fn datetime((seconds, nanoseconds): Time) -> Option<Datetime> {
    Some(Datetime {
        seconds: u64::try_from(seconds).ok()?,
        nanoseconds: u32::try_from(nanoseconds).ok()?,
    })
}
