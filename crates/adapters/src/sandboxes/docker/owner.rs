//! Whose an object of the engine is: [`Owner`] names a process so that another can prove it dead.

use std::fs;

use nix::unistd::Pid;

/// A process of a boot of a machine, as it stands on a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    machine: String,
    boot: String,
    pid: i32,
    /// Start in ticks since the boot, which tells reused ids apart.
    started: u64,
}

impl Owner {
    /// This process.
    pub(super) fn current() -> Self {
        let pid = Pid::this().as_raw();
        Self {
            machine: read_word("/etc/machine-id"),
            boot: read_word("/proc/sys/kernel/random/boot_id"),
            pid,
            started: started(pid).unwrap_or(0),
        }
    }

    /// As a label holds it.
    pub(super) fn text(&self) -> String {
        format!("{}/{}/{}/{}", self.machine, self.boot, self.pid, self.started)
    }

    /// Reads a label.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('/').map(str::to_owned);
        let (machine, boot) = (parts.next()?, parts.next()?);
        let pid = parts.next()?.parse().ok()?;
        let started = parts.next()?.parse().ok()?;
        parts.next().is_none().then_some(Self { machine, boot, pid, started })
    }

    /// Whether this process can be proved dead from here: it is of an earlier boot of this machine, or its id is free
    /// or somebody else's. Of another machine nothing can be proved.
    pub(super) fn is_provably_dead(&self) -> bool {
        let own = Self::current();
        if self.boot == own.boot {
            return started(self.pid) != Some(self.started);
        }
        !self.machine.is_empty() && self.machine == own.machine
    }
}

fn read_word(path: &str) -> String {
    fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// The start of a process in ticks; none if there is no such process.
fn started(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold blanks and brackets; fields are counted from its end.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_proved_dead_or_left() {
        let own = Owner::current();
        assert_eq!(Owner::parse(&own.text()), Some(own.clone()));
        assert!(!own.is_provably_dead());
        let other = |change: fn(&mut Owner)| {
            let mut other = own.clone();
            change(&mut other);
            other.is_provably_dead()
        };
        assert!(other(|owner| owner.started += 1), "its id is somebody else's");
        assert!(other(|owner| owner.pid = i32::MAX), "its id is free");
        assert!(
            other(|owner| {
                owner.machine = "same".into();
                owner.boot = "earlier".into();
            }) == (own.machine == "same")
        );
        assert!(!other(|owner| {
            owner.machine = "another".into();
            owner.boot = "another".into();
        }));
        for wrong in ["", "a/b/c/d", "a/b/1/2/3", "a/b/1"] {
            assert_eq!(Owner::parse(wrong), None, "{wrong}");
        }
    }
}
