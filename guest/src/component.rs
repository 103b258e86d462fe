//! The component: [`load()`] with the contract's imports.

use crate::bindings::{
    self,
    exports::keyhole::context::loader::Guest,
    keyhole::context::grants,
    wasi::filesystem::{
        preopens,
        types::{
            Datetime, Descriptor, DescriptorFlags, DescriptorStat, DescriptorType, ErrorCode,
            OpenFlags, PathFlags,
        },
    },
};
use crate::{Directory, File, LoadError, Stat, Time, load};
use alloc::{string::String, vec::Vec};
use dlmalloc::GlobalDlmalloc;

struct Component;

impl Guest for Component {
    /// The bytes of the file of `key`, or why there are none: [`load()`] decides it. The host
    /// preopens one directory, or none if there is no grant for this call.
    fn load(key: String) -> Result<Vec<u8>, LoadError> {
        let preopened = preopens::get_directories().into_iter().next();
        let directory = preopened.as_ref().map(|(directory, _)| directory);
        load(&key, grants::find, directory)
    }
}

bindings::export!(Component with_types_in bindings);

/// All path flags here are empty, so a link at the end of a path is not followed.
impl Directory for Descriptor {
    type File = Descriptor;

    /// Whether `name` is a regular file: false for a directory. A link is the error
    /// [`LoadError::OutsideRoot`], because it could lead out of the directory.
    fn is_regular(&self, name: &str) -> Result<bool, LoadError> {
        let stat = self.stat_at(PathFlags::empty(), name)?;
        match stat.type_ {
            DescriptorType::SymbolicLink => Err(LoadError::OutsideRoot),
            other => Ok(other == DescriptorType::RegularFile),
        }
    }

    fn open(&self, name: &str) -> Result<Self, LoadError> {
        let follow = PathFlags::empty();
        let how = OpenFlags::empty();
        Ok(self.open_at(follow, name, how, DescriptorFlags::READ)?)
    }
}

impl File for Descriptor {
    fn stat(&self) -> Result<Stat, LoadError> {
        let stat: DescriptorStat = Descriptor::stat(self)?;
        Ok(Stat {
            regular: stat.type_ == DescriptorType::RegularFile,
            size: stat.size,
            modified: stat.data_modification_timestamp.map(time),
            changed: stat.status_change_timestamp.map(time),
        })
    }

    fn read(&self, len: u64, offset: u64) -> Result<Vec<u8>, LoadError> {
        // The host also says whether this is the end. `load` finds that by a read of no bytes.
        let (bytes, _end) = Descriptor::read(self, len, offset)?;
        Ok(bytes)
    }
}

/// A time in the form that the guest compares: seconds, then nanoseconds.
fn time(time: Datetime) -> Time {
    (time.seconds, time.nanoseconds)
}

impl From<ErrorCode> for LoadError {
    /// What the caller learns if a call to the host ends with this code: [`Self::NotFound`] for
    /// `no-entry`, for example. A code that is not listed here is [`Self::Internal`].
    fn from(code: ErrorCode) -> Self {
        match code {
            ErrorCode::NoEntry | ErrorCode::NotDirectory | ErrorCode::NameTooLong => Self::NotFound,
            ErrorCode::Access => Self::PermissionDenied,
            // The host answers `not-permitted` for what it does not grant, and `loop` for a link.
            ErrorCode::NotPermitted | ErrorCode::Loop => Self::OutsideRoot,
            ErrorCode::IsDirectory
            | ErrorCode::NoDevice
            | ErrorCode::NoSuchDevice
            | ErrorCode::InvalidSeek => Self::NotAFile,
            ErrorCode::WouldBlock | ErrorCode::Busy => Self::Changed,
            _ => Self::Internal,
        }
    }
}

#[global_allocator]
static ALLOCATOR: GlobalDlmalloc = GlobalDlmalloc;

/// A panic is a trap: the host answers `internal` and drops the instance.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}
