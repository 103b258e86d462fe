//! The component: [`open()`] with the contract's imports for its two traits.

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
use crate::{
    Directory, Fault, File, Grant, Grants, LoadError, PART_BYTES, Part, Reading, Stat, Time, open,
};
use alloc::{string::String, vec::Vec};
use emballoc::Allocator;
use spin::Mutex;

struct Component;

/// The file of which a part was given away, if there is more of it. There is one call in
/// an instance, and one thread, so nobody ever waits for the lock.
static LEFT: Mutex<Option<Reading<Descriptor>>> = Mutex::new(None);

impl Guest for Component {
    fn load(key: String) -> Result<Part, LoadError> {
        let preopened = preopens::get_directories().into_iter().next();
        let directory = preopened.as_ref().map(|(directory, _)| directory);
        give(open(&key, &Host, directory, PART_BYTES)?)
    }

    fn next() -> Result<Part, LoadError> {
        let left = LEFT.lock().take();
        give(left.ok_or(LoadError::Internal)?)
    }
}

/// Gives a part away, and keeps the file if there is more of it.
fn give(mut reading: Reading<Descriptor>) -> Result<Part, LoadError> {
    let part = reading.next_part()?;
    if let Part::More(_) = part {
        *LEFT.lock() = Some(reading);
    }
    Ok(part)
}

bindings::export!(Component with_types_in bindings);

struct Host;

impl Grants for Host {
    fn find(&self, key: &str) -> Option<Grant> {
        grants::find(key)
    }
}

/// No flag: a link at the end of a path is not followed.
fn no_follow() -> PathFlags {
    PathFlags::empty()
}

impl Directory for Descriptor {
    type File = Descriptor;

    fn is_regular(&self, name: &str) -> Result<bool, Fault> {
        let stat = self.stat_at(no_follow(), name)?;
        match stat.type_ {
            DescriptorType::SymbolicLink => Err(Fault::Escapes),
            other => Ok(other == DescriptorType::RegularFile),
        }
    }

    fn open(&self, name: &str) -> Result<Self, Fault> {
        Ok(self.open_at(no_follow(), name, OpenFlags::empty(), DescriptorFlags::READ)?)
    }
}

impl File for Descriptor {
    fn stat(&self) -> Result<Stat, Fault> {
        let stat: DescriptorStat = Descriptor::stat(self)?;
        Ok(Stat {
            regular: stat.type_ == DescriptorType::RegularFile,
            size: stat.size,
            modified: stat.data_modification_timestamp.map(time),
            changed: stat.status_change_timestamp.map(time),
        })
    }

    fn read(&self, len: u64, offset: u64) -> Result<Vec<u8>, Fault> {
        let (bytes, _end) = Descriptor::read(self, len, offset)?;
        Ok(bytes)
    }
}

fn time(time: Datetime) -> Time {
    (time.seconds, time.nanoseconds)
}

impl From<ErrorCode> for Fault {
    fn from(code: ErrorCode) -> Self {
        match code {
            ErrorCode::NoEntry | ErrorCode::NotDirectory | ErrorCode::NameTooLong => Self::Missing,
            ErrorCode::Access => Self::Denied,
            // The host answers `not-permitted` for what it does not grant, and `loop`
            // for a link that it must not follow.
            ErrorCode::NotPermitted | ErrorCode::Loop => Self::Escapes,
            ErrorCode::IsDirectory
            | ErrorCode::NoDevice
            | ErrorCode::NoSuchDevice
            | ErrorCode::InvalidSeek => Self::NotAFile,
            ErrorCode::WouldBlock | ErrorCode::Busy => Self::Unsettled,
            _ => Self::Other,
        }
    }
}

/// All the memory that the component ever has in addition to its stack. It has room for
/// the largest file that a map may allow (8 MiB) twice: for its pieces and for the whole,
/// or, if each read returns all of it, for two reads. It is part of the component's first
/// memory and used from its low end, and what is freed is used again, so a call pays only
/// for what it holds at once. The component never asks the engine for more.
const ARENA_BYTES: usize = 17 << 20;

#[global_allocator]
static ALLOCATOR: Allocator<ARENA_BYTES> = Allocator::new();

/// A panic is a trap: the host answers `internal` and drops the instance.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}
