//! The seccomp filter of a sandbox: tells the process log of program starts and exits, and closes the two doors that
//! a network namespace leaves open (`AF_VSOCK` and `io_uring`).

use std::{
    io,
    os::fd::{FromRawFd, OwnedFd},
};

use libc::{
    BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO,
    SECCOMP_RET_USER_NOTIF, sock_filter, sock_fprog,
};

/// Numbers of the calls that matter in one calling convention.
#[derive(Clone, Copy, Debug)]
pub(super) struct Convention {
    /// The kernel's name for the architecture.
    pub arch: u32,
    pub execve: u32,
    pub execveat: u32,
    pub exit_group: u32,
    /// Size of a pointer in bytes.
    pub pointer_bytes: usize,
    socket: u32,
    /// The old multiplexed socket call, where it exists.
    socketcall: Option<u32>,
    io_uring_setup: u32,
}

#[cfg(target_arch = "x86_64")]
pub(super) const CONVENTIONS: &[Convention] = &[
    Convention {
        arch: 0xC000_003E,
        execve: 59,
        execveat: 322,
        exit_group: 231,
        pointer_bytes: 8,
        socket: 41,
        socketcall: None,
        io_uring_setup: 425,
    },
    // x32: the same architecture, numbers with a bit set.
    Convention {
        arch: 0xC000_003E,
        execve: 0x4000_0000 + 520,
        execveat: 0x4000_0000 + 545,
        exit_group: 0x4000_0000 + 231,
        pointer_bytes: 4,
        socket: 0x4000_0000 + 41,
        socketcall: None,
        io_uring_setup: 0x4000_0000 + 425,
    },
    // 32-bit programs.
    Convention {
        arch: 0x4000_0003,
        execve: 11,
        execveat: 358,
        exit_group: 252,
        pointer_bytes: 4,
        socket: 359,
        socketcall: Some(102),
        io_uring_setup: 425,
    },
];

#[cfg(target_arch = "aarch64")]
pub(super) const CONVENTIONS: &[Convention] = &[
    Convention {
        arch: 0xC000_00B7,
        execve: 221,
        execveat: 281,
        exit_group: 94,
        pointer_bytes: 8,
        socket: 198,
        socketcall: None,
        io_uring_setup: 425,
    },
    Convention {
        arch: 0x4000_0028,
        execve: 11,
        execveat: 387,
        exit_group: 248,
        pointer_bytes: 4,
        socket: 281,
        socketcall: Some(102),
        io_uring_setup: 425,
    },
];

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) const CONVENTIONS: &[Convention] = &[];

const OFFSET_NUMBER: u32 = 0;
const OFFSET_ARCH: u32 = 4;
const OFFSET_FIRST_ARGUMENT: u32 = 16;
const ALLOW: u32 = SECCOMP_RET_ALLOW;

/// Installs the filter in this process and all that it will fork. With `record`, the listener of the process log is
/// returned.
pub(super) fn install(record: bool) -> io::Result<Option<OwnedFd>> {
    if record && CONVENTIONS.is_empty() {
        return Err(io::Error::from_raw_os_error(libc::ENOSYS));
    }
    let mut code = program(record);
    let program = sock_fprog { len: code.len() as u16, filter: code.as_mut_ptr() };
    let wanted = if record { libc::SECCOMP_FILTER_FLAG_NEW_LISTENER } else { 0 };
    // A killable wait keeps a freeze from restarting a call that was already seen; kernels before 5.19 lack it.
    let killable = if record { libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV } else { 0 };
    let mut result = set_filter(wanted | killable, &program);
    if record && matches!(&result, Err(error) if error.raw_os_error() == Some(libc::EINVAL)) {
        result = set_filter(wanted, &program);
    }
    let fd = result?;
    // SAFETY: with the flag the kernel has just made this descriptor ours.
    Ok(record.then(|| unsafe { OwnedFd::from_raw_fd(fd) }))
}

fn set_filter(flags: libc::c_ulong, program: &sock_fprog) -> io::Result<i32> {
    // SAFETY: the program points to live instructions for the time of the call.
    let result = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, program as *const _)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i32) }
}

fn program(record: bool) -> Vec<sock_filter> {
    let refuse_family = SECCOMP_RET_ERRNO | libc::EAFNOSUPPORT as u32;
    let refuse_call = SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
    let mut code = Vec::new();
    for convention in CONVENTIONS {
        let mut block = vec![load(OFFSET_NUMBER)];
        if record {
            for call in [convention.execve, convention.execveat, convention.exit_group] {
                block.extend(answer_if(call, SECCOMP_RET_USER_NOTIF));
            }
        }
        block.extend(answer_if(convention.io_uring_setup, refuse_call));
        block.extend(answer_if_argument(convention.socket, libc::AF_VSOCK as u32, refuse_family));
        if let Some(socketcall) = convention.socketcall {
            // Its family is behind a pointer, so making any socket this old way is refused.
            block.extend(answer_if_argument(socketcall, 1, refuse_family));
        }
        code.push(load(OFFSET_ARCH));
        // Another architecture skips the block.
        code.push(jump_equal(convention.arch, 0, block.len() as u8));
        code.extend(block);
    }
    code.push(answer(ALLOW));
    code
}

fn load(offset: u32) -> sock_filter {
    sock_filter { code: (BPF_LD | BPF_W | BPF_ABS) as u16, jt: 0, jf: 0, k: offset }
}

fn jump_equal(value: u32, equal: u8, different: u8) -> sock_filter {
    let code = (BPF_JMP | BPF_JEQ | BPF_K) as u16;
    sock_filter { code, jt: equal, jf: different, k: value }
}

fn answer(action: u32) -> sock_filter {
    sock_filter { code: (BPF_RET | BPF_K) as u16, jt: 0, jf: 0, k: action }
}

fn answer_if(call: u32, action: u32) -> [sock_filter; 2] {
    [jump_equal(call, 0, 1), answer(action)]
}

fn answer_if_argument(call: u32, first: u32, action: u32) -> [sock_filter; 5] {
    [
        jump_equal(call, 0, 4),
        load(OFFSET_FIRST_ARGUMENT),
        jump_equal(first, 0, 1),
        answer(action),
        answer(ALLOW),
    ]
}
