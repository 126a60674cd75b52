//! `pcb model`: a scripted model as a server, asked by the same binary in every form.

use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::bench::Bench;

const SCRIPT: &str = "[[on]]\nuser = \"hello\"\n[[on.answer]]\nsay = \"hi there\"\n\
    usage = { input = 1000000, output = 100000 }\n";

const FORMATS: [(&str, &str); 4] = [
    ("openai_chat", "v1"),
    ("openai_responses", "v1"),
    ("anthropic_messages", "v1"),
    ("gemini", "v1beta"),
];

fn models(address: &str, more: &str) -> String {
    let entries = FORMATS.map(|(format, version)| {
        format!(
            "[[model]]\nname = \"{format}\"\nmodel = \"m\"\nformat = \"{format}\"\n\
             base = \"{address}/{version}\"\n{more}\n"
        )
    });
    let price = "[[price]]\nmodel = \"m\"\ninput = 0.5\noutput = 10\n";
    entries.concat() + price
}

#[test]
fn a_scripted_server_is_asked_by_its_forms() {
    let bench = Bench::new();
    bench.write("script.toml", SCRIPT);
    let mut serve = bench.command(&["model", "serve", "--script", "script.toml"]);
    let mut server = serve.stdout(Stdio::piped()).spawn().expect("the binary starts");
    let mut line = String::new();
    let mut said = BufReader::new(server.stdout.take().expect("a pipe"));
    said.read_line(&mut line).expect("it says where it is");
    let address = line.trim();
    assert!(address.starts_with("http://127.0.0.1:"), "{address}");
    bench.write("models.toml", &models(address, ""));
    for (name, _) in FORMATS {
        let done = bench.expect(0, &["model", "ask", name, "hello", "--models", "models.toml"]);
        assert_eq!(done.stdout, "hi there\n", "{name}");
        let told = "m: input 1000000, output 100000, cost 1.500000 USD";
        assert!(done.stderr.starts_with(told), "{name}: {}", done.stderr);
    }
    bench.write(
        "schema.json",
        "{\"type\": \"object\", \"required\": [\"a\"], \"properties\": {\"a\": {\"const\": 7}}}",
    );
    let by_schema = ["model", "ask", "gemini", "x", "--models", "models.toml", "--schema"];
    let done = bench.expect(0, &[&by_schema[..], &["schema.json"]].concat());
    assert!(done.stdout.contains("\"a\": 7"), "{}", done.stdout);
    kill(Pid::from_raw(server.id() as i32), Signal::SIGINT).expect("it runs");
    assert_eq!(server.wait().expect("a child").code(), Some(0));
}

#[test]
fn what_is_missing_is_told_with_its_remedy() {
    let bench = Bench::new();
    bench.write("models.toml", &models("http://127.0.0.1:9", "key = \"PCB_NO_SUCH_KEY\""));
    bench.write("script.toml", "[[on]]\n");
    let cases: [(&[&str], &str); 4] = [
        (&["model", "ask", "gemini", "a", "--models", "models.toml"], "PCB_NO_SUCH_KEY"),
        (&["model", "ask", "other", "a", "--models", "models.toml"], "there are: openai_chat"),
        (&["model", "ask", "other", "a", "--models", "none.toml"], "none.toml: No such file"),
        (&["model", "serve", "--script", "script.toml"], "give it at least one [[on.answer]]"),
    ];
    for (arguments, part) in cases {
        let done = bench.expect(2, arguments);
        assert!(done.stderr.contains(part), "{arguments:?}: {}", done.stderr);
    }
}
