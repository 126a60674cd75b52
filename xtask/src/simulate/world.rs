//! Draws a small release, an agent and a fault from a seed and runs the session: [`simulate`].

mod drawn_agent;
mod drawn_release;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use std::time::Duration;

use adapters::{
    clock::VirtualClock,
    sandboxes::simulated::{FaultEffect, FaultPlan, FaultPoint, SimulatedSandboxes},
    users::TemplateUser,
};
use domain::{
    evidence::{Channel, ChannelSet},
    fault::Ending,
    ids::{Attempt, Repeat},
    plan::{Arm, UserKind},
    release::Script,
    session::{Answer, CompletionOutcome, Entry, Event, Scenario},
};
use engine::{
    cancel::Canceller,
    completion::Verifier,
    drive::{SessionOutcome, session},
    materialise::{base_spec, materialise, task_limits},
    ports::{
        clock::Clock,
        sandbox::{FileEntry, FileNode},
        watch::{SessionKey, Unwatched},
    },
    setup::{SessionPorts, Setup},
};

use super::{
    parts::{FaultyAgent, MemoryRecord, RecordFault, SimulatedChecks},
    random::Draw,
};

/// What breaks in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Planned {
    /// Nothing.
    Nothing,
    /// A verb of the sandbox.
    Sandbox(FaultPoint, u32, FaultEffect),
    /// Journal or blobs.
    Record(RecordFault),
    /// The agent's provider.
    Provider(u32),
    /// The operator stops it after so many virtual milliseconds.
    Cancelled(u64),
}

/// Everything that was drawn.
#[derive(Clone)]
pub(super) struct Drawn {
    pub(super) scenario: Arc<Scenario>,
    pub(super) script: Script,
    pub(super) solves: bool,
    pub(super) planned: Planned,
}

/// A session that was run.
pub(super) struct Simulated {
    pub(super) drawn: Drawn,
    pub(super) outcome: SessionOutcome,
    pub(super) entries: Vec<Entry>,
    /// Whether the planned fault was reached.
    pub(super) has_struck: bool,
    /// Whether it ran out of real time, which a virtual one never should.
    pub(super) hung: bool,
}

impl Drawn {
    /// All of it, for a reader.
    pub(super) fn shown(&self) -> String {
        let solves = if self.solves { "after the solution" } else { "without the solution" };
        format!(
            "planned: {:?}\n\nagent, {solves}: {:#?}\n\nscenario: {:#?}\n",
            self.planned, self.script, self.scenario
        )
    }
}

impl Simulated {
    /// Whether the user took the work and the native tests passed.
    pub(super) fn has_passed(&self) -> bool {
        let is_completed = self.entries.iter().any(|entry| match &entry.event {
            Event::Answered(_, Answer::CompletionVerified(report)) => {
                matches!(&report.outcome, CompletionOutcome::Rewards(rewards) if rewards.iter().any(|(_, value)| *value >= 1.0))
            }
            _ => false,
        });
        is_completed && self.outcome.ending == Ending::Accepted
    }
}

/// Runs the session of a seed.
pub(super) fn simulate(seed: u64) -> Simulated {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime needs nothing of the host");
    runtime.block_on(simulated(seed))
}

async fn simulated(seed: u64) -> Simulated {
    let release = drawn_release::release(&mut Draw::new(seed, "release"));
    let pair = release.pairs.values().next().expect("a release was drawn with one pair");
    let task = &release.tasks[&pair.task];
    let arm = Draw::new(seed, "arm").one(&[
        Arm::Progressive,
        Arm::Progressive,
        Arm::Progressive,
        Arm::Opening,
        Arm::NoPersona,
        Arm::NeutralTurns,
    ]);
    let channels: ChannelSet =
        Channel::ALL.into_iter().filter(|c| *c != Channel::Network).collect();
    let spec = drawn_release::spec(&mut Draw::new(seed, "spec"), pair);
    let scenario = Scenario::compile(&release, &spec, arm, UserKind::Template, &channels)
        .expect("the drawn release is whole");
    let scenario = Arc::new(scenario);
    let mut agent_draw = Draw::new(seed, "agent");
    let solves = agent_draw.percent(60);
    let script = drawn_agent::script(&mut agent_draw, pair);
    let planned = planned(&mut Draw::new(seed, "fault"));

    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::default());
    let faults = match planned {
        Planned::Sandbox(point, nth, effect) => FaultPlan::at(point, nth, effect),
        _ => FaultPlan::default(),
    };
    let sandboxes = Arc::new(SimulatedSandboxes::new(clock.clone(), faults.clone()));
    let base_spec = base_spec(
        &task.environment,
        task_limits(task),
        &pair.environment,
        std::collections::BTreeMap::new(),
        drawn_release::environment(),
        engine::ports::sandbox::Image::None,
    );
    let digest = base_spec.digest.clone();
    let base = match planned {
        // Nothing watches over a base that never comes: it is no part of a session.
        Planned::Sandbox(FaultPoint::Materialise, _, FaultEffect::Hang) => {
            Err(engine::ports::sandbox::SandboxFault::TimedOut("planned".to_owned()))
        }
        _ => {
            let mut bases = materialise(sandboxes.clone(), [base_spec], 1).await;
            bases.remove(&digest).expect("it was asked for")
        }
    };
    let record = Arc::new(MemoryRecord::new(match planned {
        Planned::Record(fault) => Some(fault),
        _ => None,
    }));
    let provider_struck = Arc::new(AtomicBool::new(false));
    let agent = FaultyAgent {
        inner: drawn_agent::agent(script.clone(), solves),
        fails_at: match planned {
            Planned::Provider(nth) => Some(nth),
            _ => None,
        },
        struck: provider_struck.clone(),
    };
    let setup = Setup {
        key: SessionKey { pair: pair.id.clone(), repeat: Repeat(1), attempt: Attempt(1) },
        scenario: scenario.clone(),
        base,
        limits: task_limits(task),
        reach: domain::release::Policy::default(),
        healthcheck: None,
        agent_user: None,
        skills_dir: None,
        tool_servers: Vec::new(),
        verifier: Arc::new(Verifier::new(
            task,
            None,
            &task.environment.workdir,
            (
                task.verifier.env.resolve(|_| None).expect("no variable of the host"),
                drawn_release::tests(),
            ),
            None,
        )),
        steps: Arc::default(),
        check_files: Arc::from(Vec::<FileEntry>::new()),
    };
    let canceller = Canceller::default();
    let cancelled = Arc::new(AtomicBool::new(false));
    let ports = SessionPorts {
        sandboxes,
        agent: Arc::new(agent),
        user: Arc::new(TemplateUser),
        checks: Arc::new(SimulatedChecks),
        clock: Arc::new(CancellingClock {
            inner: clock.clone(),
            canceller: canceller.clone(),
            at_ms: match planned {
                Planned::Cancelled(at_ms) => Some(at_ms),
                _ => None,
            },
            struck: cancelled.clone(),
        }),
        wires: Arc::new(adapters::wire::Egress),
        gateways: None,
        record: record.clone(),
        watch: Arc::new(Unwatched),
    };
    let key = setup.key.clone();
    let ran = session(setup, ports, canceller.listen());
    let ran = tokio::time::timeout(Duration::from_secs(20), ran).await;
    let hung = ran.is_err();
    let outcome = ran.unwrap_or(SessionOutcome {
        key,
        ending: Ending::ControllerBug,
        is_recorded: false,
        entries: 0,
    });
    let has_struck =
        matches!(planned, Planned::Sandbox(FaultPoint::Materialise, _, FaultEffect::Hang))
            || faults.has_struck()
            || record.has_struck()
            || provider_struck.load(Ordering::Relaxed)
            || cancelled.load(Ordering::Relaxed);
    let entries = record.entries.lock().expect("no holder panics").clone();
    let drawn = Drawn { scenario, script, solves, planned };
    Simulated { drawn, outcome, entries, has_struck, hung }
}

fn planned(draw: &mut Draw) -> Planned {
    match draw.below(100) {
        0..40 => Planned::Nothing,
        40..75 => {
            let point = draw.one(&FaultPoint::ALL);
            let effect = draw.one(&[
                FaultEffect::Lost,
                FaultEffect::Lost,
                FaultEffect::HostLimit,
                FaultEffect::Hang,
            ]);
            let nth = 1 + draw.below(4) as u32;
            Planned::Sandbox(point, nth, effect)
        }
        75..85 => {
            let nth = 1 + draw.below(40) as u32;
            Planned::Record(match draw.below(4) {
                0 => RecordFault::AppendOnce(nth),
                1 => RecordFault::AppendForever(nth),
                2 => RecordFault::Put(1 + nth / 4),
                _ => RecordFault::Sync(1 + nth / 8),
            })
        }
        85..92 => Planned::Provider(1 + draw.below(4) as u32),
        _ => Planned::Cancelled(draw.below(4_000)),
    }
}

/// A clock at which the operator loses patience at a planned moment.
struct CancellingClock {
    inner: Arc<dyn Clock>,
    canceller: Canceller,
    at_ms: Option<u64>,
    struck: Arc<AtomicBool>,
}

impl CancellingClock {
    fn look(&self) {
        if self.at_ms.is_some_and(|at_ms| self.inner.now_ms() >= at_ms) {
            self.struck.store(true, Ordering::Relaxed);
            self.canceller.cancel();
        }
    }
}

#[async_trait::async_trait]
impl Clock for CancellingClock {
    fn now_ms(&self) -> u64 {
        self.look();
        self.inner.now_ms()
    }

    async fn sleep(&self, duration: Duration) {
        self.inner.sleep(duration).await;
        self.look();
    }

    fn drive<'a>(
        &'a self,
        session: engine::ports::clock::Driven<'a>,
    ) -> engine::ports::clock::Driven<'a> {
        self.inner.drive(session)
    }
}

fn file(path: &str, text: &str, mode: u32) -> FileEntry {
    FileEntry { path: path.to_owned(), node: FileNode::File(text.as_bytes().to_vec()), mode }
}
