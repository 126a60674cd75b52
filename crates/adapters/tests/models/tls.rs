//! A provider behind TLS: it is trusted by the authorities that are named, and what is wrong with its certificate is told at once.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use adapters::{
    models::{
        http::{BaseAddress, HttpProvider},
        patience::Patience,
        provider::Provider,
        scripted::{ModelScript, ScriptedModel},
        secret::Secret,
    },
    wire::gateway::{Bounds, Gateway, HostedPolicy, SessionTerms},
};
use domain::{
    evidence::{CallOutcome, WireFormat},
    fault::Owner,
    usage::PriceTable,
};
use engine::ports::model::{Model as _, ModelFault};
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, body::Bytes, client::conn::http1::handshake};
use hyper_util::rt::TokioIo;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use tokio::net::TcpListener;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
    },
};

use super::{caller, hello};

/// An authority of this test's own making.
fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    let key = KeyPair::generate().expect("a key");
    CertifiedIssuer::self_signed(params, key).expect("an authority")
}

/// A scripted model behind TLS, with a certificate for that name which ends in that year; its port.
async fn served(by: &CertifiedIssuer<'static, KeyPair>, name: &str, until: i32) -> u16 {
    let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(until, 1, 1);
    let key = KeyPair::generate().expect("a key");
    let certificate = params.signed_by(&key, by).expect("a certificate");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .expect("a certificate with its key");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let script = ModelScript::parse("[[on]]\n[[on.answer]]\nsay = \"hi there\"\n");
    let model = Arc::new(ScriptedModel::new(script.expect("a script")));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, model) = (acceptor.clone(), model.clone());
            tokio::spawn(async move {
                // A client that does not trust it goes away.
                if let Ok(stream) = acceptor.accept(stream).await {
                    model.serve(stream).await;
                }
            });
        }
    });
    port
}

fn provider(port: u16, trusted: &CertifiedIssuer<'static, KeyPair>) -> HttpProvider {
    let base = BaseAddress::parse(&format!("https://localhost:{port}/v1")).expect("an address");
    HttpProvider::new(base, None).trusting(&trusted.pem()).expect("an authority")
}

/// The outcome of a request through a gateway, and what the agent is given.
async fn through_a_gateway(provider: Arc<dyn Provider>) -> (CallOutcome, u16) {
    let gateway = Arc::new(Gateway {
        providers: BTreeMap::from([(WireFormat::OpenAiChat, provider)]),
        patience: Patience::default(),
        bounds: Bounds::default(),
        prices: PriceTable::default(),
    });
    let session = gateway.open(SessionTerms {
        token: Secret::new("t"),
        model: Some("m".to_owned()),
        hosted: HostedPolicy::Shut,
        clock: Arc::new(|| 0),
        keep: None,
        heard: Arc::new(|_| {}),
    });
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let serving = session.clone();
    tokio::spawn(async move { serving.serve(theirs).await });
    let (mut sender, connection) =
        handshake::<_, Full<Bytes>>(TokioIo::new(ours)).await.expect("a connection");
    tokio::spawn(connection);
    let body = r#"{"model": "m", "messages": [{"role": "user", "content": "hello"}]}"#;
    let request = Request::post("/v1/chat/completions")
        .header("host", "gateway")
        .header("authorization", "Bearer t")
        .body(Full::from(body))
        .expect("a request");
    let response = sender.send_request(request).await.expect("an answer");
    let status = response.status().as_u16();
    response.collect().await.expect("all of it");
    let calls = session.take();
    (calls[0].outcome, status)
}

#[tokio::test]
async fn a_certificate_is_trusted_or_the_fault_is_told_at_once() {
    let (ours, other) = (authority("an authority"), authority("another one"));
    let check = async |name: &str, until: i32, trusted, expect: Result<(), &str>| {
        let port = served(&ours, name, until).await;
        let began = Instant::now();
        let asked = caller(Arc::new(provider(port, trusted)), WireFormat::OpenAiChat);
        let answered = asked.complete(&hello()).await;
        let measured = through_a_gateway(Arc::new(provider(port, trusted))).await;
        match (expect, answered) {
            (Ok(()), Ok(completion)) => {
                assert_eq!(completion.text, "hi there");
                assert_eq!(measured, (CallOutcome::Answered, 200));
            }
            (Err(part), Err(ModelFault::Provider(why))) => {
                let place = format!("certificate of localhost:{port} is not trusted: ");
                assert!(why.starts_with(&place) && why.contains(part), "{part}: {why}");
                assert_eq!(measured, (CallOutcome::ProviderFailed, 503));
                assert_eq!(measured.0.owner(), Owner::Infra);
                // What asking again cannot mend is not asked again for twenty minutes.
                assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
            }
            (expect, answered) => panic!("{name} {until}: {expect:?} {answered:?}"),
        }
    };
    check("localhost", 2100, &ours, Ok(())).await;
    check("localhost", 2100, &other, Err("UnknownIssuer")).await;
    check("localhost", 2021, &ours, Err("expired")).await;
    check("elsewhere.example", 2100, &ours, Err("not valid for name")).await;
}

#[test]
fn what_is_no_authority_is_refused() {
    let check = |pem: &str, part: &str| {
        let base = BaseAddress::parse("https://localhost/v1").expect("an address");
        let told = HttpProvider::new(base, None).trusting(pem).err().expect("refused").to_string();
        assert!(told.contains(part), "{told}");
    };
    check("", "there is none");
    check("key = 1", "there is none");
    check("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "certificates");
}
