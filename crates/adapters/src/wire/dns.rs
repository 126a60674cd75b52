//! Questions to the resolver of a wire and its answers (RFC 1035): [`Question::parse`] and [`Question::answer`].

use std::net::Ipv4Addr;

const HEADER: usize = 12;
const NAME_MAX: usize = 255;
const CLASS_INTERNET: u16 = 1;
const KIND_A: u16 = 1;

/// So long an answer may be kept: addresses are given out once and stay.
const KEPT_SECONDS: u32 = 60;

/// One question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The name without the dot at the end; bytes that are no printable ASCII are written as `\DDD`.
    pub name: String,
    /// Whether an IPv4 address is asked for.
    pub is_for_address: bool,
    id: [u8; 2],
    /// Whether the asker wants recursion.
    flags: u8,
    /// The question as it was written, to be repeated.
    written: Vec<u8>,
}

/// What is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The name has this address.
    Address(Ipv4Addr),
    /// The name exists and has nothing of what was asked for.
    Nothing,
    /// There is no such name.
    NoSuchName,
    /// There are no addresses left to be given out.
    Failed,
}

impl Question {
    /// Reads a message with exactly one question; none if it is something else.
    pub fn parse(message: &[u8]) -> Option<Self> {
        let header = message.get(..HEADER)?;
        let is_query = header[2] & 0b1111_1000 == 0;
        if !is_query || header[4..6] != [0, 1] {
            return None;
        }
        let (mut at, mut name) = (HEADER, String::new());
        loop {
            let length = usize::from(*message.get(at)?);
            if length == 0 {
                break;
            }
            // A question comes first, so there is nothing that it could point at.
            if length > 63 || at + length - HEADER > NAME_MAX {
                return None;
            }
            if !name.is_empty() {
                name.push('.');
            }
            for byte in message.get(at + 1..=at + length)? {
                match byte {
                    b'.' | b'\\' => name.extend(['\\', char::from(*byte)]),
                    0x21..=0x7e => name.push(char::from(*byte)),
                    _ => name.push_str(&format!("\\{byte:03}")),
                }
            }
            at += length + 1;
        }
        let kind = message.get(at + 1..at + 5)?;
        let (kind, class) =
            (u16::from_be_bytes([kind[0], kind[1]]), u16::from_be_bytes([kind[2], kind[3]]));
        Some(Self {
            name,
            is_for_address: kind == KIND_A && class == CLASS_INTERNET,
            id: [header[0], header[1]],
            flags: header[2] & 1,
            written: message[HEADER..at + 5].to_vec(),
        })
    }

    /// The message that answers it.
    pub fn answer(&self, answer: Answer) -> Vec<u8> {
        let (code, has_record) = match answer {
            Answer::Address(_) => (0, 1),
            Answer::Nothing => (0, 0),
            Answer::NoSuchName => (3, 0),
            Answer::Failed => (2, 0),
        };
        let mut message = Vec::with_capacity(HEADER + self.written.len() + 16);
        message.extend(self.id);
        // An answer with recursion, which is there.
        message.extend([0x80 | self.flags, 0x80 | code]);
        message.extend([0, 1, 0, has_record, 0, 0, 0, 0]);
        message.extend(&self.written);
        if let Answer::Address(address) = answer {
            // The name is the question's.
            message.extend([0xc0, HEADER as u8]);
            message.extend(KIND_A.to_be_bytes());
            message.extend(CLASS_INTERNET.to_be_bytes());
            message.extend(KEPT_SECONDS.to_be_bytes());
            message.extend([0, 4]);
            message.extend(address.octets());
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(name: &[u8], kind: u8) -> Vec<u8> {
        let mut message = vec![0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        message.extend(name);
        message.extend([0, kind, 0, 1]);
        message
    }

    #[test]
    fn questions_are_read() {
        let check = |message: &[u8], expect: Option<(&str, bool)>| {
            let read = Question::parse(message);
            let told = read.as_ref().map(|read| (read.name.as_str(), read.is_for_address));
            assert_eq!(told, expect);
        };
        check(&question(b"\x07example\x03org\0", 1), Some(("example.org", true)));
        check(&question(b"\x07Example\x03org\0", 28), Some(("Example.org", false)));
        check(&question(b"\0", 2), Some(("", false)));
        check(&question(b"\x03a.\xff\0", 16), Some(("a\\.\\255", false)));
        check(&question(b"\xc0\x0c", 1), None);
        check(&question(b"\x40aaa\0", 1), None);
        check(&question(b"\x05ab\0", 1)[..19], None);
        check(b"\xab\xcd\x80\0\0\x01\0\0\0\0\0\0\0\0\x01\0\x01", None);
        check(b"", None);
    }

    #[test]
    fn answers_repeat_the_question() {
        let asked = question(b"\x01a\x03org\0", 1);
        let read = Question::parse(&asked).expect("a question");
        let address = read.answer(Answer::Address(Ipv4Addr::new(198, 18, 0, 1)));
        assert_eq!(address[..12], [0xab, 0xcd, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
        assert_eq!(address[12..asked.len()], asked[12..]);
        assert_eq!(address[asked.len()..], *b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\xc6\x12\0\x01");
        assert_eq!(read.answer(Answer::NoSuchName)[3], 0x83);
        assert_eq!(read.answer(Answer::Nothing)[3], 0x80);
        assert_eq!(read.answer(Answer::Failed)[3], 0x82);
    }
}
