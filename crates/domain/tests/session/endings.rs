//! Endings: what ends a session, what is still graded, withdrawn deliveries, watchdogs, faults,
//! wordings.

use domain::{
    fault::{Ending, Flag},
    ids::Turn,
    session::{
        Answer, Command, Event, IllegalEntry, Next, Observation, Phase, TurnStop, Watchdog,
        Wordsmith,
    },
    wording::Rejection,
};

use super::{
    player::{AgentTurn, Player},
    script::check,
    setting::setting,
};

fn all(cases: &[(&str, &str, &str)]) {
    for (shows, scenario, script) in cases {
        eprintln!("case: {shows}");
        let played = check(scenario, script);
        let is_graded = played.ending().is_some_and(Ending::is_graded);
        assert_eq!(played.session.completion().is_some(), is_graded, "{shows}");
    }
}

#[test]
fn endings_without_words() {
    all(&[
        ("crash", "need a", "agent [stop=crashed]: Oh.\nends: crash"),
        ("refusal of the model", "need a", "agent [stop=refused]: No.\nends: model_refusal"),
        ("limit of the sandbox", "need a", "agent [stop=limit]: Big.\nends: resource_limit"),
        ("deadline", "need a", "agent [stop=deadline]: Slow.\nends: agent_time"),
        ("giving up", "need a", "agent: I give up.\nends: quit"),
        ("agent time", "time 3000\nneed a", "agent [ms=3001]: Built.\nends: agent_time"),
        (
            "agent time over all turns",
            "time 3000\nneed a\nneed b",
            "agent [ms=2000]: Built.\nuser: tell(a)\nagent [ms=1001]: Built that.\nends: agent_time",
        ),
        (
            "nothing left for another turn",
            "time 3000\nneed a",
            "agent [ms=3000]: Built.\nends: agent_time",
        ),
        ("but enough to be accepted", "time 3000", "agent [ms=3000]: Built.\nends: accepted"),
        ("tokens", "tokens 10\nneed a", "agent [tokens=11]: Built.\nends: agent_tokens"),
        (
            "turns",
            "turns 2\nneed a\nneed b",
            "agent: Built.\nuser: tell(a)\nagent: That too.\nends: turn_cap",
        ),
        ("the last turn can be accepted", "turns 1", "agent: Built.\nends: accepted"),
        (
            "the same again without change",
            "need a\nneed b\nneed c",
            "agent: It is all built.
             user: tell(a)
             agent: It is all built.
             user: tell(b)
             agent: It is all built.
             ends: repeats",
        ),
        (
            "with a change it is not the same",
            "need a\nneed b\nneed c",
            "agent: It is all built.
             agent: It is all built.
             agent [changes]: It is all built.
             user: tell(c)",
        ),
        ("interrupted by nobody", "need a", "agent [stop=interrupted]: Oh.\nends: channel_failed"),
        ("never delivered", "need a", "agent [undelivered]: Built.\nends: channel_failed"),
    ]);
}

#[test]
fn tokens_block_the_wire_and_interrupt_the_turn() {
    let played = check("tokens 10\nneed a", "agent [tokens=11]: Built.\nends: agent_tokens");
    let names: Vec<&str> = commands(&played);
    let tail = [
        "prompt",
        "block_wire",
        "interrupt",
        "freeze",
        "capture",
        "seal",
        "verify_completion",
        "end",
    ];
    assert!(names.ends_with(&tail), "{names:?}");
}

#[test]
fn interrupt_comes_before_the_seal() {
    for (script, ends) in [("deadline", "agent_time"), ("limit", "resource_limit")] {
        let played = check("need a", &format!("agent [stop={script}]: Oh.\nends: {ends}"));
        let names = commands(&played);
        let at = |name| names.iter().position(|known| *known == name);
        assert!(at("interrupt").is_some() && at("interrupt") < at("seal"), "{names:?}");
    }
}

fn commands(played: &Player) -> Vec<&'static str> {
    let decided = played.log.iter().filter_map(|entry| match &entry.event {
        Event::Decided(_, command) => Some(command.name()),
        _ => None,
    });
    decided.collect()
}

#[test]
fn acceptance_seals_at_once_and_keeps_the_closing_words() {
    let played = check("", "agent: Built.\nends: accepted");
    let names = commands(&played);
    assert!(names.ends_with(&["capture", "seal", "verify_completion", "end"]), "{names:?}");
    assert_eq!(played.session.closing_words(), Some("Thank you."));
    let crashed = check("", "agent [stop=crashed]: Oh.\nends: crash");
    assert_eq!(crashed.session.closing_words(), None);
}

#[test]
fn a_delivery_that_nothing_follows_is_withdrawn() {
    for (acts, text, told) in
        [(false, "", None), (true, "", Some(Turn(1))), (false, "Oh.", Some(Turn(1)))]
    {
        let mut player = Player::new(setting("need a when=opening"));
        let prompt = player.run_to_prompt().expect("a prompt");
        let turn =
            AgentTurn { acts, text: text.into(), stop: TurnStop::Crashed, ..AgentTurn::default() };
        player.turn(prompt, &turn);
        player.run_to_prompt();
        assert_eq!(player.ending(), Some(Ending::Crash));
        assert_eq!(player.session.ledger().entries()[0].told, told, "{acts} {text}");
        assert_eq!(player.session.user_messages().count(), usize::from(told.is_some()));
        player.check_replay();
    }
}

#[test]
fn a_lost_agent_withdraws_too() {
    let mut player = Player::new(setting("grants install\nneed a"));
    let prompt = player.run_to_prompt().expect("a prompt");
    player.turn(prompt, &AgentTurn { text: "May I install jq?".into(), ..AgentTurn::default() });
    let prompt = player.run_to_prompt().expect("a prompt");
    player.observe(Observation::Delivered { turn: Turn(2), at_ms: 7 });
    assert_eq!(player.session.grants().len(), 1);
    player.answer(prompt, failed(Flag::EnvironmentLost, Some(Ending::EnvironmentLost)));
    assert_eq!(player.session.grants().len(), 0);
    player.run_to_prompt();
    assert_eq!(player.ending(), Some(Ending::EnvironmentLost));
    assert!(player.session.completion().is_none() && player.session.seal().is_none());
}

fn failed(flag: Flag, ending: Option<Ending>) -> Answer {
    Answer::Failed { flag, ending, detail: "it broke".into() }
}

/// Runs to the named command and leaves it open.
fn run_to(player: &mut Player, name: &str) -> domain::ids::CommandId {
    loop {
        let (id, command) = player.decide().unwrap_or_else(|| panic!("{name} never came"));
        if command.name() == name {
            return id;
        }
        if matches!(command, Command::Prompt { .. }) {
            let text = format!("What is the weather? All done in {}.", player.session.turn());
            player.turn(id, &AgentTurn { text, ..AgentTurn::default() });
        } else {
            let answer = player.perform(&command);
            player.answer(id, answer);
        }
    }
}

#[test]
fn every_command_can_fail() {
    use Ending::*;
    let scenario = "labels\nneed a when=opening topic=colour pass=at_end:s1";
    let cases = [
        ("prepare_sandbox", None, PreparationFailed, false),
        ("prepare_sandbox", Some(HostLimits), HostLimits, false),
        ("open_agent", None, PreparationFailed, false),
        ("word", Some(UserFailed), UserFailed, false),
        ("prompt", None, ChannelFailed, false),
        ("prompt", Some(ProviderError), ProviderError, false),
        ("prompt", Some(ResourceLimit), ResourceLimit, true),
        ("freeze", None, AcceptedWithReservations, true),
        ("freeze", Some(EnvironmentLost), EnvironmentLost, false),
        ("capture", None, AcceptedWithReservations, true),
        ("interpret", None, AcceptedWithReservations, true),
        ("check", None, AcceptedWithReservations, true),
        ("seal", None, AcceptedWithReservations, false),
        ("seal", Some(EnvironmentLost), EnvironmentLost, false),
        ("verify_completion", None, AcceptedWithReservations, false),
        ("verify_completion", Some(EnvironmentLost), EnvironmentLost, false),
    ];
    for (name, ending, ends, is_verified) in cases {
        let mut player = Player::new(setting(scenario));
        let id = run_to(&mut player, name);
        player.answer(id, failed(Flag::ChannelFailed, ending));
        while let Some(prompt) = player.run_to_prompt() {
            let text = format!("Built {}.", player.session.turn());
            player.turn(prompt, &AgentTurn { text, ..AgentTurn::default() });
        }
        let found = player.ending().expect("an ending");
        let expected = match (found, ends) {
            // With a reading missing nothing can be unmet.
            (Accepted, AcceptedWithReservations) if name == "check" => Accepted,
            _ => ends,
        };
        assert_eq!(found, expected, "{name} {ending:?}");
        assert_eq!(player.session.completion().is_some(), is_verified, "{name} {ending:?}");
        player.check_replay();
    }
}

#[test]
fn a_failure_beside_a_turn_stops_the_turn_first() {
    for (ending, is_graded) in [(Ending::Crash, true), (Ending::EnvironmentLost, false)] {
        let mut player = Player::new(setting("need a"));
        let prompt = player.run_to_prompt().expect("a prompt");
        player.observe(Observation::Delivered { turn: Turn(1), at_ms: 1 });
        player.observe(Observation::PermissionRequested(domain::evidence::Permission {
            request: domain::ids::RequestId(1),
            turn: Turn(1),
            at_ms: 2,
            class: None,
            subject: None,
        }));
        let (beside, _) = player.decide().expect("an answer to the request");
        player.answer(beside, failed(Flag::ChannelFailed, Some(ending)));
        while let Some((id, command)) = player.decide().filter(|_| player.session.awaits(prompt)) {
            assert!(command.is_beside_a_turn(), "{command:?}");
            let answer = player.perform(&command);
            player.answer(id, answer);
        }
        assert!(commands(&player).contains(&"interrupt"));
        let stop = TurnStop::Interrupted;
        player.answer(prompt, Answer::TurnEnded { stop, agent_ms: 5 });
        player.run_to_prompt();
        assert_eq!(player.ending(), Some(ending));
        assert_eq!(player.session.completion().is_some(), is_graded);
        player.check_replay();
    }
}

#[test]
fn watchdogs_and_cancellation_end_a_session() {
    use Ending::*;
    let cases = [
        ("open_agent", Observation::WatchdogFired(Watchdog::Preparation), Some(PreparationFailed)),
        ("open_agent", Observation::WatchdogFired(Watchdog::WallTime), None),
        ("word", Observation::WatchdogFired(Watchdog::WallTime), Some(SessionWallTime)),
        ("prompt", Observation::WatchdogFired(Watchdog::WallTime), Some(SessionWallTime)),
        ("prompt", Observation::WatchdogFired(Watchdog::Preparation), None),
        ("check", Observation::WatchdogFired(Watchdog::WallTime), Some(SessionWallTime)),
        ("seal", Observation::WatchdogFired(Watchdog::WallTime), None),
        ("seal", Observation::WatchdogFired(Watchdog::Verification), Some(Accepted)),
        ("verify_completion", Observation::WatchdogFired(Watchdog::Verification), Some(Accepted)),
        ("prepare_sandbox", Observation::Cancelled, Some(OperatorAbort)),
        ("word", Observation::Cancelled, Some(OperatorAbort)),
        ("prompt", Observation::Cancelled, Some(OperatorAbort)),
        ("verify_completion", Observation::Cancelled, Some(OperatorAbort)),
        ("end", Observation::Cancelled, Some(Accepted)),
    ];
    for (name, observation, ends) in cases {
        let mut player = Player::new(setting("need a when=opening pass=at_end:s1"));
        player.world.states.insert("s1".into(), domain::acceptance::Truth::True);
        let id = run_to(&mut player, name);
        player.observe(observation.clone());
        let Some(ends) = ends else {
            assert_eq!(player.session.next(), Next::Wait, "{name} {observation:?}");
            assert!(player.session.awaits(id));
            continue;
        };
        if name == "prompt" {
            let Some((interrupt, Command::Interrupt { .. })) = player.decide() else {
                panic!("an open turn is interrupted");
            };
            player.answer(interrupt, Answer::Interrupted);
            let stop = TurnStop::Interrupted;
            player.answer(id, Answer::TurnEnded { stop, agent_ms: 5 });
        }
        let next = player.session.next();
        if name == "end" {
            assert_eq!(next, Next::Wait);
        } else {
            assert!(!player.session.awaits(id), "{name} {observation:?}");
            assert!(matches!(next, Next::Do(_, Command::End(e)) if e == ends), "{name} {next:?}");
            player.run_to_prompt();
        }
        assert_eq!(player.ending(), Some(ends), "{name} {observation:?}");
        player.check_replay();
    }
}

#[test]
fn a_second_cancellation_waits_for_nothing() {
    let mut player = Player::new(setting("need a"));
    player.run_to_prompt();
    player.observe(Observation::Cancelled);
    let (interrupt, _) = player.decide().expect("an interrupt");
    player.answer(interrupt, Answer::Interrupted);
    assert_eq!(player.session.next(), Next::Wait);
    player.observe(Observation::Cancelled);
    assert!(matches!(player.session.next(), Next::Do(_, Command::End(Ending::OperatorAbort))));
}

#[test]
fn starved_of_processors_is_not_the_agents_fault() {
    for (share, is_flagged) in [(Some(89), true), (Some(90), false), (None, false)] {
        let mut player = Player::new(setting("need a"));
        let prompt = player.run_to_prompt().expect("a prompt");
        let stop = TurnStop::DeadlinePassed;
        player.turn(prompt, &AgentTurn { text: "Slow.".into(), stop, ..AgentTurn::default() });
        let id = run_to(&mut player, "capture");
        let mut answer = player.perform(&Command::Capture { turn: Turn(1) });
        if let Answer::Captured { cpu_share_percent, .. } = &mut answer {
            *cpu_share_percent = share;
        }
        player.answer(id, answer);
        let flags = player.session.flags();
        assert_eq!(
            flags.iter().any(|(flag, _)| *flag == Flag::CpuStarved),
            is_flagged,
            "{share:?}"
        );
    }
}

#[test]
fn an_overfull_channel_ends_the_session() {
    let mut player = Player::new(setting("need a"));
    let prompt = player.run_to_prompt().expect("a prompt");
    player.turn(prompt, &AgentTurn { text: "Built.".into(), ..AgentTurn::default() });
    let id = run_to(&mut player, "capture");
    let mut answer = player.perform(&Command::Capture { turn: Turn(1) });
    if let Answer::Captured { overflow, .. } = &mut answer {
        *overflow = true;
    }
    player.answer(id, answer);
    assert_eq!(player.ending(), Some(Ending::ResourceLimit));
    assert_eq!(player.session.flags()[0].0, Flag::ChannelOverflow);
}

#[test]
fn three_tries_then_the_template() {
    let mut player = Player::new(setting("need a when=opening"));
    for nth in 1..=4 {
        let id = run_to(&mut player, "word");
        let Phase::Wording { plan, nth: now, after } = player.session.phase().clone() else {
            panic!("wording");
        };
        assert_eq!((now, after.is_empty()), (nth, nth == 1));
        if nth < 4 {
            let (text, by) = (String::from("quinxa"), Wordsmith::Model);
            player.answer(id, Answer::Worded { text, by, exchange: None });
        } else {
            let text = domain::wording::template(&plan);
            let by_model =
                Answer::Worded { text: text.clone(), by: Wordsmith::Model, exchange: None };
            let refused = player.try_log(Event::Answered(id, by_model));
            assert!(matches!(refused, Err(IllegalEntry::Unmatched { .. })));
            player.answer(id, Answer::Worded { text, by: Wordsmith::Template, exchange: None });
        }
    }
    assert!(matches!(player.session.phase(), Phase::Working { .. }));
    assert_eq!(player.session.load().template_fallbacks, 1);
}

#[test]
fn a_user_that_fails_is_replaced_by_the_template_without_a_flag() {
    let mut player = Player::new(setting("need a"));
    for _ in 0..3 {
        let id = run_to(&mut player, "word");
        player.answer(id, failed(Flag::UserFailed, None));
    }
    let Phase::Wording { nth: 4, after, .. } = player.session.phase() else { panic!("wording") };
    assert_eq!(after, &[Rejection::Empty]);
    assert!(player.run_to_prompt().is_some());
    assert_eq!(player.session.flags(), []);
}

#[test]
fn a_rejected_template_is_a_bug_of_ours() {
    let mut player = Player::new(setting("need a"));
    let id = run_to(&mut player, "word");
    let (text, by) = (String::from("Mind quinxa, please."), Wordsmith::Template);
    player.answer(id, Answer::Worded { text, by, exchange: None });
    assert_eq!(player.ending(), Some(Ending::ControllerBug));
    assert_eq!(player.session.flags()[0].0, Flag::ControllerBug);
}

#[test]
fn the_first_prompt_alone_carries_the_note() {
    let played = check("need a", "agent: Built.\nuser: tell(a)");
    let notes: Vec<bool> = played
        .log
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::Decided(_, Command::Prompt { message, .. }) => {
                Some(message.starts_with(domain::wording::SESSION_NOTE))
            }
            _ => None,
        })
        .collect();
    assert_eq!(notes, [true, false]);
}
