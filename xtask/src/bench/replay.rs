//! Logs parsed, decided again and folded into results, on one core.

use std::{sync::Arc, time::Instant};

use domain::{
    plan::{Arm, UserKind},
    result::fold,
    session::{Entry, Scenario},
};
use store::reader::RunReader;

use super::{Figure, engine};

/// Sessions whose logs are read.
const SESSIONS: u32 = 4_000;

pub(super) fn measure() -> Vec<Figure> {
    let folder = tempfile::tempdir().expect("a folder");
    engine::run_in(folder.path(), SESSIONS);
    let run = RunReader::open(&folder.path().join("run")).expect("the run is read");
    let release = run.release().expect("the release is kept").release;
    let attempts = run.attempts().expect("attempts");
    let logs: Vec<_> =
        attempts.iter().map(|found| found.log().expect("a log").expect("a head")).collect();
    let bytes: usize = logs.iter().map(store::reader::AttemptLog::len).sum();
    let began = Instant::now();
    for (spec, log) in run.plan.specs.iter().zip(&logs) {
        let entries: Vec<Entry> = log.entries().collect::<Result<_, _>>().expect("entries");
        let scenario =
            Scenario::compile(&release, spec, Arm::Progressive, UserKind::Template, log.channels())
                .expect("the release is whole");
        let result = fold(Arc::new(scenario), &entries, log.head.attempt);
        assert_eq!(result.joint, Some(true), "a measured session passes");
    }
    let took = began.elapsed().as_secs_f64();
    vec![Figure {
        name: "parse, replay and fold of logs, one core",
        measured: format!("{:.0} MB/s", bytes as f64 / 1e6 / took),
        promised: "≥ 200 MB/s",
    }]
}
