//! The guest's file calls: one name, four calls that answer, and a refusal for all
//! others.

use super::{
    bindings::wasi::filesystem::types::{
        Advice, Datetime, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry,
        DirectoryEntryStream, ErrorCode, Filesize, Host, HostDescriptor, HostDirectoryEntryStream,
        InputStream, MetadataHashValue, NewTimestamp, OpenFlags, OutputStream, PathFlags,
    },
    granted::{self, GrantedFile, Look},
    imports::CallState,
};
use crate::{grant::Grant, limits::MAX_MAX_BYTES, os_error::OsErrorKind};
use std::io;
use wasmtime::component::{Resource, ResourceTable, ResourceTableError};

/// What a guest's handle stands for.
#[allow(unreachable_pub, reason = "the generated bindings name it")]
#[derive(Debug)]
pub enum Descriptor {
    /// The preopened directory, in which there is one name.
    Preopen,
    /// The granted file.
    File(GrantedFile),
}

/// Why a file call fails.
#[allow(unreachable_pub, reason = "the generated bindings name it")]
#[derive(Debug)]
pub enum Refusal {
    /// The guest gets this code.
    Code(ErrorCode),
    /// There are too few file descriptors, or there is too little memory. The contract
    /// has no code for this, so the host remembers it.
    OutOfResources,
    /// The guest is stopped.
    Trap(wasmtime::Error),
}

type Answer<T> = Result<T, Refusal>;

/// The answer to every call that the contract does not grant, whatever exists.
const NOT_GRANTED: Refusal = Refusal::Code(ErrorCode::NotPermitted);

/// Refuses calls before they cost anything.
macro_rules! refuse {
    ($($name:ident($($argument:ty),*) -> $answer:ty;)*) => {
        $(fn $name(&mut self, _: Resource<Descriptor>, $(_: $argument),*) -> Answer<$answer> {
            Err(NOT_GRANTED)
        })*
    };
}

impl HostDescriptor for CallState {
    /// The type of the granted name, and nothing else: only the open file counts.
    fn stat_at(
        &mut self,
        handle: Resource<Descriptor>,
        follow: PathFlags,
        name: String,
    ) -> Answer<DescriptorStat> {
        let grant = granted(&self.table, self.grant.as_ref(), &handle, follow, &name)?;
        let kind = granted::kind(&grant.directory, &grant.name)?;
        Ok(stat(
            if kind.is_file() {
                DescriptorType::RegularFile
            } else if kind.is_symlink() {
                DescriptorType::SymbolicLink
            } else if kind.is_dir() {
                DescriptorType::Directory
            } else {
                DescriptorType::Unknown
            },
            0,
        ))
    }

    /// Opens the granted name to read it, if it is a regular file at rest.
    fn open_at(
        &mut self,
        handle: Resource<Descriptor>,
        follow: PathFlags,
        name: String,
        how: OpenFlags,
        flags: DescriptorFlags,
    ) -> Answer<Resource<Descriptor>> {
        let grant = granted(&self.table, self.grant.as_ref(), &handle, follow, &name)?;
        if how != OpenFlags::empty() || flags != DescriptorFlags::READ {
            return Err(NOT_GRANTED);
        }
        // No map sets a higher limit. But the size of an allocation must not rely on
        // that.
        let max_bytes = grant.max_bytes.min(MAX_MAX_BYTES);
        let file = GrantedFile::open(&grant.directory, &grant.name, max_bytes, &mut self.patience)?;
        Ok(self.table.push(Descriptor::File(file))?)
    }

    fn stat(&mut self, handle: Resource<Descriptor>) -> Answer<DescriptorStat> {
        let Descriptor::File(file) = self.table.get_mut(&handle)? else {
            return Err(NOT_GRANTED);
        };
        let Look {
            size,
            modified,
            changed,
        } = file.look(&mut self.patience)?;
        self.size = size;
        let mut stat = stat(DescriptorType::RegularFile, size);
        if file.is_reliable() {
            stat.data_modification_timestamp = datetime(modified);
            stat.status_change_timestamp = datetime((changed.seconds, changed.nanoseconds));
        }
        Ok(stat)
    }

    fn read(
        &mut self,
        handle: Resource<Descriptor>,
        length: Filesize,
        offset: Filesize,
    ) -> Answer<(Vec<u8>, bool)> {
        let Descriptor::File(file) = self.table.get(&handle)? else {
            return Err(NOT_GRANTED);
        };
        let bytes = file.read(length, offset)?;
        let is_end = bytes.is_empty();
        Ok((bytes, is_end))
    }

    fn drop(&mut self, handle: Resource<Descriptor>) -> wasmtime::Result<()> {
        self.table.delete(handle)?;
        Ok(())
    }

    /// The call cannot return an error, so it always says no.
    fn is_same_object(
        &mut self,
        _: Resource<Descriptor>,
        _: Resource<Descriptor>,
    ) -> wasmtime::Result<bool> {
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
        read_directory() -> Resource<DirectoryEntryStream>;
        create_directory_at(String) -> ();
        link_at(PathFlags, String, Resource<Descriptor>, String) -> ();
        readlink_at(String) -> String;
        remove_directory_at(String) -> ();
        rename_at(String, Resource<Descriptor>, String) -> ();
        symlink_at(String, String) -> ();
        unlink_file_at(String) -> ();
        metadata_hash() -> MetadataHashValue;
        metadata_hash_at(PathFlags, String) -> MetadataHashValue;
    }
}

/// No guest ever has such a stream.
impl HostDirectoryEntryStream for CallState {
    fn read_directory_entry(
        &mut self,
        _: Resource<DirectoryEntryStream>,
    ) -> Answer<Option<DirectoryEntry>> {
        Err(NOT_GRANTED)
    }

    fn drop(&mut self, _: Resource<DirectoryEntryStream>) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl Host for CallState {
    /// This is about errors of streams, and there are no streams.
    fn filesystem_error_code(
        &mut self,
        _: Resource<super::bindings::wasi::io::error::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        Ok(None)
    }

    fn convert_error_code(&mut self, refusal: Refusal) -> wasmtime::Result<ErrorCode> {
        match refusal {
            Refusal::Code(code) => Ok(code),
            Refusal::OutOfResources => {
                self.out_of_resources = true;
                Ok(ErrorCode::InsufficientMemory)
            }
            Refusal::Trap(error) => Err(error),
        }
    }
}

/// The grant, if `handle` is the preopen and `name`, without following it, is the
/// granted name.
fn granted<'a>(
    table: &ResourceTable,
    grant: Option<&'a Grant>,
    handle: &Resource<Descriptor>,
    follow: PathFlags,
    name: &str,
) -> Answer<&'a Grant> {
    let is_preopen = matches!(table.get(handle)?, Descriptor::Preopen);
    grant
        .filter(|grant| is_preopen && follow == PathFlags::empty() && grant.name == name)
        .ok_or(NOT_GRANTED)
}

/// The report of one object, with one name and without times. Callers may add times.
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

/// None before 1970, because the contract's clock cannot express that.
fn datetime((seconds, nanoseconds): (i64, i64)) -> Option<Datetime> {
    Some(Datetime {
        seconds: u64::try_from(seconds).ok()?,
        nanoseconds: u32::try_from(nanoseconds).ok()?,
    })
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Code(match OsErrorKind::of(&error) {
            Some(OsErrorKind::OutOfResources) => return Self::OutOfResources,
            Some(OsErrorKind::Missing) => ErrorCode::NoEntry,
            Some(OsErrorKind::Denied) => ErrorCode::Access,
            Some(OsErrorKind::Link) => ErrorCode::Loop,
            Some(OsErrorKind::Busy) => ErrorCode::WouldBlock,
            Some(OsErrorKind::NotAFile) => ErrorCode::NoSuchDevice,
            // Not from the operating system: cap-std itself refuses a path that leads
            // out.
            None if error.kind() == io::ErrorKind::PermissionDenied => ErrorCode::NotPermitted,
            _ => ErrorCode::Io,
        })
    }
}

/// A handle that does not exist, or one too many.
impl From<ResourceTableError> for Refusal {
    fn from(error: ResourceTableError) -> Self {
        Self::Trap(error.into())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::{Datetime, ErrorCode, Refusal, datetime};
    use rustix::io::Errno;
    use std::io;

    #[test]
    fn a_guest_is_told_of_each_error_what_the_contract_has_for_it() {
        for (error, code) in [
            (Errno::NOENT, ErrorCode::NoEntry),
            (Errno::NOTDIR, ErrorCode::NoEntry),
            (Errno::NAMETOOLONG, ErrorCode::NoEntry),
            (Errno::ACCESS, ErrorCode::Access),
            (Errno::PERM, ErrorCode::Access),
            (Errno::LOOP, ErrorCode::Loop),
            (Errno::WOULDBLOCK, ErrorCode::WouldBlock),
            (Errno::NXIO, ErrorCode::NoSuchDevice),
            (Errno::NODEV, ErrorCode::NoSuchDevice),
            (Errno::OPNOTSUPP, ErrorCode::NoSuchDevice),
            (Errno::IO, ErrorCode::Io),
            (Errno::INVAL, ErrorCode::Io),
        ] {
            let told = Refusal::from(io::Error::from(error));
            assert!(
                matches!(told, Refusal::Code(told) if told == code),
                "{error:?} {told:?}"
            );
        }
        for (kind, code) in [
            (io::ErrorKind::PermissionDenied, ErrorCode::NotPermitted),
            (io::ErrorKind::NotFound, ErrorCode::Io),
        ] {
            let told = Refusal::from(io::Error::from(kind));
            assert!(
                matches!(told, Refusal::Code(told) if told == code),
                "{kind:?} {told:?}"
            );
        }
        let told = Refusal::from(io::Error::from(Errno::MFILE));
        assert!(matches!(told, Refusal::OutOfResources), "{told:?}");
    }

    #[test]
    fn a_time_is_told_from_1970_on() {
        assert!(matches!(
            datetime((7, 5)),
            Some(Datetime {
                seconds: 7,
                nanoseconds: 5
            })
        ));
        assert!(datetime((-1, 5)).is_none());
    }
}
