//! Users and groups of the container: [`Identity`] is read from its own `/etc/passwd` and `/etc/group`, by the rules of
//! container engines.

use std::{
    fs,
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
};

use nix::unistd::{Gid, Uid, setgroups, setresgid, setresuid};

/// So much is read of a list of users or groups.
const LIST_BYTES_MAX: u64 = 16 << 20;

/// Who a command runs as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub uid: u32,
    pub gid: u32,
    /// Supplementary groups.
    pub groups: Vec<u32>,
    pub home: String,
}

impl Identity {
    /// Finds `name`, `uid`, `uid:gid` or `name:group`; nothing means root.
    pub(super) fn find(user: &str) -> io::Result<Self> {
        let (passwd, group) = (read("/etc/passwd"), read("/etc/group"));
        Self::find_in(user, &passwd, &group).map_err(io::Error::other)
    }

    fn find_in(user: &str, passwd: &str, group: &str) -> Result<Self, String> {
        let (name, group_name) = user.split_once(':').unwrap_or((user, ""));
        let name = if name.is_empty() { "0" } else { name };
        let number = name.parse::<u32>().ok();
        let found = lines(passwd).find(|fields| match number {
            Some(number) => field(fields, 2) == Some(number),
            None => fields[0] == name,
        });
        let mut identity = match (&found, number) {
            (Some(fields), _) => Self {
                uid: field(fields, 2).ok_or_else(|| format!("user {name} has no number"))?,
                gid: field(fields, 3).unwrap_or(0),
                groups: Vec::new(),
                home: fields.get(5).map_or("/", |home| home).to_owned(),
            },
            (None, Some(uid)) => Self { uid, gid: 0, groups: Vec::new(), home: "/".to_owned() },
            (None, None) => return Err(format!("user {name} is not in /etc/passwd")),
        };
        if group_name.is_empty() {
            let user_name = found.map_or("", |fields| fields[0]);
            let is_member = |fields: &Vec<&str>| {
                fields.get(3).is_some_and(|members| members.split(',').any(|one| one == user_name))
            };
            if !user_name.is_empty() {
                let member_of = lines(group).filter(is_member);
                identity.groups = member_of.filter_map(|fields| field(&fields, 2)).collect();
            }
        } else {
            let gid = group_name.parse::<u32>().ok();
            let named = lines(group).find(|fields| fields[0] == group_name);
            identity.gid = gid
                .or_else(|| named.and_then(|fields| field(&fields, 2)))
                .ok_or_else(|| format!("group {group_name} is not in /etc/group"))?;
        }
        if !identity.groups.contains(&identity.gid) {
            identity.groups.insert(0, identity.gid);
        }
        Ok(identity)
    }

    /// Becomes this user.
    pub(super) fn assume(&self) -> io::Result<()> {
        let groups: Vec<Gid> = self.groups.iter().map(|gid| Gid::from_raw(*gid)).collect();
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        let failed = |what: &str, errno: nix::errno::Errno| {
            io::Error::other(format!("become user {}: {what}: {}", self.uid, errno.desc()))
        };
        setgroups(&groups).map_err(|errno| failed("groups", errno))?;
        setresgid(gid, gid, gid).map_err(|errno| failed("group", errno))?;
        setresuid(uid, uid, uid).map_err(|errno| failed("user", errno))
    }
}

/// What a plain file of the container says; a container without it has numbers only.
fn read(path: &str) -> String {
    let mut text = Vec::new();
    // Whoever is root inside may have put a pipe there: it must not make us wait.
    let opened = fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    if let Ok(file) = opened.and_then(|file| {
        let is_plain = file.metadata()?.is_file();
        is_plain.then_some(file).ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }) {
        // What could be read counts.
        let _ = file.take(LIST_BYTES_MAX).read_to_end(&mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn lines(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines()
        .map(|line| line.trim().split(':').collect::<Vec<_>>())
        .filter(|fields| !fields[0].is_empty() && !fields[0].starts_with('#'))
}

fn field(fields: &[&str], index: usize) -> Option<u32> {
    fields.get(index)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Identity, read};

    #[test]
    fn lists_are_read_from_plain_files_only() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        std::fs::write(path("plain"), b"a:\xff\n").unwrap();
        nix::unistd::mkfifo(path("pipe").as_str(), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let check = |name: &str, expect: &str| assert_eq!(read(&path(name)), expect, "{name}");
        check("plain", "a:\u{fffd}\n");
        check("pipe", "");
        check("missing", "");
        check(".", "");
    }

    #[test]
    fn users_are_found_as_engines_find_them() {
        let passwd = "# comment\nroot:x:0:0:root:/root:/bin/sh\n\nann:x:1000:100::/home/ann:/bin/sh\nbad:x::\n";
        let group =
            "root:x:0:\nusers:x:100:\naudio:x:29:ann,bob\nvideo:x:44:bob,ann\nroots:x:7:root\n";
        let check = |user: &str, expect: Result<(u32, u32, &[u32], &str), &str>| {
            let found = Identity::find_in(user, passwd, group);
            let found = found
                .as_ref()
                .map(|one| (one.uid, one.gid, one.groups.as_slice(), one.home.as_str()));
            assert_eq!(found.map_err(String::as_str), expect, "{user}");
        };
        check("", Ok((0, 0, &[0, 7], "/root")));
        check("root", Ok((0, 0, &[0, 7], "/root")));
        check("ann", Ok((1000, 100, &[100, 29, 44], "/home/ann")));
        check("1000", Ok((1000, 100, &[100, 29, 44], "/home/ann")));
        check("ann:audio", Ok((1000, 29, &[29], "/home/ann")));
        check("ann:55", Ok((1000, 55, &[55], "/home/ann")));
        check("4711", Ok((4711, 0, &[0], "/")));
        check("4711:4712", Ok((4711, 4712, &[4712], "/")));
        check(":audio", Ok((0, 29, &[29], "/root")));
        check("eve", Err("user eve is not in /etc/passwd"));
        check("ann:cooks", Err("group cooks is not in /etc/group"));
        check("bad", Err("user bad has no number"));
    }
}
