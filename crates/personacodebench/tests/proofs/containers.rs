//! Tasks of others in real containers, as they are: users, images by name, healthchecks, steps, verifiers with environments of
//! their own, artifacts, hooks, verification in place.
//!
//! They need a Docker engine, which `./check` starts where none answers.

use std::{collections::BTreeMap, fs, path::PathBuf};

use serde_json::Value;

use crate::{bench::Bench, docker::expect};

/// A file of a task with its text.
type Text = (&'static str, &'static str);

const INSTRUCTION: Text = ("instruction.md", "Do what the tests look for.\n");
const IMAGE: Text = ("environment/Dockerfile", "FROM debian:bookworm-slim\nWORKDIR /desk\n");

/// Who works and who looks are users of their own.
const USERS: &[Text] = &[
    INSTRUCTION,
    (
        "task.toml",
        "[environment]\nnetwork_mode = \"no-network\"\n[agent]\nuser = \"worker\"\n\
         [verifier]\nuser = 4321\n",
    ),
    (
        "environment/Dockerfile",
        "FROM debian:bookworm-slim\nRUN echo worker:x:1234:1234::/desk:/bin/sh >> /etc/passwd && mkdir /desk && chown 1234 /desk\n\
         WORKDIR /desk\n",
    ),
    ("solution/solve.sh", "#!/bin/sh\nid -u > mine; id -un >> mine\n"),
    (
        "tests/test.sh",
        "#!/bin/bash\nr=0\n[ \"$(cat mine | tr '\\n' ' ')\" = '1234 worker ' ] && [ \"$(stat -c %u mine)\" = 1234 ] \
         && [ $(id -u) = 4321 ] && r=1\necho $r > /logs/verifier/reward.txt\n",
    ),
];

/// An image by its name, the files beside it in its working directory.
const NAMED: &[Text] = &[
    INSTRUCTION,
    (
        "task.toml",
        "[environment]\ndocker_image = \"debian:bookworm-slim\"\nworkdir = \"/desk\"\n\
         network_mode = \"no-network\"\n",
    ),
    ("environment/given.txt", "given\n"),
    ("solution/solve.sh", "#!/bin/sh\ncp given.txt taken.txt\n"),
    (
        "tests/test.sh",
        "#!/bin/sh\ncmp -s /desk/given.txt /desk/taken.txt && r=1 || r=0\n\
         echo $r > /logs/verifier/reward.txt\n",
    ),
];

/// The image's entrypoint starts something, and only where it runs can the work be judged.
const HEALTHY: &[Text] = &[
    INSTRUCTION,
    (
        "task.toml",
        "[environment]\nnetwork_mode = \"public\"\n[environment.healthcheck]\n\
         command = \"[[ -s /tmp/beats ]]\"\ninterval_sec = 0.2\nretries = 100\n",
    ),
    (
        "environment/Dockerfile",
        "FROM debian:bookworm-slim\nCOPY start.sh /start.sh\nRUN chmod +x /start.sh\n\
         ENTRYPOINT [\"/start.sh\"]\nWORKDIR /desk\n",
    ),
    (
        "environment/start.sh",
        "#!/bin/bash\n(sleep 1; while :; do echo beat >> /tmp/beats; sleep 0.1; done) >/dev/null 2>&1 &\n\
         exec \"$@\"\n",
    ),
    ("solution/solve.sh", "#!/bin/sh\nls /sys/class/net > before\n"),
    (
        "tests/test.sh",
        "#!/bin/bash\na=$(wc -l < /tmp/beats); sleep 1; b=$(wc -l < /tmp/beats); r=0\n\
         [ -s before ] && [ $b -gt $a ] && r=1\n\
         # What survives reaches nothing any more.\n\
         [ \"$(wc -l < before)\" -ge 2 ] && [ \"$(ls /sys/class/net)\" = lo ] || r=0\n\
         echo $r > /logs/verifier/reward.txt\n",
    ),
];

/// An image of the tests' own, into which artifacts alone are carried; a hook makes one of them.
const SEPARATE: &[Text] = &[
    INSTRUCTION,
    IMAGE,
    (
        "task.toml",
        "artifacts = [\"/desk/out\", { source = \"/desk/sum.txt\", destination = \"kept/sum\" }]\n\
         [environment]\nnetwork_mode = \"no-network\"\n\
         [verifier]\nuser = \"judge\"\ncollect = [{ command = \"cat out/a out/b > sum.txt\" }]\n\
         [verifier.environment]\nnetwork_mode = \"no-network\"\nenv = { WHERE = \"apart\" }\n",
    ),
    (
        "tests/Dockerfile",
        "FROM debian:bookworm-slim\nRUN echo judge:x:77:77::/:/bin/sh >> /etc/passwd\nCOPY test.sh expected /tests/\n\
         RUN chmod 644 /tests/test.sh\nWORKDIR /seat\n",
    ),
    ("tests/expected", "one\ntwo\n"),
    (
        "tests/test.sh",
        "#!/bin/bash\nr=0\n[ $(id -un) = judge ] && [ $PWD = /seat ] && [ $WHERE = apart ] \
         && cmp -s /desk/sum.txt /tests/expected && [ -f /desk/out/a ] && [ ! -e /desk/undeclared ] \
         && [ -f /logs/artifacts/note ] && [ ! -e /logs/verifier/reward.json ] && r=1\n\
         echo $r > /logs/verifier/reward.txt\n",
    ),
    (
        "solution/solve.sh",
        "#!/bin/bash\nmkdir -p out /logs/artifacts /logs/verifier\necho one > out/a; echo two > out/b\n\
         chmod 600 out/a; touch undeclared; echo note > /logs/artifacts/note\n\
         echo '{\"reward\": 1}' > /logs/verifier/reward.json\n",
    ),
];

/// Each step has a verifier and artifacts of its own; the second is judged apart from the agent's root.
const STEPS: &[Text] = &[
    IMAGE,
    (
        "task.toml",
        "[environment]\nnetwork_mode = \"no-network\"\n\
         [[steps]]\nname = \"first\"\nartifacts = [\"one.txt\"]\n\
         [[steps]]\nname = \"second\"\nartifacts = [\"two.txt\"]\n\
         [steps.verifier]\nenvironment_mode = \"separate\"\n",
    ),
    ("steps/first/instruction.md", "Write one.txt.\n"),
    ("steps/first/solution/solve.sh", "#!/bin/sh\necho 1 > one.txt\n"),
    (
        "steps/first/tests/test.sh",
        "#!/bin/sh\n[ -f one.txt ] && touch left && echo 1 > /logs/verifier/reward.txt\n",
    ),
    ("steps/second/instruction.md", "Write two.txt.\n"),
    ("steps/second/workdir/given", "2\n"),
    (
        "steps/second/solution/solve.sh",
        "#!/bin/sh\n[ -e left ] || [ -e /tests ] || cp given two.txt\n",
    ),
    (
        "steps/second/tests/Dockerfile",
        "FROM debian:bookworm-slim\nCOPY test.sh /tests/test.sh\nWORKDIR /desk\n",
    ),
    (
        "steps/second/tests/test.sh",
        "#!/bin/sh\n[ -f /desk/two.txt ] && [ ! -e /desk/one.txt ] && echo 1 > /logs/verifier/reward.txt\n",
    ),
];

const TASKS: [(&str, &[Text]); 5] = [
    ("healthy", HEALTHY),
    ("named", NAMED),
    ("separate", SEPARATE),
    ("steps", STEPS),
    ("users", USERS),
];

fn write(bench: &Bench, tasks: &[(&str, &[Text])]) {
    for (task, files) in tasks {
        for (path, text) in *files {
            bench.write(&format!("tasks/{task}/{path}"), text);
        }
    }
}

/// The class of each session by agent and task.
fn classes(stdout: &str) -> BTreeMap<String, String> {
    let report: Value = serde_json::from_str(stdout).expect("JSON");
    let mut found = BTreeMap::new();
    for row in report["rows"].as_array().expect("rows") {
        for one in row["sessions"].as_array().expect("sessions") {
            let name = format!("{} {}", row["run"].as_str().expect("a run"), one["pair"]);
            found.insert(name.replace('"', ""), one["class"].as_str().expect("a class").to_owned());
        }
    }
    found
}

fn group(bench: &Bench) -> PathBuf {
    let mut groups = fs::read_dir(bench.out()).expect("groups");
    groups.next().expect("one").expect("an entry").path()
}

#[test]
fn tasks_of_others_run_in_containers_as_they_are() {
    let bench = Bench::new();
    write(&bench, &TASKS);
    let run = ["run", "tasks", "--agent", "oracle", "--agent", "nop", "--sandbox", "docker"];
    let done = expect(&bench, 0, &[&run[..], &["--out", "out", "--json"]].concat());
    let found = classes(&done.stdout);
    let mut expected = BTreeMap::new();
    for (task, _) in TASKS {
        expected.insert(format!("oracle {task}"), "completed".to_owned());
        expected.insert(format!("nop {task}"), "not completed".to_owned());
    }
    assert_eq!(found, expected, "{}", done.stderr);
    let report: Value = serde_json::from_str(&done.stdout).expect("JSON");
    let rows = report["rows"].as_array().expect("rows");
    assert!(rows.iter().all(|row| row["in_place"] == 1), "the live session is marked: {rows:?}");

    let oracle = group(&bench).join("oracle");
    let oracle = oracle.to_str().expect("a plain path");
    bench.expect(0, &["replay", oracle]);
    let told = |task: &str| bench.expect(0, &["show", oracle, task]).stdout;
    let live = told("healthy");
    assert!(live.contains("verified in place, beside what still ran"), "{live}");
    let separate = told("separate");
    for line in [
        "hook `cat out/a out/b > sum.txt`: exited with 0",
        "artifact /logs/artifacts: a directory, 1 file kept",
        "artifact /desk/out: a directory, 2 files kept",
        "artifact /desk/sum.txt: a file, 1 file kept",
    ] {
        assert!(separate.contains(line), "{line}\n{separate}");
    }

    bench.expect(0, &["export", "harbor", oracle, "--out", "job"]);
    let trial = "job/separate__repeat-1.attempt-1/artifacts";
    assert_eq!(bench.read(&format!("{trial}/kept/sum")), "one\ntwo\n");
    assert_eq!(bench.read(&format!("{trial}/logs/artifacts/note")), "note\n");
    let list: Value =
        serde_json::from_str(&bench.read(&format!("{trial}/manifest.json"))).expect("JSON");
    let destinations: Vec<&str> = list
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["destination"].as_str())
        .collect();
    assert_eq!(
        destinations,
        ["artifacts/logs/artifacts", "artifacts/desk/out", "artifacts/kept/sum"]
    );
    let steps = "job/steps__repeat-1.attempt-1/steps";
    assert_eq!(bench.read(&format!("{steps}/first/artifacts/one.txt")), "1\n");
    assert_eq!(bench.read(&format!("{steps}/second/artifacts/two.txt")), "2\n");
}

/// What an agent leaves running is judged beside itself only where that is asked for.
const SERVER: &[Text] = &[
    INSTRUCTION,
    IMAGE,
    ("task.toml", "[environment]\nnetwork_mode = \"no-network\"\n"),
    (
        "solution/solve.sh",
        "#!/bin/bash\nsetsid bash -c 'while :; do echo beat >> /tmp/beats; sleep 0.1; done' >/dev/null 2>&1 &\n\
         sleep 0.5\n",
    ),
    (
        "tests/test.sh",
        "#!/bin/bash\na=$(wc -l < /tmp/beats); sleep 1; b=$(wc -l < /tmp/beats)\n\
         [ $b -gt $a ] && r=1 || r=0\necho $r > /logs/verifier/reward.txt\n",
    ),
];

#[test]
fn an_option_says_that_tests_run_in_place() {
    let bench = Bench::new();
    write(&bench, &[("server", SERVER)]);
    for (verify, expected) in [("live", "completed"), ("fresh", "not completed")] {
        let run = ["run", "tasks/server", "--agent", "oracle", "--sandbox", "docker", "--json"];
        let more = ["--verify", verify, "--out", "out"];
        let done = expect(&bench, 0, &[&run[..], &more].concat());
        let found = classes(&done.stdout);
        assert_eq!(found["oracle server"], expected, "{verify}: {}", done.stdout);
    }
    let done = bench.expect(2, &["run", "tiny", "--agent", "nop", "--verify", "live"]);
    assert!(done.stderr.contains("--verify is for Harbor tasks"), "{}", done.stderr);
}

#[test]
fn a_verifier_whose_image_cannot_be_made_is_found_before_the_agent() {
    let bench = Bench::new();
    write(&bench, &[("separate", SEPARATE)]);
    bench.write(
        "tasks/separate/tests/Dockerfile",
        "FROM debian:bookworm-slim\nRUN echo no luck here; exit 3\n",
    );
    let run = ["run", "tasks", "--agent", "oracle", "--sandbox", "docker", "--out", "out"];
    expect(&bench, 3, &run);
    let oracle = group(&bench).join("oracle");
    let story =
        bench.expect(0, &["show", oracle.to_str().expect("a plain path"), "separate"]).stdout;
    assert!(story.contains("materialise_failed"), "{story}");
    assert!(
        story.contains("the verifier's environment") && story.contains("no luck here"),
        "{story}"
    );
    assert!(!story.contains("── turn 1 ──"), "{story}");
}
