//! Looking over all processes of the sandbox from its init: stop, continue, count, kill.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io, thread,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    sys::{
        resource::{UsageWho, getrusage},
        signal::{Signal, kill},
        time::TimeValLike,
    },
    unistd::{Pid, SysconfVar, sysconf},
};

use crate::sandboxes::local::protocol::Count;

/// A sweep that does not find the tree quiet by then fails.
const QUIET_DEADLINE: Duration = Duration::from_secs(10);
/// Time in which a traced process that was stopped may have to be continued again.
const CONTINUE_WINDOW: Duration = Duration::from_millis(50);

/// A process as `/proc/PID/stat` shows it.
struct Process {
    pid: i32,
    state: u8,
    parent: i32,
    group: i32,
    session: i32,
    ticks: u64,
}

impl Process {
    fn is_alive(&self) -> bool {
        !matches!(self.state, b'Z' | b'X')
    }

    fn is_quiet(&self) -> bool {
        matches!(self.state, b'T' | b't' | b'Z' | b'X')
    }
}

/// Every process but init.
fn processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| *pid != 1).filter_map(read_process).collect()
}

fn read_process(pid: i32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold spaces and brackets; the fields start after the last one.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<i64>().ok();
    Some(Process {
        pid,
        state: *fields.first()?.as_bytes().first()?,
        parent: number(1)? as i32,
        group: number(2)? as i32,
        session: number(3)? as i32,
        ticks: (11..15).filter_map(number).sum::<i64>() as u64,
    })
}

/// Counts living processes and the processor time of the tree.
pub(super) fn count() -> Count {
    let living = processes();
    let ticks: u64 = living.iter().map(|process| process.ticks).sum();
    let per_second = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100) as u64;
    let reaped = getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0, |usage| {
        (usage.user_time().num_milliseconds() + usage.system_time().num_milliseconds()) as u64
    });
    let alive = living.iter().filter(|process| process.is_alive()).count() as u32;
    Count { alive, cpu_ms: reaped + ticks * 1000 / per_second }
}

/// Kills a process group, the session of its leader and every descendant of it.
pub(super) fn kill_tree(leader: i32) {
    if leader <= 1 {
        return;
    }
    // Until a look finds nobody new: what forks while it is being killed is found by the next look.
    let mut killed = BTreeSet::new();
    loop {
        let all = processes();
        let parents: BTreeMap<i32, i32> = all.iter().map(|one| (one.pid, one.parent)).collect();
        let descends = |mut pid: i32| {
            while let Some(parent) = parents.get(&pid) {
                if *parent == leader {
                    return true;
                }
                pid = *parent;
            }
            false
        };
        let belongs = |one: &Process| {
            [one.pid, one.group, one.session].contains(&leader) || descends(one.pid)
        };
        let found: Vec<i32> = all
            .iter()
            .filter(|one| one.is_alive() && belongs(one))
            .map(|one| one.pid)
            .filter(|pid| !killed.contains(pid))
            .collect();
        if found.is_empty() {
            return;
        }
        // The leader goes last: while it lives, its descendants can be told.
        for pid in found.iter().filter(|pid| **pid != leader) {
            send(*pid, Signal::SIGKILL);
        }
        send(leader, Signal::SIGKILL);
        killed.extend(found);
    }
}

/// Kills every process but init.
pub(super) fn kill_all() {
    send(-1, Signal::SIGKILL);
}

fn send(pid: i32, signal: Signal) -> bool {
    kill(Pid::from_raw(pid), signal) != Err(Errno::ESRCH)
}

/// What a sweep has stopped, so that exactly that is continued.
#[derive(Default)]
pub(super) struct Stopped {
    pids: BTreeSet<i32>,
}

impl Stopped {
    /// Stops every process; returns once two looks in a row find all of them quiet.
    ///
    /// A process that was already stopped is left as it is and is not continued later.
    pub(super) fn stop_all(&mut self) -> io::Result<()> {
        let deadline = Instant::now() + QUIET_DEADLINE;
        let mut quiet_looks = 0;
        while quiet_looks < 2 {
            let moving: Vec<Process> =
                processes().into_iter().filter(|process| !process.is_quiet()).collect();
            if moving.is_empty() {
                quiet_looks += 1;
                continue;
            }
            quiet_looks = 0;
            if Instant::now() > deadline {
                return Err(io::Error::other(format!("{} processes do not stop", moving.len())));
            }
            for process in moving {
                // Again at each look: another process may have continued it meanwhile.
                send(process.pid, Signal::SIGSTOP);
                self.pids.insert(process.pid);
            }
            thread::sleep(Duration::from_micros(200));
        }
        Ok(())
    }

    /// Continues what [`Stopped::stop_all`] stopped.
    pub(super) fn continue_all(&mut self) {
        let deadline = Instant::now() + CONTINUE_WINDOW;
        for pid in &self.pids {
            send(*pid, Signal::SIGCONT);
        }
        // A tracer that had already been told of the stop passes it on after our signal.
        loop {
            let stopped = self.pids.iter().filter_map(|pid| read_process(*pid));
            let again: Vec<i32> =
                stopped.filter(|one| one.state == b'T').map(|one| one.pid).collect();
            if again.is_empty() || Instant::now() > deadline {
                break;
            }
            for pid in again {
                send(pid, Signal::SIGCONT);
            }
            thread::sleep(Duration::from_millis(1));
        }
        self.pids.clear();
    }
}
