//! What a task may reach ([`Network`]), and by which rules a host may stand on an allow-list ([`AllowedHost`]).

use alloc::{
    borrow::ToOwned as _,
    string::{String, ToString as _},
    vec::Vec,
};
use core::{fmt, net::IpAddr};

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
}
