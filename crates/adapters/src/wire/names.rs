//! Addresses that stand for names: [`Names`] gives them out and knows what they were given for.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr},
};

/// The block for measurements between networks: nothing of the world lies in it.
const FIRST: u32 = u32::from_be_bytes([198, 18, 0, 1]);
const COUNT: usize = (1 << 17) - 2;

/// Names that were asked for.
#[derive(Debug, Default)]
pub(super) struct Names {
    given: HashMap<String, u32>,
    names: Vec<String>,
}

impl Names {
    /// The address of a name, always the same; none if there are none left.
    pub(super) fn address(&mut self, name: &str) -> Option<Ipv4Addr> {
        let name = name.to_lowercase();
        if let Some(at) = self.given.get(&name) {
            return Some(Ipv4Addr::from(FIRST + at));
        }
        if self.names.len() >= COUNT {
            return None;
        }
        let at = self.names.len() as u32;
        self.names.push(name.clone());
        self.given.insert(name, at);
        Some(Ipv4Addr::from(FIRST + at))
    }

    /// The name that an address was given for.
    pub(super) fn name(&self, address: IpAddr) -> Option<&str> {
        let IpAddr::V4(address) = address else { return None };
        let at = u32::from(address).checked_sub(FIRST)?;
        self.names.get(at as usize).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_addresses() {
        let mut names = Names::default();
        let check = |names: &mut Names, name: &str, expect: [u8; 4]| {
            assert_eq!(names.address(name), Some(Ipv4Addr::from(expect)), "{name}");
        };
        check(&mut names, "a.org", [198, 18, 0, 1]);
        check(&mut names, "b.org", [198, 18, 0, 2]);
        check(&mut names, "A.ORG", [198, 18, 0, 1]);
        assert_eq!(names.name(IpAddr::from([198, 18, 0, 2])), Some("b.org"));
        assert_eq!(names.name(IpAddr::from([198, 18, 0, 3])), None);
        assert_eq!(names.name(IpAddr::from([127, 0, 0, 1])), None);
        for number in 2..COUNT {
            assert!(names.address(&format!("{number}.org")).is_some(), "{number}");
        }
        assert_eq!(names.address("one-too-many.org"), None);
    }
}
