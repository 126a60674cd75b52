//! Agents that speak the Agent Client Protocol, version 1, over their standard streams inside the sandbox
//! ([`AcpAgent`]). The protocol's own crate is known to this module alone.

mod connection;
mod streams;
mod tool_servers;
mod updates;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use domain::{
    evidence::Channel,
    ids::RequestId,
    session::{ClaimSpan, TurnStop},
};
use engine::ports::{
    agent::{Agent, AgentFault, Brief, Conversation, Identity, Observer, ToolServers},
    sandbox::{Ended, Sandbox},
};
use tokio::time::timeout;

use self::connection::Connection;
use super::{
    child::{Child, command},
    placeholders::Fillable,
};

/// Updates that are older than the answer to a prompt arrive within this.
const LATE_UPDATES_MS: u64 = 300;

/// An agent has so long to say who it is and to open a session; slow ones were measured at five seconds.
const HANDSHAKE_MAX: Duration = Duration::from_secs(120);

/// An agent whose standard input was closed has so long to go by itself.
const GOODBYE_MAX: Duration = Duration::from_secs(1);

/// How an agent of this protocol is started and set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcpLaunch {
    /// As it is called in rows.
    pub name: String,
    /// Program and arguments inside the sandbox.
    pub argv: Vec<String>,
    /// Its variables.
    pub env: BTreeMap<String, Fillable>,
    /// The mode of the session that is asked for once it is open, by the agent's own name of it.
    pub mode: Option<String>,
    /// Options of the session by the agent's own names, set once it is open.
    pub options: Vec<(String, String)>,
    /// What its own figures of its use span; the protocol leaves it open.
    pub span: ClaimSpan,
}

/// An agent that speaks the Agent Client Protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcpAgent {
    launch: AcpLaunch,
}

impl AcpAgent {
    /// An agent that is started like this.
    pub fn new(launch: AcpLaunch) -> Self {
        Self { launch }
    }
}

#[async_trait::async_trait]
impl Agent for AcpAgent {
    fn identify(&self) -> Identity {
        Identity {
            name: self.launch.name.clone(),
            channels: [Channel::Transcript, Channel::Order, Channel::Resources].into(),
            late_updates_ms: LATE_UPDATES_MS,
        }
    }

    fn tool_servers(&self) -> ToolServers {
        ToolServers::Handed
    }

    async fn open(
        &self,
        sandbox: Arc<dyn Sandbox>,
        brief: &Brief,
    ) -> Result<Box<dyn Conversation>, AgentFault> {
        let command = command(self.launch.argv.clone(), &self.launch.env, brief)?;
        let (child, stdin, stdout) = Child::start(sandbox, &command).await?;
        let connection = Connection::begin(stdin, stdout);
        let opened = timeout(HANDSHAKE_MAX, connection.open(brief, &self.launch)).await;
        let why = match opened {
            Ok(Ok(name)) => return Ok(Box::new(AcpConversation { child, connection, name })),
            Ok(Err(error)) => error,
            Err(_) => format!("no answer within {} s", HANDSHAKE_MAX.as_secs()),
        };
        let why = child.explain(&self.launch.argv, &why).await;
        connection.end();
        child.end(Duration::ZERO).await?;
        Err(AgentFault::NotOpened(why))
    }
}

struct AcpConversation {
    child: Child,
    connection: Connection,
    name: Option<String>,
}

#[async_trait::async_trait]
impl Conversation for AcpConversation {
    fn told_name(&self) -> Option<String> {
        self.name.clone()
    }

    async fn prompt(&self, message: &str, observer: &Observer) -> Result<TurnStop, AgentFault> {
        tokio::select! {
            biased;
            stop = self.connection.prompt(message, observer) => match stop {
                Ok(stop) => Ok(stop),
                Err(why) => self.broke(&why, observer).await,
            },
            ended = self.child.ended() => self.gone(ended, observer).await,
        }
    }

    async fn answer_permission(&self, request: RequestId, allow: bool) -> Result<(), AgentFault> {
        self.connection.answer_permission(request, allow).map_err(AgentFault::Channel)
    }

    async fn interrupt(&self) -> Result<(), AgentFault> {
        self.connection.cancel();
        Ok(())
    }

    async fn close(&self) -> Result<(), AgentFault> {
        self.connection.end();
        self.child.end(GOODBYE_MAX).await
    }
}

impl AcpConversation {
    /// The agent answered the prompt with an error, or its stream broke: if its process is gone, that tells more.
    async fn broke(&self, why: &str, observer: &Observer) -> Result<TurnStop, AgentFault> {
        if let Ok(ended) = timeout(GOODBYE_MAX, self.child.ended()).await {
            return self.gone(ended, observer).await;
        }
        observer.noted(format!("the agent answered with an error: {why}"));
        Ok(TurnStop::Crashed)
    }

    async fn gone(
        &self,
        ended: Result<Ended, AgentFault>,
        observer: &Observer,
    ) -> Result<TurnStop, AgentFault> {
        let ended = ended?;
        self.connection.flush();
        observer.noted(self.child.told(ended).await);
        Ok(match ended {
            Ended::OutOfMemory => TurnStop::LimitBreached,
            _ => TurnStop::Crashed,
        })
    }
}
