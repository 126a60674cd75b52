//! Refusals of the kernel in plain words: [`explain`] says what to change on this host.

use std::fs;

use crate::sandboxes::supervision::protocol::{Refusal, Step};

/// Settings of the host that explain a refusal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Host {
    /// `kernel.apparmor_restrict_unprivileged_userns` is on.
    pub is_apparmor_restricting: bool,
    /// `user.max_user_namespaces`.
    pub user_namespaces_max: Option<u64>,
    /// `kernel.unprivileged_userns_clone` is off.
    pub is_clone_forbidden: bool,
    /// This process runs in a container.
    pub is_container: bool,
    /// This process is root.
    pub is_root: bool,
}

impl Host {
    /// Reads this host's settings.
    pub(super) fn read() -> Self {
        let setting = |path: &str| {
            fs::read_to_string(format!("/proc/sys/{path}")).ok()?.trim().parse::<u64>().ok()
        };
        let is_container = ["/.dockerenv", "/run/.containerenv"]
            .iter()
            .any(|path| fs::exists(path).unwrap_or(false));
        Self {
            is_apparmor_restricting: setting("kernel/apparmor_restrict_unprivileged_userns")
                == Some(1),
            user_namespaces_max: setting("user/max_user_namespaces"),
            is_clone_forbidden: setting("kernel/unprivileged_userns_clone") == Some(0),
            is_container,
            is_root: nix::unistd::geteuid().is_root(),
        }
    }
}

/// What stands in the way, and what to change.
pub(super) fn explain(refusal: &Refusal, host: &Host) -> String {
    let error = std::io::Error::from_raw_os_error(refusal.errno);
    let fact = format!("{}: {error}", refusal.what);
    let remedy = remedy(refusal, host);
    format!("{remedy} ({fact})")
}

fn remedy(refusal: &Refusal, host: &Host) -> &'static str {
    let is_denied = matches!(refusal.errno, libc::EPERM | libc::EACCES);
    if host.user_namespaces_max == Some(0) {
        return "user namespaces are switched off; allow them with \
                `sysctl -w user.max_user_namespaces=15000`";
    }
    if is_denied && !host.is_root && host.is_apparmor_restricting {
        return "AppArmor restricts user namespaces of ordinary users, as Ubuntu does since 23.10; allow them with \
                `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0` or an AppArmor profile for this program, \
                or run as root";
    }
    if is_denied && !host.is_root && host.is_clone_forbidden {
        return "user namespaces of ordinary users are switched off; allow them with \
                `sysctl -w kernel.unprivileged_userns_clone=1`, or run as root";
    }
    match refusal.step {
        Step::Namespaces | Step::IdMaps if refusal.errno == libc::ENOSPC => {
            "the limit on namespaces is reached; raise user.max_user_namespaces and its likes under /proc/sys/user"
        }
        Step::Namespaces | Step::IdMaps if is_denied && host.is_container => {
            "this container does not allow namespaces; start it with `--security-opt seccomp=unconfined \
             --security-opt apparmor=unconfined --security-opt systempaths=unconfined`, or with `--privileged`"
        }
        Step::Namespaces | Step::IdMaps if is_denied => {
            "a security policy of this host does not allow user namespaces; allow them for this program, \
             or use another sandbox"
        }
        Step::Namespaces | Step::IdMaps => {
            "this kernel lacks user, pid, network or control group namespaces; use one with CONFIG_USER_NS"
        }
        Step::Overlay => {
            "overlays cannot be mounted from a user namespace here; this needs Linux 5.11 and a state directory on \
             ext4, xfs, btrfs or tmpfs (not on an overlay: in a container, use a volume)"
        }
        Step::Proc => {
            "a fresh /proc cannot be mounted because the one here is partly hidden; start the container with \
             `--security-opt systempaths=unconfined` or `--privileged`"
        }
        Step::ProcessLog => {
            "the process log needs seccomp user notifications of Linux 5.5, not already taken by a container runtime"
        }
        Step::Other => "the sandbox's root could not be built",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_names_its_remedy() {
        let check = |step, errno, host: Host, expect: &str| {
            let text = explain(&Refusal { step, what: "unshare".into(), errno }, &host);
            assert!(text.contains(expect), "{text}");
        };
        let ubuntu = Host { is_apparmor_restricting: true, ..Host::default() };
        check(
            Step::Namespaces,
            libc::EPERM,
            ubuntu.clone(),
            "apparmor_restrict_unprivileged_userns=0",
        );
        check(Step::Overlay, libc::EACCES, ubuntu, "apparmor_restrict_unprivileged_userns=0");
        let off = Host { user_namespaces_max: Some(0), ..Host::default() };
        check(Step::Namespaces, libc::ENOSPC, off, "user.max_user_namespaces=15000");
        let debian = Host { is_clone_forbidden: true, ..Host::default() };
        check(Step::Namespaces, libc::EPERM, debian, "unprivileged_userns_clone=1");
        let container = Host { is_container: true, is_root: true, ..Host::default() };
        check(Step::Namespaces, libc::EPERM, container.clone(), "seccomp=unconfined");
        check(Step::Proc, libc::EPERM, container.clone(), "systempaths=unconfined");
        check(Step::Overlay, libc::EINVAL, container, "use a volume");
        check(Step::Namespaces, libc::ENOSPC, Host::default(), "limit on namespaces");
        check(Step::Namespaces, libc::EINVAL, Host::default(), "CONFIG_USER_NS");
        check(Step::ProcessLog, libc::EBUSY, Host::default(), "already taken");
    }
}
