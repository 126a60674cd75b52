//! Tasks of others that bring services: they live through the session and its verification, and what cannot be given is
//! refused before anything runs.

use std::{path::Path, process::Command, sync::OnceLock};

use serde_json::Value;

use crate::bench::{Bench, Done, Running};

/// Keeps in memory what it is given, for as long as it runs.
const KEEPER: &str = r#"
import http.server
class Keeper(http.server.BaseHTTPRequestHandler):
    kept = b""
    def do_PUT(self):
        Keeper.kept = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200); self.end_headers()
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(Keeper.kept)
    def log_message(self, *_): pass
http.server.HTTPServer(("", 8000), Keeper).serve_forever()
"#;

const SERVICES: &str = "services:\n  main:\n    depends_on: {keeper: {condition: service_healthy}}\n  keeper:\n    \
    build: keeper\n    healthcheck: {test: \"curl -sf http://127.0.0.1:8000/\", interval: 1s, retries: 60}\n";

/// Folder of the program that reads compose files.
fn compose() -> &'static str {
    static FOLDER: OnceLock<String> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let setup = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../setup/compose");
        let done = Command::new(setup).output().expect("setup/compose starts");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    })
}

fn task(bench: &Bench, services: &str) {
    let write = |path: &str, text: &str| drop(bench.write(&format!("task/{path}"), text));
    write("task.toml", "[environment]\nnetwork_mode = \"no-network\"\n");
    write("instruction.md", "Give the keeper the word `kept`.\n");
    write("environment/Dockerfile", "FROM debian:bookworm-slim\nWORKDIR /desk\n");
    write("environment/docker-compose.yaml", services);
    let dockerfile =
        "FROM debian:bookworm-slim\nCOPY keeper.py /\nCMD [\"python3\", \"/keeper.py\"]\n";
    write("environment/keeper/Dockerfile", dockerfile);
    write("environment/keeper/keeper.py", KEEPER);
    write("solution/solve.sh", "#!/bin/sh\ncurl -sf -X PUT -d kept http://keeper:8000/\n");
    write(
        "tests/test.sh",
        "#!/bin/sh\n[ \"$(curl -s http://keeper:8000/)\" = kept ] && r=1 || r=0\n\
         echo $r > /logs/verifier/reward.txt\n",
    );
}

fn run(bench: &Bench, agent: &str) -> Done {
    let arguments =
        ["run", "task", "--agent", agent, "--sandbox", "docker", "--out", "out", "--json"];
    let mut command = bench.command(&arguments);
    let address = std::env::var("DOCKER_HOST");
    command.env("DOCKER_HOST", address.unwrap_or_else(|_| "unix:///var/run/docker.sock".into()));
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", compose()));
    Running::start(command).wait()
}

#[test]
fn what_a_service_keeps_is_there_when_the_work_is_judged() {
    let bench = Bench::new();
    task(&bench, SERVICES);
    for (agent, expect) in [("oracle", "completed"), ("nop", "not completed")] {
        let done = run(&bench, agent);
        assert_eq!(done.code, Some(0), "{}\n{}", done.stdout, done.stderr);
        let report: Value = serde_json::from_str(&done.stdout).expect("JSON");
        let class = &report["rows"][0]["sessions"][0]["class"];
        assert_eq!(class, expect, "{agent}: {}", done.stdout);
    }
}

#[test]
fn a_check_says_what_services_come_up() {
    let bench = Bench::new();
    let check = |services: &str| {
        task(&bench, services);
        let mut command = bench.command(&["task", "check", "task"]);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", compose()));
        Running::start(command).wait()
    };
    let done = check(SERVICES);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let lines: Vec<&str> =
        done.stdout.lines().filter_map(|line| line.trim().strip_prefix("service ")).collect();
    let lines: Vec<&str> = lines.into_iter().map(str::trim).collect();
    assert_eq!(
        lines,
        [
            "keeper: built from environment/keeper",
            "main: built from environment/; after keeper is healthy"
        ]
    );
    let done = check(&format!("{SERVICES}    ports: [\"8000:8000\"]\n"));
    assert_eq!(done.code, Some(2), "{}", done.stdout);
    assert!(done.stdout.contains("service `keeper`: `ports`"), "{}", done.stdout);
    assert!(done.stdout.contains("runs on      nothing"), "{}", done.stdout);
}

#[test]
fn a_service_that_reaches_past_its_session_is_refused_before_the_run() {
    let bench = Bench::new();
    task(&bench, &format!("{SERVICES}    ports: [\"8000:8000\"]\n"));
    let done = run(&bench, "oracle");
    assert_eq!(done.code, Some(2), "{}\n{}", done.stdout, done.stderr);
    for text in ["task task", "docker-compose.yaml", "service `keeper`: `ports`", "`expose`"] {
        assert!(done.stderr.contains(text), "{text}: {}", done.stderr);
    }
    let made = std::fs::read_dir(bench.out()).map_or(0, Iterator::count);
    assert_eq!(made, 0, "no run was begun");
}
