//! Everything that one session is decided by, compiled from release, plan and arm ([`Scenario`]).

use alloc::{string::String, vec, vec::Vec};

use thiserror::Error;

use crate::{
    evidence::ChannelSet,
    fault::Ending,
    ids::{FamilyId, PairId, PersonaId, SuiteId, TaskId},
    plan::{Arm, SessionSpec, UserKind},
    release::{
        Check, CompletionRule, Condition, Fact, Latest, Pair, PermissionAnswer, PermissionTable,
        Persona, Release, Requirement, RewardStrategy, Step, Topic, merged_facts,
        merged_permissions, merged_topics,
    },
};

/// The compiled setting of a session. The arm is already worked in: in the opening arm every
/// requirement is told at the opening, without persona there are none and everything is allowed.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// What was planned.
    pub spec: SessionSpec,
    /// The arm.
    pub arm: Arm,
    /// Suite of the pair.
    pub suite: SuiteId,
    /// The native task.
    pub task: TaskId,
    /// Family of the pair's persona (also in arms without one, for reports).
    pub family: FamilyId,
    /// Who speaks; the neutral persona in arms without one.
    pub persona: Persona,
    /// Permissions with the pair's laid over the persona's.
    pub permissions: PermissionTable,
    /// Topics with the pair's laid over the persona's.
    pub topics: Vec<Topic>,
    /// Facts with the pair's laid over the persona's.
    pub facts: Vec<Fact>,
    /// The native task statement; of a task that has steps, the first one's.
    pub statement: String,
    /// Steps of a task that has several, in order; step n is asked for in turn n.
    pub steps: Vec<Step>,
    /// How their rewards make the task's.
    pub reward_strategy: RewardStrategy,
    /// Absolute working directory inside the sandbox.
    pub workdir: String,
    /// Requirements in declared order.
    pub requirements: Vec<Requirement>,
    /// Named checks.
    pub checks: Vec<Check>,
    /// When the task counts as completed.
    pub completion: CompletionRule,
    /// Who words.
    pub user: UserKind,
    /// Channels that sandbox and driver give together.
    pub channels: ChannelSet,
    /// Content-free requests to check once more (arm `neutral-turns`).
    pub neutral_turns: u32,
    /// Whether a model may match questions to topics where rules are silent.
    pub topic_model: bool,
}

/// Why a session cannot be compiled: the release lacks something that its pair names.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CompileError {
    /// No such pair.
    #[error("the release has no pair {0}")]
    NoPair(PairId),
    /// No such persona.
    #[error("the release has no persona {0}")]
    NoPersona(PersonaId),
    /// No such task.
    #[error("the release has no task {0}")]
    NoTask(TaskId),
    /// A task that has steps in another arm than the one that asks for them.
    #[error("task {task} has steps, so its sessions are held in the arm `{}` alone", Arm::NoPersona.name())]
    Steps {
        /// The task.
        task: TaskId,
    },
}

impl Scenario {
    /// Id of the persona that speaks in arms without one.
    pub const NEUTRAL: &'static str = "neutral";

    /// What the user says to a session that ended so: words for work that is taken, stored and never sent.
    pub fn closing_words(&self, ending: Ending) -> Option<&str> {
        let words = &self.persona.utterances.closing;
        let at = self.spec.draw.checked_rem(words.len() as u64)?;
        words.get(at as usize).filter(|_| ending.is_normal()).map(String::as_str)
    }

    /// Works the arm into the pair that `spec` names. `user` is who words in this attempt, which
    /// after a fault of the simulator is not the plan's.
    ///
    /// # Errors
    ///
    /// [`CompileError`] if the release lacks the pair, its task, its persona or the neutral
    /// persona, or if the arm is not for a task that has steps.
    pub fn compile(
        release: &Release,
        spec: &SessionSpec,
        arm: Arm,
        user: UserKind,
        channels: &ChannelSet,
    ) -> Result<Scenario, CompileError> {
        let pair =
            release.pairs.get(&spec.pair).ok_or_else(|| CompileError::NoPair(spec.pair.clone()))?;
        let task =
            release.tasks.get(&pair.task).ok_or_else(|| CompileError::NoTask(pair.task.clone()))?;
        if !task.steps.is_empty() && arm != Arm::NoPersona {
            return Err(CompileError::Steps { task: task.id.clone() });
        }
        let persona = persona(release, &pair.persona)?;
        let scenario = Scenario {
            spec: spec.clone(),
            arm,
            suite: pair.suite.clone(),
            task: pair.task.clone(),
            family: persona.family.clone(),
            persona: persona.clone(),
            permissions: merged_permissions(persona, pair),
            topics: merged_topics(persona, pair),
            facts: merged_facts(persona, pair),
            statement: task
                .steps
                .first()
                .map_or_else(|| task.statement.clone(), |step| step.statement.clone()),
            steps: task.steps.clone(),
            reward_strategy: task.reward_strategy,
            workdir: task.environment.workdir.clone(),
            requirements: pair.requirements.clone(),
            checks: pair.checks.clone(),
            completion: pair.completion.clone(),
            user,
            channels: channels.clone(),
            neutral_turns: 0,
            topic_model: user == UserKind::Model,
        };
        match arm {
            Arm::Progressive => Ok(scenario),
            Arm::Opening => Ok(scenario.told_at_opening()),
            Arm::NoPersona | Arm::NeutralTurns => {
                let neutral = self::persona(release, &PersonaId::new(Scenario::NEUTRAL))?;
                Ok(scenario.without_persona(pair, neutral))
            }
        }
    }

    /// The opening arm: every requirement is told in the first message, in its opening wording if
    /// it has one.
    fn told_at_opening(mut self) -> Self {
        for requirement in &mut self.requirements {
            requirement.tell.when = Condition::AtOpening;
            requirement.tell.latest = Latest::Opening;
            if let Some(opening) = &requirement.opening {
                requirement.say = vec![opening.clone()];
            }
        }
        self
    }

    /// The arms without persona: the neutral voice, the pair's own facts, no requirement and
    /// nothing to check; requests are recognised as ever, and all are allowed.
    fn without_persona(mut self, pair: &Pair, neutral: &Persona) -> Self {
        self.permissions.default = PermissionAnswer::Allowed;
        for entry in &mut self.permissions.entries {
            entry.answer = PermissionAnswer::Allowed;
        }
        self.topics = merged_topics(neutral, pair);
        self.facts = merged_facts(neutral, pair);
        self.persona = neutral.clone();
        self.requirements = Vec::new();
        self.checks = Vec::new();
        if self.arm == Arm::NeutralTurns {
            self.neutral_turns = u32::try_from(pair.requirements.len()).unwrap_or(u32::MAX);
        }
        self
    }
}

fn persona<'a>(release: &'a Release, id: &PersonaId) -> Result<&'a Persona, CompileError> {
    release.personas.get(id).ok_or_else(|| CompileError::NoPersona(id.clone()))
}
