//! Thousands of random sessions: decided as the naive model decides, bounded, replayable, nothing
//! told twice.

use domain::{
    acceptance::Truth,
    controller::SpeechAct,
    evidence::Permission,
    fault::{Ending, Flag},
    ids::{CommandId, RequestId, Turn},
    release::{ActionClass, StepPlaced},
    session::{Answer, Command, Entry, Event, Next, Observation, TurnStop, Watchdog, replay},
};

use super::{
    dice::Dice,
    model::{self, Ask, Need, Past, Spec},
    player::{AgentTurn, Player, acts},
    script::left,
    setting::setting,
};

const NAMES: [&str; 3] = ["a", "b", "c"];

fn random_spec(dice: &mut Dice) -> Spec {
    let mut spec = Spec {
        tells: 1 + dice.below(2),
        refusals: dice.below(3),
        silent: 1 + dice.below(3),
        turns: 3 + dice.below(10),
        generic_tells: dice.once_in(2),
        facts: if dice.once_in(2) { vec!["till"] } else { vec![] },
        classes: vec![("install", dice.once_in(2)), ("publish", dice.once_in(2))],
        needs: vec![],
    };
    let count = dice.below(4);
    for (place, name) in NAMES.into_iter().enumerate().take(count) {
        let when = random_condition(dice, place, 2);
        spec.needs.push(Need {
            name,
            when,
            latest: dice.once_in(5).then(|| 1 + dice.below(4)),
            topic: *dice.pick(&[None, Some("colour"), Some("size"), Some("till")]),
            class: *dice.pick(&[None, None, Some("install"), Some("publish")]),
            holds: match dice.below(3) {
                0 => ("at_end", format!("s{}", dice.below(3))),
                1 => ("never", format!("e{}", dice.below(3))),
                _ => ("eventually", format!("e{}", dice.below(3))),
            },
            repeats: dice.below(4),
            optional: dice.once_in(5),
            praise: dice.once_in(3),
        });
    }
    spec
}

/// A condition of the requirement at a place; it speaks of earlier ones only.
fn random_condition(dice: &mut Dice, place: usize, depth: usize) -> String {
    if depth > 0 && dice.once_in(3) {
        let mut part = || random_condition(dice, place, depth - 1);
        let (one, two) = (part(), part());
        return match dice.below(5) {
            0 => format!("all({one},{two})"),
            1 => format!("any({one},{two})"),
            2 => format!("not({one})"),
            3 => format!("then({one},{two})"),
            _ => format!("then{}({one},{two})", 1 + dice.below(3)),
        };
    }
    let earlier = if place > 0 { NAMES[dice.below(place)] } else { "" };
    let leaf = dice.below(if place > 0 { 13 } else { 8 });
    match leaf {
        0 => "opening".into(),
        1 => format!("after:{}", 1 + dice.below(4)),
        2 => "asked".into(),
        3 => format!("holds:{}{}", dice.pick(&["s", "e"]), dice.below(3)),
        4 => "claims:done".into(),
        5 => "handoff".into(),
        6 => format!("silent:{}", 1 + dice.below(2)),
        7 => format!("granted:{}", dice.pick(&["install", "publish"])),
        8 => format!("told:{earlier}"),
        9 => format!("met:{earlier}"),
        10 => format!("broken:{earlier}"),
        11 => format!("violated:{earlier}:{}", 1 + dice.below(2)),
        _ => format!("feedback:{earlier}:{}", 1 + dice.below(2)),
    }
}

/// A random turn of the agent and what the model is told of it.
fn random_turn(
    dice: &mut Dice,
    number: usize,
    spec: &Spec,
    before: Option<&Past>,
) -> (AgentTurn, Past) {
    let mut past = Past { said: vec![], ..Past::default() };
    if let Some(before) = before {
        past.states.clone_from(&before.states);
    }
    let mut text = vec![];
    if dice.once_in(3) {
        let known: Vec<&'static str> = spec
            .needs
            .iter()
            .filter_map(|need| need.topic)
            .chain(spec.facts.iter().copied())
            .collect();
        let mut asks = vec![];
        for topic in ["colour", "size", "till"] {
            if dice.once_in(3) && known.contains(&topic) {
                asks.push((
                    Ask::Topic(topic),
                    format!("Which {topic} do you have in mind for this work?"),
                ));
            }
        }
        for class in ["install", "publish"] {
            if dice.once_in(6) {
                asks.push((Ask::May(class), format!("May I {class} the helper for this work?")));
            }
        }
        if dice.once_in(4) {
            asks.push((
                Ask::Unknown,
                "Where does the wind come from on the whole island today?".into(),
            ));
        }
        if dice.once_in(4) {
            asks.push((Ask::Anything, "Is there anything else?".into()));
        }
        for (ask, words) in asks {
            past.asks.push(ask);
            text.push(words);
        }
    }
    past.done = dice.once_in(4);
    if past.done {
        text.insert(0, "All done.".into());
    }
    match dice.below(8) {
        0 if text.is_empty() => {}
        1 => text.insert(0, "The list stands as before.".into()),
        _ => text.insert(0, format!("This is my report number {number}.")),
    }
    past.message = text.join(" ");
    past.busy = !dice.once_in(3);
    past.changed = dice.once_in(3);
    for state in ["s0", "s1", "s2"] {
        if dice.once_in(4) && !past.states.remove(state) {
            past.states.insert(state.into());
        }
    }
    for event in ["e0", "e1", "e2"] {
        if dice.once_in(6) {
            past.events.insert(event.into());
        }
    }
    for class in ["install", "publish"] {
        if past.busy && dice.once_in(8) {
            past.requests.push(class);
        }
    }
    // A request inside a turn is a deed.
    past.busy |= !past.requests.is_empty();
    let class = |name: &&str| {
        ActionClass::ALL.into_iter().find(|class| class.name() == *name).expect("a class")
    };
    let turn = AgentTurn {
        text: past.message.clone(),
        acts: past.busy,
        changes: u32::from(past.changed),
        requests: past.requests.iter().map(|name| (class(name), None)).collect(),
        ..AgentTurn::default()
    };
    (turn, past)
}

fn show(player: &mut Player, past: &Past, now: Turn) {
    for state in ["s0", "s1", "s2"] {
        let truth = if past.states.contains(state) { Truth::True } else { Truth::False };
        player.world.states.insert(state.into(), truth);
    }
    for event in &past.events {
        player.world.events.entry(event.clone()).or_default().push(now);
    }
}

/// A session without accidents, compared with the model message by message.
fn compare_with_model(seed: u64) {
    let mut dice = Dice::new(seed);
    let spec = random_spec(&mut dice);
    let words = model::words(&spec);
    let mut player = Player::new(setting(&words));
    let mut past: Vec<Past> = vec![];
    loop {
        let prompt = player.run_to_prompt();
        let found = match prompt {
            Some(_) => acts(player.session.plan().expect("a plan")),
            None => format!("ends: {}", player.ending().map_or("", Ending::name)),
        };
        let expected = model::next(&spec, &past);
        assert_eq!(found, expected, "seed {seed}\n{words}\n{past:#?}");
        let Some(prompt) = prompt else { break };
        let (turn, mut facts) = random_turn(&mut dice, past.len(), &spec, past.last());
        facts.said = found.split(") ").flat_map(split_acts).collect();
        let now = player.session.turn();
        show(&mut player, &facts, now);
        player.turn(prompt, &turn);
        past.push(facts);
    }
    player.check_replay();
    check_invariants(&player, seed);
}

/// Pieces between closing brackets hold words without brackets before the last act.
fn split_acts(piece: &str) -> Vec<String> {
    let (plain, bracketed) = match piece.split_once('(') {
        Some((head, rest)) => {
            let (before, name) = head.rsplit_once(' ').unwrap_or(("", head));
            (before, Some(format!("{name}({})", rest.trim_end_matches(')'))))
        }
        None => (piece, None),
    };
    plain.split_whitespace().map(String::from).chain(bracketed).collect()
}

/// What holds of every session, whatever happened in it.
fn check_invariants(player: &Player, seed: u64) {
    let session = &player.session;
    let scenario = session.scenario();
    let mut told: Vec<&str> = vec![];
    let mut delivered = vec![];
    let mut open = None;
    for entry in &player.log {
        match &entry.event {
            Event::Decided(_, Command::Word { plan, .. }) => open = Some(plan),
            Event::Observed(Observation::Delivered { turn, .. }) => {
                let plan = open.filter(|plan| plan.turn == *turn);
                delivered.extend(plan);
                open = None;
            }
            _ => {}
        }
    }
    for plan in &delivered {
        let ranks: Vec<u32> = plan.acts.iter().map(rank).collect();
        assert!(ranks.is_sorted(), "seed {seed}: {:?}", acts(plan));
        for id in plan.delivers() {
            assert!(!told.contains(&id.as_str()), "seed {seed}: {id} told twice");
            told.push(id.as_str());
        }
    }
    let limits = &scenario.spec.limits;
    assert!(session.turn().0 <= limits.turns_max, "seed {seed}");
    assert!(session.load().refusals <= scenario.persona.patience.handoff_refusals, "seed {seed}");
    assert!(player.log.len() < 200 + 60 * limits.turns_max as usize, "seed {seed}");
    for (entry, need) in session.ledger().entries().iter().zip(&scenario.requirements) {
        assert!(entry.raised.len() as u32 <= need.feedback.repeats, "seed {seed}");
        assert!(entry.raised.iter().all(|turn| Some(*turn) > entry.told), "seed {seed}");
        if session.ending().is_some_and(Ending::is_normal) {
            assert!(entry.told.is_some(), "seed {seed}: accepted while {} is hidden", need.id);
        }
    }
}

fn rank(act: &SpeechAct) -> u32 {
    match act {
        SpeechAct::Open { .. } => 0,
        SpeechAct::Grant { .. } | SpeechAct::Refuse { .. } => 1,
        SpeechAct::Answer { .. } => 2,
        SpeechAct::Defer { .. } | SpeechAct::DontKnow { .. } => 3,
        SpeechAct::Correct { .. } => 4,
        SpeechAct::Tell { .. } => 5,
        _ => 6,
    }
}

#[test]
fn the_model_decides_the_same() {
    (0..600).for_each(compare_with_model);
}

#[test]
fn the_model_decides_the_same_again() {
    (600..1_200).for_each(compare_with_model);
}

/// A session in which anything can break, arrive late or be forged.
fn survive(seed: u64) {
    let mut dice = Dice::new(seed);
    let spec = random_spec(&mut dice);
    let words = if seed % 4 == 3 { random_steps(&mut dice) } else { model::words(&spec) };
    let mut scenario = setting(&words);
    if dice.once_in(2) {
        scenario.spec.limits.tokens_max = Some(1 + dice.below(2_000) as u64);
        scenario.spec.limits.agent_time_ms = 1 + dice.below(8_000) as u64;
    }
    let mut player = Player::new(scenario);
    let mut number = 0;
    for _ in 0..3_000 {
        if dice.once_in(40) {
            forge(&mut player, &mut dice);
        }
        if dice.once_in(30) && !matches!(player.session.next(), Next::Over(_)) {
            let noise = noise(&mut dice, player.session.turn());
            player.observe(noise);
        }
        match player.session.next() {
            Next::Over(_) => break,
            Next::Do(..) => {
                player.decide();
            }
            Next::Wait => {
                let place = dice.below(player.session.open_commands().len());
                let (id, command) = player.session.open_commands()[place].clone();
                if dice.once_in(30) && !matches!(command, Command::End(_)) {
                    let failure = failure(&mut dice);
                    player.answer(id, failure);
                } else if matches!(command, Command::Prompt { .. }) {
                    number += 1;
                    work(&mut player, &mut dice, id, number, &spec);
                } else {
                    if matches!(command, Command::VerifyStep { .. }) && dice.once_in(3) {
                        let outcomes = ["reward=0", "style=1", "no-reward", "timed-out"];
                        let outcome: &str = dice.pick::<&str>(&outcomes);
                        player.world.step_outcomes.push_back(left(outcome));
                    }
                    let answer = player.perform(&command);
                    player.answer(id, answer);
                }
            }
        }
    }
    assert!(matches!(player.session.next(), Next::Over(_)), "seed {seed} does not end");
    player.check_replay();
    check_invariants(&player, seed);
    check_budgets(&player, seed);
    check_steps(&player, seed);
    if dice.once_in(5) {
        let cut = dice.below(player.log.len());
        replay(player.session.scenario().clone(), &player.log[..cut]).expect("a prefix replays");
    }
}

/// Part of a turn: the prompt may stay open for another round.
fn work(player: &mut Player, dice: &mut Dice, id: CommandId, number: usize, spec: &Spec) {
    let now = player.session.turn();
    let (turn, facts) = random_turn(dice, number, spec, None);
    if !dice.once_in(20) {
        player.observe(Observation::Delivered { turn: now, at_ms: 1 });
    }
    show(player, &facts, now);
    if turn.acts {
        let tokens = dice.below(300) as u64;
        player.observe(Observation::Used { tokens: Some(tokens), cost_microusd: Some(tokens) });
    }
    for (class, subject) in turn.requests {
        let (request, class) = (RequestId(number as u32), Some(class));
        let permission = Permission { request, turn: now, at_ms: 2, class, subject };
        player.observe(Observation::PermissionRequested(permission));
    }
    player.observe(Observation::AgentSaid { turn: now, at_ms: 3, text: turn.text });
    if dice.once_in(3) || !player.session.awaits(id) {
        return;
    }
    let stop = match dice.below(30) {
        0 => TurnStop::Crashed,
        1 => TurnStop::Refused,
        2 => TurnStop::DeadlinePassed,
        3 => TurnStop::LimitBreached,
        4 => TurnStop::Interrupted,
        _ => TurnStop::Finished,
    };
    player.answer(id, Answer::TurnEnded { stop, agent_ms: dice.below(2_000) as u64 });
}

fn noise(dice: &mut Dice, now: Turn) -> Observation {
    match dice.below(20) {
        0 => Observation::Cancelled,
        1 => Observation::WatchdogFired(Watchdog::Preparation),
        2 => Observation::WatchdogFired(Watchdog::WallTime),
        3 => Observation::WatchdogFired(Watchdog::Verification),
        4..8 => Observation::Delivered { turn: Turn(now.0 + dice.below(2) as u32), at_ms: 9 },
        8..14 => Observation::AgentSaid { turn: now, at_ms: 9, text: "Late words.".into() },
        14 => Observation::Flagged { flag: Flag::OrderUnknown, detail: "close".into() },
        _ => Observation::Stray { detail: "late".into() },
    }
}

fn failure(dice: &mut Dice) -> Answer {
    let ending = match dice.below(8) {
        0 => Some(Ending::EnvironmentLost),
        1 => Some(Ending::ProviderError),
        2 => Some(Ending::ResourceLimit),
        3 => Some(Ending::Crash),
        _ => None,
    };
    Answer::Failed { flag: Flag::EvidenceMissing, ending, detail: "broken".into() }
}

/// An entry that must be refused and leave the session as it was.
fn forge(player: &mut Player, dice: &mut Dice) {
    let before = player.session.clone();
    let (seq, id) = (before.seq() + 1, CommandId(dice.below(9) as u32 + 900));
    let (seq, event) = match dice.below(4) {
        0 => (seq + 1, Event::Observed(Observation::Stray { detail: String::new() })),
        1 => (seq, Event::Answered(id, Answer::Closed)),
        2 => (seq, Event::Decided(id, Command::Seal)),
        _ => {
            let Some((open, command)) = before.open_commands().first() else { return };
            let wrong = match command {
                Command::PrepareSandbox => Answer::Frozen,
                _ => Answer::SandboxReady,
            };
            (seq, Event::Answered(*open, wrong))
        }
    };
    let refused = player.session.apply(&Entry { seq, elapsed_ms: 0, event });
    assert!(refused.is_err());
    assert_eq!(player.session, before);
}

/// A task of one to five steps.
fn random_steps(dice: &mut Dice) -> String {
    let mut words = if dice.once_in(3) { "final\n".to_string() } else { String::new() };
    for name in &["bed", "path", "gate", "pond", "hedge"][..1 + dice.below(5)] {
        words.push_str(&format!("step {name} ms={}", 1 + dice.below(5_000)));
        words.push_str(dice.pick::<&str>(&["", " files", " setup"]));
        words.push_str(dice.pick::<&str>(&["", " least=reward:0.5", " least=style:0"]));
        words.push('\n');
    }
    words
}

/// No step is asked for before the one before it was verified, sufficed, and its own files lie there.
fn check_steps(player: &Player, seed: u64) {
    let session = &player.session;
    let steps = &session.scenario().steps;
    if steps.is_empty() {
        return;
    }
    assert!(session.turn().0 as usize <= steps.len(), "seed {seed}");
    let (mut verified, mut placed) = (0, 0);
    let mut open = None;
    for entry in &player.log {
        match &entry.event {
            Event::Decided(_, Command::Prompt { turn, .. }) => {
                let step = &steps[turn.0 as usize - 1];
                assert_eq!(verified, turn.0 - 1, "seed {seed}: turn {turn}");
                let needs_placing = step.placed != StepPlaced::Nothing;
                assert!(!needs_placing || placed == turn.0, "seed {seed}: turn {turn}");
            }
            Event::Decided(_, Command::PlaceStep { turn, step }) => {
                assert_eq!(*step, steps[turn.0 as usize - 1].name, "seed {seed}");
                open = Some(*turn);
            }
            Event::Answered(_, Answer::StepPlaced { .. }) => placed = open.map_or(0, |turn| turn.0),
            Event::Answered(_, Answer::StepVerified { .. }) => verified += 1,
            Event::Decided(_, Command::VerifyCompletion) => {
                assert!(verified < session.turn().0, "seed {seed}: verified twice");
            }
            _ => {}
        }
    }
    let reached = domain::result::steps(session).iter().filter(|s| s.outcome.is_some()).count();
    assert!(reached <= session.turn().0 as usize, "seed {seed}");
    if session.ending() == Some(Ending::Accepted) {
        assert_eq!(session.turn().0 as usize, steps.len(), "seed {seed}");
    }
}

fn check_budgets(player: &Player, seed: u64) {
    let session = &player.session;
    let (load, limits) = (session.load(), &session.scenario().spec.limits);
    if session.ending().is_some_and(Ending::is_normal) {
        assert!(load.agent_ms <= limits.agent_time_ms, "seed {seed}");
    }
    for entry in &player.log {
        if let Event::Decided(_, Command::Prompt { deadline_ms, turn, .. }) = &entry.event {
            assert!(*deadline_ms > 0 && *deadline_ms <= limits.agent_time_ms, "seed {seed}");
            assert!(turn.0 <= limits.turns_max, "seed {seed}");
        }
    }
}

#[test]
fn anything_can_break() {
    (0..1_900).for_each(survive);
}

#[test]
fn anything_can_break_again() {
    (1_900..3_800).for_each(survive);
}
