//! What a task may reach ([`Network`]), by which rules a host may stand on an allow-list ([`AllowedHost`]), and what the
//! wire of a sandbox decides of one attempt ([`Policy`]).

use alloc::{
    borrow::ToOwned as _,
    string::{String, ToString as _},
    vec::Vec,
};
use core::{
    fmt,
    net::{IpAddr, Ipv6Addr},
};

/// What the programs of a phase may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// Everything.
    #[default]
    Public,
    /// Nothing.
    NoNetwork,
    /// These hosts; the list may be empty.
    Allowlist(Vec<AllowedHost>),
}

impl Network {
    /// The word of `network_mode`.
    pub fn name(&self) -> &'static str {
        match self {
            Network::Public => "public",
            Network::NoNetwork => "no-network",
            Network::Allowlist(_) => "allowlist",
        }
    }
}

/// A host that may be reached: a name, `*.` and a suffix, an address, or a block of addresses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AllowedHost(String);

/// Why a text is no host of an allow-list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AllowedHostError {
    /// Nothing stands there.
    #[error("a host is empty")]
    Empty,
    /// A scheme, path, port or brackets stand beside the host.
    #[error("a scheme, port, path or bracket stands beside the host")]
    NotAlone,
    /// A wildcard that is not the first label.
    #[error("a wildcard stands elsewhere than at the beginning, as in `*.example.org`")]
    Wildcard,
    /// No hostname.
    #[error("it is neither a host's name nor an address")]
    Name,
    /// An address block whose host bits are set, or whose length is out of range.
    #[error("it is no block of addresses: bits below its length are set, or the length is wrong")]
    Block,
}

impl AllowedHost {
    /// Reads a host: lower-cased, without the dot at the end.
    ///
    /// # Errors
    /// [`AllowedHostError`] if it is not a host alone.
    pub fn parse(text: &str) -> Result<Self, AllowedHostError> {
        let lower = text.trim().to_lowercase();
        let host = lower.strip_suffix('.').unwrap_or(&lower);
        if host.is_empty() {
            return Err(AllowedHostError::Empty);
        }
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(Self(address.to_string()));
        }
        if let Some((address, length)) = host.split_once('/')
            && let Ok(address) = address.parse::<IpAddr>()
        {
            let is_block = length.parse().is_ok_and(|length| is_block(address, length));
            return if is_block { Ok(Self(host.to_owned())) } else { Err(AllowedHostError::Block) };
        }
        if host.contains(['/', ':', '[', ']', '@', '?', '#']) {
            return Err(AllowedHostError::NotAlone);
        }
        let name = host.strip_prefix("*.").unwrap_or(host);
        if name.contains('*') {
            return Err(AllowedHostError::Wildcard);
        }
        if is_hostname(name) { Ok(Self(host.to_owned())) } else { Err(AllowedHostError::Name) }
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AllowedHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl AllowedHost {
    /// Whether it covers a host as a program names it: a name or the text of an address. `*.` covers what lies below
    /// its suffix and not the suffix itself; an address covers its IPv4-mapped form too.
    pub fn covers(&self, host: &str) -> bool {
        match (plain_address(host), self.0.split_once('/')) {
            (Some(address), Some((block, length))) => {
                let block = block.parse::<IpAddr>().ok().zip(length.parse().ok());
                block.is_some_and(|(block, length)| is_within(address, block, length))
            }
            (Some(address), None) => plain_address(&self.0) == Some(address),
            (None, Some(_)) => false,
            (None, None) => match self.0.strip_prefix('*') {
                Some(suffix) => {
                    let name = plain_name(host);
                    name.len() > suffix.len() && name.ends_with(suffix)
                }
                None => plain_name(host) == self.0,
            },
        }
    }
}

/// A place that may be reached: a host, on these ports.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Destination {
    /// The host.
    pub host: AllowedHost,
    /// The ports; empty means every port.
    pub ports: Vec<u16>,
}

impl fmt::Display for Destination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, ports } = self;
        match ports.is_empty() {
            true => write!(formatter, "{host}"),
            false => {
                let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
                write!(formatter, "{host}, port {}", ports.join(" or "))
            }
        }
    }
}

/// What a sandbox may reach over its wire at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Nothing.
    #[default]
    Nothing,
    /// These places.
    Listed(Vec<Destination>),
    /// Everything that is not the host's own.
    Open,
}

/// What a policy says of one host and port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling<'p> {
    /// It may be reached because it is listed so.
    Listed(&'p Destination),
    /// It may be reached because everything may.
    Open,
    /// It may not be reached.
    Refused,
}

impl Policy {
    /// Rules on a host, named as a program named it, and a port.
    pub fn ruling(&self, host: &str, port: u16) -> Ruling<'_> {
        match self {
            Policy::Nothing => Ruling::Refused,
            Policy::Open => Ruling::Open,
            Policy::Listed(places) => places
                .iter()
                .find(|place| {
                    (place.ports.is_empty() || place.ports.contains(&port))
                        && place.host.covers(host)
                })
                .map_or(Ruling::Refused, Ruling::Listed),
        }
    }

    /// Whether a name may be looked up: it may be reached on some port.
    pub fn knows(&self, name: &str) -> bool {
        match self {
            Policy::Nothing => false,
            Policy::Open => true,
            Policy::Listed(places) => places.iter().any(|place| place.host.covers(name)),
        }
    }

    /// Ports that it names.
    pub fn ports(&self) -> impl Iterator<Item = u16> {
        let places = match self {
            Policy::Listed(places) => places.as_slice(),
            Policy::Nothing | Policy::Open => &[],
        };
        places.iter().flat_map(|place| place.ports.iter().copied())
    }
}

impl From<&Network> for Policy {
    fn from(network: &Network) -> Self {
        match network {
            Network::Public => Policy::Open,
            Network::NoNetwork => Policy::Nothing,
            Network::Allowlist(hosts) => {
                let place =
                    |host: &AllowedHost| Destination { host: host.clone(), ports: Vec::new() };
                Policy::Listed(hosts.iter().map(place).collect())
            }
        }
    }
}

impl fmt::Display for Ruling<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ruling::Listed(place) => write!(formatter, "allowed: {place}"),
            Ruling::Open => formatter.write_str("allowed: everything is"),
            Ruling::Refused => formatter.write_str("refused: not on the list"),
        }
    }
}

/// A host's name as it is compared: lower-cased, without the dot at the end.
fn plain_name(host: &str) -> String {
    host.strip_suffix('.').unwrap_or(host).to_lowercase()
}

/// The address that a text is, an IPv4-mapped one as IPv4.
fn plain_address(text: &str) -> Option<IpAddr> {
    text.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

fn is_within(address: IpAddr, block: IpAddr, length: u32) -> bool {
    let (address, block, width) = match (address, block) {
        (IpAddr::V4(address), IpAddr::V4(block)) => {
            (u128::from(address.to_bits()), u128::from(block.to_bits()), 32)
        }
        (IpAddr::V6(address), IpAddr::V6(block)) => (address.to_bits(), block.to_bits(), 128),
        // A block of mapped addresses is a block of IPv4.
        (IpAddr::V4(address), IpAddr::V6(block)) => {
            (Ipv6Addr::to_bits(address.to_ipv6_mapped()), block.to_bits(), 128)
        }
        (IpAddr::V6(_), IpAddr::V4(_)) => return false,
    };
    let beside: u32 = width - length.min(width);
    // A shift by the whole width is none.
    address.checked_shr(beside).unwrap_or(0) == block.checked_shr(beside).unwrap_or(0)
}

fn is_hostname(name: &str) -> bool {
    let is_label = |label: &str| {
        let is_inner = |c: char| c.is_ascii_alphanumeric() || c == '-';
        (1..=63).contains(&label.len())
            && label.chars().all(is_inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

/// Whether no bit below the length is set.
fn is_block(address: IpAddr, length: u32) -> bool {
    let (bits, width) = match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()), 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    };
    let host_bits = match length {
        0 => width,
        length if length <= width => width - length,
        _ => return false,
    };
    let mask = if host_bits == 128 { u128::MAX } else { (1 << host_bits) - 1 };
    bits & mask == 0
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn hosts_stand_alone() {
        let check = |text: &str, expect: Result<&str, AllowedHostError>| {
            let parsed = AllowedHost::parse(text);
            assert_eq!(
                parsed.as_ref().map(AllowedHost::as_str),
                expect.as_ref().copied(),
                "{text}"
            );
        };
        check("Example.ORG.", Ok("example.org"));
        check("localhost", Ok("localhost"));
        check("*.example.org", Ok("*.example.org"));
        check("10.0.0.1", Ok("10.0.0.1"));
        check("::1", Ok("::1"));
        check("10.0.0.0/8", Ok("10.0.0.0/8"));
        check("0.0.0.0/0", Ok("0.0.0.0/0"));
        check("::/0", Ok("::/0"));
        check("fd00::/8", Ok("fd00::/8"));
        check("", Err(AllowedHostError::Empty));
        check(".", Err(AllowedHostError::Empty));
        check("https://example.org", Err(AllowedHostError::NotAlone));
        check("example.org:443", Err(AllowedHostError::NotAlone));
        check("example.org/path", Err(AllowedHostError::NotAlone));
        check("[::1]", Err(AllowedHostError::NotAlone));
        check("*", Err(AllowedHostError::Wildcard));
        check("a.*.org", Err(AllowedHostError::Wildcard));
        check("*.*.org", Err(AllowedHostError::Wildcard));
        check("under_score.org", Err(AllowedHostError::Name));
        check("a..b", Err(AllowedHostError::Name));
        check("-a.org", Err(AllowedHostError::Name));
        check("example.org..", Err(AllowedHostError::Name));
        check("10.0.0.1/8", Err(AllowedHostError::Block));
        check("10.0.0.0/33", Err(AllowedHostError::Block));
        check("fd00::1/8", Err(AllowedHostError::Block));
        check("10.0.0.0/x", Err(AllowedHostError::Block));
    }

    #[test]
    fn hosts_cover_names_and_addresses() {
        let check = |listed: &str, host: &str, expect: bool| {
            let listed = AllowedHost::parse(listed).expect("a host");
            assert_eq!(listed.covers(host), expect, "{listed} of {host}");
        };
        check("example.org", "Example.org.", true);
        check("example.org", "a.example.org", false);
        check("*.example.org", "a.example.org", true);
        check("*.example.org", "a.b.EXAMPLE.org", true);
        check("*.example.org", "example.org", false);
        check("*.example.org", "notexample.org", false);
        check("10.0.0.1", "10.0.0.1", true);
        check("10.0.0.1", "::ffff:10.0.0.1", true);
        check("10.0.0.1", "10.0.0.2", false);
        check("10.0.0.0/8", "10.255.0.1", true);
        check("10.0.0.0/8", "11.0.0.1", false);
        check("10.0.0.0/8", "::ffff:10.1.2.3", true);
        check("0.0.0.0/0", "255.1.1.1", true);
        check("0.0.0.0/0", "::1", false);
        check("::/0", "2001:db8::1", true);
        check("fd00::/8", "fd12::1", true);
        check("fd00::/8", "fe80::1", false);
        check("10.0.0.0/8", "example.org", false);
        check("::1", "localhost", false);
    }

    #[test]
    fn policies_rule_on_host_and_port() {
        let place = |host: &str, ports: &[u16]| Destination {
            host: AllowedHost::parse(host).expect("a host"),
            ports: ports.to_vec(),
        };
        let listed = Policy::Listed(vec![
            place("example.org", &[443]),
            place("*.example.org", &[]),
            place("127.0.0.1", &[8000, 8001]),
        ]);
        let check = |policy: &Policy, host: &str, port: u16, expect: &str| {
            assert_eq!(policy.ruling(host, port).to_string(), expect, "{host}:{port}");
        };
        check(&listed, "example.org", 443, "allowed: example.org, port 443");
        check(&listed, "example.org", 80, "refused: not on the list");
        check(&listed, "a.example.org", 22, "allowed: *.example.org");
        check(&listed, "127.0.0.1", 8001, "allowed: 127.0.0.1, port 8000 or 8001");
        check(&Policy::Nothing, "example.org", 443, "refused: not on the list");
        check(&Policy::Open, "8.8.8.8", 53, "allowed: everything is");
        assert_eq!(listed.ports().collect::<Vec<_>>(), [443, 8000, 8001]);
        assert!(listed.knows("example.org") && !listed.knows("example.com"));
        assert_eq!(Policy::from(&Network::NoNetwork), Policy::Nothing);
        assert_eq!(
            Policy::from(&Network::Allowlist(vec![place("a.org", &[]).host])).ruling("a.org", 1),
            Ruling::Listed(&place("a.org", &[]))
        );
    }
}
