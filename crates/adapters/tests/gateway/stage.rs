//! A client, a gateway and a scripted provider in one process, without any socket, so that time can be virtual ([`Stage`]).

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use adapters::{
    models::{
        exchange::Exchange,
        patience::Patience,
        provider::{Provider, ProviderReply, ProviderRequest, SendFault},
        scripted::{ModelScript, ScriptedModel},
        secret::Secret,
    },
    wire::gateway::{Bounds, Gateway, GatewaySession, HostedPolicy, SessionTerms},
};
use domain::{
    evidence::{ModelCall, WireFormat},
    ids::{Hash, Turn},
    usage::{Price, PriceTable},
};
use http_body_util::{BodyExt, Full};
use hyper::{Request, body::Bytes, client::conn::http1::handshake};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

pub(crate) const TOKEN: &str = "session-token";

/// What a client got.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) text: String,
    /// The connection broke before the answer was whole.
    pub(crate) is_broken: bool,
}

/// Hears what reaches the provider.
pub(crate) struct Overheard {
    model: ScriptedModel,
    pub(crate) requests: Mutex<Vec<ProviderRequest>>,
}

#[async_trait::async_trait]
impl Provider for Overheard {
    async fn send(&self, request: &ProviderRequest) -> Result<ProviderReply, SendFault> {
        self.requests.lock().expect("no holder panics").push(request.clone());
        self.model.send(request).await
    }
}

pub(crate) struct Stage {
    pub(crate) session: Arc<GatewaySession>,
    pub(crate) provider: Arc<Overheard>,
    pub(crate) heard: Mutex<UnboundedReceiver<ModelCall>>,
    pub(crate) kept: Arc<Mutex<Vec<Exchange>>>,
}

impl Stage {
    pub(crate) fn new(script: &str) -> Self {
        Self::with(script, HostedPolicy::Shut, Bounds::default())
    }

    pub(crate) fn with(script: &str, hosted: HostedPolicy, bounds: Bounds) -> Self {
        Self::speaking(&WireFormat::ALL, script, hosted, bounds)
    }

    /// One whose provider speaks these forms alone.
    pub(crate) fn speaking(
        forms: &[WireFormat],
        script: &str,
        hosted: HostedPolicy,
        bounds: Bounds,
    ) -> Self {
        let script = ModelScript::parse(script).expect("a script");
        let provider =
            Arc::new(Overheard { model: ScriptedModel::new(script), requests: Mutex::default() });
        let providers: BTreeMap<WireFormat, Arc<dyn Provider>> =
            forms.iter().map(|format| (*format, provider.clone() as Arc<dyn Provider>)).collect();
        let prices = vec![Price {
            model: "priced*".to_owned(),
            input: 2_000_000,
            cached_input: Some(1_000_000),
            cache_write: Some(4_000_000),
            output: 10_000_000,
        }];
        let prices = PriceTable { prices };
        let gateway =
            Arc::new(Gateway { providers, patience: Patience::default(), bounds, prices });
        let (tell, heard) = unbounded_channel();
        let kept: Arc<Mutex<Vec<Exchange>>> = Arc::default();
        let keeping = kept.clone();
        let terms = SessionTerms {
            token: Secret::new(TOKEN),
            model: Some("priced-1".to_owned()),
            hosted,
            clock: Arc::new(|| 7),
            keep: Some(Arc::new(move |bytes: &[u8]| {
                let exchange = Exchange::read(bytes).map_err(|error| error.to_string())?;
                let hash = exchange.request_hash();
                keeping.lock().expect("no holder panics").push(exchange);
                Ok(Hash::new(hash.as_str()))
            })),
            heard: Arc::new(move |call: &ModelCall| {
                let _ = tell.send(call.clone());
            }),
        };
        let session = gateway.open(terms);
        session.begin_turn(Turn(1));
        Self { session, provider, heard: Mutex::new(heard), kept }
    }

    /// Sends a request with the session's token.
    pub(crate) async fn ask(&self, path: &str, body: Value) -> Got {
        self.send(request(path, body.to_string().into())).await
    }

    /// Sends any request; all of its answer is read.
    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> Got {
        Client { session: self.session.clone() }.send(request).await
    }

    /// The one call since the last look; what is heard of it at once is the same.
    pub(crate) async fn call(&self) -> ModelCall {
        // The gateway may learn of an end a moment after the client.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        let mut calls = self.session.take();
        assert_eq!(calls.len(), 1, "{calls:?}");
        let heard = self.heard.lock().expect("no holder panics").try_recv().expect("heard");
        let call = calls.remove(0);
        assert_eq!(heard.outcome, call.outcome);
        call
    }

    /// The body that reached the provider last.
    pub(crate) fn sent(&self) -> Value {
        let requests = self.provider.requests.lock().expect("no holder panics");
        let last = requests.last().expect("a request reached the provider");
        serde_json::from_slice(&last.body).expect("JSON")
    }

    pub(crate) fn sent_count(&self) -> usize {
        self.provider.requests.lock().expect("no holder panics").len()
    }
}

/// A client of a session's gateway.
pub(crate) struct Client {
    pub(crate) session: Arc<GatewaySession>,
}

impl Client {
    /// Sends a request with the session's token.
    pub(crate) async fn ask(&self, path: &str, body: Value) -> Got {
        self.send(request(path, body.to_string().into())).await
    }

    /// Sends any request; all of its answer is read.
    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> Got {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let session = self.session.clone();
        tokio::spawn(async move { session.serve(theirs).await });
        let (mut sender, connection) = handshake(TokioIo::new(ours)).await.expect("a connection");
        tokio::spawn(connection);
        let response = match sender.send_request(request).await {
            Ok(response) => response,
            Err(_) => return Got { status: 0, text: String::new(), is_broken: true },
        };
        let status = response.status().as_u16();
        let mut body = response.into_body();
        let (mut text, mut is_broken) = (Vec::new(), false);
        while let Some(frame) = body.frame().await {
            match frame {
                Ok(frame) => text.extend(frame.into_data().unwrap_or_default()),
                Err(_) => {
                    is_broken = true;
                    break;
                }
            }
        }
        Got { status, text: String::from_utf8_lossy(&text).into_owned(), is_broken }
    }
}

pub(crate) fn request(path: &str, body: Bytes) -> Request<Full<Bytes>> {
    Request::builder()
        .method("POST")
        .uri(path)
        .header("host", "gateway")
        .header("authorization", format!("Bearer {TOKEN}"))
        .body(Full::new(body))
        .expect("a request")
}

/// A path and a body of each form that say `text` to the model `priced-1`.
pub(crate) fn says(format: WireFormat, text: &str, is_stream: bool) -> (String, Value) {
    match format {
        WireFormat::OpenAiChat => (
            "/v1/chat/completions".to_owned(),
            json!({"model": "priced-1", "stream": is_stream,
                "stream_options": {"include_usage": true},
                "messages": [{"role": "user", "content": text}]}),
        ),
        WireFormat::OpenAiResponses => (
            "/v1/responses".to_owned(),
            json!({"model": "priced-1", "stream": is_stream, "input": text}),
        ),
        WireFormat::AnthropicMessages => (
            "/v1/messages".to_owned(),
            json!({"model": "priced-1", "stream": is_stream, "max_tokens": 100,
                "messages": [{"role": "user", "content": text}]}),
        ),
        WireFormat::Gemini => {
            let verb = if is_stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
            (
                format!("/v1beta/models/priced-1:{verb}"),
                json!({"contents": [{"role": "user", "parts": [{"text": text}]}]}),
            )
        }
    }
}

/// Each form, streamed and not.
pub(crate) fn every_way() -> impl Iterator<Item = (WireFormat, bool)> {
    WireFormat::ALL.into_iter().flat_map(|format| [(format, false), (format, true)])
}

pub(crate) const SECOND: Duration = Duration::from_secs(1);
