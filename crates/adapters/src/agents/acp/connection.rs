//! One connection to an agent ([`Connection`]): handshake, prompts, permission requests, cancelling.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use agent_client_protocol::{
    Agent, Client, Lines, on_receive_notification, on_receive_request,
    schema::ProtocolVersion,
    v1::{
        ConnectionTo, Responder,
        schema::{
            CancelNotification, ContentBlock, Implementation, InitializeRequest, NewSessionRequest,
            PermissionOption, PermissionOptionKind, PromptRequest, PromptResponse,
            RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
            SelectedPermissionOutcome, SessionConfigId, SessionConfigOptionValue,
            SessionConfigValueId, SessionId, SessionModeId, SessionNotification,
            SetSessionConfigOptionRequest, SetSessionModeRequest, StopReason, TextContent,
        },
    },
};
use domain::{
    ids::RequestId,
    session::{ClaimSpan, TurnStop},
};
use engine::ports::agent::{Brief, Observer};
use tokio::sync::watch;

use super::{
    AcpLaunch,
    streams::{Deliveries, Outgoing, lines},
    tool_servers,
    updates::{Updates, claim},
};
use crate::agents::{
    child::{Stdin, Stdout},
    intake::shortened,
};

/// A permission request that waits for its answer.
struct Waiting {
    responder: Responder<RequestPermissionResponse>,
    options: Vec<PermissionOption>,
}

/// What the crate's callbacks and the conversation share.
#[derive(Default)]
struct Shared {
    updates: Arc<Mutex<Updates>>,
    waiting: Mutex<BTreeMap<RequestId, Waiting>>,
    /// Requests that were answered already because their turn was stopped.
    cancelled: Mutex<BTreeSet<RequestId>>,
    requests: Mutex<u32>,
}

/// A connection to an agent, served by a task of its own until it ends.
pub(super) struct Connection {
    shared: Arc<Shared>,
    deliveries: Deliveries,
    /// The crate's handle, once the task has it; an error if the connection broke before.
    handle: watch::Receiver<Option<ConnectionTo<Agent>>>,
    stop: watch::Sender<bool>,
    session: Mutex<Option<SessionId>>,
    was_cancelled: Mutex<bool>,
    /// What the agent's own figures span.
    span: Mutex<ClaimSpan>,
}

impl Connection {
    /// Begins to serve the agent's streams.
    pub(super) fn begin(stdin: Stdin, stdout: Stdout) -> Self {
        let shared = Arc::new(Shared::default());
        let deliveries = Deliveries::default();
        let (tell, handle) = watch::channel(None);
        let (stop, mut stopped) = watch::channel(false);
        let (of_updates, of_requests) = (shared.clone(), shared.clone());
        let transport = Lines::new(Outgoing::new(stdin, deliveries.clone()), lines(stdout));
        let served = Client
            .v1()
            .name("personacodebench")
            .on_receive_notification(
                async move |notification: SessionNotification, _| {
                    Updates::take(&of_updates.updates, notification.update);
                    Ok(())
                },
                on_receive_notification!(),
            )
            .on_receive_request(
                async move |request: RequestPermissionRequest, responder, _| {
                    of_requests.asked(request, responder)
                },
                on_receive_request!(),
            )
            .connect_with(transport, async move |connection: ConnectionTo<Agent>| {
                let _ = tell.send(Some(connection));
                let _ = stopped.wait_for(|stop| *stop).await;
                Ok(())
            });
        // How it ended is seen by whoever waits for an answer; after the last one nobody does.
        tokio::spawn(async move {
            let _ = served.await;
        });
        Self {
            shared,
            deliveries,
            handle,
            stop,
            session: Mutex::default(),
            was_cancelled: Mutex::default(),
            span: Mutex::new(ClaimSpan::Unknown),
        }
    }

    /// Shakes hands and opens a session with the settings of the launch; answers name and version if told.
    pub(super) async fn open(
        &self,
        brief: &Brief,
        launch: &AcpLaunch,
    ) -> Result<Option<String>, String> {
        let connection = self.connection().await?;
        let us = Implementation::new("personacodebench", env!("CARGO_PKG_VERSION"));
        // Neither files nor terminals nor questions are offered: an agent works in its sandbox with its own
        // tools, and asks by ending its turn.
        let hello = InitializeRequest::new(ProtocolVersion::V1).client_info(us);
        // An agent of another version of the protocol is refused by the crate.
        let agent = connection.send_request(hello).block_task().await.map_err(told)?;
        let taken = &agent.agent_capabilities.mcp_capabilities;
        let servers = tool_servers::handed(&brief.tool_servers, taken)?;
        let opening = NewSessionRequest::new(brief.workdir.as_str()).mcp_servers(servers);
        let session = connection.send_request(opening).block_task().await.map_err(told)?;
        let id = session.session_id;
        if let Some(mode) = &launch.mode {
            let mode = SetSessionModeRequest::new(id.clone(), SessionModeId::new(mode.as_str()));
            connection.send_request(mode).block_task().await.map_err(told)?;
        }
        for (option, value) in &launch.options {
            let set = SetSessionConfigOptionRequest::new(
                id.clone(),
                SessionConfigId::new(option.as_str()),
                SessionConfigOptionValue::value_id(SessionConfigValueId::new(value.as_str())),
            );
            connection.send_request(set).block_task().await.map_err(told)?;
        }
        *self.session.lock().expect("no holder panics") = Some(id);
        *self.span.lock().expect("no holder panics") = launch.span;
        Ok(agent.agent_info.map(|info| format!("{} {}", info.name, info.version)))
    }

    /// Delivers a message and waits for the end of the turn; an error is the agent's, in words.
    pub(super) async fn prompt(
        &self,
        message: &str,
        observer: &Observer,
    ) -> Result<TurnStop, String> {
        let connection = self.connection().await?;
        let session = self.session()?;
        self.shared.updates.lock().expect("no holder panics").begin(observer.clone());
        *self.was_cancelled.lock().expect("no holder panics") = false;
        let prompt = vec![ContentBlock::Text(TextContent::new(message))];
        let answer = connection.send_request(PromptRequest::new(session, prompt)).block_task();
        tokio::pin!(answer);
        tokio::select! {
            biased;
            () = self.deliveries.next() => observer.delivered(),
            // An answer before the message was flushed is none to it.
            early = &mut answer => return match early {
                Ok(_) => Err("it answered before the message was written".to_owned()),
                Err(error) => Err(told(error)),
            },
        }
        let answer = answer.await;
        self.shared.updates.lock().expect("no holder panics").settle();
        let answer = answer.map_err(told)?;
        if let Some(usage) = &answer.usage {
            let span = *self.span.lock().expect("no holder panics");
            observer.claims(claim(usage, span));
        }
        Ok(self.stop_of(&answer))
    }

    /// Answers a permission request; an error if there never was one of that number. An agent that was stopped in the
    /// meantime has its answer already, and one that is gone needs none: its turn tells so.
    pub(super) fn answer_permission(&self, request: RequestId, allow: bool) -> Result<(), String> {
        if self.shared.cancelled.lock().expect("no holder panics").remove(&request) {
            return Ok(());
        }
        let waiting = self.shared.waiting.lock().expect("no holder panics").remove(&request);
        let waiting = waiting.ok_or_else(|| format!("request {request} waits for no answer"))?;
        let kinds = match allow {
            // What lasts longer than this once is not given: the controller granted one act.
            true => &[PermissionOptionKind::AllowOnce][..],
            false => &[PermissionOptionKind::RejectOnce, PermissionOptionKind::RejectAlways],
        };
        let chosen = kinds.iter().find_map(|kind| {
            waiting.options.iter().find(|option| option.kind == *kind).map(|o| o.option_id.clone())
        });
        let outcome = match chosen {
            Some(option) => {
                RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option))
            }
            None => RequestPermissionOutcome::Cancelled,
        };
        let _ = waiting.responder.respond(RequestPermissionResponse::new(outcome));
        Ok(())
    }

    /// Asks the agent to stop the running turn; what it asked for is answered as the protocol wants it.
    pub(super) fn cancel(&self) {
        *self.was_cancelled.lock().expect("no holder panics") = true;
        let waiting = std::mem::take(&mut *self.shared.waiting.lock().expect("no holder panics"));
        for (request, waiting) in waiting {
            self.shared.cancelled.lock().expect("no holder panics").insert(request);
            let cancelled = RequestPermissionResponse::new(RequestPermissionOutcome::Cancelled);
            let _ = waiting.responder.respond(cancelled);
        }
        if let (Some(connection), Ok(session)) = (&*self.handle.borrow(), self.session()) {
            // A connection that is gone has no turn to stop.
            let _ = connection.send_notification(CancelNotification::new(session));
        }
    }

    /// Tells what was said so far, as far as it is held back.
    pub(super) fn flush(&self) {
        self.shared.updates.lock().expect("no holder panics").flush();
    }

    /// Stops serving: the agent's standard input is closed.
    pub(super) fn end(&self) {
        let _ = self.stop.send(true);
    }

    async fn connection(&self) -> Result<ConnectionTo<Agent>, String> {
        let mut handle = self.handle.clone();
        let handle = handle.wait_for(Option::is_some).await;
        let handle = handle.ok().and_then(|handle| handle.clone());
        handle.ok_or_else(|| "its stream broke".to_owned())
    }

    fn session(&self) -> Result<SessionId, String> {
        let session = self.session.lock().expect("no holder panics").clone();
        session.ok_or_else(|| "no session is open".to_owned())
    }

    fn stop_of(&self, answer: &PromptResponse) -> TurnStop {
        let was_cancelled = *self.was_cancelled.lock().expect("no holder panics");
        match answer.stop_reason {
            StopReason::Refusal => TurnStop::Refused,
            StopReason::Cancelled if was_cancelled => TurnStop::Interrupted,
            // Some end a turn as cancelled after a permission was refused: they returned control.
            _ => TurnStop::Finished,
        }
    }
}

impl Shared {
    fn asked(
        &self,
        request: RequestPermissionRequest,
        responder: Responder<RequestPermissionResponse>,
    ) -> Result<(), agent_client_protocol::Error> {
        let id = {
            let mut requests = self.requests.lock().expect("no holder panics");
            *requests += 1;
            RequestId(*requests)
        };
        let waiting = Waiting { responder, options: request.options };
        self.waiting.lock().expect("no holder panics").insert(id, waiting);
        let mut updates = self.updates.lock().expect("no holder panics");
        if updates.asks(id, request.tool_call) {
            return Ok(());
        }
        drop(updates);
        // Between turns nobody is there to be asked.
        let stray = self.waiting.lock().expect("no holder panics").remove(&id);
        let cancelled = RequestPermissionResponse::new(RequestPermissionOutcome::Cancelled);
        stray.map_or(Ok(()), |stray| stray.responder.respond(cancelled))
    }
}

/// An error as it is told: an agent may put as much into one as into a message.
fn told(error: agent_client_protocol::Error) -> String {
    let data = error.data.as_ref().map_or(String::new(), |data| format!(" ({data})"));
    shortened(&format!("{}{data}", error.message))
}
