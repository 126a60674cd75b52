//! Capabilities of the kernel by their numbers: [`DEFAULT`] and [`keep_only`].

use std::io;

/// Those that a container engine gives by default.
///
/// `SYS_PTRACE` and `SYS_ADMIN` are not among them, so what watches over the sandbox and its memory are out of reach.
pub const DEFAULT: [u32; 14] = [
    0,  // CHOWN
    1,  // DAC_OVERRIDE
    3,  // FOWNER
    4,  // FSETID
    5,  // KILL
    6,  // SETGID
    7,  // SETUID
    8,  // SETPCAP
    10, // NET_BIND_SERVICE
    13, // NET_RAW
    18, // SYS_CHROOT
    27, // MKNOD
    29, // AUDIT_WRITE
    31, // SETFCAP
];

/// The right to administer the system.
pub const SYS_ADMIN: u32 = 21;

/// One above the highest capability that any kernel knows today, with room.
const END: u32 = 64;

/// Takes every other capability from the bounding set: no program that is run from here on can gain it.
pub(crate) fn bound_to(kept: &[u32]) {
    for capability in (0..END).filter(|capability| !kept.contains(capability)) {
        // SAFETY: no pointer is passed. Numbers above the kernel's last are refused, which is as good.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability as libc::c_ulong, 0, 0, 0) };
    }
}

/// Gives up every other capability of this process.
pub(crate) fn keep_only(kept: &[u32]) -> io::Result<()> {
    let held = held()?;
    let mask = |word: u32| {
        let bits = kept.iter().filter(|capability| **capability / 32 == word);
        bits.fold(0_u32, |mask, capability| mask | 1 << (capability % 32))
    };
    let data = [0, 1].map(|word| {
        // Asking for what is not held would be refused altogether.
        let both = mask(word) & held[word as usize].permitted;
        Data { effective: both, permitted: both, inheritable: 0 }
    });
    // SAFETY: header and data are of the layout that this version asks for.
    let result = unsafe { libc::syscall(libc::SYS_capset, &HEADER, data.as_ptr()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Whether this process may use a capability now.
pub(crate) fn is_held(capability: u32) -> bool {
    held().is_ok_and(|held| {
        held[(capability / 32) as usize].effective & (1 << (capability % 32)) != 0
    })
}

/// Whether a program that this process runs could still gain a capability.
pub(crate) fn is_gainable(capability: u32) -> bool {
    // SAFETY: no pointer is passed.
    unsafe { libc::prctl(libc::PR_CAPBSET_READ, capability as libc::c_ulong, 0, 0, 0) == 1 }
}

fn held() -> io::Result<[Data; 2]> {
    let mut data = [Data::default(); 2];
    // SAFETY: header and data are of the layout that this version asks for.
    let result = unsafe { libc::syscall(libc::SYS_capget, &HEADER, data.as_mut_ptr()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(data) }
}

const HEADER: Header = Header { version: 0x2008_0522, pid: 0 };

#[repr(C)]
struct Header {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Data {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}
