//! The agent's way to its model: [`Gateways`] opens a [`Gateway`] for each session that needs one.
//!
//! Contract. A gateway takes connections that arrive at [`PORT`] of the sandbox's loopback. Each request to a model becomes
//! one [`ModelCall`], however it ends: heard at once, and taken at the next capture. While a provider that fails is asked
//! again the agent's clock stands still. It only reports what is used; once it is blocked, nothing passes any more.

use std::{fmt, sync::Arc};

use domain::{
    evidence::{ModelCall, WireFormat},
    ids::{Hash, Turn},
};

use super::sandbox::Duplex;

/// Where the gateway answers, on the sandbox's loopback.
pub const PORT: u16 = 3129;

/// Keeps an exchange and names it.
pub type Keep = Arc<dyn Fn(&[u8]) -> Result<Hash, String> + Send + Sync>;

/// Milliseconds on the clock of the session's events.
pub type EventClock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// Hears of each call as soon as it is over; must return at once.
pub type Heard = Arc<dyn Fn(&ModelCall) + Send + Sync>;

/// Whether tools that a provider runs may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostedPolicy {
    /// They are taken out or refused.
    Shut,
    /// They are let through and seen.
    Open,
}

/// What a session brings along.
#[derive(Clone)]
pub struct GatewayTerms {
    /// Whether hosted tools may run.
    pub hosted: HostedPolicy,
    /// The clock of the session's events.
    pub clock: EventClock,
    /// Where exchanges are kept; none records nothing.
    pub keep: Option<Keep>,
    /// Who hears of each call.
    pub heard: Heard,
}

/// What an agent needs to reach its model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelAccess {
    /// Scheme, host and port, without a path.
    pub address: String,
    /// What it shows instead of a key; it opens this session's gateway and nothing else.
    pub token: String,
    /// The model that is configured, as its provider calls it; none if none is.
    pub model: Option<String>,
    /// The way for an agent whose requests begin on the harness's side; none where there is no gateway to connect to.
    pub line: Option<ModelLine>,
}

/// A way to a session's gateway that does not lead through its sandbox.
#[derive(Clone)]
pub struct ModelLine {
    form: WireFormat,
    gateway: Arc<dyn Gateway>,
}

impl ModelLine {
    /// To this gateway, whose provider answers this form.
    pub fn new(form: WireFormat, gateway: Arc<dyn Gateway>) -> Self {
        Self { form, gateway }
    }

    /// The form that is answered.
    pub fn form(&self) -> WireFormat {
        self.form
    }

    /// A connection, as if it had come from the sandbox.
    pub fn connect(&self) -> Box<dyn Duplex> {
        let (ours, theirs) = tokio::io::duplex(BUFFER);
        self.gateway.serve(Box::new(theirs));
        Box::new(ours)
    }
}

impl fmt::Debug for ModelLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ModelLine({})", self.form.name())
    }
}

/// Two lines are the same if they lead to the same gateway.
impl PartialEq for ModelLine {
    fn eq(&self, other: &Self) -> bool {
        self.form == other.form && Arc::ptr_eq(&self.gateway, &other.gateway)
    }
}

impl Eq for ModelLine {}

/// Bytes on their way over a line.
const BUFFER: usize = 64 << 10;

/// Opens gateways.
pub trait Gateways: Send + Sync {
    /// The gateway of one session, and how the agent reaches it.
    fn open(&self, terms: GatewayTerms) -> (Arc<dyn Gateway>, ModelAccess);
}

/// The gateway of one session.
#[async_trait::async_trait]
pub trait Gateway: Send + Sync {
    /// Requests from now on belong to this turn.
    fn begin(&self, turn: Turn);

    /// Serves a connection of the sandbox, beside whatever else goes on.
    fn serve(&self, stream: Box<dyn Duplex>);

    /// For how long the agent's clock has stood still, in milliseconds, a pause that goes on included.
    fn paused_ms(&self) -> u64;

    /// Comes back with the reason once the provider is given up; without one it never does.
    async fn given_up(&self) -> String;

    /// The calls that are over and were not taken before.
    fn take(&self) -> Vec<ModelCall>;

    /// Lets nothing through any more.
    fn block(&self);

    /// Hosts that answer for models: the agent is to reach them through this alone.
    fn hosts(&self) -> Vec<String>;
}
