//! A run whose agent works with a model: from the models file and the command line through the gateway of a real sandbox to the
//! table, the story, an export and a resume.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{
    agents::{only_folder, place_fake},
    bench::{Bench, Done, Running, Served, files_below},
};

/// Asks the agent's model once, as a client would that was told by variables where it is.
const ASK: &str = r#"
import json, os, sys, urllib.request
body = {"model": os.environ["MODEL"], "messages": [{"role": "user", "content": sys.argv[2]}]}
if sys.argv[1] == "main":
    body["reasoning_effort"] = "high"
    body["web_search_options"] = {}
    body["tools"] = [{"type": "function", "function": {"name": "shell", "parameters": {"type": "object"}}}]
asked = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions",
    json.dumps(body).encode(), {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
print(json.load(opener.open(asked, timeout=60))["choices"][0]["message"]["content"])
"#;

const TURNS: &str = r#"run python3 /opt/fake/ask.py main 'Please do it.'
run python3 /opt/fake/ask.py side 'Find a title.'
run printf '#!/bin/sh\nprintf "Hello, %%s!\\n" "${1:-World}"\n' > greet.sh
usage
say greet.sh now greets by name. The work is done.
---
run python3 /opt/fake/ask.py main 'Say it without figures.'
run echo 'Start it with a name: sh greet.sh Ada' > USAGE
say I left a file called USAGE beside greet.sh. The work is done.
"#;

const SCRIPT: &str = r#"
[[on]]
user = "do it"
[[on.answer]]
say = "It is done."
model = "m-1-0101"
usage = { input = 1200, cached_input = 800, output = 40, reasoning = 10 }
fault = { times = 1, how = { status = { status = 429, retry_after_sec = 1 } } }

[[on]]
user = "title"
[[on.answer]]
say = "A title."
usage = { input = 50, output = 5 }

[[on]]
[[on.answer]]
say = "No figures."
omit_usage = true
"#;

/// A key that must never be told to anybody but the provider.
const KEY: &str = "sk-upstream-0123456789";

const AGENT: &str = "acp:/usr/bin/python3 /opt/fake/fake_acp.py turns";

fn models(address: &str) -> String {
    format!(
        "[[model]]\nname = \"luna\"\nmodel = \"m-1\"\nformat = \"openai_chat\"\n\
         base = \"{address}/v1\"\nkey = \"LUNA_KEY\"\n\
         [[price]]\nmodel = \"m-1*\"\ninput = 1.0\ncached_input = 0.5\noutput = 10.0\n"
    )
}

fn with_key(bench: &Bench, arguments: &[&str]) -> Done {
    let mut command = bench.command(arguments);
    command.env("LUNA_KEY", KEY);
    Running::start(command).wait()
}

/// The release with the agent, run against a served model; answers the run's folder.
fn run(bench: &Bench, served: &Served, code: i32) -> PathBuf {
    place_fake(bench, &[("turns.txt", TURNS), ("ask.py", ASK)]);
    bench.write("models.toml", &models(&served.address));
    let arguments = [
        &["run", "mine", "--agent", AGENT, "--out", "out"][..],
        &["--models", "models.toml", "--agent-model", "luna"],
        &["--set", "env.OPENAI_BASE_URL={gateway.openai}"],
        &["--set", "env.OPENAI_API_KEY={gateway.token}", "--set", "env.MODEL={model}"],
    ];
    let done = with_key(bench, &arguments.concat());
    assert_eq!(done.code, Some(code), "{}\n{}", done.stdout, done.stderr);
    only_folder(&only_folder(&bench.out()))
}

#[test]
fn what_an_agent_asks_its_model_is_counted_recorded_and_found_again() {
    let bench = Bench::new();
    let served = Served::by(&bench, SCRIPT);
    let run = run(&bench, &served, 0);
    let group = only_folder(&bench.out());

    let report = bench.report(&[&group]);
    let row = &report["rows"][0];
    assert_eq!(row["sessions"][0]["class"], "joint pass", "{report}");
    // What the agent says of itself (12 tokens) is not added.
    assert_eq!(row["load"]["tokens"], 1240 + 55, "{report}");
    assert_eq!(row["load"]["unpriced"], 1, "{report}");

    check_told(&bench, row, &run);

    let record: Value =
        serde_json::from_slice(&fs::read(run.join("run.json")).expect("a record")).expect("JSON");
    let entry = &record["models"]["entries"][0];
    let told = ["name", "model", "format", "base"].map(|key| entry[key].as_str().expect(key));
    let base = format!("{}/v1", served.address);
    assert_eq!(told, ["luna", "m-1", "open_ai_chat", &base]);
    assert_eq!(record["models"]["prices"][0]["output"], 10_000_000);
    let models = fs::read(bench.path().join("models.toml")).expect("the file");
    assert_eq!(record["models"]["file"], store::blobs::hash_of(&models).as_str());
    for file in files_below(&run) {
        let bytes = fs::read(run.join(&file)).expect("a file");
        let has_key = bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes());
        assert!(!has_key, "the key stands in {file}");
    }

    // What is missing of the run is run again with the same model, whatever became of the file.
    fs::remove_file(bench.path().join("models.toml")).expect("it was there");
    fs::remove_dir_all(run.join("sessions/caretaker--greet")).expect("it was there");
    let run = run.to_str().expect("a plain path");
    let refused = bench.expect(2, &["resume", run]);
    assert!(refused.stderr.contains("LUNA_KEY"), "{}", refused.stderr);
    let done = with_key(&bench, &["resume", run]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let again = bench.report(&[&group]);
    assert_eq!(again["rows"][0]["load"]["tokens"], 1240 + 55, "{again}");
}

/// Table, story and export tell the same calls: main and side apart, what is unknown beside what is known.
fn check_told(bench: &Bench, row: &Value, run: &Path) {
    let used = &row["model_use"];
    let told = |path: &str| used.pointer(path).unwrap_or_else(|| panic!("{path}: {used}")).clone();
    let main = ["calls", "input", "cached_input", "output", "reasoning", "uncounted"];
    let main = main.map(|key| told(&format!("/main/{key}")).as_u64().expect(key));
    assert_eq!(main, [2, 1200, 800, 40, 10, 1]);
    // 400 fresh, 800 cached and 40 tokens of output.
    assert_eq!((told("/main/cost_microusd"), told("/main/unpriced")), (1200.into(), 1.into()));
    assert_eq!((told("/side/calls"), told("/side/cost_microusd")), (1.into(), 100.into()));
    assert_eq!(told("/retries"), 1);
    assert!(told("/paused_ms").as_u64().is_some_and(|ms| ms >= 1_000), "{used}");
    let hosted = (told("/hosted/0/name"), told("/hosted/0/count"));
    assert_eq!(hosted, ("web_search_options stripped".into(), 2.into()));

    let shown = run.to_str().expect("a plain path");
    let table = bench.expect(0, &["report", shown]).stdout;
    for words in ["Model calls", "effective model m-1 → m-1-0101 (1)", "high (2), unset (1)"] {
        let told = table.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(words), "{words} is not told in\n{table}");
    }
    let story = bench.expect(0, &["show", shown, "caretaker--greet"]).stdout;
    for words in [
        "model: 1 call main and 1 side: 1250 in (800 cached), 45 out (10 of reasoning); 0.0013 US$",
        "model: asked again 1 time; the agent's clock stood still for",
        "model: hosted tool web_search_options stripped: 1",
        "model: 1 call main and 0 side: tokens unknown; cost unknown",
        "says it used 10 in, 4 cached, 2 out",
    ] {
        assert!(story.contains(words), "{words} is not told in\n{story}");
    }
    bench.expect(0, &["report", shown, "--format", "html", "--out", "page.html"]);
    let page = bench.read("page.html");
    for words in ["2 calls of its model", "<code>m-1-0101</code>", "hosted tool web_search_options"]
    {
        assert!(page.contains(words), "{words} is not on the page");
    }

    bench.expect(0, &["export", "harbor", shown, "--out", "job"]);
    let trial = "job/caretaker--greet__repeat-1.attempt-1";
    let json = |path: &str| -> Value {
        serde_json::from_str(&bench.read(&format!("{trial}/{path}"))).expect("JSON")
    };
    let trajectory = json("agent/trajectory.json");
    let steps = trajectory["steps"].as_array().expect("steps");
    let metrics: Vec<&Value> = steps.iter().map(|step| &step["metrics"]).collect();
    let first = metrics.iter().find(|one| one["prompt_tokens"] == 1250).expect("the first turn");
    assert_eq!((&first["completion_tokens"], &first["cached_tokens"]), (&45.into(), &800.into()));
    assert_eq!(first["cost_usd"], 0.0013);
    // Of the second turn nothing is known, so that nothing is said of the whole.
    assert_eq!(trajectory["final_metrics"].get("total_prompt_tokens"), None);
    assert_eq!(trajectory["extra"]["pcb"]["model_use"]["main"]["uncounted"], 1);
    assert_eq!(json("result.json")["agent_result"].get("cost_usd"), None);
}

/// A key that the provider does not take is nobody's in the sandbox, and the calls until then are told.
#[test]
fn a_provider_that_refuses_ends_sessions_as_a_fault_with_its_owner() {
    let bench = Bench::new();
    let script = "[[on]]\n[[on.answer]]\nfault = { how = { status = { status = 401 } } }\n";
    let served = Served::by(&bench, script);
    let run = run(&bench, &served, 3);
    let shown = run.to_str().expect("a plain path");
    let told = bench.pcb(&["report", shown]).stdout;
    for words in ["provider_error (infra)", "not answered unauthorised (infra)"] {
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(words), "{words} is not told in\n{told}");
    }
    let story = bench.pcb(&["show", shown, "caretaker--greet"]).stdout;
    for words in ["flag provider_error (infra)", "model: unauthorised (infra): "] {
        assert!(story.contains(words), "{words} is not told in\n{story}");
    }
}

#[test]
fn what_keeps_an_agent_from_its_model_is_told_before_the_run() {
    let bench = Bench::new();
    bench.write("models.toml", &models("http://127.0.0.1:9"));
    bench.write("bad.toml", "[[model]]\n");
    let cut = models("https://127.0.0.1:9") + "\n";
    bench.write("ca.toml", &cut.replace("key = \"LUNA_KEY\"", "ca = \"script.toml\""));
    bench.write("script.toml", SCRIPT);
    let check = |more: &[&str], expect: &str| {
        let arguments = [&["run", "tiny", "--out", "out", "--agent", "acp:a"], more].concat();
        let refused = bench.pcb(&arguments);
        assert_eq!(refused.code, Some(2), "{more:?}: {}", refused.stderr);
        let told = refused.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(expect), "{more:?}: {told}");
        assert!(!bench.out().exists(), "something was begun");
    };
    let luna = ["--models", "models.toml", "--agent-model", "luna"];
    check(&luna, "variable LUNA_KEY, which is not set");
    check(&["--models", "models.toml", "--agent-model", "sol"], "there are: luna");
    check(&["--models", "none.toml", "--agent-model", "luna"], "none.toml: No such file");
    check(&["--models", "bad.toml", "--agent-model", "luna"], "bad.toml: ");
    check(&["--models", "ca.toml", "--agent-model", "luna"], "ca: these are no certificates");
    check(&luna[..2], "name one with --agent-model");
    check(&luna[2..], "name a models file with --models");
    check(&["--set", "env.A={gateway.openai}"], "the agent has no model");
    check(&["--set", "env.A={gateway.url}"], "no placeholder {gateway.url}: there are");
}
