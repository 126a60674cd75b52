//! Looking over all processes of a sandbox from within: [`Sweep`] stops, continues, counts, kills.

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

use super::protocol::Count;

/// A sweep that does not find the tree quiet or dead by then fails.
const DEADLINE: Duration = Duration::from_secs(10);
/// A tree that does not stop by then is killed as it runs.
const KILL_WINDOW: Duration = Duration::from_secs(1);
/// Between two looks at processes that have been told to stop or die.
const LOOK_PAUSE: Duration = Duration::from_micros(200);
/// Time in which a traced process that was stopped may have to be continued again.
const CONTINUE_WINDOW: Duration = Duration::from_millis(50);

/// Calls that wait until the child that they made runs a program of its own.
#[cfg(target_arch = "x86_64")]
const FORKING_CALLS: &[i64] = &[libc::SYS_clone, libc::SYS_clone3, libc::SYS_vfork];
#[cfg(not(target_arch = "x86_64"))]
const FORKING_CALLS: &[i64] = &[libc::SYS_clone, libc::SYS_clone3];

/// A process as `/proc/PID` shows it.
struct Process {
    pid: i32,
    /// States of its threads.
    states: Vec<u8>,
    parent: i32,
    group: i32,
    session: i32,
    ticks: u64,
}

impl Process {
    fn is_alive(&self) -> bool {
        self.states.iter().any(|state| !matches!(state, b'Z' | b'X'))
    }

    fn is_quiet(&self) -> bool {
        let is_still = |state: &u8| matches!(state, b'T' | b't' | b'Z' | b'X');
        self.states.iter().all(is_still) || self.is_waiting_for_stopped_child()
    }

    /// It shares its memory with a child that we have stopped, so the kernel does not let it go on or stop.
    fn is_waiting_for_stopped_child(&self) -> bool {
        if !self.states.iter().all(|state| matches!(state, b'D' | b'T' | b'Z' | b'X')) {
            return false;
        }
        let call = fs::read_to_string(format!("/proc/{}/syscall", self.pid)).unwrap_or_default();
        let number = call.split_ascii_whitespace().next().and_then(|call| call.parse().ok());
        number.is_some_and(|number| FORKING_CALLS.contains(&number))
    }
}

fn read_process(pid: i32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields = fields(&stat)?;
    let number = |index: usize| fields.get(index)?.parse::<i64>().ok();
    Some(Process {
        pid,
        states: threads_of(pid).unwrap_or_else(|| state_of(&stat).into_iter().collect()),
        parent: number(1)? as i32,
        group: number(2)? as i32,
        session: number(3)? as i32,
        ticks: (11..15).filter_map(number).sum::<i64>() as u64,
    })
}

/// The name may hold spaces and brackets; the fields start after the last one.
fn fields(stat: &str) -> Option<Vec<&str>> {
    Some(stat.rsplit_once(')')?.1.split_ascii_whitespace().collect())
}

fn state_of(stat: &str) -> Option<u8> {
    fields(stat)?.first()?.as_bytes().first().copied()
}

fn threads_of(pid: i32) -> Option<Vec<u8>> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let stats = threads
        .filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("stat")).ok())
        .filter_map(|stat| state_of(&stat));
    Some(stats.collect()).filter(|states: &Vec<u8>| !states.is_empty())
}

fn send(pid: i32, signal: Signal) -> bool {
    kill(Pid::from_raw(pid), signal) != Err(Errno::ESRCH)
}

/// Whose pid 1 is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum First {
    /// It watches over the sandbox.
    #[default]
    Ours,
    /// It belongs to what is looked over. No signal from within stops or kills it.
    Foreign,
}

/// Looks over everything but what watches over it, and remembers what it has stopped.
#[derive(Debug, Default)]
pub(crate) struct Sweep {
    first: First,
    /// Processes that watch over the sandbox beside pid 1.
    ours: BTreeSet<i32>,
    stopped: BTreeSet<i32>,
}

impl Sweep {
    /// For the init of a namespace: everybody else is looked over.
    pub(crate) fn of_namespace() -> Self {
        Self::default()
    }

    /// For processes that watch from beside pid 1.
    pub(crate) fn beside(first: First, ours: impl IntoIterator<Item = i32>) -> Self {
        Self { first, ours: ours.into_iter().collect(), ..Self::default() }
    }

    /// Every process but pid 1 and ours.
    fn processes(&self) -> Vec<Process> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let pids =
            entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(|pid| *pid != 1 && !self.ours.contains(pid)).filter_map(read_process).collect()
    }

    /// Counts living processes and the processor time of the tree. A foreign pid 1 counts only while it works.
    pub(crate) fn count(&self) -> Count {
        let living = self.processes();
        let is_foreign = self.first == First::Foreign;
        let first = is_foreign.then(|| read_process(1)).flatten();
        let ticks: u64 = living.iter().chain(&first).map(|process| process.ticks).sum();
        let per_second = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100) as u64;
        let reaped = getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0, |usage| {
            (usage.user_time().num_milliseconds() + usage.system_time().num_milliseconds()) as u64
        });
        let works = first.is_some_and(|first| first.states.contains(&b'R'));
        let alive = living.iter().filter(|process| process.is_alive()).count() as u32;
        Count { alive: alive + u32::from(works), cpu_ms: reaped + ticks * 1000 / per_second }
    }

    /// Kills a process group, the session of its leader and every descendant of it.
    pub(crate) fn kill_tree(&self, leader: i32) {
        if leader <= 1 || self.ours.contains(&leader) {
            return;
        }
        self.stop_tree(leader);
        // Until a look finds nobody new: what could not be stopped may fork while it is being killed.
        let mut killed = BTreeSet::new();
        loop {
            let is_new = |one: &Process| one.is_alive() && !killed.contains(&one.pid);
            let found = self.tree(leader).into_iter().filter(is_new).map(|one| one.pid);
            let found: Vec<i32> = found.collect();
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

    /// Stops a tree that is about to be killed: whoever sees its child die must not start another, which could leave
    /// the tree.
    fn stop_tree(&self, leader: i32) {
        let deadline = Instant::now() + KILL_WINDOW;
        let mut told = BTreeSet::new();
        let mut good_looks = 0;
        while good_looks < 2 && Instant::now() < deadline {
            let mut left = self.tree(leader);
            // One that only waits for a stopped child would go on as soon as that child is dead.
            left.retain(|process| told.insert(process.pid) || !process.is_quiet());
            if left.is_empty() {
                good_looks += 1;
                continue;
            }
            good_looks = 0;
            for process in left {
                send(process.pid, Signal::SIGSTOP);
            }
            thread::sleep(LOOK_PAUSE);
        }
    }

    /// The processes of a group, of the session of its leader and below it.
    fn tree(&self, leader: i32) -> Vec<Process> {
        let mut all = self.processes();
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
        all.retain(|one| [one.pid, one.group, one.session].contains(&leader) || descends(one.pid));
        all
    }

    /// Kills every process but pid 1 and ours; returns once two looks in a row find nobody alive.
    pub(crate) fn kill_all(&mut self) -> io::Result<()> {
        if self.ours.is_empty() {
            send(-1, Signal::SIGKILL);
        } else {
            // What is stopped cannot fork while it is being killed; what does not stop is killed all the same.
            let _ = self.stop_all();
            self.stopped.clear();
        }
        self.signal_until(Signal::SIGKILL, "die", |one| !one.is_alive())
    }

    /// Stops every process; returns once two looks in a row find all of them quiet.
    ///
    /// A process that was already stopped is left as it is and is not continued later.
    pub(crate) fn stop_all(&mut self) -> io::Result<()> {
        self.signal_until(Signal::SIGSTOP, "stop", Process::is_quiet)
    }

    /// Sends a signal to whoever is not done, until two looks in a row find nobody.
    fn signal_until(
        &mut self,
        signal: Signal,
        verb: &str,
        is_done: impl Fn(&Process) -> bool,
    ) -> io::Result<()> {
        let deadline = Instant::now() + DEADLINE;
        let mut good_looks = 0;
        while good_looks < 2 {
            let mut left = self.processes();
            left.retain(|process| !is_done(process));
            if left.is_empty() {
                good_looks += 1;
                continue;
            }
            good_looks = 0;
            if Instant::now() > deadline {
                return Err(io::Error::other(format!("{} processes do not {verb}", left.len())));
            }
            for process in left {
                // Again at each look: another process may have continued it meanwhile.
                send(process.pid, signal);
                if signal == Signal::SIGSTOP {
                    self.stopped.insert(process.pid);
                }
            }
            thread::sleep(LOOK_PAUSE);
        }
        Ok(())
    }

    /// Continues what [`Sweep::stop_all`] stopped.
    pub(crate) fn continue_all(&mut self) {
        let deadline = Instant::now() + CONTINUE_WINDOW;
        for pid in &self.stopped {
            send(*pid, Signal::SIGCONT);
        }
        // A tracer that had already been told of the stop passes it on after our signal.
        loop {
            let stopped = self.stopped.iter().filter_map(|pid| read_process(*pid));
            let again: Vec<i32> =
                stopped.filter(|one| one.states.contains(&b'T')).map(|one| one.pid).collect();
            if again.is_empty() || Instant::now() > deadline {
                break;
            }
            for pid in again {
                send(pid, Signal::SIGCONT);
            }
            thread::sleep(Duration::from_millis(1));
        }
        self.stopped.clear();
    }
}
