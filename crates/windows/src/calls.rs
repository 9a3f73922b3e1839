//! The calls, each with safe arguments and a safe answer.

use std::fs::{File, OpenOptions};
use std::io;
use std::mem::{offset_of, size_of};
use std::os::windows::ffi::OsStrExt as _;
use std::os::windows::fs::OpenOptionsExt as _;
use std::os::windows::io::AsRawHandle as _;
use std::path::Path;

use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, DELETE, FILE_BASIC_INFO, FILE_FLAG_OPEN_REPARSE_POINT, FILE_READ_ATTRIBUTES,
    FILE_RENAME_INFO, FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_SHARE_WRITE, FileBasicInfo, FileRenameInfo,
    GetDiskFreeSpaceExW, GetDriveTypeW, GetFileInformationByHandle, GetFileInformationByHandleEx,
    GetVolumeInformationW, GetVolumePathNameW, MOVEFILE_WRITE_THROUGH, MoveFileExW, SYNCHRONIZE,
    SetFileInformationByHandle,
};

/// What makes a file the same file as before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Information {
    /// The number of its volume
    pub volume: u32,
    /// Its number there
    pub index: u64,
    /// Length in bytes
    pub len: u64,
    /// When its content was changed last, in hundreds of nanoseconds since 1601
    pub written: i64,
    /// When its content, name or attributes were changed last; where the volume does not keep that, the same
    pub changed: i64,
}

/// The volume that a folder is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume {
    /// The file system: `NTFS`, `exFAT`, `FAT32`, `ReFS`
    pub system: String,
    /// Whether it is another computer's
    pub is_remote: bool,
}

/// A text as the system takes it.
fn wide(path: &Path) -> Vec<u16> {
    path.as_os_str().encode_wide().chain([0]).collect()
}

fn answer(ok: i32) -> io::Result<()> {
    if ok == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// What the system knows of an open file or folder.
pub fn information(file: &File) -> io::Result<Information> {
    let handle: HANDLE = file.as_raw_handle();
    let mut found = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open as long as `file` is borrowed, and the system writes one whole structure.
    answer(unsafe { GetFileInformationByHandle(handle, &raw mut found) })?;
    let join = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let written = join(found.ftLastWriteTime.dwHighDateTime, found.ftLastWriteTime.dwLowDateTime);
    let written = written.cast_signed();
    let mut basic = FILE_BASIC_INFO::default();
    // SAFETY: as above; the length is that of the structure.
    let told = answer(unsafe {
        let len = u32::try_from(size_of::<FILE_BASIC_INFO>()).unwrap_or_default();
        GetFileInformationByHandleEx(handle, FileBasicInfo, (&raw mut basic).cast(), len)
    });
    let changed = if told.is_ok() && basic.ChangeTime != 0 { basic.ChangeTime } else { written };
    Ok(Information {
        volume: found.dwVolumeSerialNumber,
        index: join(found.nFileIndexHigh, found.nFileIndexLow),
        len: join(found.nFileSizeHigh, found.nFileSizeLow),
        written,
        changed,
    })
}

/// Gives a file another name; fails if that name is taken. On the disk when it returns.
pub fn move_without_replacing(from: &Path, to: &Path) -> io::Result<()> {
    let (from, to) = (wide(from), wide(to));
    // SAFETY: both texts end with a zero and live until the call is over.
    answer(unsafe { MoveFileExW(from.as_ptr(), to.as_ptr(), MOVEFILE_WRITE_THROUGH) })
}

/// Opens a file so that it can be given another name by its handle. A link is opened itself.
pub fn open_to_rename(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .access_mode(DELETE | FILE_READ_ATTRIBUTES | SYNCHRONIZE)
        .share_mode(FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)
        .custom_flags(FILE_FLAG_OPEN_REPARSE_POINT)
        .open(path)
}

/// Gives the file of a handle another name, whatever its name is by now; fails if that name is taken.
pub fn rename_opened(file: &File, to: &Path) -> io::Result<()> {
    let name = wide(to);
    let bytes = (name.len() - 1) * size_of::<u16>();
    let start = offset_of!(FILE_RENAME_INFO, FileName);
    let len = size_of::<FILE_RENAME_INFO>() + bytes;
    // Words of eight bytes: aligned as the structure must be.
    let mut buffer = vec![0_u64; len.div_ceil(size_of::<u64>())];
    let info: *mut FILE_RENAME_INFO = buffer.as_mut_ptr().cast();
    // SAFETY: the buffer holds the structure and the whole name after its start, and is zero otherwise: no replacing, no other root.
    unsafe {
        (*info).FileNameLength = u32::try_from(bytes).map_err(io::Error::other)?;
        let text: *mut u16 = info.cast::<u8>().add(start).cast();
        text.copy_from_nonoverlapping(name.as_ptr(), name.len());
    }
    let len = u32::try_from(len).map_err(io::Error::other)?;
    // SAFETY: the handle is open as long as `file` is borrowed; the buffer is as long as is said.
    answer(unsafe { SetFileInformationByHandle(file.as_raw_handle(), FileRenameInfo, info.cast(), len) })
}

/// How many bytes there is room for in a folder.
pub fn room(dir: &Path) -> io::Result<u64> {
    let dir = wide(dir);
    let mut free = 0;
    // SAFETY: the text ends with a zero; the system writes one number, and leaves out those that are not asked for.
    answer(unsafe {
        GetDiskFreeSpaceExW(dir.as_ptr(), &raw mut free, std::ptr::null_mut(), std::ptr::null_mut())
    })?;
    Ok(free)
}

/// The volume that a folder is on.
pub fn volume(dir: &Path) -> io::Result<Volume> {
    const LONGEST: u32 = 1024;
    let dir = wide(dir);
    let mut root = vec![0_u16; LONGEST as usize];
    let mut system = vec![0_u16; LONGEST as usize];
    // SAFETY: texts end with a zero, and buffers are as long as is said.
    answer(unsafe { GetVolumePathNameW(dir.as_ptr(), root.as_mut_ptr(), LONGEST) })?;
    // SAFETY: as above; what is not asked for is left out.
    answer(unsafe {
        let none = std::ptr::null_mut();
        let (numbers, name) = (std::ptr::null_mut(), system.as_mut_ptr());
        GetVolumeInformationW(root.as_ptr(), none, 0, numbers, numbers, numbers, name, LONGEST)
    })?;
    const REMOTE: u32 = 4;
    // SAFETY: the text ends with a zero.
    let is_remote = unsafe { GetDriveTypeW(root.as_ptr()) } == REMOTE;
    let end = system.iter().position(|unit| *unit == 0).unwrap_or(0);
    Ok(Volume { system: String::from_utf16_lossy(&system[..end]), is_remote })
}
