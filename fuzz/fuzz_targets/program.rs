//! Programs that an agent starts: every ready-made kind reads any argument vector.
#![no_main]

use domain::{
    acceptance::checks,
    evidence::{Channel, ProcessEvent, Recorded},
    ids::Turn,
    release::{CheckKind, ExecKind, ExitFilter},
};
use libfuzzer_sys::fuzz_target;

const KINDS: [ExecKind; 8] = [
    ExecKind::Installs,
    ExecKind::Downloads,
    ExecKind::RunsTests,
    ExecKind::Commits,
    ExecKind::Pushes,
    ExecKind::Deletes,
    ExecKind::Migrates,
    ExecKind::Serves,
];

fuzz_target!(|text: &str| {
    // A line a program, words apart by spaces.
    let processes: Vec<ProcessEvent> = text
        .lines()
        .zip(1..)
        .map(|(line, number)| {
            let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
            ProcessEvent {
                turn: Turn(1),
                started_ms: i64::from(number),
                ended_ms: None,
                pid: number,
                parent: number / 2,
                uid: 0,
                program: format!("/usr/bin/{}", argv[0]),
                argv,
                cwd: "/app".to_owned(),
                exit_code: None,
            }
        })
        .collect();
    let evidence = Recorded {
        channels: Channel::ALL.into_iter().collect(),
        workdir: "/app".to_owned(),
        processes,
        ..Recorded::default()
    };
    for kind in KINDS {
        let check = CheckKind::Exec {
            kind: Some(kind),
            argv: None,
            cwd: Vec::new(),
            exit: ExitFilter::Any,
        };
        assert!(checks::read(&check, &evidence, None).is_some(), "exec is a pure check");
    }
});
