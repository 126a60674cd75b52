//! Programs that were started (E3), as events: a runner and what it starts for the same purpose are one.

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use super::{
    NoPattern,
    exec_kinds::{is_of_kind, is_test_script, only_starts_others},
    folder,
    invocation::Invocation,
    pattern, short,
};
use crate::{
    acceptance::{Occurrence, glob::Globs},
    evidence::{ChangeKind, EventTime, ProcessEvent, Recorded},
    release::{ExecKind, ExitFilter},
};

pub(super) fn occurrences(
    kind: Option<ExecKind>,
    argv: Option<&str>,
    cwd: &[String],
    exit: ExitFilter,
    evidence: &Recorded,
) -> Result<Vec<Occurrence>, NoPattern> {
    let argv = pattern(argv)?;
    let folders = Globs::below(&evidence.workdir, cwd);
    let mut processes: Vec<&ProcessEvent> = evidence.processes.iter().collect();
    processes.sort_by_key(|process| process.started_ms);
    let own = OwnPrograms::of(evidence);
    let meant: Vec<Option<Part>> =
        processes.iter().map(|process| part(process, kind, &own)).collect();
    let fits: Vec<bool> = processes
        .iter()
        .map(|process| {
            argv.as_ref().is_none_or(|argv| argv.is_match(&process.argv.join(" ")))
                && (folders.is_empty() || folders.matches(&folder::of(process)))
        })
        .collect();
    let places = places(&processes, &meant, kind.is_some());

    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, place) in places.iter().enumerate() {
        if meant[at].is_some() {
            groups.entry(place.leader.unwrap_or(at)).or_default().push(at);
        }
    }
    let found = groups.into_values().filter_map(|group| {
        let shown = *group.iter().find(|at| fits[**at])?;
        let counts = match (exit, exit_of(&processes, &places, &group)) {
            (ExitFilter::Any, _) => true,
            (ExitFilter::Zero, Some(code)) => code == 0,
            (ExitFilter::Nonzero, Some(code)) => code != 0,
            (_, None) => false,
        };
        let process = processes[shown];
        counts.then(|| Occurrence {
            turn: process.turn,
            time: EventTime::exact(process.started_ms),
            subject: short(&process.argv.join(" ")),
        })
    });
    Ok(found.collect())
}

/// What a process that is meant does for the exit of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Its own exit tells, whatever it starts.
    Tells,
    /// It only starts others and may hide how they ended.
    StartsOthers,
}

fn part(process: &ProcessEvent, kind: Option<ExecKind>, own: &OwnPrograms<'_>) -> Option<Part> {
    let Some(kind) = kind else { return Some(Part::Tells) };
    // To have run the tests is a merit, so nothing counts that the agent only calls a runner.
    let is_merit = kind == ExecKind::RunsTests;
    if is_merit && own.pretends(&process.program) {
        return None;
    }
    let invocation =
        if is_merit { Invocation::by_file(process)? } else { Invocation::of(process)? };
    if !is_of_kind(&invocation, kind) {
        None
    } else if only_starts_others(&invocation) {
        Some(Part::StartsOthers)
    } else {
        Some(Part::Tells)
    }
}

/// Programs that the agent made or changed, by their files.
struct OwnPrograms<'a> {
    changed: BTreeMap<&'a str, ChangeKind>,
}

impl<'a> OwnPrograms<'a> {
    fn of(evidence: &'a Recorded) -> Self {
        let mut changed: BTreeMap<&str, ChangeKind> = BTreeMap::new();
        for change in &evidence.changes {
            let kind = changed.entry(&change.path).or_insert(change.kind);
            if change.kind == ChangeKind::Created {
                *kind = ChangeKind::Created;
            }
        }
        Self { changed }
    }

    /// Whether a program is the agent's own and so no witness of a test run. A script of tests that was there
    /// before may grow; what lies in a folder for scratch may be gone again before anybody looks.
    fn pretends(&self, program: &str) -> bool {
        const SCRATCH: [&str; 4] = ["/tmp/", "/var/tmp/", "/dev/shm/", "/run/"];
        match self.changed.get(program) {
            Some(ChangeKind::Created) => true,
            Some(_) => !is_test_script(program),
            None => SCRATCH.iter().any(|folder| program.starts_with(folder)),
        }
    }
}

/// Where a process stands among those that are meant.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// The first one that it belongs to: itself, what its process was before it started another program in its
    /// place, or, among programs of one kind, an ancestor of that kind.
    leader: Option<usize>,
    /// Whether a program above it tells the exit of both.
    is_told_above: bool,
}

fn places(processes: &[&ProcessEvent], meant: &[Option<Part>], by_ancestor: bool) -> Vec<Place> {
    // The last start under each process id.
    let mut last: BTreeMap<u32, usize> = BTreeMap::new();
    let mut places: Vec<Place> = Vec::with_capacity(processes.len());
    for (at, process) in processes.iter().enumerate() {
        let replaced = last.get(&process.pid).copied().filter(|earlier| {
            let ended = processes[*earlier].ended_ms;
            ended.is_none_or(|ended_ms| ended_ms >= process.started_ms)
        });
        let parent = last.get(&process.parent).copied().filter(|_| by_ancestor);
        let mut place = match (replaced, parent) {
            (Some(earlier), _) => places[earlier],
            (None, Some(parent)) => Place {
                leader: places[parent].leader,
                is_told_above: places[parent].is_told_above || meant[parent] == Some(Part::Tells),
            },
            (None, None) => Place::default(),
        };
        if meant[at].is_some() {
            place.leader = place.leader.or(Some(at));
        }
        places.push(place);
        last.insert(process.pid, at);
    }
    places
}

/// The exit of a group: a failure below a program that only starts others is its failure too, so that
/// `make test` does not hide one that the makefile ignores; none while one that matters has not ended.
fn exit_of(processes: &[&ProcessEvent], places: &[Place], group: &[usize]) -> Option<i32> {
    let mut last_of: BTreeMap<u32, &ProcessEvent> = BTreeMap::new();
    for at in group.iter().filter(|at| !places[**at].is_told_above) {
        last_of.insert(processes[*at].pid, processes[*at]);
    }
    let failed = last_of.values().filter_map(|process| process.exit_code).find(|code| *code != 0);
    let all_ended = last_of.values().all(|process| process.exit_code.is_some());
    failed.or_else(|| all_ended.then_some(0))
}
