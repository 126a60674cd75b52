//! What the engine makes of captures and of what was said: changes, differences, programs, messages.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use adapters::{
    clock::VirtualClock,
    sandboxes::simulated::{FaultPlan, SimulatedSandboxes},
};
use domain::{
    evidence::{ChangeKind, Channel, FileDiff, Recorded},
    ids::{Hash, Turn},
    session::{Observation, ToolActivity},
};
use engine::{
    evidence::Gathered,
    ports::{
        clock::Clock,
        sandbox::{
            BaseSpec, Capture, CommandSpec, Image, Limits, Network, ProcessEnd, Recording, Sandbox,
            Sandboxes,
        },
    },
};

use crate::fixture::file;

/// Runs each turn's program, captures after it and shows what was gathered in the end.
async fn gathered(turns: &[&str], since: &[u32]) -> (Recorded, BTreeMap<Turn, Vec<FileDiff>>) {
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::default());
    let mut found = None;
    let (slot, driven) = (&mut found, clock.clone());
    driven
        .drive(Box::pin(async move {
            let sandbox = sandbox(clock).await;
            let mut evidence =
                Gathered::new(Channel::ALL.into(), "/app".to_owned(), !since.is_empty());
            for (turn, program) in (1..).map(Turn).zip(turns) {
                evidence.prompted(turn, "Go on.");
                let at_ms = sandbox.now_ms();
                evidence.observe(&Observation::Delivered { turn, at_ms });
                run(sandbox.as_ref(), program).await;
                sandbox.freeze().await.expect("it freezes");
                let capture = sandbox.capture(turn).await.expect("a capture");
                let captured = evidence.capture(sandbox.as_ref(), turn, &capture).await;
                captured.expect("the base can be read");
                sandbox.thaw().await.expect("it thaws");
            }
            let since = since.iter().copied().map(Turn).collect();
            let diffs = evidence.diffs(sandbox.as_ref(), since).await.expect("differences");
            *slot = Some((evidence.recorded(diffs.clone(), Vec::new(), Vec::new()), diffs));
        }))
        .await;
    found.expect("it was driven to its end")
}

async fn sandbox(clock: Arc<dyn Clock>) -> Box<dyn Sandbox> {
    let sandboxes = SimulatedSandboxes::new(clock, FaultPlan::default());
    let limits = Limits {
        memory_mb: None,
        processes_max: None,
        disk_mb: None,
        cpus: None,
        gpus: 0,
        network: Network::Off,
    };
    let spec = BaseSpec {
        digest: Hash::new("base"),
        image: Image::None,
        environment: vec![file("setup.sh", "write /app/old first line\nappend /app/old second\n")],
        workdir: "/app".to_owned(),
        env: BTreeMap::new(),
        toolchains: Vec::new(),
        setup_timeout: Duration::from_secs(10),
        limits: limits.clone(),
    };
    let base = sandboxes.materialise(&spec).await.expect("a base");
    sandboxes.provision(&base, &limits, Recording::Processes).await.expect("a sandbox")
}

async fn run(sandbox: &dyn Sandbox, program: &str) {
    let command = CommandSpec {
        argv: ["sh", "-c", program].map(str::to_owned).to_vec(),
        cwd: None,
        env: BTreeMap::new(),
        user: None,
        stdin: Vec::new(),
        timeout: Duration::from_secs(60),
        output_max: 1024,
    };
    sandbox.exec(&command).await.expect("it runs");
}

/// Changes as `turn kind path`, in order.
async fn check_changes(turns: &[&str], expect: &[&str]) {
    let (recorded, _) = gathered(turns, &[]).await;
    let kind = |kind| match kind {
        ChangeKind::Created => "created",
        ChangeKind::Modified => "modified",
        ChangeKind::ModeChanged => "mode",
        ChangeKind::KindChanged => "kind",
        ChangeKind::Deleted => "deleted",
    };
    let shown: Vec<String> = recorded
        .changes
        .iter()
        .map(|change| format!("{} {} {}", change.turn, kind(change.kind), change.path))
        .collect();
    assert_eq!(shown, expect, "{turns:?}");
}

#[tokio::test]
async fn changes_are_told_turn_by_turn() {
    check_changes(&["write new one"], &["1 created /app/new"]).await;
    check_changes(&["write new one", "true"], &["1 created /app/new"]).await;
    let twice = ["write new one", "write new two"];
    check_changes(&twice, &["1 created /app/new", "2 modified /app/new"]).await;
    let removed = ["write new one", "rm new"];
    check_changes(&removed, &["1 created /app/new", "2 deleted /app/new"]).await;
    check_changes(&["write new one\nrm new"], &[]).await;
    check_changes(&["append old third"], &["1 modified /app/old"]).await;
    let back = ["rm old", "write old first line\nappend old second"];
    check_changes(&back, &["1 deleted /app/old", "2 created /app/old"]).await;
    check_changes(&["chmod 755 old"], &["1 mode /app/old"]).await;
}

/// Differences from a turn as `path -removed +added`, renames as `path < earlier path`.
async fn check_diffs(turns: &[&str], since: u32, expect: &[&str]) {
    let (_, diffs) = gathered(turns, &[since]).await;
    let shown: Vec<String> = diffs[&Turn(since)]
        .iter()
        .map(|diff| match &diff.renamed_from {
            Some(earlier) => format!("{} < {earlier}", diff.path),
            None => {
                format!("{} -{} +{}", diff.path, diff.removed.join("|"), diff.added.join("|"))
            }
        })
        .collect();
    assert_eq!(shown, expect, "{turns:?} since {since}");
    assert!(diffs.contains_key(&Turn::BASE), "the base is always among them");
}

#[tokio::test]
async fn differences_count_from_a_turn() {
    check_diffs(&["append old third"], 0, &["/app/old - +third"]).await;
    check_diffs(&["append old third"], 1, &[]).await;
    let two = ["append old third", "append old fourth\nwrite new one"];
    check_diffs(&two, 0, &["/app/new - +one", "/app/old - +third|fourth"]).await;
    check_diffs(&two, 1, &["/app/new - +one", "/app/old - +fourth"]).await;
    let undone = ["append old third", "write old first line\nappend old second"];
    check_diffs(&undone, 0, &[]).await;
    check_diffs(&undone, 1, &["/app/old -third +"]).await;
    check_diffs(&["cp old other\nrm old"], 0, &["/app/other < /app/old"]).await;
    check_diffs(&["rm old"], 0, &["/app/old -first line|second +"]).await;
}

#[tokio::test]
async fn ends_of_earlier_programs_are_merged() {
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::default());
    let driven = clock.clone();
    let work = async move {
        let sandbox = sandbox(clock).await;
        run(sandbox.as_ref(), "true").await;
        sandbox.freeze().await.expect("it freezes");
        let mut first = sandbox.capture(Turn(1)).await.expect("a capture");
        let program = first.processes.last_mut().expect("a program was started");
        let (pid, started_ms) = (program.pid, program.started_ms);
        (program.ended_ms, program.exit_code) = (None, None);
        let mut evidence = Gathered::new(Channel::ALL.into(), "/app".to_owned(), false);
        evidence.capture(sandbox.as_ref(), Turn(1), &first).await.expect("the first");
        assert_eq!(evidence.alive().len(), 1);
        let end = ProcessEnd { pid, started_ms, ended_ms: 900, exit_code: Some(3) };
        let reused = ProcessEnd { started_ms: started_ms + 7, ..end.clone() };
        let second =
            Capture { ended: vec![end, reused], manifest: first.manifest, ..Capture::default() };
        let captured = evidence.capture(sandbox.as_ref(), Turn(2), &second).await;
        assert_eq!(captured.expect("the second").processes.len(), 1, "a reused id is another");
        assert!(evidence.alive().is_empty());
        let recorded = evidence.recorded(BTreeMap::new(), Vec::new(), Vec::new());
        let program = recorded.processes.iter().find(|program| program.pid == pid);
        assert_eq!(program.and_then(|program| program.exit_code), Some(3));
    };
    driven.drive(Box::pin(work)).await;
}

/// What a turn's message is. `a` acts, `r` runs a program, anything else is said; 30 ms apart.
async fn check_message(steps: &[&str], expect: &[&str]) {
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::default());
    let driven = clock.clone();
    let work = async move {
        let sandbox = sandbox(clock.clone()).await;
        let mut evidence = Gathered::new(Channel::ALL.into(), "/app".to_owned(), false);
        for step in steps {
            let at_ms = sandbox.now_ms();
            let turn = Turn(1);
            match *step {
                "a" => {
                    let title = "tool".to_owned();
                    let activity = ToolActivity::titled(turn, at_ms, title);
                    evidence.observe(&Observation::AgentActed(activity));
                }
                "r" => run(sandbox.as_ref(), "true").await,
                text => {
                    let text = text.to_owned();
                    evidence.observe(&Observation::AgentSaid { turn, at_ms, text });
                }
            }
            clock.sleep(Duration::from_millis(30)).await;
        }
        sandbox.freeze().await.expect("it freezes");
        let capture = sandbox.capture(Turn(1)).await.expect("a capture");
        evidence.capture(sandbox.as_ref(), Turn(1), &capture).await.expect("it is taken in");
        let messages = evidence.messages(Turn(1));
        let shown: Vec<&str> = messages
            .iter()
            .filter(|message| message.is_turn_message)
            .map(|message| message.text.as_str())
            .collect();
        assert_eq!(shown, expect, "{steps:?}");
    };
    driven.drive(Box::pin(work)).await;
}

#[tokio::test]
async fn the_message_is_what_follows_the_last_deed() {
    check_message(&["hello", "a", "r", "done"], &["done"]).await;
    check_message(&["hello", "there"], &["hello", "there"]).await;
    check_message(&["hello", "a", "r"], &[]).await;
    // A driver that tells nothing of tools is read by the programs that were started.
    check_message(&["hello", "r", "done"], &["done"]).await;
    // One that tells is believed: a program that starts late makes no narration of a message.
    check_message(&["hello", "a", "done", "r"], &["done"]).await;
}
