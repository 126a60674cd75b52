//! `kill -9` of the whole process group at random moments, then `pcb resume`: every repeat is scored once.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use nix::sys::signal::Signal;

use crate::bench::{Bench, Running, files_below, is_hash};

/// Draws delays; the same seed gives the same ones.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

#[test]
fn tiny_survives_kills() {
    let bench = Bench::new();
    let classes = |agent: &str| match agent {
        "oracle" => "joint pass",
        _ => "agent stopped",
    };
    let run = ["run", "tiny", "--agent", "oracle", "--agent", "eager", "--agent", "nop"];
    let mut killed = 0;
    // How many kills come before the end depends on the host's speed, so it goes on until enough have hit.
    for seed in 1..=12 {
        let mut arguments = run.to_vec();
        arguments.extend(["--repeats", "4", "--out", "out"]);
        killed += survives(&bench, &arguments, seed, 6, 700, &classes);
        if killed >= 12 {
            return;
        }
    }
    panic!("only {killed} kills hit a run that was not done");
}

#[test]
fn a_starter_pair_survives_kills() {
    let bench = Bench::new();
    let arguments = [
        "run",
        "starter",
        "--agent",
        "oracle",
        "--pairs",
        "shop_owner--csv_report",
        "--out",
        "out",
    ];
    let killed = survives(&bench, &arguments, 4, 3, 2_500, &|_| "joint pass");
    assert!(killed >= 1, "no kill hit a run that was not done");
}

/// A saboteur starts from the task's solution, in a release of its own too, and after a resume too.
#[test]
fn a_resume_runs_the_same_agent() {
    let bench = Bench::new();
    let release = bench.copy_of("tiny", "mine");
    let script = release.join("pairs/caretaker--greet/saboteurs/usage_note.toml");
    let script = script.to_str().expect("a plain path");
    let arguments = ["run", "mine", "--agent", script, "--repeats", "2", "--out", "out"];
    let running = Running::start(bench.command(&arguments));
    assert!(running.says("out/"), "the run did not start");
    running.signal_group(Signal::SIGKILL);
    running.wait();
    let group = newest(&bench.out());
    bench.expect(0, &["resume", group.to_str().expect("a plain path")]);
    let report = bench.report(&[&group]);
    let row = &report["rows"][0];
    assert_eq!(row["completion"]["count"], 2, "{row}");
    assert_eq!(row["personalization"]["count"], 0, "{row}");
}

/// Starts, kills and resumes so often, then resumes to the end; answers how many kills hit.
fn survives(
    bench: &Bench,
    arguments: &[&str],
    seed: u64,
    kills: u32,
    delay_max_ms: u64,
    class: &dyn Fn(&str) -> &'static str,
) -> u32 {
    let mut draw = Draw(seed);
    let mut running = Running::start(bench.command(arguments));
    assert!(running.says("out/"), "the run did not start");
    let group = newest(&bench.out());
    let shown = group.to_str().expect("a plain path").to_owned();
    let mut hit = 0;
    for _ in 0..kills {
        thread::sleep(Duration::from_millis(draw.below(delay_max_ms)));
        running.signal_group(Signal::SIGKILL);
        let done = running.wait();
        hit += u32::from(done.code.is_none());
        // A reader never stumbles over what a dead writer left half done.
        let read = bench.pcb(&["report", &shown]);
        assert!(matches!(read.code, Some(0 | 3)), "{}", read.stderr);
        bench.expect(0, &["replay", &shown]);
        running = Running::start(bench.command(&["resume", &shown]));
    }
    let done = running.wait();
    if done.code != Some(0) {
        bench.expect(0, &["resume", &shown]);
    }
    let replayed = bench.expect(0, &["replay", &shown]).stdout;
    assert!(replayed.contains(" 0 differ"), "{replayed}");
    scored_once(bench, &group, class);
    nothing_left(bench);
    hit
}

fn newest(out: &Path) -> PathBuf {
    let groups = fs::read_dir(out).expect("a folder").map(|entry| entry.expect("an entry").path());
    groups.max().expect("a group")
}

/// Every planned repeat stands in the report exactly once, in the class that its agent earns.
fn scored_once(bench: &Bench, group: &Path, class: &dyn Fn(&str) -> &'static str) {
    for row in bench.report(&[group])["rows"].as_array().expect("rows") {
        let agent = row["run"].as_str().expect("a name");
        let mut seen: BTreeMap<String, u32> = BTreeMap::new();
        for session in row["sessions"].as_array().expect("sessions") {
            *seen.entry(format!("{} {}", session["pair"], session["repeat"])).or_default() += 1;
            assert_eq!(session["class"], class(agent), "{agent}: {session}");
        }
        assert_eq!(seen.len() as u64, row["census"]["assigned"].as_u64().expect("a count"));
        assert!(seen.values().all(|count| *count == 1), "{agent}: {seen:?}");
    }
    // A payload is whole under its hash, or a hidden remainder that no reader looks at.
    for file in files_below(group).iter().filter(|file| file.contains("/blobs/")) {
        let name = file.rsplit('/').next().unwrap_or_default();
        assert!(is_hash(name) || name.starts_with('.'), "{file}");
    }
}

/// The next start takes away what the dead left: sandboxes, and every process that knew the state folder.
pub fn nothing_left(bench: &Bench) {
    bench.expect(0, &["doctor"]);
    for part in ["sandboxes", "trash"] {
        let listed = fs::read_dir(bench.state().join(part)).expect("a folder");
        let left: Vec<_> = listed.map(|entry| entry.expect("an entry").file_name()).collect();
        assert!(left.is_empty(), "{part}: {left:?}");
    }
    let mark = bench.path().to_str().expect("a plain path");
    let mut alive = Vec::new();
    for entry in fs::read_dir("/proc").expect("processes").flatten() {
        let cwd = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
        if cwd.starts_with(mark) || String::from_utf8_lossy(&environ).contains(mark) {
            alive.push(fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default());
        }
    }
    assert!(alive.is_empty(), "still alive: {alive:?}");
}
