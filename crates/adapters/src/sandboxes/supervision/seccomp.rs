//! The seccomp filter of a sandbox: tells the process log of program starts and exits, and closes [`Doors`].

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
pub(crate) struct Convention {
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
    clone: u32,
    clone3: u32,
    /// What a container engine refuses unless the container may administer the system or trace any process.
    administration: &'static [u32],
}

/// What is refused to programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doors {
    /// What a network namespace leaves open: `AF_VSOCK` and `io_uring`.
    Network,
    /// And what a container engine's own filter opens when it is asked for `SYS_ADMIN` and `SYS_PTRACE`.
    Administration,
}

/// Flags of `clone` that make namespaces.
const NAMESPACES: u32 = 0x7E02_0000;

/// These have one number in all conventions: `open_tree`, `move_mount`, `fsopen`, `fsconfig`, `fsmount`, `fspick`,
/// `pidfd_getfd`, `process_madvise`, `mount_setattr`, `quotactl_fd`.
const NEW_ADMINISTRATION: [u32; 10] = [428, 429, 430, 431, 432, 433, 438, 440, 442, 443];

/// The bit that tells numbers of x32, the short-pointer convention.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

/// In `administration` the order is bpf, fanotify_init, lookup_dcookie, mount, perf_event_open, quotactl,
/// setdomainname, sethostname, and then as told.
#[cfg(target_arch = "x86_64")]
pub(crate) const CONVENTIONS: &[Convention] = &[
    Convention {
        arch: 0xC000_003E,
        execve: 59,
        execveat: 322,
        exit_group: 231,
        pointer_bytes: 8,
        socket: 41,
        socketcall: None,
        io_uring_setup: 425,
        clone: 56,
        clone3: 435,
        administration: &[
            321, 300, 212, 165, 298, 179, 171, 170, // bpf to sethostname
            308, 103, 166, 272, 312, // setns, syslog, umount2, unshare, kcmp
        ],
    },
    // x32: the same architecture, numbers with a bit set.
    Convention {
        arch: 0xC000_003E,
        execve: X32 + 520,
        execveat: X32 + 545,
        exit_group: X32 + 231,
        pointer_bytes: 4,
        socket: X32 + 41,
        socketcall: None,
        io_uring_setup: X32 + 425,
        clone: X32 + 56,
        clone3: X32 + 435,
        administration: &[
            X32 + 321,
            X32 + 300,
            X32 + 212,
            X32 + 165,
            X32 + 298,
            X32 + 179,
            X32 + 171,
            X32 + 170,
            X32 + 308,
            X32 + 103,
            X32 + 166,
            X32 + 272,
            X32 + 312,
        ],
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
        clone: 120,
        clone3: 435,
        administration: &[
            357, 338, 253, 21, 336, 131, 121, 74, // bpf to sethostname
            346, 103, 22, 52, 310, 349, // setns, syslog, umount, umount2, unshare, kcmp
        ],
    },
];

#[cfg(target_arch = "aarch64")]
pub(crate) const CONVENTIONS: &[Convention] = &[
    Convention {
        arch: 0xC000_00B7,
        execve: 221,
        execveat: 281,
        exit_group: 94,
        pointer_bytes: 8,
        socket: 198,
        socketcall: None,
        io_uring_setup: 425,
        clone: 220,
        clone3: 435,
        administration: &[
            280, 262, 18, 40, 241, 60, 162, 161, // bpf to sethostname
            268, 116, 39, 97, 272, // setns, syslog, umount2, unshare, kcmp
        ],
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
        clone: 120,
        clone3: 435,
        administration: &[
            386, 367, 249, 21, 364, 131, 121, 74, // bpf to sethostname
            375, 103, 22, 52, 337, 378, // setns, syslog, umount, umount2, unshare, kcmp
        ],
    },
];

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) const CONVENTIONS: &[Convention] = &[];

const OFFSET_NUMBER: u32 = 0;
const OFFSET_ARCH: u32 = 4;
const OFFSET_FIRST_ARGUMENT: u32 = 16;
const ALLOW: u32 = SECCOMP_RET_ALLOW;

/// Installs the filter in this process and all that it will fork. With `record`, the listener of the process log is
/// returned.
///
/// The process needs `SYS_ADMIN` or must have given up new privileges.
pub(crate) fn install(record: bool, doors: Doors) -> io::Result<Option<OwnedFd>> {
    if (record || doors == Doors::Administration) && CONVENTIONS.is_empty() {
        return Err(io::Error::from_raw_os_error(libc::ENOSYS));
    }
    let mut code = program(record, doors);
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

fn program(record: bool, doors: Doors) -> Vec<sock_filter> {
    let refuse_family = SECCOMP_RET_ERRNO | libc::EAFNOSUPPORT as u32;
    let refuse_call = SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
    let refuse_right = SECCOMP_RET_ERRNO | libc::EPERM as u32;
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
        if doors == Doors::Administration {
            let x32 = convention.clone & !0xffff;
            let new = NEW_ADMINISTRATION.iter().map(|call| x32 | call);
            for call in convention.administration.iter().copied().chain(new) {
                block.extend(answer_if(call, refuse_right));
            }
            // Its flags are behind a pointer; libraries fall back to `clone`.
            block.extend(answer_if(convention.clone3, refuse_call));
            block.extend(answer_if_flags(convention.clone, NAMESPACES, refuse_right));
        }
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

fn answer_if_flags(call: u32, flags: u32, action: u32) -> [sock_filter; 5] {
    let code = (BPF_JMP | libc::BPF_JSET | BPF_K) as u16;
    [
        jump_equal(call, 0, 4),
        load(OFFSET_FIRST_ARGUMENT),
        sock_filter { code, jt: 0, jf: 1, k: flags },
        answer(action),
        answer(ALLOW),
    ]
}
