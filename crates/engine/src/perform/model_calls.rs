//! The agent's calls of its model in a session: its gateway is opened with the sandbox's wire, its pauses are no agent time, and
//! what it saw is cut at each capture.

use std::{sync::Arc, time::Duration};

use domain::{
    evidence::{Channel, HostedDecision, ModelCall, NetAttempt, NetOutcome, NetTransport, NetWay},
    fault::Flag,
    ids::Turn,
    release::Policy,
    session::Observation,
};
use tokio::sync::mpsc::unbounded_channel;

use super::Stage;
use crate::{
    ports::{
        gateway::{Gateway, GatewayTerms, HostedPolicy, PORT},
        record::{Blob, RecordError},
        wire::InnerPort,
    },
    stop::{Stop, twice},
};

/// A deadline that a pause moved is looked at again after at least so long.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

impl Stage {
    /// Opens the gateway, if agents of this run have one; the port at which the wire hands it connections.
    pub(super) fn open_gateway(&self) -> Result<Vec<InnerPort>, Stop> {
        let Some(gateways) = &self.ports.gateways else { return Ok(Vec::new()) };
        let (sandbox, record) = (self.sandbox()?.clone(), self.ports.record.clone());
        let sender = self.sender.clone();
        let terms = GatewayTerms {
            hosted: match self.setup.reach {
                Policy::Open => HostedPolicy::Open,
                Policy::Nothing | Policy::Listed(_) => HostedPolicy::Shut,
            },
            clock: Arc::new(move || sandbox.now_ms()),
            keep: Some(Arc::new(move |bytes: &[u8]| {
                record.put(Blob::Bytes(bytes)).map_err(|error| error.to_string())
            })),
            heard: Arc::new(move |call: &ModelCall| {
                // The receiver is gone only after the session's end.
                let _ = sender.send(used(call));
            }),
        };
        let (gateway, access) = gateways.open(terms);
        let (streams, mut arrived) = unbounded_channel();
        let serving = gateway.clone();
        // Ends with the wire, which holds the other end.
        tokio::spawn(async move {
            while let Some(arrival) = arrived.recv().await {
                let arrival: crate::ports::sandbox::ArrivedStream = arrival;
                serving.serve(arrival.stream);
            }
        });
        self.gateway.set((gateway, access)).map_err(|_| twice("gateway"))?;
        Ok(vec![InnerPort { port: PORT, streams }])
    }

    fn gateway(&self) -> Option<&dyn Gateway> {
        self.gateway.get().map(|(gateway, _)| gateway.as_ref())
    }

    /// Calls from now on belong to the turn; how long the clock has stood still until now.
    pub(super) fn begin_calls(&self, turn: Turn) -> u64 {
        let Some(gateway) = self.gateway() else { return 0 };
        gateway.begin(turn);
        gateway.paused_ms()
    }

    /// For how long the agent's clock stood still since it had stood still for so long.
    pub(super) fn paused_since_ms(&self, paused_ms: u64) -> u64 {
        self.gateway().map_or(0, |gateway| gateway.paused_ms().saturating_sub(paused_ms))
    }

    /// Comes back when so much agent time has passed since `began_ms`, pauses of the provider left out.
    pub(super) async fn agent_time(&self, deadline_ms: u64, began_ms: u64, paused_ms: u64) {
        let clock = self.ports.clock.as_ref();
        let mut left = Duration::from_millis(deadline_ms);
        loop {
            clock.sleep(left).await;
            let passed_ms = clock.now_ms().saturating_sub(began_ms);
            let worked_ms = passed_ms.saturating_sub(self.paused_since_ms(paused_ms));
            if worked_ms >= deadline_ms {
                return;
            }
            left = Duration::from_millis(deadline_ms - worked_ms).max(LOOK_AGAIN);
        }
    }

    /// Comes back with the reason once the agent's provider is given up.
    pub(super) async fn provider_given_up(&self) -> String {
        match self.gateway() {
            Some(gateway) => gateway.given_up().await,
            None => std::future::pending().await,
        }
    }

    /// An agent that reached a provider past the gateway had a model that nobody measures, or a key that is not its own.
    pub(super) fn tell_contacts(&self, attempts: &[NetAttempt]) {
        let Some(gateway) = self.gateway() else { return };
        let hosts = gateway.hosts();
        let is_one = |name: &String| {
            let name = name.trim_end_matches('.');
            hosts.iter().any(|host| host.eq_ignore_ascii_case(name))
        };
        let reached = attempts.iter().filter(|attempt| {
            attempt.outcome == NetOutcome::Succeeded
                && attempt.way != NetWay::Resolver
                && (is_one(&attempt.host) || attempt.sni.as_ref().is_some_and(is_one))
        });
        for attempt in reached {
            let host = attempt.sni.as_ref().unwrap_or(&attempt.host);
            self.tell(Observation::Flagged {
                flag: Flag::ForbiddenContact,
                detail: format!(
                    "{host} answers for the agent's model and was reached past the gateway"
                ),
            });
        }
    }

    pub(super) fn block_calls(&self) {
        if let Some(gateway) = self.gateway() {
            gateway.block();
        }
    }

    /// Cuts the calls since the capture before; the hosted tools among them are attempts to reach something.
    pub(super) fn take_calls(&self, turn: Turn) -> Result<Vec<NetAttempt>, RecordError> {
        let calls = self.gateway().map(|gateway| gateway.take()).unwrap_or_default();
        self.cut(Channel::Resources, turn, calls.len(), Blob::Calls(&calls))?;
        Ok(calls.iter().flat_map(hosted_attempts).collect())
    }
}

/// What the machine counts of a call.
fn used(call: &ModelCall) -> Observation {
    Observation::Used { tokens: call.tokens.total(), cost_microusd: call.cost_microusd }
}

fn hosted_attempts(call: &ModelCall) -> impl Iterator<Item = NetAttempt> + '_ {
    call.hosted.iter().map(|tool| {
        let (outcome, rule) = match tool.decision {
            HostedDecision::Stripped => {
                (NetOutcome::Refused, "refused: a hosted tool, taken out of the request")
            }
            HostedDecision::Refused => {
                (NetOutcome::Refused, "refused: a hosted tool, and the request with it")
            }
            HostedDecision::Allowed if call.tokens.hosted_uses == Some(0) => {
                (NetOutcome::Failed, "allowed: a hosted tool, which was not used")
            }
            HostedDecision::Allowed => (NetOutcome::Succeeded, "allowed: a hosted tool"),
        };
        NetAttempt {
            turn: call.turn,
            at_ms: call.at_ms,
            host: tool.name.clone(),
            port: 0,
            outcome,
            transport: NetTransport::Tcp,
            way: NetWay::Hosted,
            sni: None,
            method: None,
            path: None,
            sent_bytes: 0,
            received_bytes: 0,
            rule: rule.to_owned(),
        }
    })
}
