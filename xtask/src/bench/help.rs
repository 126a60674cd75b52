//! Time of the whole process `pcb --help`.

use std::{path::Path, process::Command, time::Instant};

use super::{Figure, median_ms};

/// Starts that are timed.
const STARTS: usize = 41;

pub(super) fn measure() -> Vec<Figure> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet", "--package", "personacodebench"])
        .current_dir(&root)
        .status()
        .expect("cargo runs");
    assert!(built.success(), "the binary must build");
    let binary = root.join("target/release/pcb");
    let times_ms = (0..STARTS)
        .map(|_| {
            let began = Instant::now();
            let output = Command::new(&binary).arg("--help").output().expect("pcb runs");
            assert!(output.status.success());
            began.elapsed().as_secs_f64() * 1000.0
        })
        .collect();
    vec![Figure {
        name: "pcb --help, whole process, median",
        measured: format!("{:.1} ms", median_ms(times_ms)),
        promised: "< 20 ms",
    }]
}
