//! The reverse proxy between an agent and the providers of models ([`Gateway`], [`GatewaySession`]): it adds the key, asks
//! again where a provider fails for a while, keeps hosted tools shut, and tells what each request was and took.
//!
//! Contract. [`GatewaySession::serve`] speaks plain HTTP/1.1 over any byte stream. Answers pass piece by piece as they come.
//! Each request to a model becomes exactly one [`ModelCall`], however it ends, in the channel given and in
//! [`GatewaySession::take`]. While a provider is asked again, [`GatewaySession::pauses`] stands still. After
//! [`GatewaySession::block`] nothing is passed on any more, in either direction.

mod arrival;
mod ask;
mod bounds;
mod call;
mod pause;
mod port;
mod relay;
mod spool;

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use domain::{
    evidence::{ModelCall, Purpose, WireFormat},
    ids::Turn,
    usage::PriceTable,
};
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{Semaphore, watch},
    time::Instant,
};

pub use bounds::Bounds;
pub use engine::ports::gateway::{EventClock, Heard, HostedPolicy, Keep};
pub use pause::{Pause, Paused, Pauses};
pub use port::ModelGateways;

use self::call::Finished;
use crate::models::{patience::Patience, provider::Provider, secret::Secret};

/// What sessions share: providers, patience, bounds and prices.
pub struct Gateway {
    /// Who answers requests of a form.
    pub providers: BTreeMap<WireFormat, Arc<dyn Provider>>,
    /// How patient it is.
    pub patience: Patience,
    /// How large things may be.
    pub bounds: Bounds,
    /// What models cost.
    pub prices: PriceTable,
}

/// What one session brings along.
#[derive(Clone)]
pub struct SessionTerms {
    /// What the agent shows instead of a key.
    pub token: Secret,
    /// The configured model, if one is configured.
    pub model: Option<String>,
    /// Whether hosted tools may run.
    pub hosted: HostedPolicy,
    /// The clock of the session's events.
    pub clock: EventClock,
    /// Where exchanges are kept; none records nothing.
    pub keep: Option<Keep>,
    /// Who hears of each call as soon as it is over.
    pub heard: Heard,
}

/// The gateway of one session.
pub struct GatewaySession {
    gateway: Arc<Gateway>,
    terms: SessionTerms,
    turn: AtomicU32,
    blocked: watch::Sender<bool>,
    pauses: Arc<Pauses>,
    failure: watch::Sender<Option<String>>,
    /// Since when the providers have failed without an answer between.
    outage: Mutex<Option<Instant>>,
    /// Answers that later requests may name.
    answers: Mutex<BTreeSet<String>>,
    finished: Mutex<Vec<Finished>>,
    offers_tools: AtomicBool,
    connections: Semaphore,
}

impl fmt::Debug for GatewaySession {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("GatewaySession").finish_non_exhaustive()
    }
}

impl Gateway {
    /// The gateway of a session.
    pub fn open(self: &Arc<Self>, terms: SessionTerms) -> Arc<GatewaySession> {
        let (blocked, _) = watch::channel(false);
        Arc::new(GatewaySession {
            gateway: self.clone(),
            terms,
            turn: AtomicU32::new(0),
            blocked,
            pauses: Arc::default(),
            failure: watch::channel(None).0,
            outage: Mutex::default(),
            answers: Mutex::default(),
            finished: Mutex::default(),
            offers_tools: AtomicBool::new(false),
            connections: Semaphore::new(self.bounds.connections_max),
        })
    }
}

impl GatewaySession {
    /// Serves one connection until either side ends it.
    pub async fn serve<S>(self: &Arc<Self>, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        // Each connection holds a descriptor of the harness, which all sessions share.
        let Ok(_held) = self.connections.try_acquire() else { return };
        let session = self.clone();
        let service = service_fn(move |request| {
            let session = session.clone();
            async move { Ok::<_, Infallible>(session.answer(request).await) }
        });
        // How a connection ends is told by the calls on it.
        let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
    }

    /// Requests from now on belong to this turn.
    pub fn begin_turn(&self, turn: Turn) {
        self.turn.store(turn.0, Ordering::Relaxed);
    }

    /// Lets nothing through any more; answers that are under way are cut.
    pub fn block(&self) {
        self.blocked.send_replace(true);
    }

    /// For how long providers kept the agent waiting by failing.
    pub fn pauses(&self) -> &Arc<Pauses> {
        &self.pauses
    }

    /// Why the provider was given up: beyond the policy, or because it does not take what is configured. None as long
    /// as it was not. The session cannot go on after that, and the agent is not why.
    pub fn failure(&self) -> watch::Receiver<Option<String>> {
        self.failure.subscribe()
    }

    /// The calls that are over and were not taken before. What they were for is told by all that the session has
    /// seen, so that a title that is asked for before the work begins is told apart too.
    pub fn take(&self) -> Vec<ModelCall> {
        let finished = std::mem::take(&mut *self.finished.lock().expect("no holder panics"));
        let work_has_tools = self.offers_tools.load(Ordering::Relaxed);
        finished
            .into_iter()
            .map(|Finished { mut call, is_bare }| {
                // An agent whose work is done with tools does none of it without any.
                if work_has_tools && is_bare {
                    call.purpose = Purpose::Side;
                }
                call
            })
            .collect()
    }

    fn failed_for_good(&self, why: String) {
        self.failure.send_if_modified(|failure| {
            let is_first = failure.is_none();
            failure.get_or_insert(why);
            is_first
        });
    }

    fn is_blocked(&self) -> bool {
        *self.blocked.borrow()
    }
}

/// Resolves when the wire is blocked.
async fn until_blocked(mut blocked: watch::Receiver<bool>) {
    if blocked.wait_for(|is_blocked| *is_blocked).await.is_err() {
        std::future::pending::<()>().await;
    }
}
