//! What a real run leaves and what commands print as JSON is valid by its schema, and by no schema with a key more.

use std::{collections::BTreeMap, fs, path::Path};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::bench::{Bench, files_below};

/// The validators of every format, as the binary writes their schemas.
struct Schemas {
    validators: BTreeMap<String, Validator>,
    count: BTreeMap<String, u32>,
}

impl Schemas {
    fn written_by(bench: &Bench) -> Self {
        bench.expect(0, &["schema", "--all", "schemas"]);
        let names = files_below(&bench.path().join("schemas")).into_iter();
        let validators = names.map(|file| {
            let schema: Value =
                serde_json::from_str(&bench.read(&format!("schemas/{file}"))).expect("JSON");
            let validator = jsonschema::draft202012::new(&schema).expect("a schema");
            (file.trim_end_matches(".json").to_owned(), validator)
        });
        Self { validators: validators.collect(), count: BTreeMap::new() }
    }

    /// The document is valid, and with a key more it is not.
    fn check(&mut self, name: &str, place: &str, document: &Value) {
        let validator = &self.validators[name];
        if let Err(error) = validator.validate(document) {
            panic!("{place} is no {name}: {} {error}", error.instance_path());
        }
        if let (Value::Object(map), true) = (document, is_closed(name)) {
            let mut more = map.clone();
            more.insert("qqqqqqqq".to_owned(), json!(1));
            assert!(
                !validator.is_valid(&Value::Object(more)),
                "{name} lets an unknown key through"
            );
        }
        *self.count.entry(name.to_owned()).or_default() += 1;
    }

    fn check_file(&mut self, name: &str, file: &Path) {
        let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        self.check(name, &file.display().to_string(), &document(&text));
    }

    fn check_lines(&mut self, name: &str, file: &Path) {
        let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        for line in text.lines() {
            self.check(name, &file.display().to_string(), &document(line));
        }
    }
}

/// What is written is closed; what is printed for programs may grow.
fn is_closed(name: &str) -> bool {
    let open = ["report", "story", "calibration", "rereading"];
    !open.contains(&name) && !name.starts_with("harbor-")
}

fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn everything_of_a_run_is_valid() {
    let bench = Bench::new();
    let mut schemas = Schemas::written_by(&bench);
    // A check on differences, so that they are written down.
    bench.copy_of("tiny", "mine");
    let pair = "mine/pairs/caretaker--greet/pair.toml";
    let text = bench.read(pair);
    let text = text.replace("[check]", "[check]\nsmall = { diff = { files_max = 9 } }").replace(
        "{ at_end = \"note_left\" }",
        "{ all = [{ at_end = \"note_left\" }, { at_end = \"small\" }] }",
    );
    bench.write(pair, &text);
    let run = ["run", "mine", "--agent", "oracle", "--agent", "eager", "--out", "out"];
    let ran = bench.expect(0, &run);
    let group = bench.path().join(ran.stderr.lines().next().expect("the group's folder"));
    for run in ["oracle", "eager"] {
        let run = group.join(run);
        schemas.check_file("run", &run.join("run.json"));
        schemas.check_lines("plan-line", &run.join("plan.jsonl"));
        schemas.check_lines("result-line", &run.join("derived/results.jsonl"));
        schemas.check_file("report", &run.join("derived/report.json"));
        let attempt = run.join("sessions/caretaker--greet/repeat-1/attempt-1");
        schemas.check_file("claim", &attempt.join("claim.json"));
        schemas.check_file("seal", &attempt.join("seal.json"));
        schemas.check_file("end", &attempt.join("end.json"));
        let log = fs::read_to_string(attempt.join("log.jsonl")).expect("a log");
        let (head, entries) = log.split_once('\n').expect("lines");
        schemas.check("log-head", "log.jsonl", &document(head));
        for line in entries.lines() {
            let entry = document(line);
            schemas.check("log-line", line, &entry);
            check_blob(&mut schemas, &run, &entry);
        }
        let shown = run.to_str().expect("a plain path");
        let story = bench.expect(0, &["show", shown, "caretaker--greet", "--json"]).stdout;
        schemas.check("story", "pcb show", &document(&story));
        bench.expect(0, &["export", "harbor", shown, "--out", "job"]);
        let read = |file: &str| document(&bench.read(&format!("job/{file}")));
        schemas.check("harbor-job", "pcb.json", &read("pcb.json")["job"]);
        let trajectory = read("caretaker--greet__repeat-1.attempt-1/agent/trajectory.json");
        schemas.check("harbor-session", "trajectory.json", &trajectory["extra"]["pcb"]);
        for step in trajectory["steps"].as_array().expect("steps") {
            schemas.check("harbor-step", "trajectory.json", &step["extra"]["pcb"]);
        }
        fs::remove_dir_all(bench.path().join("job")).expect("the job goes");
    }
    for name in ["manifest", "changes-line", "differences", "programs-line", "agent-line"] {
        assert!(schemas.count.contains_key(name), "the run left no {name}: {:?}", schemas.count);
    }
}

/// The blob that an entry of a log names.
fn check_blob(schemas: &mut Schemas, run: &Path, entry: &Value) {
    let blob = |hash: &Value| {
        let hash = hash.as_str().expect("a hash");
        run.join("blobs").join(&hash[..2]).join(hash)
    };
    let captured = &entry["event"]["answered"][1]["captured"]["manifest"];
    if captured.is_string() {
        schemas.check_file("manifest", &blob(captured));
    }
    let cut = &entry["event"]["observed"]["cut"];
    match cut["channel"].as_str() {
        Some("manifest") => schemas.check_lines("changes-line", &blob(&cut["blob"])),
        Some("diff") => schemas.check_file("differences", &blob(&cut["blob"])),
        Some("processes") => schemas.check_lines("programs-line", &blob(&cut["blob"])),
        Some("resources") => schemas.check_lines("calls-line", &blob(&cut["blob"])),
        Some("network") => schemas.check_lines("network-line", &blob(&cut["blob"])),
        Some("transcript") => schemas.check_lines("agent-line", &blob(&cut["blob"])),
        _ => {}
    }
}

#[test]
fn calibrations_are_valid() {
    let bench = Bench::new();
    let mut schemas = Schemas::written_by(&bench);
    let run = ["calibrate", "tiny", "--arms", "progressive", "--record", "kept", "--json"];
    let printed = bench.expect(0, &run).stdout;
    schemas.check("calibration", "pcb calibrate", &document(&printed));
    let printed = bench.expect(0, &["calibrate", "tiny", "--from", "kept", "--json"]).stdout;
    schemas.check("rereading", "pcb calibrate --from", &document(&printed));
}

#[test]
fn configurations_are_valid_as_they_are_read() {
    let bench = Bench::new();
    let schemas = Schemas::written_by(&bench);
    let check = |text: &str, is_read: bool| {
        bench.write("run.toml", text);
        let code = if is_read { 0 } else { 2 };
        bench.expect(code, &["run", "tiny", "--config", "run.toml"]);
        let value: Value = toml::from_str(text).expect("TOML");
        assert_eq!(schemas.validators["config"].is_valid(&value), is_read, "{text}");
    };
    let whole = "agent = [\"nop\"]\narm = \"opening\"\nsandbox = \"local\"\nuser = \"template\"\nrepeats = 1\n\
                 jobs = 1\nbudget = \"2x\"\ninteraction-limit = 30\npairs = \"*\"\nlimit = 1\nseed = 2\nout = \"out\"\n";
    check(whole, true);
    for (from, to) in [
        ("\"opening\"", "\"sideways\""),
        ("\"local\"", "\"cloud\""),
        ("\"template\"", "\"nobody\""),
        ("repeats = 1", "repeats = 0"),
        ("repeats = 1", "repeats = 1001"),
        ("jobs = 1", "jobs = 0"),
        ("\"2x\"", "\"4x\""),
        ("interaction-limit = 30", "interaction-limit = 0"),
        ("limit = 1\n", "limit = 0\n"),
        ("seed = 2", "seed = \"2\""),
        ("seed = 2", "sead = 2"),
    ] {
        assert!(whole.contains(from), "{from}");
        check(&whole.replace(from, to), false);
    }
}
