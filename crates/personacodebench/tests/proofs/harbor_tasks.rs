//! Tasks of others as they are: said how they will be read, run, replayed, refused by name.

use std::fs;

use serde_json::Value;

use crate::bench::{Bench, Running, files_below};

/// A value of the host that no file of a run may hold.
const SECRET: &str = "sesame-5f1c90";

/// Places a folder of two tasks; both want a variable of the host.
fn tasks(bench: &Bench) {
    for name in ["greet", "part"] {
        let write =
            |path: &str, text: &str| drop(bench.write(&format!("tasks/{name}/{path}"), text));
        let passed = if name == "greet" { "1" } else { "0.5" };
        write(
            "task.toml",
            "[agent]\ntimout_sec = 9\n[environment]\nnetwork_mode = \"no-network\"\n\
             [environment.healthcheck]\ncommand = \"[[ -d /desk ]]\"\n\
             [solution]\nenv = { TOKEN = \"${TOKEN}\" }\n\
             [verifier]\nenv = { TOKEN = \"${TOKEN}\", WORD = \"${WORD:-hi}\" }\n",
        );
        write("instruction.md", "<!-- a canary: hold it back -->\nWrite hi.txt.\n");
        write("environment/Dockerfile", "FROM debian\nWORKDIR /desk\n");
        write(
            "solution/solve.sh",
            "#!/bin/sh\n[ -n \"$TOKEN\" ] && printf %s \"$TOKEN\" | wc -c > hi.txt\n",
        );
        write(
            "tests/test.sh",
            &format!(
                "#!/bin/bash\nr=0\n\
                 [ \"$(cat hi.txt)\" = ${{#TOKEN}} ] && [ \"$WORD\" = hi ] && r={passed}\n\
                 echo $r > /logs/verifier/reward.txt\n"
            ),
        );
    }
    bench.write("tasks/dataset.toml", "[dataset]\nname = \"house/two\"\n");
}

#[test]
fn tasks_of_others_run_as_they_are_and_keep_no_secret() {
    let bench = Bench::new();
    tasks(&bench);
    let arguments = |more: &[&str]| {
        let mut all = vec!["run", "tasks", "--agent", "oracle", "--agent", "nop", "--out", "out"];
        all.extend(more);
        let mut command = bench.command(&all);
        command.env("TOKEN", SECRET);
        command
    };
    let done = Running::start(arguments(&["--json"])).wait();
    assert_eq!(done.code, Some(0), "{}\n{}", done.stdout, done.stderr);
    assert!(done.stderr.contains("unknown key `timout_sec` in [agent]"), "{}", done.stderr);
    assert!(done.stderr.contains("did you mean `timeout_sec`?"), "{}", done.stderr);
    let classes = |stdout: &str| -> Vec<String> {
        let report: Value = serde_json::from_str(stdout).expect("JSON");
        let mut found = Vec::new();
        for row in report["rows"].as_array().expect("rows") {
            let sessions = row["sessions"].as_array().expect("sessions");
            let words = sessions.iter().map(|one| one["class"].as_str().expect("a class"));
            let run = row["run"].as_str().expect("a run");
            found.push(format!("{run}: {}", words.collect::<Vec<_>>().join(", ")));
        }
        found.sort();
        found
    };
    assert_eq!(
        classes(&done.stdout),
        ["nop: not completed, not completed", "oracle: completed, not completed"]
    );
    let half = Running::start(arguments(&["--json", "--completion", "reward>=0.5"])).wait();
    assert_eq!(
        classes(&half.stdout),
        ["nop: not completed, not completed", "oracle: completed, completed"]
    );

    let files = files_below(&bench.out());
    assert!(files.iter().any(|path| path.ends_with("log.jsonl")), "{files:?}");
    for path in files {
        let bytes = fs::read(bench.out().join(&path)).expect("a file");
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(SECRET), "{path} holds a value of the host");
    }

    let group = fs::read_dir(bench.out()).expect("groups").next().expect("one").expect("an entry");
    let oracle = group.path().join("oracle");
    let shown = oracle.to_str().expect("a plain path");
    bench.expect(0, &["replay", shown]);
    let story = bench.expect(0, &["show", shown, "greet"]).stdout;
    assert!(story.contains("/desk/hi.txt") && !story.contains("canary"), "{story}");
}

#[test]
fn what_is_missing_or_not_given_here_is_refused_by_name() {
    let bench = Bench::new();
    tasks(&bench);
    let done = bench.expect(2, &["run", "tasks", "--agent", "oracle", "--out", "out"]);
    assert!(
        done.stderr.contains("not set on this host") && done.stderr.contains("TOKEN"),
        "{}",
        done.stderr
    );

    bench.write("tasks/part/environment/Dockerfile", "FROM debian\nRUN true\n");
    let local = ["run", "tasks", "--agent", "nop", "--sandbox", "local", "--out", "out"];
    let mut command = bench.command(&local);
    command.env("TOKEN", SECRET);
    let done = Running::start(command).wait();
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    for text in ["task part", "environment/Dockerfile", "--sandbox docker"] {
        assert!(done.stderr.contains(text), "{text}: {}", done.stderr);
    }
    let servers = "[[environment.mcp_servers]]\nname = \"notes\"\nurl = \"http://notes:8000\"\n";
    let needs = format!("[environment]\nnetwork_mode = \"no-network\"\n{servers}");
    bench.write("needs/tools/task.toml", &needs);
    for path in ["instruction.md", "environment/files", "tests/test.sh"] {
        bench.write(&format!("needs/tools/{path}"), "#!/bin/sh\n");
    }
    let done =
        bench.expect(2, &["run", "needs/tools", "--agent", "ndjson:/bin/tools", "--out", "out"]);
    for text in ["mcp_servers", "cannot hand over"] {
        assert!(done.stderr.contains(text), "{text}: {}", done.stderr);
    }
    for (more, expect) in [
        (["--arm", "progressive"], "without a persona"),
        (["--completion", "reward"], "KEY>=VALUE"),
    ] {
        let mut arguments = vec!["run", "tasks", "--agent", "nop"];
        arguments.extend(more);
        let done = bench.expect(2, &arguments);
        assert!(done.stderr.contains(expect), "{}", done.stderr);
    }
}

#[test]
fn a_check_says_how_each_task_will_be_read() {
    let bench = Bench::new();
    tasks(&bench);
    let text = bench.expect(0, &["task", "check", "tasks"]).stdout;
    for expect in [
        "workdir      /desk, by environment/Dockerfile",
        "runs on      local, docker",
        "environment.network_mode = \"no-network\"",
        "ignored      tasks/greet/task.toml:2: unknown key `timout_sec`",
    ] {
        assert!(text.contains(expect), "{expect}\n{text}");
    }

    bench.write("tasks/part/environment/Dockerfile", "FROM debian\nRUN true\n");
    bench.write("tasks/greet/trajectory.json", "{}");
    let done = bench.expect(2, &["task", "check", "tasks", "--json"]);
    assert!(done.stderr.contains("1 of 2 tasks cannot run"), "{}", done.stderr);
    let read: Value = serde_json::from_str(&done.stdout).expect("JSON");
    assert_eq!(read[0]["runs_on"], serde_json::json!([]));
    assert_eq!(read[0]["refused"][0]["file"], "tasks/greet/trajectory.json");
    assert_eq!(read[1]["runs_on"], serde_json::json!(["docker"]));
    let key = &read[1]["keys"][0];
    assert_eq!((&key["key"], &key["state"]), (&"agent.timout_sec".into(), &"ignored".into()));
    let none = bench.expect(2, &["task", "check", "tasks/greet/tests"]);
    assert!(none.stderr.contains("no task lies there"), "{}", none.stderr);
}
