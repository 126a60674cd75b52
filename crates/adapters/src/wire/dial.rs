//! Connections from the host's own network: [`dial`] looks a name up and looks at what it finds before it connects.

use std::{net::IpAddr, time::Duration};

use domain::release::{Policy, Ruling};
use tokio::{
    net::{TcpStream, lookup_host},
    time::timeout,
};

const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Undialled {
    /// The addresses of the host may not be reached.
    Refused(String),
    /// The world did not answer.
    Failed(String),
}

/// Connects to a host that the policy allows. What is the host's own is reached only by an address that is listed.
pub(super) async fn dial(policy: &Policy, host: &str, port: u16) -> Result<TcpStream, Undialled> {
    let failed = |why: String| Undialled::Failed(why);
    let found: Vec<IpAddr> = match host.parse::<IpAddr>() {
        Ok(address) => vec![address],
        Err(_) => match timeout(LOOKUP_TIMEOUT, lookup_host((host, port))).await {
            Ok(Ok(found)) => found.map(|address| address.ip()).collect(),
            Ok(Err(error)) => return Err(failed(format!("no address: {error}"))),
            Err(_) => return Err(failed("no address in time".to_owned())),
        },
    };
    let own = own_addresses();
    let is_allowed = |address: &&IpAddr| {
        let address = address.to_canonical();
        let is_listed = || matches!(policy.ruling(&address.to_string(), port), Ruling::Listed(_));
        !(is_inner(address) || own.contains(&address)) || is_listed()
    };
    let allowed: Vec<&IpAddr> = found.iter().filter(is_allowed).collect();
    if allowed.is_empty() && !found.is_empty() {
        let addresses: Vec<String> = found.iter().map(IpAddr::to_string).collect();
        return Err(Undialled::Refused(format!(
            "refused: {} belongs to the host and is not listed itself",
            addresses.join(", ")
        )));
    }
    let mut why = "no address".to_owned();
    for address in allowed {
        match timeout(CONNECT_TIMEOUT, TcpStream::connect((*address, port))).await {
            Ok(Ok(stream)) => {
                // A connection that is gone already shows at the first use.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => why = error.to_string(),
            Err(_) => why = "no answer in time".to_owned(),
        }
    }
    Err(failed(why))
}

/// Whether an address means the host itself, its link, or a service that clouds give to their machines alone.
fn is_inner(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            let metadata = [[100, 100, 100, 200], [168, 63, 129, 16], [192, 0, 0, 192]];
            v4.is_loopback()
                || v4.is_unspecified()
                || v4.octets()[0] == 0
                || v4.is_link_local()
                || v4.is_multicast()
                || v4.is_broadcast()
                || metadata.contains(&v4.octets())
        }
        IpAddr::V6(v6) => {
            let [first, second, .., seventh, eighth] = v6.segments();
            // An IPv4 address behind a translator, or in the last half of an old form.
            let embedded = || {
                let [a, b] = seventh.to_be_bytes();
                let [c, d] = eighth.to_be_bytes();
                is_inner(IpAddr::from([a, b, c, d]))
            };
            v6.is_loopback()
                || v6.is_unspecified()
                || v6.is_unicast_link_local()
                || v6.is_multicast()
                || v6.segments() == [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254]
                || (first, second) == (0x64, 0xff9b) && embedded()
                || v6.segments()[..6] == [0; 6] && embedded()
        }
    }
}

/// Addresses of the host's interfaces.
fn own_addresses() -> Vec<IpAddr> {
    let interfaces = nix::ifaddrs::getifaddrs().into_iter().flatten();
    let addresses = interfaces.filter_map(|interface| {
        let address = interface.address?;
        let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
        v4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
    });
    addresses.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hosts_own_is_told_from_the_world() {
        let check = |text: &str, expect: bool| {
            assert_eq!(is_inner(text.parse().expect("an address")), expect, "{text}");
        };
        for inner in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "0.1.2.3",
            "169.254.169.254",
            "100.100.100.200",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::169.254.169.254",
            "fe80::1",
            "ff02::1",
            "fd00:ec2::254",
        ] {
            check(inner, true);
        }
        for outer in ["8.8.8.8", "10.0.0.1", "192.168.1.1", "2001:db8::1", "64:ff9b::8.8.8.8"] {
            check(outer, false);
        }
        assert!(own_addresses().contains(&IpAddr::from([127, 0, 0, 1])));
    }
}
