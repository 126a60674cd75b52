//! Run directories: what is written comes back, what was torn or touched is noticed, one claimant wins.

#[path = "support/samples.rs"]
mod samples;

use std::{
    collections::BTreeMap,
    error::Error as _,
    fs,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use domain::{
    fault::Ending,
    ids::{Attempt, CommandId, Hash, PairId, Turn},
    release::Release,
    result::{Class, Load, RequirementResult, SessionResult},
    session::{Answer, Command, CompletionOutcome, CompletionReport, Entry, Event, Observation},
    verdict::{Outcome, Verdict},
};
use store::{
    claim::ClaimError,
    derived,
    journal::Journal,
    payload::Payload,
    reader::{AttemptFound, AttemptLog, GroupReader, ReadError, RunReader, Standing},
    release_files::{LoadedRelease, open_release},
    seal::Seal,
    writer::{OpenError, RunWriter, SessionWriter, WriteError},
};
use tempfile::TempDir;

fn tiny() -> LoadedRelease {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../releases/tiny");
    open_release(&folder).unwrap()
}

/// A run over the tiny release in a folder of its own.
fn run() -> (TempDir, RunWriter) {
    let folder = tempfile::tempdir().unwrap();
    let release = tiny();
    let plan = samples::plan(release.release.digest.clone());
    let path = folder.path().join("run");
    let writer = RunWriter::create(&path, &samples::record(), &plan, &release).unwrap();
    (folder, writer)
}

fn session(writer: &RunWriter) -> SessionWriter {
    writer.open_attempt(&samples::head(1, 1)).unwrap()
}

fn reader(writer: &RunWriter) -> RunReader {
    RunReader::open(writer.layout().root()).unwrap()
}

fn only_attempt(writer: &RunWriter) -> AttemptFound {
    let mut attempts = reader(writer).attempts().unwrap();
    assert_eq!(attempts.len(), 1);
    attempts.remove(0)
}

fn entries_of(attempt: &AttemptFound) -> Vec<Entry> {
    let log = attempt.log().unwrap().unwrap();
    log.entries().collect::<Result<_, _>>().unwrap()
}

fn ended(id: u32, seq: u64) -> Entry {
    let event = Event::Decided(CommandId(id), Command::End(Ending::Accepted));
    Entry { seq, elapsed_ms: 0, event }
}

#[test]
fn a_run_comes_back_as_it_was_written() {
    let (_folder, writer) = run();
    let reader = reader(&writer);
    let release = tiny();
    assert_eq!(reader.record, samples::record());
    assert_eq!(reader.plan, samples::plan(release.release.digest.clone()));
    let kept = reader.release().unwrap();
    // Whether it was locked is what the plan says.
    assert_eq!(kept.release, Release { locked: reader.plan.locked, ..release.release });
    assert_eq!(kept.tree, release.tree);
    assert_eq!(kept.tasks, release.tasks);
    assert_eq!(kept.pairs, release.pairs);
}

#[test]
fn every_kind_of_entry_comes_back_and_reads_as_it_did() {
    let (_folder, writer) = run();
    let session = session(&writer);
    for entry in samples::entries() {
        session.append(&entry).unwrap();
    }
    session.sync().unwrap();
    let attempt = only_attempt(&writer);
    assert_eq!(entries_of(&attempt), samples::entries());
    assert_eq!(attempt.log().unwrap().unwrap().head, samples::head(1, 1));
    insta::assert_snapshot!(fs::read_to_string(session.layout().log()).unwrap());
}

#[test]
fn run_and_plan_read_as_they_did() {
    let (_folder, writer) = run();
    let text = |path| fs::read_to_string(path).unwrap();
    let digest = tiny().release.digest.to_string();
    let shown = text(writer.layout().run_file()) + &text(writer.layout().plan());
    insta::assert_snapshot!(shown.replace(&digest, "DIGEST"));
}

#[test]
fn payloads_and_seal_come_back() {
    let (_folder, writer) = run();
    let session = session(&writer);
    let payloads = reader(&writer).payloads();
    let put = |payload| session.put(payload).unwrap();
    let manifest = samples::manifest();
    assert_eq!(payloads.manifest(&put(Payload::Manifest(&manifest))).unwrap(), manifest);
    let diffs = samples::diffs();
    assert_eq!(payloads.diffs(&put(Payload::Diffs(&diffs))).unwrap(), diffs);
    let changes = samples::changes();
    assert_eq!(payloads.changes(&put(Payload::Changes(&changes))).unwrap(), changes);
    let processes = samples::processes();
    assert_eq!(payloads.processes(&put(Payload::Processes(&processes))).unwrap(), processes);
    let calls = samples::calls();
    assert_eq!(payloads.calls(&put(Payload::Calls(&calls))).unwrap(), calls);
    let network = samples::network();
    assert_eq!(payloads.network(&put(Payload::Network(&network))).unwrap(), network);
    let messages = samples::messages();
    assert_eq!(payloads.messages(&put(Payload::Messages(&messages))).unwrap(), messages);
    let kept = samples::artifacts();
    assert_eq!(payloads.artifacts(&put(Payload::Artifacts(&kept))).unwrap(), kept);
    let words = samples::user_words();
    assert_eq!(payloads.user_words(&put(Payload::UserWords(&words))).unwrap(), words);
    let nothing = put(Payload::Processes(&[]));
    assert_eq!(payloads.processes(&nothing).unwrap(), []);
    let bytes = put(Payload::Bytes(b"\xff\x00"));
    assert_eq!(payloads.bytes(&bytes).unwrap(), b"\xff\x00");
    let error = payloads.manifest(&bytes).unwrap_err().to_string();
    assert_eq!(error, format!("blob {bytes} is not what the log says"));

    let attempt = only_attempt(&writer);
    assert_eq!(attempt.seal().unwrap(), None);
    let unkept = BTreeMap::from([("/app/big".to_owned(), "too big".to_owned())]);
    let seal = Seal { base: Some(samples::hash('0')), manifest, unkept };
    let hash = session.put_seal(&seal).unwrap();
    assert_eq!(attempt.seal().unwrap(), Some(seal));
    assert_eq!(payloads.bytes(&hash).unwrap(), fs::read(attempt.layout.seal()).unwrap());
    assert!(attempt.seal_of(&hash).unwrap().is_some());
    let other = attempt.seal_of(&Hash::new("0")).unwrap_err().to_string();
    assert!(other.contains("the log names 0"), "{other}");
}

#[test]
fn a_torn_last_line_is_dropped_and_a_wrong_one_is_named() {
    let (_folder, writer) = run();
    let session = session(&writer);
    for entry in &samples::entries()[..3] {
        session.append(entry).unwrap();
    }
    let log = session.layout().log();
    let whole = fs::read(&log).unwrap();
    let attempt = only_attempt(&writer);
    let last_line = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for cut in [whole.len() - 1, whole.len() - 7, last_line + 1] {
        fs::write(&log, &whole[..cut]).unwrap();
        assert_eq!(entries_of(&attempt), samples::entries()[..2], "cut at {cut}");
        assert!(attempt.log().unwrap().unwrap().was_torn);
    }
    fs::write(&log, &whole[..last_line]).unwrap();
    assert_eq!(entries_of(&attempt).len(), 2);
    assert!(!attempt.log().unwrap().unwrap().was_torn);
    fs::write(&log, &whole[..10]).unwrap();
    assert!(attempt.log().unwrap().is_none());

    let text = String::from_utf8(whole).unwrap();
    let check = |from: &str, to: &str, expect: &str| {
        assert!(text.contains(from), "{from}");
        fs::write(&log, text.replacen(from, to, 1)).unwrap();
        let error = match attempt.log() {
            Err(error) => error,
            Ok(log) => log.unwrap().entries().find_map(Result::err).unwrap(),
        };
        let shown = format!("{error}: {}", error.source().unwrap());
        let shown = shown.replace(&log.display().to_string(), "LOG");
        assert_eq!(shown, expect);
    };
    check("\"seq\":2", "\"seq\":x", "LOG, line 3 cannot be read: it is no data of format 1");
    check(
        "\"agent_said\"",
        "\"agent_sang\"",
        "LOG, line 3 cannot be read: it is no data of format 1",
    );
    check("\"text\":", "\"txt\":", "LOG, line 3 cannot be read: it is no data of format 1");
    check(
        "{\"format\":1",
        "{\"format\":2",
        "LOG, line 1 cannot be read: it has format 2, this version reads format 1; read it with a version of pcb that writes \
         format 2",
    );
}

#[test]
fn another_format_and_what_is_no_run_are_refused() {
    let (folder, writer) = run();
    let file = writer.layout().run_file();
    let text = fs::read_to_string(&file).unwrap();
    let open = || RunReader::open(writer.layout().root()).unwrap_err();
    fs::write(&file, text.replace("\"format\": 1", "\"format\": 7")).unwrap();
    let refusal = open().source().unwrap().to_string();
    assert!(refusal.ends_with("read it with a version of pcb that writes format 7"), "{refusal}");
    fs::write(&file, text.replace("\"tool\"", "\"toll\"")).unwrap();
    assert!(matches!(open(), ReadError::Format { line: 1, .. }));
    fs::write(&file, &text).unwrap();
    let plan = fs::read_to_string(writer.layout().plan()).unwrap();
    fs::write(writer.layout().plan(), plan.replace("caretaker--greet", "../x")).unwrap();
    assert!(matches!(open(), ReadError::UnfitName { .. }));
    fs::remove_file(&file).unwrap();
    assert!(matches!(open(), ReadError::NoRun(_)));
    assert!(matches!(GroupReader::open(folder.path()), Err(ReadError::NoRun(_))));
}

#[test]
fn a_group_holds_its_runs() {
    let (folder, writer) = run();
    let release = tiny();
    let plan = samples::plan(release.release.digest.clone());
    let other = folder.path().join("another");
    RunWriter::create(&other, &samples::record(), &plan, &release).unwrap();
    fs::create_dir(folder.path().join("no run")).unwrap();
    let group = GroupReader::open(folder.path()).unwrap();
    let roots: Vec<&Path> = group.runs.iter().map(|run| run.layout().root()).collect();
    assert_eq!(roots, [other.as_path(), writer.layout().root()]);
    assert_eq!(GroupReader::open(&other).unwrap().runs.len(), 1);
}

#[test]
fn a_run_is_never_written_over() {
    let (_folder, writer) = run();
    let release = tiny();
    let plan = samples::plan(release.release.digest.clone());
    let again = RunWriter::create(writer.layout().root(), &samples::record(), &plan, &release);
    assert!(matches!(again, Err(WriteError::Occupied)));
    let mut plan = plan;
    plan.specs[0].pair = PairId::new("a/b");
    let folder = tempfile::tempdir().unwrap();
    let unfit = RunWriter::create(folder.path(), &samples::record(), &plan, &release);
    assert!(matches!(unfit, Err(WriteError::UnfitName(_))));
}

#[test]
fn the_kept_release_must_be_the_planned_one() {
    let (_folder, writer) = run();
    let reader = reader(&writer);
    let lock = writer.layout().release_lock();
    let text = fs::read_to_string(&lock).unwrap();
    let (line, hash) = text
        .lines()
        .find_map(|line| Some((line, line.strip_suffix(" x tasks/greet/tests/test.sh")?)))
        .unwrap();

    let blob = writer.layout().release().join(&hash[..2]).join(hash);
    let bytes = fs::read(&blob).unwrap();
    fs::write(&blob, "exit 0").unwrap();
    let error = reader.release().unwrap_err().source().unwrap().to_string();
    assert!(error.contains("tasks/greet/tests/test.sh: blob"), "{error}");
    fs::write(&blob, bytes).unwrap();
    assert!(reader.release().is_ok());

    fs::write(&lock, text.replace(&format!("{line}\n"), "")).unwrap();
    assert!(matches!(reader.release(), Err(ReadError::OtherRelease { .. })));
}

#[test]
fn of_many_claimants_one_wins() {
    let (_folder, writer) = run();
    let barrier = std::sync::Barrier::new(16);
    let won = std::thread::scope(|scope| {
        let claimants: Vec<_> = (0..16)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    match writer.open_attempt(&samples::head(1, 1)) {
                        Ok(session) => Some(session),
                        Err(OpenError::Claim(ClaimError::Taken)) => None,
                        Err(error) => panic!("{error}"),
                    }
                })
            })
            .collect();
        claimants.into_iter().filter_map(|c| c.join().unwrap()).count()
    });
    assert_eq!(won, 1);
    assert_eq!(entries_of(&only_attempt(&writer)), []);
}

/// One claimant of the race between processes: another process runs this test alone, with the run's folder in
/// its environment; here it has nothing to do.
#[test]
fn claimant_process() {
    let Some(folder) = std::env::var_os("PCB_TEST_RUN") else { return };
    let opened = RunWriter::resume(Path::new(&folder)).open_attempt(&samples::head(2, 1));
    println!("\nclaimed: {}", opened.is_ok());
}

#[test]
fn of_many_processes_one_wins_and_its_death_is_seen() {
    let (_folder, writer) = run();
    let start = || {
        std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "claimant_process", "--nocapture"])
            .env("PCB_TEST_RUN", writer.layout().root())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap()
    };
    let claimants: Vec<_> = (0..8).map(|_| start()).collect();
    let won = claimants
        .into_iter()
        .map(|claimant| claimant.wait_with_output().unwrap())
        .inspect(|output| assert!(output.status.success()))
        .filter(|output| String::from_utf8_lossy(&output.stdout).contains("claimed: true"))
        .count();
    assert_eq!(won, 1);
    let attempt = only_attempt(&writer);
    let log = attempt.log().unwrap();
    assert_eq!(attempt.standing(log.as_ref()).unwrap(), Standing::Lost);
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config {
        cases: 100,
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn any_text_and_number_comes_back(
        text: String,
        seq: u64,
        at_ms: i64,
        reward in proptest::num::f64::NORMAL | proptest::num::f64::ZERO | proptest::num::f64::SUBNORMAL,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        let said = Observation::AgentSaid { turn: Turn(1), at_ms, text: text.clone() };
        let report = CompletionReport {
            outcome: CompletionOutcome::Rewards(vec![(text, reward)]),
            took_ms: seq,
            output: None,
            artifacts: None,
            survivors: None,
        };
        let entry = |event| Entry { seq, elapsed_ms: seq, event };
        let entries = [
            entry(Event::Observed(said)),
            entry(Event::Answered(CommandId(1), Answer::CompletionVerified(report))),
        ];
        let mut journal = Journal::create(&path, &samples::head(1, 1)).unwrap();
        for entry in &entries {
            journal.append(entry).unwrap();
        }
        let log = AttemptLog::open(&path).unwrap().unwrap();
        let found: Vec<Entry> = log.entries().collect::<Result<_, _>>().unwrap();
        assert_eq!(found, entries);
    }
}

#[test]
fn an_attempt_stands_as_its_log_and_its_claim_say() {
    let (_folder, writer) = run();
    let session = session(&writer);
    session.append(&samples::entries()[0]).unwrap();
    let attempt = only_attempt(&writer);
    let standing = || {
        let log = attempt.log().unwrap();
        attempt.standing(log.as_ref()).unwrap()
    };
    assert_eq!(standing(), Standing::Running);

    let claim = attempt.layout.claim();
    let text = fs::read_to_string(&claim).unwrap();
    let own_pid = format!("\"pid\":{}", std::process::id());
    let field = |name: &str| {
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        value["record"][name].as_str().unwrap().to_owned()
    };
    let rewrite = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        fs::write(&claim, text.replace(from, to)).unwrap();
    };
    let old = || {
        let file = fs::File::options().write(true).open(&claim).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(3_600)).unwrap();
    };
    // The owner's process is gone, or its id was given to another one.
    rewrite(&own_pid, "\"pid\":4194304");
    assert_eq!(standing(), Standing::Lost);
    rewrite("\"pid_started\":", "\"pid_started\":1");
    assert_eq!(standing(), Standing::Lost);
    // The owner's host was started anew.
    rewrite(&field("boot"), "another-boot");
    assert_eq!(standing(), Standing::Lost);
    // Another host, or another process namespace of this one: the heartbeat decides.
    let boot = field("boot");
    let elsewhere = text.replace(&boot, "another-boot").replace(&field("host"), "elsewhere");
    for other in [elsewhere, text.replace(&field("pid_namespace"), "pid:[1]"), String::new()] {
        fs::write(&claim, other).unwrap();
        assert_eq!(standing(), Standing::Running);
        old();
        assert_eq!(standing(), Standing::Lost);
        session.beat().unwrap();
        assert_eq!(standing(), Standing::Running);
    }
    // A living owner on this host needs no heartbeat.
    fs::write(&claim, &text).unwrap();
    old();
    assert_eq!(standing(), Standing::Running);
    fs::remove_file(&claim).unwrap();
    assert_eq!(standing(), Standing::Lost);

    session.append(&ended(9, 2)).unwrap();
    assert_eq!(standing(), Standing::Ended);
}

#[test]
fn a_later_attempt_leaves_the_first_alone() {
    let (_folder, writer) = run();
    let first = session(&writer);
    first.append(&samples::entries()[0]).unwrap();
    drop(first);
    let before = fs::read(
        writer
            .layout()
            .attempt(&samples::head(1, 1).pair, samples::head(1, 1).repeat, Attempt(1))
            .log(),
    )
    .unwrap();
    let resumed = RunWriter::resume(writer.layout().root());
    assert!(matches!(
        resumed.open_attempt(&samples::head(1, 1)),
        Err(OpenError::Claim(ClaimError::Taken))
    ));
    let second = resumed.open_attempt(&samples::head(1, 2)).unwrap();
    second.append(&samples::entries()[1]).unwrap();
    let attempts = reader(&writer).attempts().unwrap();
    let numbers: Vec<u32> = attempts.iter().map(|attempt| attempt.attempt.0).collect();
    assert_eq!(numbers, [1, 2]);
    assert_eq!(fs::read(attempts[0].layout.log()).unwrap(), before);
}

#[test]
fn a_closed_log_that_is_touched_does_not_fit_its_end() {
    let (_folder, writer) = run();
    let session = session(&writer);
    session.append(&ended(1, 1)).unwrap();
    let attempt = only_attempt(&writer);
    assert_eq!(attempt.end().unwrap(), None);
    session.finish(UNIX_EPOCH + Duration::from_secs(1_796_050_387)).unwrap();
    let end = attempt.end().unwrap().unwrap();
    assert_eq!((end.entries, end.ended_utc.as_str()), (1, "2026-11-30T14:53:07Z"));
    assert_eq!(end.log, attempt.log().unwrap().unwrap().hash());
    let log = attempt.layout.log();
    fs::write(&log, fs::read_to_string(&log).unwrap().replace("accepted", "quit")).unwrap();
    assert_ne!(end.log, attempt.log().unwrap().unwrap().hash());
}

#[test]
fn regrades_stand_beside_the_first_grading() {
    let (_folder, writer) = run();
    let first = session(&writer);
    first.append(&ended(1, 1)).unwrap();
    let attempt = only_attempt(&writer);
    assert!(attempt.regrades().unwrap().is_empty());
    for (entry, nth) in [(1, 1), (2, 3)] {
        let regrade = writer.open_regrade(&samples::head(1, 1)).unwrap();
        regrade.append(&samples::entries()[entry]).unwrap();
        regrade.finish(SystemTime::now()).unwrap();
        assert!(attempt.layout.regrade(nth).exists());
        // A writer that dies before its head is whole leaves a number without a grading.
        fs::write(attempt.layout.regrade(nth + 1), "{\"for").unwrap();
    }
    let logs = attempt.regrades().unwrap();
    let found: Vec<Entry> =
        logs.iter().flat_map(|log| log.entries()).collect::<Result<_, _>>().unwrap();
    assert_eq!(found, samples::entries()[1..=2]);
    assert_eq!(attempt.end().unwrap(), None);
}

#[test]
fn what_is_derived_can_be_deleted_and_made_again() {
    let (_folder, writer) = run();
    let requirement = |sealed, outcome| RequirementResult {
        id: domain::ids::RequirementId::new("usage_note"),
        area: domain::release::Area::Delivery,
        mandatory: true,
        delivered: Some(domain::ids::Turn(2)),
        corrections: 1,
        online: vec![
            (domain::ids::Turn(2), Verdict::Unmet),
            (domain::ids::Turn(3), Verdict::Violated),
        ],
        sealed,
        outcome,
        disagreements: 0,
    };
    let causes = domain::evidence::Missing::OrderUnknown;
    let requirements = vec![
        requirement(Some(Verdict::Met), Outcome::Passed),
        requirement(Some(Verdict::Undecided(causes)), Outcome::Undecided(causes)),
        requirement(Some(Verdict::Vacuous), Outcome::Vacuous),
        requirement(None, Outcome::NotDelivered),
        requirement(None, Outcome::NotGraded),
        requirement(Some(Verdict::Unmet), Outcome::Failed),
    ];
    let result = |class| SessionResult {
        pair: PairId::new("caretaker--greet"),
        suite: domain::ids::SuiteId::new("tiny"),
        persona: domain::ids::PersonaId::new("caretaker.v1"),
        family: domain::ids::FamilyId::new("caretaker"),
        repeat: domain::ids::Repeat(1),
        attempt: Attempt(1),
        ending: Ending::Accepted,
        flags: vec![(domain::fault::Flag::Lost, "why".into())],
        completion: Some(domain::session::CompletionOutcome::NoReward),
        steps: vec![domain::result::StepResult {
            step: domain::ids::StepId::new("one"),
            outcome: Some(domain::session::CompletionOutcome::TimedOut),
        }],
        survivors: Some(vec!["7 sleep 9".into()]),
        completed: Some(false),
        personalized: None,
        within_budget: true,
        valid: false,
        joint: Some(false),
        class,
        requirements: requirements.clone(),
        load: Load { turns: 3, tokens: Some(7), ..Load::default() },
    };
    let results: Vec<SessionResult> = Class::ALL.into_iter().map(result).collect();
    let bytes = derived::results_to_lines(&results).unwrap();
    assert_eq!(derived::results_from_lines(&bytes).unwrap(), results);
    for _ in 0..2 {
        derived::write(writer.layout(), "results/all.jsonl", &bytes).unwrap();
        let written = writer.layout().derived().join("results/all.jsonl");
        assert_eq!(fs::read(&written).unwrap(), bytes);
    }
}

/// Prints how fast logs are parsed, in time of this thread's processor so that other work does not count;
/// `cargo test --release -p store parsing_speed -- --nocapture` shows it.
#[test]
fn parsing_speed() {
    let (_folder, writer) = run();
    let session = session(&writer);
    let entries = samples::entries();
    for _ in 0..100 {
        for entry in &entries {
            session.append(entry).unwrap();
        }
    }
    let log = only_attempt(&writer).log().unwrap().unwrap();
    let now = || {
        let clock = nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID;
        Duration::from(nix::time::clock_gettime(clock).unwrap())
    };
    let begun = now();
    let mut count = 0;
    for _ in 0..5 {
        count += log.entries().filter(|entry| entry.is_ok()).count();
    }
    let rate = 5.0 * log.len() as f64 / 1e6 / (now() - begun).as_secs_f64();
    let size = log.len() as f64 / 1e6;
    println!("parsed {count} entries, {size:.1} MB a time, at {rate:.0} MB/s");
    assert_eq!(count, 500 * entries.len());
}
