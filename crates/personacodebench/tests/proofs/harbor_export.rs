//! `pcb export harbor` by Harbor's own models and viewer, and what it refuses to write over.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use serde_json::{Value, json};

use crate::bench::{Bench, files_below, log_lines};

const PAIR: &str = "caretaker--greet";

/// A Python that has Harbor's published package; without it nothing here is proved.
fn reader() -> &'static str {
    static READER: OnceLock<String> = OnceLock::new();
    READER.get_or_init(|| {
        let setup = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../setup/harbor-reader");
        let done = Command::new(setup).output().expect("setup/harbor-reader starts");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    })
}

/// What Harbor makes of every job in a folder.
fn read_by_harbor(jobs: &Path) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/harbor/read_jobs.py");
    let done = Command::new(reader()).arg(script).arg(jobs).output().expect("Python starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let read: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    if read["viewer"] != true {
        println!("Harbor's viewer was not asked: it needs Python 3.12");
    }
    read
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

/// Exports a run below `jobs` and answers the job's folder.
fn export(bench: &Bench, run: &Path, name: &str, code: i32) -> PathBuf {
    let job = bench.path().join("jobs").join(name);
    bench.expect(code, &["export", "harbor", text(run), "--out", text(&job)]);
    job
}

fn trial(nth: u32, attempt: u32) -> String {
    format!("{PAIR}__repeat-{nth}.attempt-{attempt}")
}

#[test]
fn harbor_reads_every_conversation_as_it_was() {
    let bench = Bench::new();
    let group = bench.tiny(&["oracle", "eager", "nop"], &[]);
    for agent in ["oracle", "eager", "nop"] {
        export(&bench, &group.join(agent), agent, 0);
    }
    let read = read_by_harbor(&bench.path().join("jobs"));
    let cases = [
        ("oracle", 1.0, "joint pass", "both", "passed"),
        ("eager", 1.0, "agent stopped", "completed_only", "failed"),
        ("nop", 0.0, "agent stopped", "neither", "not delivered"),
    ];
    for (agent, reward, class, field, outcome) in cases {
        let job = &read["jobs"][agent];
        let told = &job["trials"][&trial(1, 1)];
        let rewards = json!({ "reward": reward });
        assert_eq!(told["result"]["verifier_result"]["rewards"], rewards, "{agent}");
        assert_eq!(told["result"]["exception_info"], Value::Null, "{agent}");
        assert_eq!(told["result"]["agent_info"]["name"], agent);
        let metrics = &job["job"]["stats"]["evals"][format!("{agent}__tiny")]["metrics"];
        assert_eq!(metrics[0]["mean"], reward, "{agent}");
        if read["viewer"] == true {
            assert_eq!(told["listed"]["reward"], reward, "{agent}");
            assert_eq!(told["listed"]["task_name"], PAIR);
            assert_eq!(told["verifier"]["reward"], rewards, "{agent}");
            assert!(told["verifier"]["stdout"].is_string(), "{agent}");
            assert_eq!(job["tasks"][0]["avg_reward"], reward, "{agent}");
        }
        let session = &told["trajectory"]["extra"]["pcb"];
        assert_eq!((&session["class"], &session["two_by_two"]), (&json!(class), &json!(field)));
        assert_eq!(session["requirements"][0]["outcome"], outcome, "{agent}");
        let log =
            group.join(agent).join("sessions").join(PAIR).join("repeat-1/attempt-1/log.jsonl");
        told_as_logged(&told["trajectory"]["steps"], &log_lines(&log));
    }
    // The eager agent hears of the requirement in its second turn and is corrected in the third.
    let steps = &read["jobs"]["eager"]["trials"][&trial(1, 1)]["trajectory"]["steps"];
    let acts: Vec<&Value> = steps
        .as_array()
        .expect("steps")
        .iter()
        .filter_map(|step| step["extra"]["pcb"]["message"]["acts"].as_array())
        .map(|acts| &acts[0]["act"])
        .collect();
    assert_eq!(acts[..3], [&json!("open"), &json!("tell"), &json!("correct")]);
    let lane = &read["jobs"]["eager"]["trials"][&trial(1, 1)]["trajectory"]["extra"]["pcb"]["requirements"]
        [0]["lane"];
    let stages: Vec<&Value> = (0..3).map(|at| &lane[at]["steps"][0]["stage"]).collect();
    assert_eq!(stages, [&json!("hidden"), &json!("due"), &json!("delivered")]);
}

/// User steps are the prompts, agent steps together what the agent said and the tools that it told of.
fn told_as_logged(steps: &Value, log: &[Value]) {
    let steps = steps.as_array().expect("steps");
    let of = |source: &str| -> Vec<&Value> {
        steps.iter().filter(|step| step["source"] == source).collect()
    };
    let prompts: Vec<&Value> =
        log.iter().filter_map(|line| line.pointer("/event/decided/1/prompt/message")).collect();
    let users: Vec<&Value> = of("user").iter().map(|step| &step["message"]).collect();
    assert_eq!(users, prompts);
    let said: Vec<&str> = log
        .iter()
        .filter_map(|line| line.pointer("/event/observed/agent_said/text")?.as_str())
        .filter(|text| !text.is_empty())
        .collect();
    let told: Vec<&str> = of("agent")
        .iter()
        .filter_map(|step| step["message"].as_str())
        .filter(|text| !text.is_empty())
        .collect();
    assert_eq!(told.join("\n"), said.join("\n"));
    let used: Vec<&Value> =
        log.iter().filter_map(|line| line.pointer("/event/observed/agent_acted/title")).collect();
    let calls: Vec<&Value> = steps
        .iter()
        .filter_map(|step| step["tool_calls"].as_array())
        .flatten()
        .map(|call| &call["function_name"])
        .collect();
    assert_eq!(calls, used);
    let ends = steps.iter().filter(|step| step["extra"]["pcb"]["turn_end"].is_object());
    assert_eq!(ends.count(), prompts.len(), "each turn has an end");
}

#[test]
fn faults_and_what_never_ran_are_told_apart() {
    let bench = Bench::new();
    let run = bench.tiny(&["eager"], &["--repeats", "4"]).join("eager");
    let session = |repeat: u32| run.join(format!("sessions/{PAIR}/repeat-{repeat}"));
    let log = |repeat: u32| session(repeat).join("attempt-1/log.jsonl");
    // Repeat 2 was killed within the line that says that its second message was delivered, and is run again.
    let whole = fs::read_to_string(log(2)).expect("a log");
    let prompt = whole.match_indices("\"prompt\"").nth(1).expect("a second prompt").0;
    let cut = prompt + whole[prompt..].find('\n').expect("its line ends") + 9;
    fs::write(log(2), &whole[..cut]).expect("a torn log");
    fs::remove_file(session(2).join("attempt-1/end.json")).expect("it has an end");
    bench.expect(0, &["resume", text(&run)]);
    // A line in the middle of repeat 3 is no entry any more.
    let mut lines: Vec<String> =
        fs::read_to_string(log(3)).expect("a log").lines().map(str::to_owned).collect();
    lines[9] = "{}".to_owned();
    fs::write(log(3), lines.join("\n") + "\n").expect("a damaged log");
    fs::remove_dir_all(session(4)).expect("repeat 4 goes");

    let job = bench.path().join("jobs/eager");
    let done = bench.expect(1, &["export", "harbor", text(&run), "--out", text(&job)]);
    for said in ["attempt-1/log.jsonl: a last line without its end was dropped", "line 10"] {
        assert!(done.stderr.contains(said), "{said}: {}", done.stderr);
    }
    let read = read_by_harbor(&bench.path().join("jobs"));
    let job = &read["jobs"]["eager"];
    let not_run = format!("{PAIR}__repeat-4.not-run");
    let exceptions: BTreeMap<&str, &Value> = job["trials"]
        .as_object()
        .expect("trials")
        .iter()
        .map(|(name, trial)| (name.as_str(), &trial["result"]["exception_info"]["exception_type"]))
        .collect();
    let (lost, torn) = (json!("PcbLostError"), trial(2, 1));
    let (damaged, broken) = (json!("PcbReplayMismatchError"), trial(3, 1));
    let (first, again) = (trial(1, 1), trial(2, 2));
    let none = Value::Null;
    let expect = BTreeMap::from([
        (first.as_str(), &none),
        (torn.as_str(), &lost),
        (again.as_str(), &none),
        (broken.as_str(), &damaged),
        (not_run.as_str(), &none),
    ]);
    assert_eq!(exceptions, expect);
    assert_eq!(job["trials"][&not_run]["result"], none);
    assert_eq!(job["trials"][&broken]["result"]["verifier_result"], none);
    let stats = &job["job"]["stats"];
    let figures = ["n_completed_trials", "n_errored_trials", "n_pending_trials", "n_retries"];
    assert_eq!(figures.map(|name| stats[name].as_u64()), [Some(3), Some(1), Some(1), Some(1)]);
    assert_eq!((&job["job"]["n_total_trials"], &job["job"]["finished_at"]), (&json!(4), &none));
    for (name, fault) in [(&torn, "a last line"), (&broken, "line 10")] {
        let told = &job["trials"][name]["trajectory"];
        let said = told["extra"]["pcb"]["log_fault"].as_str().expect("a fault");
        assert!(said.contains(fault) && !said.contains(text(bench.path())), "{said}");
        assert!(told["notes"].as_str().expect("a note").contains(fault), "{told}");
    }
    undelivered(&bench, &run, &job["trials"][&torn]["trajectory"]);
    let marker: Value = serde_json::from_str(&bench.read("jobs/eager/pcb.json")).expect("JSON");
    assert_eq!(marker["job"]["assigned"], 4);
    let classes: Vec<&Value> = (0..4).map(|at| &marker["job"]["repeats"][at]["class"]).collect();
    assert_eq!(classes, ["agent stopped", "agent stopped", "invalid", "not run"]);
    let readme = bench.read("jobs/eager/README.md");
    assert!(readme.contains(&format!("{PAIR}, repeat 4: not run")), "{readme}");
    let exception = bench.read(&format!("jobs/eager/{torn}/exception.txt"));
    assert!(exception.starts_with("PcbLostError: fault (harness): lost"), "{exception}");
}

/// The second message, which tells the requirement, never reached the agent: it is no step of the user, and nothing of it
/// is public.
fn undelivered(bench: &Bench, run: &Path, told: &Value) {
    let steps = told["steps"].as_array().expect("steps");
    let last = steps.last().expect("a step");
    let sources = steps.iter().filter(|step| step["source"] == "user");
    assert_eq!((sources.count(), &last["source"]), (1, &json!("system")), "{told}");
    let message = &last["extra"]["pcb"]["message"];
    assert_eq!(
        (&message["delivered"], &message["acts"][0]["act"]),
        (&json!(false), &json!("tell"))
    );
    assert!(message["undelivered_text"].as_str().expect("a text").contains("USAGE"), "{message}");
    let public = bench.path().join("public");
    bench.expect(1, &["export", "harbor", text(run), "--out", text(&public), "--public"]);
    let public = bench.read(&format!("public/{}/agent/trajectory.json", trial(2, 1)));
    assert!(public.contains("did not reach the agent") && !public.contains("USAGE"), "{public}");
}

#[test]
fn an_export_is_the_same_each_time_and_writes_over_nothing_of_others() {
    let bench = Bench::new();
    let group = bench.tiny(&["oracle", "nop"], &[]);
    let run = group.join("oracle");
    let before = files_below(&run);
    let job = export(&bench, &run, "one", 0);
    assert_eq!(files_below(&run), before, "an export leaves the run as it is");
    let bytes = |job: &Path| -> BTreeMap<String, Vec<u8>> {
        let files = files_below(job).into_iter();
        files.map(|file| (file.clone(), fs::read(job.join(&file)).expect("a file"))).collect()
    };
    let written = bytes(&job);
    assert_eq!(bytes(&export(&bench, &run, "two", 0)), written, "elsewhere");
    for (file, content) in &written {
        let content = String::from_utf8_lossy(content);
        assert!(!content.contains(text(bench.path())), "{file} names a place of the host");
    }
    // What somebody lays beside it stays; what an interrupted export left is completed.
    fs::write(job.join("analysis.md"), "mine").expect("a file");
    fs::remove_file(job.join("result.json")).expect("a file");
    export(&bench, &run, "one", 0);
    let mut with_mine = written.clone();
    with_mine.insert("analysis.md".to_owned(), b"mine".to_vec());
    assert_eq!(bytes(&job), with_mine);
    fs::remove_file(job.join("pcb.json")).expect("a file");
    fs::remove_file(job.join("analysis.md")).expect("a file");
    export(&bench, &run, "one", 0);
    assert_eq!(bytes(&job), written, "without its marker it is whole again");

    let refused = |run: &Path, out: &Path, said: &[&str]| {
        let left = out.is_dir().then(|| bytes(out));
        let done = bench.expect(2, &["export", "harbor", text(run), "--out", text(out)]);
        for said in said {
            assert!(done.stderr.contains(said), "{said}: {}", done.stderr);
        }
        assert_eq!(out.is_dir().then(|| bytes(out)), left, "{said:?} wrote something");
    };
    refused(&group.join("nop"), &job, &["export of another run", "--out"]);
    fs::write(job.join("README.md"), "mine").expect("a file");
    refused(&run, &job, &["README.md", "no export of this run wrote", "--out"]);
    let foreign = bench.path().join("foreign");
    fs::create_dir_all(foreign.join("mine")).expect("a folder");
    fs::write(foreign.join("mine/notes.txt"), "mine").expect("a file");
    refused(&run, &foreign, &["mine/notes.txt", "--out"]);
    fs::write(foreign.join("pcb.json"), "{}").expect("a file");
    refused(&run, &foreign, &["pcb.json", "no marker"]);
    let linked = bench.path().join("linked");
    fs::create_dir(&linked).expect("a folder");
    std::os::unix::fs::symlink(&foreign, linked.join(trial(1, 1))).expect("a link");
    let done = bench.expect(2, &["export", "harbor", text(&run), "--out", text(&linked)]);
    assert!(done.stderr.contains(&trial(1, 1)), "{}", done.stderr);
    assert!(!foreign.join("config.json").exists(), "nothing is written through a link");
}

#[test]
fn what_is_no_place_and_no_run_is_refused() {
    let bench = Bench::new();
    let group = bench.tiny(&["oracle", "nop"], &[]);
    let run = group.join("oracle");
    bench.copy_of("tiny", "mine");
    fs::create_dir(bench.path().join("links")).expect("a folder");
    std::os::unix::fs::symlink(&run, bench.path().join("links/run")).expect("a link");
    let place = |path: &str| bench.path().join(path);
    let cases: [(&Path, PathBuf, &[&str]); 7] = [
        (&run, run.join("derived/job"), &["inside the run", "--out"]),
        (&run, run.clone(), &["inside the run"]),
        (&run, place("links/run/job"), &["inside the run"]),
        (&run, group.join("nop/job"), &["inside the run"]),
        (&run, place("mine/job"), &["inside the release"]),
        (&group, place("job"), &["several runs", "oracle", "nop"]),
        (bench.path(), place("job"), &["holds no run"]),
    ];
    for (run, out, said) in cases {
        let before = files_below(&group);
        let done = bench.expect(2, &["export", "harbor", text(run), "--out", text(&out)]);
        for said in said {
            assert!(done.stderr.contains(said), "{said}: {}", done.stderr);
        }
        assert_eq!(files_below(&group), before);
        assert!(!place("job").exists() && !place("mine/job").exists());
    }
    bench.expect(0, &["export", "harbor", text(&run)]);
    let name = group.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(place(&format!("jobs/{name}.oracle/result.json")).is_file());
}

/// A task in Harbor's layout with two steps, each of which wants a file.
fn two_steps(bench: &Bench) {
    let mut toml = "schema_version = \"1.4\"\n[agent]\ntimeout_sec = 60\n[environment]\n\
                    network_mode = \"no-network\"\nworkdir = \"/app\"\n"
        .to_owned();
    bench.write("two/environment/Dockerfile", "FROM scratch\n");
    for step in ["one", "two"] {
        toml.push_str(&format!("[[steps]]\nname = \"{step}\"\n"));
        let place = |file: &str| format!("two/steps/{step}/{file}");
        bench.write(&place("instruction.md"), &format!("Write {step} into /app/{step}.txt.\n"));
        let solve = format!("#!/bin/bash\necho {step} > /app/{step}.txt\n");
        let test = format!(
            "#!/bin/bash\necho looks at {step}\ntest -f /app/{step}.txt && reward=1 || reward=0\n\
             echo $reward > /logs/verifier/reward.txt\n"
        );
        for (file, script) in [("solution/solve.sh", solve), ("tests/test.sh", test)] {
            let path = bench.write(&place(file), &script);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
        }
    }
    bench.write("two/task.toml", &toml);
}

#[test]
fn steps_of_a_task_are_steps_of_the_trial() {
    let bench = Bench::new();
    two_steps(&bench);
    let run = ["run", "two", "--agent", "oracle", "--sandbox", "local", "--out", "out"];
    let ran = bench.expect(0, &run);
    let group = bench.path().join(ran.stderr.lines().next().expect("the group's folder"));
    let job = export(&bench, &group.join("oracle"), "oracle", 0);
    let read = read_by_harbor(&bench.path().join("jobs"));
    let told = &read["jobs"]["oracle"]["trials"]["two__repeat-1.attempt-1"];
    let results = told["result"]["step_results"].as_array().expect("steps");
    for (at, step) in ["one", "two"].into_iter().enumerate() {
        let rewards = json!({ "reward": 1.0 });
        assert_eq!(results[at]["step_name"], step);
        assert_eq!(results[at]["verifier_result"]["rewards"], rewards, "{step}");
        let steps = told["steps"][step]["steps"].as_array().expect("steps");
        let asked = steps[0]["message"].as_str().expect("a message");
        assert!(asked.contains(&format!("/app/{step}.txt")), "{asked}");
        let users = steps.iter().filter(|step| step["source"] == "user").count();
        assert_eq!((users, steps.len() > 1), (1, true), "{step}");
        let stdout =
            job.join(format!("two__repeat-1.attempt-1/steps/{step}/verifier/test-stdout.txt"));
        let stdout = fs::read_to_string(stdout).expect("what the verifier printed");
        assert!(stdout.contains(&format!("looks at {step}")), "{stdout}");
        if read["viewer"] == true {
            assert_eq!(told["step_verifiers"][step]["reward"], rewards, "{step}");
        }
    }
}

#[test]
fn a_public_export_leaves_out_what_was_never_told() {
    let bench = Bench::new();
    let group = bench.tiny(&["oracle", "nop"], &[]);
    let secrets = ["USAGE", "look after the house", "note_left"];
    let holds = |job: &Path| -> Vec<bool> {
        let files = files_below(job);
        let all: Vec<String> = files
            .iter()
            .map(|file| String::from_utf8_lossy(&fs::read(job.join(file)).expect("a file")).into())
            .collect();
        secrets.map(|secret| all.iter().any(|text| text.contains(secret))).to_vec()
    };
    for (agent, is_told) in [("oracle", true), ("nop", false)] {
        let run = group.join(agent);
        let job = export(&bench, &run, agent, 0);
        assert_eq!(holds(&job), [true; 3], "{agent}: the whole export has it");
        bench.expect(0, &["export", "harbor", text(&run), "--out", text(&job), "--public"]);
        assert_eq!(holds(&job), [is_told; 3], "{agent}");
    }
    read_by_harbor(&bench.path().join("jobs"));
}
