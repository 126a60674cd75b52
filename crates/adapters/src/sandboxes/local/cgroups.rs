//! Limits and freezing for a whole process tree: [`Cgroup`] over version 1 or 2 of the kernel's control groups, where
//! the host lets us make one.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use engine::ports::sandbox::{LimitKind, Limits};

/// Names of our groups start with this.
const PREFIX: &str = "pcb-";
/// A tree that is not frozen by then is a fault.
const FREEZE_DEADLINE: Duration = Duration::from_secs(10);
/// How long a dead tree may still stand in its group.
const REMOVE_DEADLINE: Duration = Duration::from_secs(2);
/// Period of the processor quota in microseconds.
const CPU_PERIOD_US: f64 = 100_000.0;

/// Where groups can be made on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Hierarchy {
    /// Version 1: parent directory by controller.
    V1(BTreeMap<String, PathBuf>),
    /// Version 2: one parent directory and the controllers that it hands down.
    V2 { parent: PathBuf, controllers: Vec<String> },
    /// Nowhere.
    None,
}

const V1_CONTROLLERS: [&str; 5] = ["memory", "pids", "cpu", "cpuacct", "freezer"];
const V2_CONTROLLERS: [&str; 3] = ["memory", "pids", "cpu"];

impl Hierarchy {
    /// Looks where this process may make groups, by making one.
    pub(super) fn find() -> Self {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let v1 = find_v1(&mounts, &own);
        if !v1.is_empty() {
            return Hierarchy::V1(v1);
        }
        find_v2(&mounts, &own).unwrap_or(Hierarchy::None)
    }

    /// Limits that hold for the whole tree.
    pub(super) fn enforced(&self) -> Vec<LimitKind> {
        let has = |name: &str| match self {
            Hierarchy::V1(parents) => parents.contains_key(name),
            Hierarchy::V2 { controllers, .. } => controllers.iter().any(|one| one == name),
            Hierarchy::None => false,
        };
        let kinds = [
            ("memory", LimitKind::Memory),
            ("pids", LimitKind::Processes),
            ("cpu", LimitKind::Cpu),
        ];
        kinds.into_iter().filter(|(name, _)| has(name)).map(|(_, kind)| kind).collect()
    }
}

fn find_v1(mounts: &str, own: &str) -> BTreeMap<String, PathBuf> {
    let mut parents = BTreeMap::new();
    for line in mounts.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let [_, mount, "cgroup", options, ..] = fields[..] else { continue };
        for controller in options.split(',').filter(|one| V1_CONTROLLERS.contains(one)) {
            let path = own_v1(own, controller).unwrap_or("/").trim_start_matches('/');
            let candidates = [Path::new(mount).join(path), PathBuf::from(mount)];
            if let Some(parent) = candidates.into_iter().find(|parent| can_make(parent)) {
                parents.insert(controller.to_owned(), parent);
            }
        }
    }
    parents
}

fn own_v1<'t>(own: &'t str, controller: &str) -> Option<&'t str> {
    own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let controllers = fields.next()?;
        controllers.split(',').any(|one| one == controller).then(|| fields.next())?
    })
}

fn find_v2(mounts: &str, own: &str) -> Option<Hierarchy> {
    let mount = mounts.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(' ').collect();
        (fields.get(2) == Some(&"cgroup2")).then(|| PathBuf::from(fields[1]))
    })?;
    let path = own.lines().find_map(|line| line.strip_prefix("0::"))?.trim_start_matches('/');
    let candidates = [mount.join(path), mount];
    let parent = candidates.into_iter().find(|parent| can_make(parent))?;
    for controller in V2_CONTROLLERS {
        // Refused where it is not delegated or where processes stand in the group; then it is not in the list below.
        let _ = fs::write(parent.join("cgroup.subtree_control"), format!("+{controller}"));
    }
    let handed_down = fs::read_to_string(parent.join("cgroup.subtree_control")).ok()?;
    let controllers = handed_down.split_ascii_whitespace().map(str::to_owned).collect();
    Some(Hierarchy::V2 { parent, controllers })
}

fn can_make(parent: &Path) -> bool {
    let probe = parent.join(format!("{PREFIX}probe-{}", std::process::id()));
    let made = fs::create_dir(&probe);
    if made.is_ok() {
        // A group that stays is empty and harmless.
        let _ = fs::remove_dir(&probe);
    }
    made.is_ok()
}

/// The control group of one sandbox.
#[derive(Debug)]
pub(super) struct Cgroup {
    hierarchy: Hierarchy,
    name: String,
}

impl Cgroup {
    /// Makes a group with limits; `None` where the host has no place for one.
    pub(super) fn make(
        hierarchy: &Hierarchy,
        session: &str,
        limits: &Limits,
    ) -> io::Result<Option<Self>> {
        if *hierarchy == Hierarchy::None {
            return Ok(None);
        }
        let group = Self { hierarchy: hierarchy.clone(), name: format!("{PREFIX}{session}") };
        for directory in group.directories() {
            fs::create_dir(&directory)?;
        }
        group.set_limits(limits)?;
        Ok(Some(group))
    }

    fn directories(&self) -> Vec<PathBuf> {
        match &self.hierarchy {
            Hierarchy::V1(parents) => {
                // Controllers that are mounted together share a directory.
                let mut directories: Vec<PathBuf> =
                    parents.values().map(|parent| parent.join(&self.name)).collect();
                directories.sort();
                directories.dedup();
                directories
            }
            Hierarchy::V2 { parent, .. } => vec![parent.join(&self.name)],
            Hierarchy::None => Vec::new(),
        }
    }

    /// A file of a controller, if the controller is there.
    fn file(&self, controller: &str, v1: &str, v2: &str) -> Option<PathBuf> {
        match &self.hierarchy {
            Hierarchy::V1(parents) => {
                parents.get(controller).map(|parent| parent.join(&self.name).join(v1))
            }
            Hierarchy::V2 { parent, controllers } => {
                let is_core = controller == "freezer" || controller == "cpuacct";
                let has = is_core || controllers.iter().any(|one| one == controller);
                has.then(|| parent.join(&self.name).join(v2))
            }
            Hierarchy::None => None,
        }
    }

    fn set_limits(&self, limits: &Limits) -> io::Result<()> {
        if let Some(memory_mb) = limits.memory_mb {
            let bytes = (memory_mb << 20).to_string();
            if let Some(file) = self.file("memory", "memory.limit_in_bytes", "memory.max") {
                fs::write(file, &bytes)?;
            }
            let swap = if self.is_v1() { bytes.as_str() } else { "0" };
            if let Some(file) =
                self.file("memory", "memory.memsw.limit_in_bytes", "memory.swap.max")
            {
                // Kernels without swap accounting have no such file.
                let _ = fs::write(file, swap);
            }
        }
        if let Some(processes_max) = limits.processes_max
            && let Some(file) = self.file("pids", "pids.max", "pids.max")
        {
            fs::write(file, processes_max.to_string())?;
        }
        if let Some(cpus) = limits.cpus
            && let Some(file) = self.file("cpu", "cpu.cfs_quota_us", "cpu.max")
        {
            let quota_us = (cpus * CPU_PERIOD_US).max(1000.0) as u64;
            let text = if self.is_v1() {
                quota_us.to_string()
            } else {
                format!("{quota_us} {CPU_PERIOD_US}")
            };
            fs::write(file, text)?;
        }
        Ok(())
    }

    fn is_v1(&self) -> bool {
        matches!(self.hierarchy, Hierarchy::V1(_))
    }

    /// Files to which a process writes itself to join.
    pub(super) fn procs_files(&self) -> Vec<PathBuf> {
        self.directories().into_iter().map(|directory| directory.join("cgroup.procs")).collect()
    }

    fn freezer(&self) -> Option<PathBuf> {
        self.file("freezer", "freezer.state", "cgroup.freeze").filter(|file| file.exists())
    }

    fn freezer_words(&self) -> (&'static str, &'static str) {
        if self.is_v1() { ("FROZEN", "THAWED") } else { ("1", "0") }
    }

    /// The file that thaws the tree, with the word.
    pub(super) fn thaw_file(&self) -> Option<(PathBuf, String)> {
        Some((self.freezer()?, self.freezer_words().1.to_owned()))
    }

    /// Whether the group can freeze its tree.
    pub(super) fn can_freeze(&self) -> bool {
        self.freezer().is_some()
    }

    /// Freezes the tree and waits until the kernel says that all of it is frozen.
    pub(super) fn freeze(&self) -> io::Result<()> {
        let file = self.freezer().ok_or(io::ErrorKind::Unsupported)?;
        let deadline = Instant::now() + FREEZE_DEADLINE;
        loop {
            // Each time: version 1 passes over a traced process that was about to stop, until it is asked again.
            fs::write(&file, self.freezer_words().0)?;
            if self.is_frozen(&file)? {
                return Ok(());
            }
            if Instant::now() > deadline {
                self.thaw()?;
                return Err(io::ErrorKind::TimedOut.into());
            }
            thread::sleep(Duration::from_micros(200));
        }
    }

    fn is_frozen(&self, file: &Path) -> io::Result<bool> {
        if self.is_v1() {
            return Ok(fs::read_to_string(file)?.trim() == "FROZEN");
        }
        let events = fs::read_to_string(file.with_file_name("cgroup.events"))?;
        Ok(events.lines().any(|line| line == "frozen 1"))
    }

    /// Lets the tree go on.
    pub(super) fn thaw(&self) -> io::Result<()> {
        let file = self.freezer().ok_or(io::ErrorKind::Unsupported)?;
        fs::write(file, self.freezer_words().1)
    }

    /// Processor time of the tree in milliseconds.
    pub(super) fn cpu_ms(&self) -> Option<u64> {
        let text = fs::read_to_string(self.file("cpuacct", "cpuacct.usage", "cpu.stat")?).ok()?;
        if self.is_v1() {
            return Some(text.trim().parse::<u64>().ok()? / 1_000_000);
        }
        let line = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
        Some(line.parse::<u64>().ok()? / 1000)
    }

    /// How often the memory limit killed and the process limit refused.
    pub(super) fn breaches(&self) -> Breaches {
        let count = |file: Option<PathBuf>, name: &str| {
            let text = fs::read_to_string(file?).ok()?;
            text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
        };
        Breaches {
            memory: count(self.file("memory", "memory.oom_control", "memory.events"), "oom_kill ")
                .unwrap_or(0),
            processes: count(self.file("pids", "pids.events", "pids.events"), "max ").unwrap_or(0),
        }
    }
}

/// Counters of breached limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Breaches {
    pub memory: u64,
    pub processes: u64,
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for directory in self.directories() {
            remove(&directory);
        }
    }
}

/// Removes the groups of a session whose process is dead, with what still lives in them.
pub(super) fn remove_leftovers(session: &str) {
    match Hierarchy::find() {
        Hierarchy::None => {}
        hierarchy => drop(Cgroup { hierarchy, name: format!("{PREFIX}{session}") }),
    }
}

/// Thaws, kills and removes; what cannot be removed in time is left to the next run.
fn remove(directory: &Path) {
    let deadline = Instant::now() + REMOVE_DEADLINE;
    loop {
        match fs::remove_dir(directory) {
            Ok(()) => return,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(_) if Instant::now() > deadline => return,
            Err(_) => {}
        }
        for (file, word) in
            [("freezer.state", "THAWED"), ("cgroup.freeze", "0"), ("cgroup.kill", "1")]
        {
            let file = directory.join(file);
            if file.exists() {
                // Another way is tried below.
                let _ = fs::write(file, word);
            }
        }
        let processes = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
        for pid in processes.lines().filter_map(|line| line.parse().ok()) {
            let pid = nix::unistd::Pid::from_raw(pid);
            // It may have died meanwhile.
            let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
        }
        thread::sleep(Duration::from_millis(1));
    }
}
