//! Programs between two captures: [`ProgramLog`] pairs starts with ends and forgets what was handed out.

use std::collections::HashMap;

use domain::{evidence::ProcessEvent, ids::Turn};
use engine::ports::sandbox::ProcessEnd;

use super::protocol::Program;

/// Programs that one capture may report.
const PROGRAMS_MAX: usize = 200_000;

/// What was seen since the last capture.
#[derive(Debug, Default)]
pub(crate) struct ProgramLog {
    programs: Vec<Seen>,
    /// Where a program that was not yet handed out stands, by process id and start.
    open: HashMap<(u32, i64), usize>,
    ends: Vec<End>,
    is_overflown: bool,
}

#[derive(Debug)]
struct Seen {
    program: Program,
    end: Option<End>,
}

#[derive(Clone, Copy, Debug)]
struct End {
    pid: u32,
    started_ns: i64,
    ended_ns: i64,
    exit_code: Option<i32>,
}

/// What the process log has seen since it was last asked.
#[derive(Debug, Default)]
pub struct Taken {
    /// Programs that were started.
    pub processes: Vec<ProcessEvent>,
    /// Ends of programs that were handed out before.
    pub ended: Vec<ProcessEnd>,
    /// Something is missing: there was too much of it, or what kept the log is gone.
    pub is_overflown: bool,
}

impl ProgramLog {
    /// Writes down a start.
    pub(crate) fn start(&mut self, program: Program) {
        if self.programs.len() == PROGRAMS_MAX {
            self.is_overflown = true;
            return;
        }
        self.open.insert((program.pid, program.started_ns), self.programs.len());
        self.programs.push(Seen { program, end: None });
    }

    /// Writes down an end.
    pub(crate) fn end(&mut self, pid: u32, started_ns: i64, ended_ns: i64, exit_code: Option<i32>) {
        let end = End { pid, started_ns, ended_ns, exit_code };
        match self.open.remove(&(pid, started_ns)) {
            Some(index) => self.programs[index].end = Some(end),
            None if self.ends.len() < PROGRAMS_MAX => self.ends.push(end),
            None => self.is_overflown = true,
        }
    }

    /// Whatever else happens is not written down: what kept the log is gone.
    pub(crate) fn lose(&mut self) {
        self.is_overflown = true;
    }

    /// Hands out everything, in order of the starts, with times in milliseconds since the origin.
    pub(crate) fn take(&mut self, turn: Turn, origin_ns: i64) -> Taken {
        let ms = |ns: i64| (ns - origin_ns).div_euclid(1_000_000);
        self.open.clear();
        let mut programs = std::mem::take(&mut self.programs);
        programs.sort_by_key(|seen| seen.program.started_ns);
        let event = |Seen { program, end }| ProcessEvent {
            turn,
            started_ms: ms(program.started_ns),
            ended_ms: end.map(|end| ms(end.ended_ns)),
            pid: program.pid,
            parent: program.parent,
            uid: program.uid,
            program: program.program,
            argv: program.argv,
            cwd: program.cwd,
            exit_code: end.and_then(|end| end.exit_code),
        };
        let ended = |end: End| ProcessEnd {
            pid: end.pid,
            started_ms: ms(end.started_ns),
            ended_ms: ms(end.ended_ns),
            exit_code: end.exit_code,
        };
        Taken {
            processes: programs.into_iter().map(event).collect(),
            ended: std::mem::take(&mut self.ends).into_iter().map(ended).collect(),
            is_overflown: std::mem::take(&mut self.is_overflown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(pid: u32, started_ns: i64) -> Program {
        let text = String::new();
        let (program, cwd) = (text.clone(), text);
        Program { pid, parent: 1, uid: 0, started_ns, program, argv: Vec::new(), cwd }
    }

    #[test]
    fn ends_find_their_starts_across_captures() {
        let mut log = ProgramLog::default();
        log.start(program(7, 5_000_000));
        log.start(program(8, 3_000_000));
        log.end(8, 3_000_000, 4_000_000, Some(2));
        let first = log.take(Turn(1), 1_000_000);
        let seen: Vec<_> = first
            .processes
            .iter()
            .map(|one| (one.pid, one.started_ms, one.ended_ms, one.exit_code))
            .collect();
        assert_eq!(seen, [(8, 2, Some(3), Some(2)), (7, 4, None, None)]);
        assert!(first.ended.is_empty());
        log.end(7, 5_000_000, 9_000_000, None);
        let second = log.take(Turn(2), 1_000_000);
        assert!(second.processes.is_empty());
        let end = ProcessEnd { pid: 7, started_ms: 4, ended_ms: 8, exit_code: None };
        assert_eq!(second.ended, [end]);
    }

    #[test]
    fn too_many_are_said_and_dropped() {
        let mut log = ProgramLog::default();
        for index in 0..=PROGRAMS_MAX {
            log.start(program(index as u32, 0));
        }
        let taken = log.take(Turn(1), 0);
        assert_eq!(taken.processes.len(), PROGRAMS_MAX);
        assert!(taken.is_overflown);
        assert!(!log.take(Turn(2), 0).is_overflown);
    }
}
