//! The gateway as the engine knows it ([`ModelGateways`]): a token for each session, and connections served beside each other.

use std::{fs::File, io::Read, sync::Arc};

use domain::{evidence::ModelCall, ids::Turn};
use engine::ports::{
    gateway::{self, GatewayTerms, Gateways, ModelAccess, ModelLine, PORT},
    sandbox::Duplex,
};

use super::{Gateway, GatewaySession, SessionTerms};
use crate::models::secret::Secret;

/// Opens the gateways of a run.
pub struct ModelGateways {
    gateway: Arc<Gateway>,
    model: Option<String>,
}

impl ModelGateways {
    /// Sessions share providers, prices and bounds; `model` is the one that is configured, if one is.
    pub fn new(gateway: Gateway, model: Option<String>) -> Self {
        Self { gateway: Arc::new(gateway), model }
    }
}

impl Gateways for ModelGateways {
    fn open(&self, terms: GatewayTerms) -> (Arc<dyn gateway::Gateway>, ModelAccess) {
        let token = new_token();
        let session = self.gateway.open(SessionTerms {
            token: Secret::new(token.as_str()),
            model: self.model.clone(),
            hosted: terms.hosted,
            clock: terms.clock,
            keep: terms.keep,
            heard: terms.heard,
        });
        let address = format!("http://127.0.0.1:{PORT}");
        let gateway: Arc<dyn gateway::Gateway> = Arc::new(Line(session));
        let form = self.gateway.providers.keys().next();
        let line = form.map(|form| ModelLine::new(*form, gateway.clone()));
        (gateway, ModelAccess { address, token, model: self.model.clone(), line })
    }
}

/// Nobody guesses it, and it looks like a key to clients that insist on one.
fn new_token() -> String {
    let mut bytes = [0; 24];
    // Without the kernel's random source a token would be no secret, and no session could go on.
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .expect("the kernel gives random bytes");
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sk-session-{digits}")
}

struct Line(Arc<GatewaySession>);

#[async_trait::async_trait]
impl gateway::Gateway for Line {
    fn begin(&self, turn: Turn) {
        self.0.begin_turn(turn);
    }

    fn serve(&self, stream: Box<dyn Duplex>) {
        let session = self.0.clone();
        tokio::spawn(async move { session.serve(stream).await });
    }

    fn paused_ms(&self) -> u64 {
        u64::try_from(self.0.pauses().total().as_millis()).unwrap_or(u64::MAX)
    }

    async fn given_up(&self) -> String {
        let mut failure = self.0.failure();
        let why = match failure.wait_for(Option::is_some).await {
            Ok(why) => why.clone(),
            Err(_) => None,
        };
        match why {
            Some(why) => why,
            None => std::future::pending().await,
        }
    }

    fn take(&self) -> Vec<ModelCall> {
        self.0.take()
    }

    fn block(&self) {
        self.0.block();
    }

    fn hosts(&self) -> Vec<String> {
        self.0.gateway.providers.values().filter_map(|provider| provider.host()).collect()
    }
}
