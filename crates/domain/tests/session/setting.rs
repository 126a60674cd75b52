//! Scenarios from a few words: one requirement a line, checks by the names that they mention.

use domain::{
    evidence::Channel,
    ids::{
        CheckId, FamilyId, PairId, PersonaId, Repeat, RequirementId, StepId, SuiteId, TaskId,
        TopicId,
    },
    plan::{Arm, SessionLimits, SessionSpec, UserKind},
    release::{
        ActionClass, AfterTelling, Area, Binds, BudgetKind, Check, CheckKind, Claim,
        CompletionRule, Condition, ExecKind, ExitFilter, Expr, Fact, Feedback, FsState, GenericAsk,
        IfPresatisfied, IfPreviolated, Latest, Pass, Patience, PermissionAnswer, PermissionEntry,
        PermissionTable, Persona, Read, Requirement, RewardStrategy, Sight, Step, StepPlaced, Tell,
        Telling, Topic, Utterances, VerifyMode,
    },
    session::Scenario,
};

/// A setting: lines of `key value`, and `need NAME key=value …` for each requirement.
///
/// Checks are named in conditions and passes: `s…` is a state, `e…` are events; a name that ends in
/// `h` is read at hand-offs, in `z` at the seal alone.
pub fn setting(text: &str) -> Scenario {
    let mut scenario = blank();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        match key {
            "need" => scenario.requirements.push(requirement(value)),
            "tells" => scenario.persona.telling.tells_per_message = number(value),
            "refusals" => scenario.persona.patience.handoff_refusals = number(value),
            "silent" => scenario.persona.patience.silent_turns = number(value),
            "repeated" => scenario.persona.patience.repeated_turns = number(value),
            "turns" => scenario.spec.limits.turns_max = number(value),
            "time" => scenario.spec.limits.agent_time_ms = number(value),
            "tokens" => scenario.spec.limits.tokens_max = Some(number(value)),
            "cost" => scenario.spec.limits.cost_microusd_max = Some(number(value)),
            "draw" => scenario.spec.draw = number(value),
            "generic" => scenario.persona.telling.generic_ask = GenericAsk::NextRequirement,
            "blind" => scenario.persona.sees.clear(),
            "labels" => scenario.topic_model = true,
            "allows" => permit(&mut scenario, value, PermissionAnswer::Allowed),
            "refuses" => permit(&mut scenario, value, PermissionAnswer::Refused),
            "grants" => {
                permit(&mut scenario, value, PermissionAnswer::Granted { uses: 1, turns: 2 });
            }
            "fact" => {
                let say = (1..=3).map(|n| format!("It is {value} as ever, version {n}."));
                let topic = TopicId::new(value);
                scenario.facts.push(Fact { topic: topic.clone(), say: say.collect() });
                scenario.topics.push(Topic { id: topic, words: vec![value.to_string()] });
            }
            "arm" => {
                scenario.arm = match value {
                    "no-persona" => Arm::NoPersona,
                    "neutral-turns" => Arm::NeutralTurns,
                    "opening" => Arm::Opening,
                    other => panic!("no arm {other}"),
                }
            }
            "step" => {
                scenario.arm = Arm::NoPersona;
                scenario.steps.push(step(value));
                scenario.statement = scenario.steps[0].statement.clone();
                scenario.spec.steps_agent_ms.push(step_ms(value));
            }
            "final" => scenario.reward_strategy = RewardStrategy::Final,
            "neutral_turns" => scenario.neutral_turns = number(value),
            other => panic!("no key {other} in a setting"),
        }
    }
    let topics: Vec<TopicId> =
        scenario.requirements.iter().filter_map(|need| need.topic.clone()).collect();
    for topic in topics {
        if !scenario.topics.iter().any(|known| known.id == topic) {
            let words = vec![topic.as_str().to_string()];
            scenario.topics.push(Topic { id: topic, words });
        }
    }
    scenario.checks = checks(&scenario.requirements);
    scenario
}

fn number<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.trim().parse().expect("a number")
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_string()).collect()
}

fn blank() -> Scenario {
    let persona = Persona {
        id: PersonaId::new("gardener.v1"),
        family: FamilyId::new("gardener"),
        role: "Keeps a garden.".into(),
        card: "You are brief.".into(),
        sees: vec![Sight::Message, Sight::Artifact],
        patience: Patience::default(),
        telling: Telling::default(),
        permissions: PermissionTable { default: PermissionAnswer::Allowed, entries: vec![] },
        topics: vec![],
        knows: vec![],
        utterances: Utterances {
            opening: words(&["Please help me with this:", "Here is my task:", "I need this:"]),
            tell: words(&["There is more to it:", "Let me add something:", "Please note:"]),
            acknowledge: words(&["You did that well already:", "Nice to see:", "Well done:"]),
            grant: words(&["Yes, you may do that.", "You may.", "Yes, please do."]),
            refuse: words(&["No, please leave that.", "No, not that.", "Please don't do that."]),
            dont_know: words(&["I can't tell you that.", "I have no idea.", "I don't know that."]),
            defer: words(&[
                "Let me see something first.",
                "Show me something first.",
                "I would rather see the work first.",
            ]),
            nudge: words(&["Please carry on.", "Please continue.", "Please go on with it."]),
            closing: words(&["Thank you.", "Thanks.", "That is all."]),
        },
    };
    Scenario {
        spec: SessionSpec {
            pair: PairId::new("gardener--beds"),
            repeat: Repeat(1),
            draw: 0,
            limits: SessionLimits {
                turns_max: 40,
                agent_time_ms: 1_000_000,
                wall_time_ms: 4_600_000,
                tokens_max: None,
                cost_microusd_max: None,
                preparation_ms: 7_200_000,
                verification_ms: 900_000,
            },
            steps_agent_ms: vec![],
        },
        arm: Arm::Progressive,
        suite: SuiteId::new("starter"),
        task: TaskId::new("beds"),
        family: FamilyId::new("gardener"),
        permissions: persona.permissions.clone(),
        persona,
        topics: vec![],
        facts: vec![],
        statement: "Write the list of beds.".into(),
        steps: vec![],
        reward_strategy: RewardStrategy::Mean,
        workdir: "/app".into(),
        requirements: vec![],
        checks: vec![],
        completion: CompletionRule {
            key: "reward".into(),
            at_least: 1.0,
            verify: VerifyMode::Fresh,
            paths: vec!["/app".into()],
        },
        user: UserKind::Template,
        channels: Channel::ALL.into_iter().collect(),
        neutral_turns: 0,
        topic_model: false,
    }
}

/// `NAME files setup least=KEY:VALUE ms=…`.
fn step(line: &str) -> Step {
    let mut fields = line.split_whitespace();
    let name = fields.next().expect("a name");
    let mut step = Step::new(StepId::new(name), format!("Make the {name}."));
    for field in fields {
        match field.split_once('=').unwrap_or((field, "")) {
            ("files", _) => step.placed = StepPlaced::Files,
            ("setup", _) => step.placed = StepPlaced::FilesAndSetup,
            ("least", least) => {
                let (key, value) = least.split_once(':').expect("a key");
                step.min_reward.insert(key.into(), number(value));
            }
            ("ms", _) => {}
            (other, _) => panic!("no key {other} in a step"),
        }
    }
    step
}

fn step_ms(line: &str) -> u64 {
    line.split_whitespace().find_map(|field| field.strip_prefix("ms=")).map_or(100_000, number)
}

fn class(name: &str) -> ActionClass {
    ActionClass::ALL.into_iter().find(|class| class.name() == name).expect("a class")
}

fn permit(scenario: &mut Scenario, name: &str, answer: PermissionAnswer) {
    scenario.permissions.entries.push(PermissionEntry {
        class: class(name),
        asked_by: vec![name.to_string()],
        answer,
        scope: vec![],
    });
}

/// `NAME key=value …`: the name becomes the word that must be said and is hidden.
fn requirement(line: &str) -> Requirement {
    let mut fields = line.split_whitespace();
    let name = fields.next().expect("a name");
    let secret = format!("quinx{name}");
    let mut need = Requirement {
        id: RequirementId::new(name),
        area: Area::Delivery,
        mandatory: true,
        because: format!("values {secret}"),
        topic: None,
        class: None,
        text: format!("Honour {secret} in the work."),
        say: vec![
            format!("Please honour {secret} in the work."),
            format!("I would like {secret} to be honoured."),
            format!("Do mind {secret} in the work."),
        ],
        must_say: vec![vec![secret.clone()]],
        hide: vec![secret.clone()],
        binds: Binds::WhenTold,
        opening: None,
        tell: Tell {
            when: Condition::AtHandoff,
            latest: Latest::Handoff,
            if_presatisfied: IfPresatisfied::Deliver,
            if_previolated: IfPreviolated::Undo,
        },
        pass: Pass { applies_if: None, holds: Expr::All(vec![]) },
        feedback: Feedback {
            repeats: 2,
            symptom: vec![],
            restate: words(&["As I said before, please mind it."]),
            point: vec![],
            sight: vec![],
        },
    };
    for field in fields {
        let (key, value) = field.split_once('=').unwrap_or((field, ""));
        match key {
            "when" => need.tell.when = condition(value),
            "latest" if value == "opening" => need.tell.latest = Latest::Opening,
            "latest" => need.tell.latest = Latest::Turn(number(value)),
            "topic" => need.topic = Some(TopicId::new(value)),
            "class" => need.class = Some(class(value)),
            "pass" => need.pass.holds = expr(value),
            "applies" => need.pass.applies_if = Some(expr(value)),
            "repeats" => need.feedback.repeats = number(value),
            "says" => levels(&mut need.feedback, value),
            "sight" => need.feedback.sight = vec![Sight::Artifact],
            "praise" => need.tell.if_presatisfied = IfPresatisfied::Acknowledge,
            "grandfather" => need.tell.if_previolated = IfPreviolated::Grandfather,
            "from_start" => need.binds = Binds::FromStart,
            "optional" => need.mandatory = false,
            other => panic!("no key {other} in a requirement"),
        }
    }
    need
}

/// Which levels of feedback have words: letters of `s`ymptom, `r`estate, `p`oint.
fn levels(feedback: &mut Feedback, letters: &str) {
    let has = |letter| letters.contains(letter);
    feedback.symptom = if has('s') { words(&["It looks odd to me."]) } else { vec![] };
    feedback.restate =
        if has('r') { words(&["As I said before, please mind it."]) } else { vec![] };
    feedback.point = if has('p') { words(&["The page still looks like before."]) } else { vec![] };
}

/// `kind:argument:…`, or `all(…)`, `any(…)`, `not(…)`, `then(…)`, `then2(…)` with parts between
/// commas.
pub fn condition(text: &str) -> Condition {
    if let Some((head, inner)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        let mut parts: Vec<Condition> = split(inner).into_iter().map(condition).collect();
        return match head {
            "all" => Condition::All(parts),
            "any" => Condition::Any(parts),
            "not" => Condition::Not(Box::new(parts.remove(0))),
            then => Condition::Then {
                first: Box::new(parts.remove(0)),
                next: Box::new(parts.remove(0)),
                within_turns: then.strip_prefix("then").expect("a combinator").parse().ok(),
            },
        };
    }
    let part: Vec<&str> = text.split(':').collect();
    let fate = |is| Condition::Requirement { id: RequirementId::new(part[1]), is };
    match part[0] {
        "opening" => Condition::AtOpening,
        "after" => Condition::AfterTurn(number(part[1])),
        "share" => Condition::AfterShare {
            of: match part[1] {
                "turns" => BudgetKind::Turns,
                "time" => BudgetKind::AgentTime,
                "tokens" => BudgetKind::Tokens,
                _ => BudgetKind::Cost,
            },
            percent: number(part[2]),
        },
        "asked" => Condition::Asked,
        "holds" => Condition::Holds(CheckId::new(part[1])),
        "told" => fate(AfterTelling::Told),
        "met" => fate(AfterTelling::Met),
        "broken" => fate(AfterTelling::Violated),
        "violated" => {
            Condition::Violated { id: RequirementId::new(part[1]), times: number(part[2]) }
        }
        "claims" => Condition::Claims(match part[1] {
            "done" => Claim::Done,
            "tested" => Claim::Tested,
            _ => Claim::Explained,
        }),
        "handoff" => Condition::AtHandoff,
        "feedback" => {
            Condition::AfterFeedback { id: RequirementId::new(part[1]), times: number(part[2]) }
        }
        "silent" => Condition::Silent(number(part[1])),
        "granted" => Condition::Granted(class(part[1])),
        other => panic!("no condition {other}"),
    }
}

/// `operator:check`, or `all(…)`, `any(…)`, `not(…)`.
fn expr(text: &str) -> Expr {
    if let Some((head, inner)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        let mut parts: Vec<Expr> = split(inner).into_iter().map(expr).collect();
        return match head {
            "all" => Expr::All(parts),
            "any" => Expr::Any(parts),
            _ => Expr::Not(Box::new(parts.remove(0))),
        };
    }
    let part: Vec<&str> = text.split(':').collect();
    let check = CheckId::new(*part.last().expect("a check"));
    match part[0] {
        "at_end" => Expr::AtEnd(check),
        "always" => Expr::Always(check),
        "never" => Expr::Never(check),
        "eventually" => Expr::Eventually(check),
        "granted" => Expr::Granted { class: class(part[1]), act: check },
        other => panic!("no operator {other}"),
    }
}

/// Splits at commas outside brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (vec![], 0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn checks(requirements: &[Requirement]) -> Vec<Check> {
    let mut names: Vec<CheckId> = vec![];
    for need in requirements {
        let mut found: Vec<CheckId> = need.pass.holds.checks().into_iter().cloned().collect();
        found.extend(need.pass.applies_if.iter().flat_map(Expr::checks).cloned());
        need.tell.when.visit(&mut |node| {
            if let Condition::Holds(check) = node {
                found.push(check.clone());
            }
        });
        for check in found {
            if !names.contains(&check) {
                names.push(check);
            }
        }
    }
    let check = |id: CheckId| {
        let read = match id.as_str().chars().last() {
            Some('h') => Read::AtHandoff,
            Some('z') => Read::AtEnd,
            _ => Read::EachTurn,
        };
        let kind = if id.as_str().starts_with('e') {
            CheckKind::Exec {
                kind: Some(ExecKind::Installs),
                argv: None,
                cwd: vec![],
                exit: ExitFilter::Any,
            }
        } else {
            CheckKind::Fs {
                path: vec![id.as_str().to_string()],
                is: Some(FsState::Present),
                contains: None,
                lacks: None,
                since: None,
            }
        };
        Check { id, kind, read }
    };
    names.into_iter().map(check).collect()
}
