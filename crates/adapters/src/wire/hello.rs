//! The first message of a TLS client (RFC 8446, 6066): [`server_name`] reads which server it asks for.

/// A first message that is longer is none.
pub const HELLO_MAX: usize = 64 << 10;

/// What the first bytes of a connection say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hello {
    /// They are the beginning of a first message; more is needed.
    More,
    /// A whole first message, and the server's name in it.
    Named(Option<String>),
    /// They are something else.
    NotTls,
}

/// Reads the server's name from the first bytes of a connection; the message may be spread over many records.
pub fn server_name(bytes: &[u8]) -> Hello {
    match handshake(bytes) {
        Err(NotTls) => Hello::NotTls,
        Ok(None) if bytes.len() > HELLO_MAX => Hello::NotTls,
        Ok(None) => Hello::More,
        Ok(Some(message)) => match extensions(&message) {
            Some(extensions) => Hello::Named(name_in(extensions)),
            None => Hello::NotTls,
        },
    }
}

struct NotTls;

/// The client's first message put together from its records, once it is whole.
fn handshake(mut bytes: &[u8]) -> Result<Option<Vec<u8>>, NotTls> {
    let mut message = Vec::new();
    loop {
        let expected = [0x16, 0x03];
        if bytes.iter().zip(expected).any(|(byte, expected)| *byte != expected) {
            return Err(NotTls);
        }
        let Some(head) = bytes.get(..5) else { return Ok(None) };
        let length = usize::from(u16::from_be_bytes([head[3], head[4]]));
        if length == 0 {
            return Err(NotTls);
        }
        let body = &bytes[5..];
        let body = &body[..length.min(body.len())];
        message.extend_from_slice(body);
        if message.first().is_some_and(|kind| *kind != 1) {
            return Err(NotTls);
        }
        if let Some(head) = message.get(..4) {
            let whole = 4
                + usize::from(head[1]) * 0x1_0000
                + usize::from(u16::from_be_bytes([head[2], head[3]]));
            if whole > HELLO_MAX {
                return Err(NotTls);
            }
            if message.len() >= whole {
                message.truncate(whole);
                return Ok(Some(message));
            }
        }
        if body.len() < length {
            return Ok(None);
        }
        bytes = &bytes[5 + length..];
        if bytes.is_empty() {
            return Ok(None);
        }
    }
}

/// A list that begins with its length in so many bytes, and what follows it.
fn list<const N: usize>(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = bytes.get(..N)?.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
    Some((bytes.get(N..N + length)?, &bytes[N + length..]))
}

/// The extensions; empty if there are none.
fn extensions(message: &[u8]) -> Option<&[u8]> {
    // Type and length, version, random.
    let rest = message.get(4 + 2 + 32..)?;
    let (_, rest) = list::<1>(rest)?;
    let (_, rest) = list::<2>(rest)?;
    let (_, rest) = list::<1>(rest)?;
    if rest.is_empty() { Some(rest) } else { Some(list::<2>(rest)?.0) }
}

fn name_in(mut extensions: &[u8]) -> Option<String> {
    while let Some(kind) = extensions.get(..2) {
        let (body, rest) = list::<2>(&extensions[2..])?;
        if kind == [0, 0] {
            let (mut names, _) = list::<2>(body)?;
            while let Some(kind) = names.first() {
                let (name, rest) = list::<2>(&names[1..])?;
                if *kind == 0 {
                    return Some(String::from_utf8_lossy(name).into_owned());
                }
                names = rest;
            }
            return None;
        }
        extensions = rest;
    }
    None
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A first message that asks for a server, in records of so many bytes.
    pub(in crate::wire) fn hello(name: &str, record: usize) -> Vec<u8> {
        let mut entry = vec![0];
        entry.extend((name.len() as u16).to_be_bytes());
        entry.extend(name.as_bytes());
        let mut extension = vec![0, 0];
        extension.extend((entry.len() as u16 + 2).to_be_bytes());
        extension.extend((entry.len() as u16).to_be_bytes());
        extension.extend(&entry);
        let other = [0, 23, 0, 0];
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend([0, 0, 2, 0x13, 1, 1, 0]);
        body.extend((extension.len() as u16 + 4).to_be_bytes());
        body.extend(other);
        body.extend(&extension);
        let mut message = vec![1, 0];
        message.extend((body.len() as u16).to_be_bytes());
        message.extend(&body);
        let records = message.chunks(record).flat_map(|chunk| {
            let mut bytes = vec![0x16, 3, 1];
            bytes.extend((chunk.len() as u16).to_be_bytes());
            bytes.extend(chunk);
            bytes
        });
        records.collect()
    }

    #[test]
    fn names_are_read() {
        let check = |bytes: &[u8], expect: Hello| assert_eq!(server_name(bytes), expect);
        let named = |name: &str| Hello::Named(Some(name.to_owned()));
        check(&hello("example.org", 9999), named("example.org"));
        check(&hello("example.org", 7), named("example.org"));
        let whole = hello("example.org", 9999);
        for end in 0..whole.len() {
            check(&whole[..end], Hello::More);
        }
        check(b"GET / HTTP/1.1\r\n", Hello::NotTls);
        check(&[0x16, 3, 1, 0, 2, 2, 0], Hello::NotTls);
        check(&[0x16, 3, 1, 0, 0], Hello::NotTls);
        let mut without = hello("example.org", 9999);
        // Another kind of extension than a name.
        let at = without.len() - 20;
        without[at] = 1;
        check(&without, Hello::Named(None));
    }
}
