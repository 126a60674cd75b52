//! The root view: overlays on relative paths, a few device nodes, a fresh `/proc` with its dangerous parts masked.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use nix::{
    mount::{MntFlags, MsFlags, mount, umount2},
    sched::{CloneFlags, unshare},
    unistd::{chdir, pivot_root},
};

use super::{Context, Failure};
use crate::sandboxes::{
    local::protocol::{OverlayMount, Setup},
    supervision::protocol::Step,
};

/// The directory of the session on which the root view is built.
const ROOT: &str = "m";
/// Device nodes of the host that every program may use.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
/// Parts of `/proc` that are read-only: the kernel's settings belong to the host.
const PROC_READ_ONLY: [&str; 5] = ["bus", "fs", "irq", "sys", "sysrq-trigger"];
/// Parts of `/proc` that are hidden.
const PROC_MASKED: [&str; 10] = [
    "acpi",
    "asound",
    "kcore",
    "keys",
    "latency_stats",
    "timer_list",
    "timer_stats",
    "sched_debug",
    "scsi",
    "key-users",
];

/// Builds the root view in a new mount namespace and makes it this process's root.
pub(super) fn build(setup: &Setup) -> Result<(), Failure> {
    unshare(CloneFlags::CLONE_NEWNS).during(Step::Namespaces, "unshare mounts")?;
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(None::<&str>, "/", None::<&str>, private, None::<&str>)
        .during(Step::Other, "make mounts private")?;
    chdir(&setup.session).during(Step::Other, "enter the session directory")?;
    for overlay in &setup.overlays {
        mount_overlay(overlay)?;
    }
    for (target, size_mb) in &setup.memory {
        mount_memory(target, *size_mb)?;
    }
    mount_devices()?;
    mount_proc()?;
    chdir(ROOT).during(Step::Other, "enter the new root")?;
    pivot_root(".", ".").during(Step::Other, "pivot_root")?;
    umount2(".", MntFlags::MNT_DETACH).during(Step::Other, "leave the old root")?;
    chdir("/").during(Step::Other, "enter the new root")
}

fn inside(target: &str) -> PathBuf {
    Path::new(ROOT).join(target.trim_start_matches('/'))
}

fn mount_overlay(overlay: &OverlayMount) -> Result<(), Failure> {
    let mut flags = MsFlags::MS_NODEV;
    if overlay.read_only {
        flags |= MsFlags::MS_RDONLY;
    }
    let (target, options) = (inside(&overlay.target), Some(overlay.options.as_str()));
    mount(Some("overlay"), &target, Some("overlay"), flags, options)
        .during(Step::Overlay, &format!("overlay on {} ({})", overlay.target, overlay.options))
}

fn mount_memory(target: &str, size_mb: u64) -> Result<(), Failure> {
    let flags = MsFlags::MS_NODEV | MsFlags::MS_NOSUID;
    let options = format!("size={size_mb}m,mode=1777");
    mount(Some("tmpfs"), &inside(target), Some("tmpfs"), flags, Some(options.as_str()))
        .during(Step::Overlay, &format!("a directory in memory on {target}"))
}

fn mount_devices() -> Result<(), Failure> {
    for device in DEVICES {
        bind(&Path::new("/dev").join(device), &inside("dev").join(device))
            .during(Step::Other, &format!("bind /dev/{device}"))?;
    }
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
    let options = Some("newinstance,ptmxmode=0666,mode=620");
    mount(Some("devpts"), &inside("dev/pts"), Some("devpts"), flags, options)
        .during(Step::Other, "mount devpts")
}

fn bind(source: &Path, target: &Path) -> nix::Result<()> {
    mount(Some(source), target, None::<&str>, MsFlags::MS_BIND, None::<&str>)
}

fn proc_flags() -> MsFlags {
    MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC
}

fn mount_proc() -> Result<(), Failure> {
    let proc = inside("proc");
    mount(Some("proc"), &proc, Some("proc"), proc_flags(), None::<&str>)
        .during(Step::Proc, "mount /proc")?;
    // Nested user namespaces would bring capabilities and mounts that no record could see. Kernels without the
    // setting have no such namespaces either.
    let _ = fs::write(proc.join("sys/user/max_user_namespaces"), "0");
    for name in PROC_READ_ONLY {
        let path = proc.join(name);
        if !path.exists() {
            continue;
        }
        bind(&path, &path).during(Step::Proc, &format!("bind /proc/{name}"))?;
        let flags = proc_flags() | MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
        mount(None::<&str>, &path, None::<&str>, flags, None::<&str>)
            .during(Step::Proc, &format!("protect /proc/{name}"))?;
    }
    for name in PROC_MASKED {
        mask(&proc.join(name)).during(Step::Proc, &format!("mask /proc/{name}"))?;
    }
    Ok(())
}

/// Covers a file with `/dev/null` and a directory with an empty read-only one.
fn mask(path: &Path) -> io::Result<()> {
    let Ok(metadata) = fs::symlink_metadata(path) else { return Ok(()) };
    if metadata.is_dir() {
        let flags = MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        mount(Some("tmpfs"), path, Some("tmpfs"), flags, Some("size=0,mode=555"))?;
    } else {
        bind(Path::new("/dev/null"), path)?;
    }
    Ok(())
}
