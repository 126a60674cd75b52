//! Tasks that have steps: a turn is a step, verified before the next one, and what stops them.

use domain::{
    fault::{Ending, Flag},
    ids::{CommandId, StepId, Turn},
    release::RewardStrategy,
    result::{completion, completion_of_steps},
    session::{Answer, Command, CompletionOutcome, Event},
};

use super::{
    player::{AgentTurn, Player},
    script::{check, left},
    setting::setting,
};

const THREE: &str = "step bed\nstep path setup\nstep gate least=reward:1";

/// The commands of a session from its first prompt on, words and looks left out.
fn commands(player: &Player) -> String {
    let decided = player.log.iter().filter_map(|entry| match &entry.event {
        Event::Decided(_, Command::VerifyStep { turn, step }) => {
            Some(format!("verify {turn} {step}"))
        }
        Event::Decided(_, Command::PlaceStep { turn, step }) => {
            Some(format!("place {turn} {step}"))
        }
        Event::Decided(_, Command::Prompt { turn, .. }) => Some(format!("prompt {turn}")),
        Event::Decided(_, Command::Seal) => Some("seal".to_string()),
        Event::Decided(_, Command::VerifyCompletion) => Some("verify".to_string()),
        _ => None,
    });
    decided.collect::<Vec<_>>().join(", ")
}

/// A script in a setting, its commands in short, and what completion comes to.
fn all(cases: &[(&str, &str, &str, &str, &str)]) {
    for (shows, scenario, script, expected, completed) in cases {
        eprintln!("case: {shows}");
        let played = check(scenario, script);
        assert_eq!(commands(&played), *expected, "{shows}");
        let found = completion(&played.session).map(|outcome| shown(&outcome));
        assert_eq!(found.unwrap_or_else(|| "none".into()), *completed, "{shows}");
    }
}

fn shown(outcome: &CompletionOutcome) -> String {
    match outcome {
        CompletionOutcome::Rewards(rewards) => {
            let rewards = rewards.iter().map(|(key, value)| format!("{key}={value}"));
            rewards.collect::<Vec<_>>().join(" ")
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn a_turn_is_a_step() {
    let whole =
        "prompt 1, verify 1 bed, place 2 path, prompt 2, verify 2 path, prompt 3, seal, verify";
    all(&[
        (
            "each is verified before the next is asked for, the last one on the seal",
            THREE,
            "leaves: reward=1; reward=0.5; reward=0
             user: open
             agent: Made.
             user: step
             agent: Made that.
             user: step
             agent: Made it.
             ends: accepted",
            whole,
            "reward=0.5",
        ),
        (
            "what the agent says decides nothing: questions, idleness, repetition, giving up",
            THREE,
            "agent: Which colour do you want?
             user: step
             agent [idle]: I give up.
             user: step
             agent [idle]: I give up.
             ends: accepted",
            whole,
            "reward=1",
        ),
        (
            "of the final strategy the last step counts",
            "final\nstep bed\nstep path",
            "leaves: reward=0; reward=0.25
             agent: Made.
             agent: Made.
             ends: accepted",
            "prompt 1, verify 1 bed, prompt 2, seal, verify",
            "reward=0.25",
        ),
        (
            "one step",
            "step bed setup least=reward:9",
            "agent: Made.\nends: accepted",
            "place 1 bed, prompt 1, seal, verify",
            "reward=1",
        ),
    ]);
}

#[test]
fn a_step_that_falls_short_ends_the_session() {
    let least = "step bed least=reward:0.5\nstep path";
    let both = "step bed least=reward:0.5 least=style:0\nstep path";
    let plain = "step bed\nstep path";
    let last = "final\nstep bed least=reward:1\nstep path";
    let cases = [
        ("below", least, "reward=0.4", true, "reward=0.2"),
        ("just enough", least, "reward=0.5", false, "reward=0.75"),
        ("one of two keys below", both, "reward=1 style=-1", true, "reward=0.5 style=-0.5"),
        ("a missing key falls short of every number", both, "reward=1", true, "reward=0.5"),
        ("both keys", both, "reward=1 style=0", false, "reward=1 style=0"),
        ("no reward", plain, "no-reward", true, "NoReward"),
        ("no time", plain, "timed-out", true, "TimedOut"),
        ("rewards without keys are rewards", plain, "", false, "reward=0.5"),
        ("final: a step that was not reached left nothing", last, "reward=0", true, "NoReward"),
    ];
    for (shows, scenario, leaves, stops, completed) in cases {
        let (end, expected) = if stops {
            ("ends: step_unmet", "prompt 1, verify 1 bed, seal")
        } else {
            let end = "user: step\nagent: Made.\nends: accepted";
            (end, "prompt 1, verify 1 bed, prompt 2, seal, verify")
        };
        let script = format!("leaves: {leaves}\nagent: Made.\n{end}");
        all(&[(shows, scenario, &script, expected, completed)]);
    }
}

#[test]
fn the_step_that_a_session_ends_in_is_verified_on_the_seal() {
    all(&[
        (
            "crash in the second",
            THREE,
            "leaves: reward=1; reward=0.5
             agent: Made.
             agent [stop=crashed]: Oh.
             ends: crash",
            "prompt 1, verify 1 bed, place 2 path, prompt 2, seal, verify",
            "reward=0.5",
        ),
        (
            "time of a step",
            "step bed ms=50\nstep path",
            "agent [stop=deadline]: Slow.\nends: agent_time",
            "prompt 1, seal, verify",
            "reward=0.5",
        ),
        (
            "time of the session: nothing is left for another step",
            "time 3000\nstep bed\nstep path",
            "agent [ms=3000]: Built.\nends: agent_time",
            "prompt 1, seal, verify",
            "reward=0.5",
        ),
        (
            "turns",
            "turns 1\nstep bed\nstep path",
            "agent: Built.\nends: turn_cap",
            "prompt 1, seal, verify",
            "reward=0.5",
        ),
    ]);
}

#[test]
fn each_step_has_its_time_and_its_statement_in_a_fence() {
    let played = check(
        "time 900\nstep bed ms=500\nstep path ms=600",
        "agent [ms=500]: Made.\nagent [ms=1]: Made.\nends: accepted",
    );
    let prompts: Vec<(u64, &str)> = played
        .log
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::Decided(_, Command::Prompt { deadline_ms, message, .. }) => {
                Some((*deadline_ms, message.as_str()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(prompts.iter().map(|(ms, _)| *ms).collect::<Vec<_>>(), [500, 400]);
    assert!(prompts[0].1.ends_with("\n```\nMake the bed.\n```"), "{}", prompts[0].1);
    assert_eq!(prompts[1].1, "Please note:\n\n```\nMake the path.\n```");
}

#[test]
fn tools_that_were_changed_in_any_step_are_flagged() {
    let mut player = Player::new(setting("step bed\nstep path"));
    let prompt = player.run_to_prompt().expect("a prompt");
    player.turn(prompt, &AgentTurn { text: "Made.".into(), ..AgentTurn::default() });
    run_to(&mut player, "verify_step", |player, id| {
        let command = Command::VerifyStep { turn: Turn(1), step: StepId::new("bed") };
        let Answer::StepVerified { report, .. } = player.perform(&command) else {
            panic!("another answer")
        };
        let verifier_tools_changed = vec!["/usr/bin/python3".into()];
        player.answer(id, Answer::StepVerified { report, verifier_tools_changed });
    });
    let prompt = player.run_to_prompt().expect("the second step");
    player.turn(prompt, &AgentTurn { text: "Made.".into(), ..AgentTurn::default() });
    player.run_to_prompt();
    assert_eq!(player.ending(), Some(Ending::Accepted));
    let flags = player.session.flags();
    assert_eq!(flags, [(Flag::VerifierToolsChanged, "/usr/bin/python3".to_string())]);
    player.check_replay();
}

#[test]
fn what_breaks_between_steps_has_its_owner() {
    let failed = |flag, ending| Answer::Failed { flag, ending, detail: "it broke".into() };
    let cases = [
        ("verify_step", Flag::EnvironmentLost, Some(Ending::EnvironmentLost)),
        ("verify_step", Flag::VerificationIncomplete, None),
        ("place_step", Flag::MaterialiseFailed, Some(Ending::PreparationFailed)),
        ("place_step", Flag::HostLimits, Some(Ending::HostLimits)),
        ("place_step", Flag::EnvironmentLost, None),
    ];
    for (name, flag, ending) in cases {
        let mut player = Player::new(setting(THREE));
        let prompt = player.run_to_prompt().expect("a prompt");
        player.turn(prompt, &AgentTurn { text: "Made.".into(), ..AgentTurn::default() });
        run_to(&mut player, name, |player, id| player.answer(id, failed(flag, ending)));
        player.run_to_prompt();
        let expected = ending.unwrap_or(Ending::EnvironmentLost);
        assert_eq!(player.ending(), Some(expected), "{name} {flag:?}");
        assert_eq!(player.session.seal(), None, "{name}: nothing of it is graded");
        assert_eq!(completion(&player.session), None, "{name}");
        player.check_replay();
    }
}

#[test]
fn no_model_is_asked_what_a_question_in_a_step_is_about() {
    let question = "agent: Where does the wind come from today?";
    let is_asked = |scenario: &str| {
        let played = check(scenario, question);
        let mut decided = played.log.iter().filter_map(|entry| match &entry.event {
            Event::Decided(_, command) => Some(command.name()),
            _ => None,
        });
        decided.any(|name| name == "interpret")
    };
    assert!(is_asked("labels\nfact till"));
    assert!(!is_asked("labels\nfact till\nstep bed\nstep path"));
}

/// Performs commands until the named one is decided and hands it to `then`.
fn run_to(player: &mut Player, name: &str, then: impl FnOnce(&mut Player, CommandId)) {
    loop {
        let (id, command) = player.decide().unwrap_or_else(|| panic!("{name} never came"));
        if command.name() == name {
            return then(player, id);
        }
        let answer = player.perform(&command);
        player.answer(id, answer);
    }
}

#[test]
fn rewards_of_steps_make_the_tasks() {
    use RewardStrategy::{Final, Mean};
    let check = |strategy, steps: &[Option<&str>], expect: &str| {
        let outcomes: Vec<_> = steps.iter().map(|step| step.map(left)).collect();
        let outcomes: Vec<_> = outcomes.iter().map(Option::as_ref).collect();
        assert_eq!(shown(&completion_of_steps(strategy, &outcomes)), expect, "{steps:?}");
    };
    let (one, zero) = (Some("reward=1"), Some("reward=0"));
    check(Mean, &[one, zero, one, one], "reward=0.75");
    // Stopping early never raises the mean: what was not reached counts 0.
    check(Mean, &[one, None, None, None], "reward=0.25");
    check(Mean, &[Some("a=1"), Some("b=1")], "a=0.5 b=0.5");
    check(Mean, &[Some("a=1"), Some("bad")], "a=0.5");
    check(Mean, &[Some("bad"), Some("no-reward")], "BadReward(\"it says so\")");
    check(Mean, &[None, None], "NoReward");
    check(Mean, &[Some(""), None], "");
    check(Final, &[Some("a=1"), Some("b=0.5")], "b=0.5");
    check(Final, &[Some("a=1"), None], "NoReward");
    check(Final, &[Some("a=1"), Some("timed-out")], "TimedOut");
}
