//! The lowest layer of a root view: [`build`] writes the directories that every system has and an allow-list of
//! `/etc`. What is not named here of the host's root does not exist inside.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::Path,
};

/// Directories with their modes.
const DIRECTORIES: [(&str, u32); 30] = [
    ("boot", 0o755),
    ("dev", 0o755),
    ("dev/pts", 0o755),
    ("dev/shm", 0o1777),
    ("etc", 0o755),
    ("home", 0o755),
    ("media", 0o755),
    ("mnt", 0o755),
    ("opt", 0o755),
    ("opt/toolchains", 0o755),
    ("proc", 0o555),
    ("root", 0o700),
    ("run", 0o755),
    ("run/lock", 0o1777),
    ("srv", 0o755),
    ("sys", 0o555),
    ("tmp", 0o1777),
    ("usr", 0o755),
    ("var", 0o755),
    ("var/backups", 0o755),
    ("var/cache", 0o755),
    ("var/lib", 0o755),
    ("var/lib/dpkg", 0o755),
    ("var/lib/misc", 0o755),
    ("var/local", 0o755),
    ("var/log", 0o755),
    ("var/mail", 0o755),
    ("var/opt", 0o755),
    ("var/spool", 0o755),
    ("var/tmp", 0o1777),
];

/// Links with their targets.
const LINKS: [(&str, &str); 7] = [
    ("dev/fd", "/proc/self/fd"),
    ("dev/ptmx", "pts/ptmx"),
    ("dev/stderr", "/proc/self/fd/2"),
    ("dev/stdin", "/proc/self/fd/0"),
    ("dev/stdout", "/proc/self/fd/1"),
    ("etc/mtab", "/proc/mounts"),
    ("var/run", "/run"),
];

/// Files that device nodes are bound over.
const DEVICE_PLACES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// Files that say the same on every host, so that nothing of this one shows.
const GENERATED: [(&str, &str); 7] = [
    (
        "etc/passwd",
        "root:x:0:0:root:/root:/bin/bash\n\
         daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n\
         bin:x:2:2:bin:/bin:/usr/sbin/nologin\n\
         sys:x:3:3:sys:/dev:/usr/sbin/nologin\n\
         mail:x:8:8:mail:/var/mail:/usr/sbin/nologin\n\
         www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin\n\
         nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    ),
    (
        "etc/group",
        "root:x:0:\ndaemon:x:1:\nbin:x:2:\nsys:x:3:\nadm:x:4:\ntty:x:5:\ndisk:x:6:\nmail:x:8:\n\
         www-data:x:33:\nutmp:x:43:\nstaff:x:50:\nusers:x:100:\nnogroup:x:65534:\n",
    ),
    (
        "etc/hosts",
        "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n127.0.1.1\tsandbox\n",
    ),
    ("etc/hostname", "sandbox\n"),
    // Nobody listens there, so a look-up fails at once instead of waiting.
    ("etc/resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"),
    (
        "etc/nsswitch.conf",
        "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n\
         protocols: files\nservices: files\nethers: files\nrpc: files\n",
    ),
    ("etc/fstab", ""),
];

/// What is copied from the host's `/etc`, as far as everybody may read it. Directories are copied whole; a star at the
/// end stands for any rest.
const COPIED: [&str; 46] = [
    "alpine-release",
    "alternatives",
    "bash.bashrc",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "fonts",
    "gai.conf",
    "groff",
    "host.conf",
    "inputrc",
    "java-*",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "libaudit.conf",
    "locale.alias",
    "locale.conf",
    "locale.gen",
    "localtime",
    "login.defs",
    "lsb-release",
    "magic",
    "magic.mime",
    "mime.types",
    "networks",
    "openssl",
    "os-release",
    "perl",
    "php",
    "pki/ca-trust/extracted",
    "pki/tls/certs",
    "pki/tls/cert.pem",
    "pki/tls/openssl.cnf",
    "profile",
    "protocols",
    "python3*",
    "redhat-release",
    "rpc",
    "services",
    "shells",
    "skel",
    "ssl/certs",
    "ssl/openssl.cnf",
    "system-release",
    "terminfo",
];

/// Names that never cross, wherever they stand in a copied directory.
const NEVER: [&str; 5] = ["private", "shadow", "gshadow", "ssh", "keystore"];

/// A root link of the host, such as `bin` → `usr/bin`, or a mount point for a directory of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RootEntry {
    /// A link with its target.
    Link(String, String),
    /// A mount point.
    MountPoint(String),
}

/// Writes the skeleton into an empty directory.
pub(super) fn build(into: &Path, etc: &Path, entries: &[RootEntry]) -> io::Result<()> {
    for (name, mode) in DIRECTORIES {
        let path = into.join(name);
        fs::create_dir_all(&path)?;
        fs::set_permissions(&path, Permissions::from_mode(mode))?;
    }
    for (name, target) in LINKS {
        symlink(target, into.join(name))?;
    }
    for name in DEVICE_PLACES {
        fs::write(into.join("dev").join(name), "")?;
    }
    for pattern in COPIED {
        copy_pattern(etc, &into.join("etc"), pattern)?;
    }
    for (name, text) in GENERATED {
        write_new(&into.join(name), text)?;
    }
    write_new(&into.join("var/lib/dpkg/status"), "")?;
    for entry in entries {
        match entry {
            RootEntry::Link(name, target) => symlink(target, into.join(name))?,
            RootEntry::MountPoint(path) => {
                fs::create_dir_all(into.join(path.trim_start_matches('/')))?;
            }
        }
    }
    fs::set_permissions(into, Permissions::from_mode(0o755))
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, Permissions::from_mode(0o644))
}

fn copy_pattern(etc: &Path, into: &Path, pattern: &str) -> io::Result<()> {
    let Some(prefix) = pattern.strip_suffix('*') else {
        return copy(&etc.join(pattern), &into.join(pattern));
    };
    let Ok(entries) = fs::read_dir(etc) else { return Ok(()) };
    for entry in entries {
        let name = entry?.file_name();
        if name.to_string_lossy().starts_with(prefix) {
            copy(&etc.join(&name), &into.join(&name))?;
        }
    }
    Ok(())
}

/// Copies what everybody may read; the rest is passed over.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let Ok(found) = fs::symlink_metadata(from) else { return Ok(()) };
    let is_never = from.file_name().is_some_and(|name| NEVER.iter().any(|never| name == *never));
    if is_never {
        return Ok(());
    }
    let kind = found.file_type();
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    if kind.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    let needed = if kind.is_dir() { 0o005 } else { 0o004 };
    if found.mode() & needed != needed {
        return Ok(());
    }
    if kind.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let name = entry?.file_name();
            copy(&from.join(&name), &to.join(&name))?;
        }
        fs::set_permissions(to, Permissions::from_mode(found.mode() & 0o7777 | 0o700))?;
    } else if kind.is_file() {
        fs::copy(from, to)?;
        fs::set_permissions(to, Permissions::from_mode(found.mode() & 0o0777 | 0o200))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_allow_list_crosses() {
        let host = tempfile::tempdir().unwrap();
        let etc = host.path();
        let secret = "canary-3f1";
        let plant = |path: &str, text: &str, mode: u32| {
            let path = etc.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        };
        plant("shadow", secret, 0o644);
        plant("ssl/private/key.pem", secret, 0o644);
        plant("ssl/certs/private/key.pem", secret, 0o644);
        plant("ssl/certs/ca.pem", "public", 0o644);
        plant("python3/debian_config", secret, 0o640);
        plant("python3.11/config", "public", 0o644);
        plant("gitconfig", secret, 0o644);
        let made = tempfile::tempdir().unwrap();
        build(made.path(), etc, &[RootEntry::Link("bin".into(), "usr/bin".into())]).unwrap();
        let check = |path: &str, expect: Option<&str>| {
            let text = fs::read_to_string(made.path().join(path)).ok();
            assert_eq!(text.as_deref(), expect, "{path}");
        };
        check("etc/shadow", None);
        check("etc/ssl/private/key.pem", None);
        check("etc/ssl/certs/private/key.pem", None);
        check("etc/ssl/certs/ca.pem", Some("public"));
        check("etc/python3/debian_config", None);
        check("etc/python3.11/config", Some("public"));
        check("etc/gitconfig", None);
        check("etc/hostname", Some("sandbox\n"));
        assert_eq!(fs::read_link(made.path().join("bin")).unwrap(), Path::new("usr/bin"));
    }
}
