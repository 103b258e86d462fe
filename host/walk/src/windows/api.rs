//! The calls to Windows itself: each call that the compiler cannot check, and why it is
//! sound. They return bytes, which other modules parse.
#![expect(unsafe_code, reason = "it calls Windows")]

use std::{
    fs::File,
    io,
    os::windows::io::{AsHandle, AsRawHandle as _, FromRawHandle as _, OwnedHandle},
    ptr::{null, null_mut},
};
use windows_sys::{
    Wdk::{
        Foundation::OBJECT_ATTRIBUTES,
        Storage::FileSystem::{
            FILE_COMPLETE_IF_OPLOCKED, FILE_OPEN_REPARSE_POINT, FILE_SYNCHRONOUS_IO_NONALERT,
            NtCreateFile,
        },
    },
    Win32::{
        Foundation::{
            ERROR_FILE_NOT_FOUND, ERROR_SHARING_VIOLATION, HANDLE, NTSTATUS, OBJ_CASE_INSENSITIVE,
            RtlNtStatusToDosError, STATUS_DELETE_PENDING, STATUS_OPLOCK_BREAK_IN_PROGRESS,
            STATUS_SUCCESS, UNICODE_STRING,
        },
        Security::{
            DACL_SECURITY_INFORMATION, GetKernelObjectSecurity, GetTokenInformation,
            OWNER_SECURITY_INFORMATION, TOKEN_QUERY, TokenUser,
        },
        Storage::FileSystem::{
            FILE_ATTRIBUTE_NORMAL, FILE_INFO_BY_HANDLE_CLASS, FILE_TYPE_DISK,
            GetFileInformationByHandleEx, GetFileType, GetFinalPathNameByHandleW,
            GetVolumeInformationByHandleW, SYNCHRONIZE, VOLUME_NAME_NONE,
        },
        System::{
            Diagnostics::Debug::{SEM_FAILCRITICALERRORS, SEM_NOGPFAULTERRORBOX, SetErrorMode},
            IO::{DeviceIoControl, IO_STATUS_BLOCK},
            Ioctl::FSCTL_GET_REPARSE_POINT,
            Threading::{GetCurrentProcess, OpenProcessToken},
        },
    },
};

/// `MAXIMUM_REPARSE_DATA_BUFFER_SIZE`
const MOST_REPARSE: usize = 16 << 10;

/// How something is opened.
#[derive(Clone, Copy, Debug)]
pub struct How<'a> {
    /// The rights to it. The right to wait for it is always one of them.
    pub access: u32,
    /// What others may do with it at the same time: `FILE_SHARE_*`.
    pub share: u32,
    /// Whether it must exist: `FILE_OPEN`, `FILE_CREATE`.
    pub disposition: u32,
    /// More `FILE_*` options.
    pub options: u32,
    /// The security descriptor for a new object.
    pub descriptor: Option<&'a [u8]>,
}

/// Opens `name` in a directory, or a name of the kernel's. It opens a reparse point
/// itself, and does not wait for the holder of an oplock.
///
/// # Errors
/// Those of Windows; `ERROR_SHARING_VIOLATION` if others have it open in a way that
/// excludes this.
pub fn open(directory: Option<&File>, name: &str, how: How<'_>) -> io::Result<File> {
    let mut name: Vec<u16> = name.encode_utf16().collect();
    let length = u16::try_from(name.len() * 2).map_err(|_| not_found())?;
    let name = UNICODE_STRING {
        Length: length,
        MaximumLength: length,
        Buffer: name.as_mut_ptr(),
    };
    let descriptor = how.descriptor.map(aligned);
    let attributes = OBJECT_ATTRIBUTES {
        Length: size_of::<OBJECT_ATTRIBUTES>() as u32,
        RootDirectory: directory.map_or(null_mut(), |directory| directory.as_raw_handle()),
        ObjectName: &raw const name,
        Attributes: OBJ_CASE_INSENSITIVE,
        SecurityDescriptor: descriptor
            .as_ref()
            .map_or(null(), |descriptor| descriptor.as_ptr().cast()),
        SecurityQualityOfService: null(),
    };
    let mut handle: HANDLE = null_mut();
    let mut status = IO_STATUS_BLOCK::default();
    // SAFETY: everything pointed to lives until the call returns. The handle is a
    // synchronous one, so the call returns only when it is done. The length is that of
    // the name, the descriptor is a complete self-relative one, and the directory's
    // handle is open.
    let done = unsafe {
        NtCreateFile(
            &raw mut handle,
            how.access | SYNCHRONIZE,
            &raw const attributes,
            &raw mut status,
            null(),
            FILE_ATTRIBUTE_NORMAL,
            how.share,
            how.disposition,
            how.options
                | FILE_SYNCHRONOUS_IO_NONALERT
                | FILE_OPEN_REPARSE_POINT
                | FILE_COMPLETE_IF_OPLOCKED,
            null(),
            0,
        )
    };
    if done < 0 {
        return Err(failed(done));
    }
    // SAFETY: the call succeeded, so this is an open handle, and nobody else has it.
    let file = File::from(unsafe { OwnedHandle::from_raw_handle(handle) });
    match done {
        STATUS_SUCCESS => Ok(file),
        STATUS_OPLOCK_BREAK_IN_PROGRESS => {
            Err(io::Error::from_raw_os_error(ERROR_SHARING_VIOLATION as i32))
        }
        _ => Err(not_found()),
    }
}

/// What a handle reports, in the layout that Windows has for this class; or, for a
/// directory, the next names in it.
pub fn information(
    file: &impl AsHandle,
    class: FILE_INFO_BY_HANDLE_CLASS,
    into: &mut [u64],
) -> io::Result<()> {
    let handle = file.as_handle().as_raw_handle();
    // SAFETY: the handle is open, and the buffer has the stated size and the alignment
    // of every such structure.
    let done = unsafe {
        GetFileInformationByHandleEx(
            handle,
            class,
            into.as_mut_ptr().cast(),
            size_of_val(into) as u32,
        )
    };
    check(done)
}

/// Whether it is on a disk, and so not a pipe, terminal or other device.
pub(crate) fn is_on_disk(file: &File) -> bool {
    // SAFETY: the handle is open.
    (unsafe { GetFileType(file.as_raw_handle()) }) == FILE_TYPE_DISK
}

/// The real path of the open object, without its volume.
pub(crate) fn real_path(file: &File) -> io::Result<String> {
    let mut path = vec![0_u16; 1 << 15];
    // SAFETY: the handle is open, and the buffer has the stated length.
    let length = unsafe {
        GetFinalPathNameByHandleW(
            file.as_raw_handle(),
            path.as_mut_ptr(),
            path.len() as u32,
            VOLUME_NAME_NONE,
        )
    };
    match path.get(..length as usize) {
        None | Some([]) => Err(io::Error::last_os_error()),
        Some(path) => String::from_utf16(path).map_err(|_| not_found()),
    }
}

/// What its volume supports: `FILE_PERSISTENT_ACLS` and so on.
pub(crate) fn volume_flags(file: &File) -> io::Result<u32> {
    let mut flags = 0;
    // SAFETY: the handle is open; results that we do not want may be null, with a
    // length of 0.
    let done = unsafe {
        GetVolumeInformationByHandleW(
            file.as_raw_handle(),
            null_mut(),
            0,
            null_mut(),
            null_mut(),
            &raw mut flags,
            null_mut(),
            0,
        )
    };
    check(done)?;
    Ok(flags)
}

/// The content of a reparse point.
pub(crate) fn reparse_point(file: &File) -> io::Result<Vec<u8>> {
    let mut data = vec![0_u8; MOST_REPARSE];
    let mut length = 0;
    // SAFETY: the handle is open and synchronous, so the call is done when it returns;
    // there is no input, and the output has the stated size.
    let done = unsafe {
        DeviceIoControl(
            file.as_raw_handle(),
            FSCTL_GET_REPARSE_POINT,
            null(),
            0,
            data.as_mut_ptr().cast(),
            MOST_REPARSE as u32,
            &raw mut length,
            null_mut(),
        )
    };
    check(done)?;
    data.truncate(length as usize);
    Ok(data)
}

/// Its owner and its access list, self-relative.
pub fn descriptor(file: &impl AsHandle) -> io::Result<Vec<u8>> {
    let handle = file.as_handle().as_raw_handle();
    let mut data = vec![0_u64; 64];
    // If the descriptor is long, the first call only returns its length.
    for _ in 0..2 {
        let mut needed = 0;
        // SAFETY: the handle is open, and the buffer has the stated size and is
        // aligned.
        let done = unsafe {
            GetKernelObjectSecurity(
                handle,
                OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION,
                data.as_mut_ptr().cast(),
                size_of_val(&*data) as u32,
                &raw mut needed,
            )
        };
        if done != 0 {
            return Ok(bytes(&data));
        }
        if needed as usize <= size_of_val(&*data) {
            break;
        }
        data.resize((needed as usize).div_ceil(8), 0);
    }
    Err(io::Error::last_os_error())
}

/// The security identifier of the user whose rights this process has.
pub(crate) fn user() -> io::Result<Vec<u8>> {
    // SAFETY: it takes nothing, and returns a handle that need not be closed.
    let process = unsafe { GetCurrentProcess() };
    let mut token: HANDLE = null_mut();
    // SAFETY: the process is this one, and there is space for a handle.
    let done = unsafe { OpenProcessToken(process, TOKEN_QUERY, &raw mut token) };
    check(done)?;
    // SAFETY: the call succeeded, so this is an open handle, and nobody else has it.
    let token = unsafe { OwnedHandle::from_raw_handle(token) };
    let mut data = [0_u64; 32];
    let mut length = 0;
    // SAFETY: the handle is open, and the buffer has the stated size and is aligned.
    let done = unsafe {
        GetTokenInformation(
            token.as_raw_handle(),
            TokenUser,
            data.as_mut_ptr().cast(),
            size_of_val(&data) as u32,
            &raw mut length,
        )
    };
    check(done)?;
    // The pointer in it points into the same buffer, so we need not follow it.
    let pointer = data.first().copied().unwrap_or_default();
    let start = pointer.wrapping_sub(data.as_ptr().addr() as u64);
    let all = bytes(&data);
    let sid = usize::try_from(start)
        .ok()
        .and_then(|start| all.get(start..length as usize))
        .unwrap_or_default();
    let parts = sid.get(1).copied().ok_or_else(not_found)?;
    let sid = sid.get(..8 + 4 * usize::from(parts));
    sid.map(<[u8]>::to_vec).ok_or_else(not_found)
}

/// Prevents a report of a crash of this process, which would contain its memory.
pub fn report_no_crash() {
    // SAFETY: it takes two flags.
    unsafe { SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX) };
}

/// These numbers in memory, as bytes.
pub fn bytes(data: &[u64]) -> Vec<u8> {
    data.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// These bytes, at an address where a structure of Windows may begin.
fn aligned(bytes: &[u8]) -> Vec<u64> {
    let words = bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_ne_bytes(word)
    });
    words.collect()
}

fn check(done: i32) -> io::Result<()> {
    match done {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn failed(status: NTSTATUS) -> io::Error {
    if status == STATUS_DELETE_PENDING {
        // Its name is there until the last handle is closed.
        return not_found();
    }
    // SAFETY: it takes a number.
    let error = unsafe { RtlNtStatusToDosError(status) };
    io::Error::from_raw_os_error(error as i32)
}

fn not_found() -> io::Error {
    io::Error::from_raw_os_error(ERROR_FILE_NOT_FOUND as i32)
}
