//! Reading a process of the sandbox from outside while the kernel holds it at an `execve`: [`Status`], [`Image`],
//! arguments, and the path that will be run.

use std::{
    ffi::CString,
    fs, io,
    os::{
        fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::{Path, PathBuf},
};

use super::names::text_of;
use super::seccomp::Convention;

/// Bytes of arguments that are kept of one program.
const ARGUMENTS_MAX: usize = 64 * 1024;
/// Longest path that the kernel takes.
const PATH_MAX: usize = 4096;
/// Marks where arguments were cut.
const CUT: &str = "…";

/// Who a thread is, on the host and inside.
#[derive(Clone, Debug)]
pub(crate) struct Status {
    /// The host's process id.
    pub process: i32,
    /// The host's id of its parent.
    pub parent: i32,
    /// Process id inside.
    pub inside: u32,
    /// Effective user id inside.
    pub uid: u32,
}

impl Status {
    /// Reads a living thread by the host's id.
    pub(crate) fn read(thread: i32) -> Option<Status> {
        let text = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
        let field = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name))?;
            Some(line[name.len()..].split_ascii_whitespace())
        };
        Some(Status {
            process: field("Tgid:")?.next()?.parse().ok()?,
            parent: field("PPid:")?.next()?.parse().ok()?,
            inside: field("NStgid:")?.next_back()?.parse().ok()?,
            uid: field("Uid:")?.nth(1)?.parse().ok()?,
        })
    }
}

/// What tells one memory image of a process from the next: the kernel lays each out at random.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Image {
    stack: u64,
    arguments: u64,
    executable: Option<PathBuf>,
}

impl Image {
    /// The image that a process has now; empty if it may not be read.
    pub(crate) fn read(process: i32) -> Image {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let mut fields =
            stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_ascii_whitespace();
        // Fields 28 and 48 of the manual; what follows the name starts with field 3.
        let stack = fields.nth(25).and_then(|field| field.parse().ok()).unwrap_or(0);
        let arguments = fields.nth(19).and_then(|field| field.parse().ok()).unwrap_or(0);
        let executable = fs::read_link(format!("/proc/{process}/exe")).ok();
        Image { stack, arguments, executable }
    }
}

/// What a process asks the kernel to run.
pub(crate) struct Asked {
    /// The path as given; none for a descriptor.
    pub path: Option<String>,
    pub argv: Vec<String>,
}

/// Reads path and arguments of an announced call; `None` if the caller's memory may not be read.
pub(crate) fn asked(call: &libc::seccomp_notif, convention: &Convention) -> Option<Asked> {
    let thread = call.pid as i32;
    let [first, second, third, ..] = call.data.args;
    let is_at = call.data.nr as u32 == convention.execveat;
    let (path_at, argv_at) = if is_at { (second, third) } else { (first, second) };
    let path = read_string(thread, path_at, PATH_MAX)?;
    let argv = read_arguments(thread, argv_at, convention.pointer_bytes)?;
    let path = text_of(&path);
    let path = match (is_at, path.as_str()) {
        (true, "") => None,
        (true, relative) if !relative.starts_with('/') && first as i32 != libc::AT_FDCWD => {
            let directory = fs::read_link(format!("/proc/{thread}/fd/{}", first as i32)).ok()?;
            Some(format!("{}/{relative}", text_of(directory.as_os_str().as_bytes())))
        }
        _ => Some(path),
    };
    Some(Asked { path, argv })
}

fn read_arguments(thread: i32, mut at: u64, pointer_bytes: usize) -> Option<Vec<String>> {
    let mut arguments = Vec::new();
    let mut left = ARGUMENTS_MAX;
    // A null vector is an empty one.
    while at != 0 {
        let mut pointer = [0_u8; 8];
        read_memory(thread, at, &mut pointer[..pointer_bytes])?;
        let pointer = u64::from_le_bytes(pointer);
        if pointer == 0 {
            break;
        }
        let argument = read_string(thread, pointer, left + 1)?;
        if argument.len() > left || arguments.len() > ARGUMENTS_MAX / 8 {
            arguments.push(CUT.to_owned());
            break;
        }
        left -= argument.len();
        arguments.push(text_of(&argument));
        at += pointer_bytes as u64;
    }
    Some(arguments)
}

/// Cuts a vector like the process log does.
pub(crate) fn cut(argv: Vec<String>) -> Vec<String> {
    let mut left = ARGUMENTS_MAX;
    let mut kept = Vec::new();
    for argument in argv {
        if argument.len() > left {
            kept.push(CUT.to_owned());
            break;
        }
        left -= argument.len();
        kept.push(argument);
    }
    kept
}

/// Reads up to a null byte or `max` bytes.
fn read_string(thread: i32, at: u64, max: usize) -> Option<Vec<u8>> {
    let mut string = Vec::new();
    let mut at = at;
    while string.len() < max {
        // Up to the end of a small block: the next page may not exist, and most strings are short.
        let block = 256 - (at as usize % 256);
        let mut bytes = [0_u8; 256];
        let bytes = &mut bytes[..block];
        read_memory(thread, at, bytes)?;
        match bytes.iter().position(|byte| *byte == 0) {
            Some(end) => {
                string.extend_from_slice(&bytes[..end]);
                return Some(string);
            }
            None => string.extend_from_slice(bytes),
        }
        at += block as u64;
    }
    string.truncate(max);
    Some(string)
}

fn read_memory(thread: i32, at: u64, into: &mut [u8]) -> Option<()> {
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let remote = libc::iovec { iov_base: at as *mut libc::c_void, iov_len: into.len() };
    // SAFETY: the kernel writes at most the length of the live buffer and checks the other side's addresses.
    let read = unsafe { libc::process_vm_readv(thread, &local, 1, &remote, 1, 0) };
    (read == into.len() as isize).then_some(())
}

/// The arguments of the program that a process runs now.
pub(crate) fn command_line(process: i32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
    if bytes.is_empty() {
        return Vec::new();
    }
    cut(bytes.split(|byte| *byte == 0).map(text_of).collect())
}

/// The executable that a process runs now.
pub(crate) fn executable(process: i32) -> Option<String> {
    let path = fs::read_link(format!("/proc/{process}/exe")).ok()?;
    Some(text_of(path.as_os_str().as_bytes()))
}

/// The working directory as seen inside.
pub(crate) fn cwd(process: i32) -> Option<String> {
    let path = fs::read_link(format!("/proc/{process}/cwd")).ok()?;
    Some(text_of(path.as_os_str().as_bytes()))
}

/// What stands at a path that is about to be run.
pub(crate) enum Resolved {
    /// A file that may be executed.
    Program(String),
    /// Nothing that can be run: the call will fail.
    Nothing,
    /// It cannot be told from outside.
    Unknown,
}

/// Follows a path inside the sandbox to the file that will be run.
pub(crate) fn resolve(
    status: &Status,
    init_root: BorrowedFd<'_>,
    cwd: &str,
    path: &str,
) -> Resolved {
    let own_root = open_path(&format!("/proc/{}/root", status.process));
    let root = own_root.as_ref().map_or(init_root.as_raw_fd(), |root| root.as_raw_fd());
    let whole = Path::new(cwd).join(path);
    let Ok(file) = open_in_root(root, &whole) else {
        let error = io::Error::last_os_error().raw_os_error();
        let is_special = whole.starts_with("/proc");
        return match error {
            Some(libc::ENOENT | libc::ENOTDIR | libc::ENAMETOOLONG) if !is_special => {
                Resolved::Nothing
            }
            _ => Resolved::Unknown,
        };
    };
    // SAFETY: an all-zero value is valid and the pointer is to a live one.
    let (result, stat) = unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        (libc::fstat(file.as_raw_fd(), &mut stat), stat)
    };
    let is_program = stat.st_mode & libc::S_IFMT == libc::S_IFREG && stat.st_mode & 0o111 != 0;
    if result != 0 || !is_program {
        return Resolved::Nothing;
    }
    match fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())) {
        Ok(path) => Resolved::Program(text_of(&path.into_os_string().into_vec())),
        Err(_) => Resolved::Unknown,
    }
}

fn open_path(path: &str) -> Option<OwnedFd> {
    let path = CString::new(path).ok()?;
    // SAFETY: the pointer is to a live string.
    let fd =
        unsafe { libc::open(path.as_ptr(), libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC) };
    // SAFETY: the kernel has just made this descriptor ours.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}

fn open_in_root(root: i32, path: &Path) -> io::Result<OwnedFd> {
    let path = CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)?;
    // SAFETY: all-zero is a valid request.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = (libc::O_PATH | libc::O_CLOEXEC) as u64;
    how.resolve = libc::RESOLVE_IN_ROOT;
    // SAFETY: pointers are to live values and the size is theirs.
    let fd = unsafe {
        libc::syscall(libc::SYS_openat2, root, path.as_ptr(), &how, std::mem::size_of_val(&how))
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor ours.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}
