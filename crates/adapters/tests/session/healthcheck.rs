//! A healthcheck before the agent, in real local sandboxes: what it does is not the agent's.

use domain::{
    fault::Ending,
    plan::Arm,
    release::Healthcheck,
    session::{Answer, Event},
};

use crate::{fixture::Staged, local};

fn healthcheck(command: &str) -> Healthcheck {
    Healthcheck {
        command: command.to_owned(),
        interval_sec: 0.01,
        timeout_sec: 10.0,
        start_period_sec: 0.0,
        start_interval_sec: 0.01,
        retries: 2,
    }
}

/// Holds from its third try on.
const THIRD: &str = "echo x >> /app/tries; [ \"$(wc -l < /app/tries)\" -ge 3 ]";

/// How the session ends with the healthcheck; `expect` stands in the story where it does not begin.
async fn check(healthcheck: Healthcheck, ending: Ending, expect: &str) {
    let mut staged = Staged::of("tiny", "caretaker--greet", Arm::NoPersona);
    let shown = healthcheck.command.clone();
    staged.healthcheck = Some(healthcheck);
    let Some(ended) = local::run(staged).await else { return };
    assert_eq!(ended.outcome.ending, ending, "{shown}: {}", ended.story());
    if ending == Ending::Accepted {
        let changed = ended.entries.iter().find_map(|entry| match &entry.event {
            Event::Answered(_, Answer::Captured { changed, .. }) => Some(*changed),
            _ => None,
        });
        // The solution changes one file; the tries of the healthcheck are no work of the agent's.
        assert_eq!(changed, Some(1), "{shown}: {}", ended.story());
        return;
    }
    let detail = ended.entries.iter().find_map(|entry| match &entry.event {
        Event::Answered(_, Answer::Failed { detail, .. }) => Some(detail.clone()),
        _ => None,
    });
    let detail = detail.unwrap_or_default();
    assert!(detail.contains(expect), "{shown}: {detail:?} lacks {expect:?}");
}

#[tokio::test]
async fn an_agent_begins_once_it_is_healthy() {
    let three = Healthcheck { retries: 3, ..healthcheck(THIRD) };
    check(three, Ending::Accepted, "").await;
    let starting = Healthcheck { start_period_sec: 30.0, retries: 1, ..healthcheck(THIRD) };
    check(starting, Ending::Accepted, "").await;
}

#[tokio::test]
async fn what_stays_unhealthy_is_the_tasks_fault() {
    let failed = Ending::PreparationFailed;
    check(healthcheck(THIRD), failed, "failed 2 times in a row").await;
    check(healthcheck("echo why; exit 7"), failed, "Exited(7)\nwhy").await;
    let slow = Healthcheck { timeout_sec: 0.2, ..healthcheck("sleep 30") };
    check(slow, failed, "TimedOut").await;
}
