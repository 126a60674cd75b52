//! How a task, or one of its steps, is verified once everything it leaves open is filled in: where the tests run
//! ([`Home`]), what they reach, what is collected before.

use alloc::{boxed::Box, collections::BTreeSet, string::String, vec::Vec};

use super::{
    Artifact, CollectHook, Environment, MAIN_SERVICE, Network, Recipe, Step, Task,
    VerifierEnvironment, WorkdirSource,
};

/// What is taken from every task, declared or not.
pub const PUBLISHED: &str = "/logs/artifacts";

/// Where tests run.
#[derive(Clone, Debug, PartialEq)]
pub enum Home {
    /// On what the agent left.
    Shared,
    /// In an environment that the agent never was in; artifacts alone are carried into it.
    Separate(Box<SeparateHome>),
}

/// An environment that a verifier has for itself.
#[derive(Clone, Debug, PartialEq)]
pub struct SeparateHome {
    /// Its limits, variables, working directory and network.
    pub environment: Environment,
    /// What it is made from.
    pub origin: HomeOrigin,
}

/// What a verifier's own environment is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HomeOrigin {
    /// An image that was made beforehand and holds the tests.
    Image(String),
    /// The `Dockerfile` or services in the task's `tests/`, which put the tests into the image.
    Tests,
    /// The `Dockerfile` or services in the step's `tests/`, which put the tests into the image.
    StepTests,
    /// The agent's environment as it was before the agent; the tests are placed in it.
    Pristine,
}

impl HomeOrigin {
    /// Whether the tests are in it already.
    pub fn holds_tests(&self) -> bool {
        *self != HomeOrigin::Pristine
    }
}

impl Task {
    /// Where the tests of the task, or of a step, run.
    pub fn verifier_home(&self, step: Option<&Step>) -> Home {
        let own = step.and_then(|step| step.verifier.environment.as_ref());
        let declared = match (own, &self.verifier.environment) {
            (Some(VerifierEnvironment::Shared), _) => return Home::Shared,
            (None, VerifierEnvironment::Shared) => return Home::Shared,
            (Some(VerifierEnvironment::Separate { declared: Some(own) }), _) => Some(own),
            (_, VerifierEnvironment::Separate { declared }) => declared.as_ref(),
            (Some(VerifierEnvironment::Separate { declared: None }), _) => None,
        };
        let builds = |recipes: &BTreeSet<Recipe>| {
            let from = [Recipe::Dockerfile, Recipe::BareDockerfile, Recipe::Compose];
            from.iter().any(|recipe| recipes.contains(recipe))
        };
        let image = declared.and_then(|declared| declared.image.clone());
        let origin = match (image, step) {
            (Some(image), _) => HomeOrigin::Image(image),
            (None, Some(step)) if builds(&step.verifier.recipes) => HomeOrigin::StepTests,
            (None, _) if builds(&self.verifier.recipes) => HomeOrigin::Tests,
            (None, _) => HomeOrigin::Pristine,
        };
        let mut environment =
            declared.map_or_else(|| self.environment.clone(), |own| own.as_ref().clone());
        if origin == HomeOrigin::Pristine {
            environment.image.clone_from(&self.environment.image);
            environment.recipes.clone_from(&self.environment.recipes);
            if environment.workdir_said_by != WorkdirSource::Declared {
                environment.workdir.clone_from(&self.environment.workdir);
                environment.workdir_said_by = self.environment.workdir_said_by;
            }
        } else {
            environment.image = match &origin {
                HomeOrigin::Image(name) => Some(name.clone()),
                _ => None,
            };
            if environment.workdir_said_by != WorkdirSource::Declared {
                environment.workdir_said_by = WorkdirSource::Image;
            }
        }
        Home::Separate(Box::new(SeparateHome { environment, origin }))
    }

    /// What the tests of the task, or of a step, may reach while they run.
    pub fn verifier_network(&self, step: Option<&Step>) -> Network {
        let own = step.and_then(|step| step.verifier.network.as_ref());
        if let Some(network) = own.or(self.verifier.network.as_ref()) {
            return network.clone();
        }
        match self.verifier_home(step) {
            Home::Shared => self.environment.network.clone(),
            Home::Separate(home) => home.environment.network,
        }
    }

    /// Commands that are run before artifacts are taken, in order: the task's, then the step's.
    pub fn collect_hooks<'a>(
        &'a self,
        step: Option<&'a Step>,
    ) -> impl Iterator<Item = &'a CollectHook> {
        let own = step.into_iter().flat_map(|step| &step.verifier.collect);
        self.verifier.collect.iter().chain(own)
    }

    /// What is taken after the task, or a step, in order: what every task publishes unless it is declared, the task's,
    /// the step's.
    pub fn artifacts_after(&self, step: Option<&Step>) -> Vec<Artifact> {
        let own = step.into_iter().flat_map(|step| &step.artifacts);
        let mut all: Vec<Artifact> = self.artifacts.iter().chain(own).cloned().collect();
        let is_published = |artifact: &Artifact| {
            artifact.source.trim_end_matches('/') == PUBLISHED && artifact.service == MAIN_SERVICE
        };
        if !all.iter().any(is_published) {
            all.insert(0, Artifact::of_main(PUBLISHED));
        }
        all
    }

    /// The task's verification if it has no steps, else that of each step.
    pub fn verifications(&self) -> Vec<Option<&Step>> {
        if self.steps.is_empty() { [None].into() } else { self.steps.iter().map(Some).collect() }
    }
}

impl Artifact {
    /// A path of the agent's own service, kept by its path.
    pub fn of_main(source: &str) -> Self {
        Self {
            source: source.into(),
            destination: None,
            exclude: Vec::new(),
            service: MAIN_SERVICE.into(),
        }
    }
}
