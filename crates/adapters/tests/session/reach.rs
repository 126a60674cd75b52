//! What an agent may reach changes when it is told, and who answers for its model is reached through the gateway alone.

use std::{
    collections::BTreeMap,
    io::{Read as _, Write as _},
    net::{IpAddr, TcpListener},
    sync::Arc,
};

use adapters::{
    agents::ScriptedAgent,
    models::{
        patience::Patience,
        provider::{Provider, ProviderReply, ProviderRequest, SendFault},
    },
    wire::gateway::{Bounds, Gateway, ModelGateways},
};
use domain::{
    evidence::{Channel, WireFormat},
    fault::Flag,
    plan::Arm,
    release::{
        ActionClass, AllowedHost, Destination, PermissionAnswer, PermissionEntry, Policy, Script,
        ScriptBlock, ScriptStep, ScriptWhen,
    },
    session::{Event, Observation},
    usage::PriceTable,
};

use crate::{
    fixture::{Ended, Staged},
    local::run,
};

/// A server of this host, outside every sandbox.
struct Outside {
    host: IpAddr,
    port: u16,
}

impl Outside {
    fn new() -> Self {
        let listener = TcpListener::bind("0.0.0.0:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi");
            }
        });
        let addresses = nix::ifaddrs::getifaddrs()
            .expect("interfaces")
            .filter_map(|interface| Some(IpAddr::V4(interface.address?.as_sockaddr_in()?.ip())));
        let host = addresses.into_iter().find(|address| !address.is_loopback());
        Self { host: host.expect("an address beside the loopback's"), port }
    }

    fn policy(&self) -> Policy {
        let host = AllowedHost::parse(&self.host.to_string()).expect("an address");
        Policy::Listed(vec![Destination { host, ports: vec![self.port] }])
    }

    /// An agent that asks it in each of its turns.
    fn asked_each_turn(&self) -> ScriptedAgent {
        let ask = format!("curl -s -m 5 --noproxy '*' http://{}:{}/ || true", self.host, self.port);
        let block = |when| ScriptBlock {
            when,
            steps: vec![
                ScriptStep::Run(ask.clone()),
                ScriptStep::Say("The work is done.".to_owned()),
            ],
        };
        let blocks = vec![block(ScriptWhen::Opening), block(ScriptWhen::Otherwise)];
        ScriptedAgent::of_script("asking", Script { blocks })
    }
}

/// The session whose agent asks in each turn what the policy lists.
fn asking(outside: &Outside) -> Staged {
    let mut staged = Staged::of("tiny", "caretaker--greet", Arm::Progressive);
    staged.scenario.channels.insert(Channel::Network);
    staged.reach = outside.policy();
    staged.agent = outside.asked_each_turn();
    staged
}

/// What came of the attempts of each turn.
fn outcomes(ended: &Ended) -> Vec<(u32, &'static str)> {
    let cuts = ended.entries.iter().filter_map(|entry| match &entry.event {
        Event::Observed(Observation::Cut { channel: Channel::Network, turn, blob, .. }) => {
            Some((turn.0, &ended.blobs[blob]))
        }
        _ => None,
    });
    let outcome = |told: &String| match (told.contains("Succeeded"), told.contains("Refused")) {
        (true, false) => "succeeded",
        (false, true) => "refused",
        _ => "something else",
    };
    cuts.map(|(turn, told)| (turn, outcome(told))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_of_the_network_holds_from_its_delivery_on() {
    let outside = Outside::new();
    let check = async |class, answer, expect: &[(u32, &'static str)]| {
        let mut staged = asking(&outside);
        staged.scenario.requirements[0].class = Some(class);
        staged.scenario.permissions.entries = vec![PermissionEntry {
            class: ActionClass::Network,
            asked_by: Vec::new(),
            answer,
            scope: Vec::new(),
        }];
        let Some(ended) = run(staged).await else { return };
        let found = outcomes(&ended);
        assert_eq!(found.get(..2), Some(expect), "{class:?} {answer:?}: {}", ended.story());
    };
    // The requirement is told by the second message.
    let (open, shut) = ([(1, "succeeded"), (2, "succeeded")], [(1, "succeeded"), (2, "refused")]);
    check(ActionClass::Network, PermissionAnswer::Refused, &shut).await;
    check(ActionClass::Network, PermissionAnswer::Allowed, &open).await;
    check(ActionClass::Install, PermissionAnswer::Refused, &open).await;
}

/// A provider on a host of the world, which nobody asks here.
struct At(String);

#[async_trait::async_trait]
impl Provider for At {
    async fn send(&self, _: &ProviderRequest) -> Result<ProviderReply, SendFault> {
        Err(SendFault::Unreachable("nobody asks it".to_owned()))
    }

    fn host(&self) -> Option<String> {
        Some(self.0.clone())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_is_reached_past_the_gateway_is_a_forbidden_contact() {
    let outside = Outside::new();
    let check = async |provider: String, reach: Policy, expect: bool| {
        let mut staged = asking(&outside);
        staged.reach = reach;
        let at: Arc<dyn Provider> = Arc::new(At(provider.clone()));
        let gateway = Gateway {
            providers: BTreeMap::from([(WireFormat::OpenAiChat, at)]),
            patience: Patience::default(),
            bounds: Bounds::default(),
            prices: PriceTable::default(),
        };
        let gateways = ModelGateways::new(gateway, Some("m".to_owned()));
        staged.with_model = Some((Arc::new(outside.asked_each_turn()), Arc::new(gateways)));
        let Some(ended) = run(staged).await else { return };
        let flags: Vec<&(Flag, String)> = ended.session.flags().iter().collect();
        let found = flags.iter().filter(|(flag, _)| *flag == Flag::ForbiddenContact).count();
        assert_eq!(found, usize::from(expect), "{provider}: {flags:?} {}", ended.story());
    };
    let host = outside.host.to_string();
    check(host.clone(), outside.policy(), true).await;
    // To try is no contact, and another host is none that answers for the model.
    check(host, Policy::Nothing, false).await;
    check("api.example.com".to_owned(), outside.policy(), false).await;
}
