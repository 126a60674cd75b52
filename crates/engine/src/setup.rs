//! What one session is made of: [`Setup`], decided before it starts, and [`SessionPorts`], by which it acts.

use std::{sync::Arc, time::Duration};

use domain::{
    release::{Healthcheck, Policy},
    session::Scenario,
};

use crate::{
    completion::Verifier,
    ports::{
        agent::{Agent, ToolServer},
        check::Checks,
        clock::Clock,
        gateway::Gateways,
        record::Record,
        sandbox::{Base, FileEntry, Limits, SandboxFault, Sandboxes},
        user::User,
        watch::{SessionKey, Watch},
        wire::Wires,
    },
};

/// What a session needs to know beside its scenario.
#[derive(Clone)]
pub struct Setup {
    /// Which attempt it is.
    pub key: SessionKey,
    /// The compiled setting.
    pub scenario: Arc<Scenario>,
    /// The task's base, or why it could not be made.
    pub base: Result<Base, SandboxFault>,
    /// Limits of the task.
    pub limits: Limits,
    /// What its wire carries while the agent works.
    pub reach: Policy,
    /// What must be so before the agent is opened.
    pub healthcheck: Option<Healthcheck>,
    /// Who the agent is inside; none means the base's own.
    pub agent_user: Option<String>,
    /// Absolute directory inside with skills that the agent is to use.
    pub skills_dir: Option<String>,
    /// Servers of tools that the agent is to use.
    pub tool_servers: Vec<ToolServer>,
    /// The native verifier.
    pub verifier: Arc<Verifier>,
    /// What each step of a task that has several brings along, in order.
    pub steps: Arc<[StepParts]>,
    /// The pair's `checks/` folder, paths relative to it.
    pub check_files: Arc<[FileEntry]>,
}

impl Setup {
    /// Why a base could not be made that a verifier of the task, or of a step, has for itself.
    pub fn verifier_base_fault(&self) -> Option<&SandboxFault> {
        let of_steps = self.steps.iter().map(|step| &step.verifier);
        let all = of_steps.chain(self.steps.is_empty().then_some(self.verifier.as_ref()));
        all.into_iter().find_map(Verifier::base_fault)
    }
}

/// What a step of a task brings along.
#[derive(Clone, Debug)]
pub struct StepParts {
    /// Its verifier.
    pub verifier: Verifier,
    /// What is put into the working directory before it.
    pub files: Vec<FileEntry>,
    /// Time limit of the `setup.sh` among them.
    pub setup_timeout: Duration,
}

/// By what a session acts.
#[derive(Clone)]
pub struct SessionPorts {
    /// Where the agent works.
    pub sandboxes: Arc<dyn Sandboxes>,
    /// The agent under test.
    pub agent: Arc<dyn Agent>,
    /// Who words.
    pub user: Arc<dyn User>,
    /// Who reads checks that are not pure over recorded evidence.
    pub checks: Arc<dyn Checks>,
    /// Who makes the wire of a closed sandbox.
    pub wires: Arc<dyn Wires>,
    /// Who makes the gateway to the agent's model; none if no agent of the run has one.
    pub gateways: Option<Arc<dyn Gateways>>,
    /// Its time.
    pub clock: Arc<dyn Clock>,
    /// Its journal and blobs.
    pub record: Arc<dyn Record>,
    /// Who listens.
    pub watch: Arc<dyn Watch>,
}
