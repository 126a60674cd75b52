//! The process log of a container.

use std::process::Command;

use domain::{evidence::ProcessEvent, ids::Turn};

use crate::stage::{Stage, setup, text};

async fn taken(stage: &Stage) -> Vec<ProcessEvent> {
    let taken = stage.link.taken(Turn(1)).await.unwrap();
    assert!(!taken.is_overflown);
    taken.processes
}

/// Program, arguments, user and exit code of what ran.
fn told(events: &[ProcessEvent]) -> Vec<String> {
    let line = |event: &ProcessEvent| {
        let program = event.program.rsplit('/').next().unwrap_or_default();
        let code = event.exit_code.map_or("-".to_owned(), |code| code.to_string());
        format!("{program} {:?} {} {code}", &event.argv[1..], event.uid)
    };
    events.iter().map(line).collect()
}

#[tokio::test]
async fn programs_are_written_down_for_every_user() {
    let stage = Stage::new().await;
    assert!(stage.link.is_recording());
    let first = taken(&stage).await;
    assert_eq!(told(&first), [r#"sleep ["infinity"] 0 -"#], "the image's own command");
    assert_eq!(first[0].pid, 1);
    let check = async |user: &str, script: &str, expect: &[&str]| {
        stage.sh_as(user, script).await;
        assert_eq!(told(&taken(&stage).await)[1..], *expect, "{script}");
    };
    check(
        "root",
        "/bin/true; /bin/false || ls / >/dev/null",
        &["true [] 0 0", "false [] 0 1", r#"ls ["/"] 0 0"#],
    )
    .await;
    check("nobody", "/bin/true", &["true [] 65534 0"]).await;
    let replaced = [r#"env ["id", "-u"] 4711 -"#, r#"id ["-u"] 4711 0"#];
    check("4711:4712", "env id -u; :", &replaced).await;
    check("nobody", "/no/such/program || :", &[]).await;
}

#[tokio::test]
async fn static_programs_are_written_down() {
    let stage = Stage::new().await;
    let (source, program) = (stage.path("one.c"), stage.path("one"));
    std::fs::write(&source, "int main(void) { return 3; }").unwrap();
    let built = Command::new("cc").arg("-static").arg(&source).arg("-o").arg(&program).status();
    assert!(built.unwrap().success());
    taken(&stage).await;
    stage.sh_as("nobody", &format!("{} || :", text(&program))).await;
    assert_eq!(told(&taken(&stage).await)[1..], ["one [] 65534 3"]);
}

#[tokio::test]
async fn without_recording_there_is_no_log() {
    let setup = adapters::sandboxes::docker::link::Setup { record: false, ..setup() };
    let stage = Stage::with(&["sleep", "infinity"], setup).await.unwrap();
    assert!(!stage.link.is_recording());
    stage.sh("true").await;
    assert_eq!(taken(&stage).await, []);
}
