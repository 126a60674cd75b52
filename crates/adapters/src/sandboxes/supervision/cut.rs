//! Output of a command that is too long to keep: [`Cut`] keeps head and tail.

use std::collections::VecDeque;

/// The first and the last bytes of a stream.
#[derive(Debug)]
pub(crate) struct Cut {
    max: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl Cut {
    /// Keeps at most so many bytes.
    pub(crate) fn new(max: usize) -> Self {
        Self { max, head: Vec::new(), tail: VecDeque::new(), dropped: 0 }
    }

    /// Adds bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let head_max = self.max / 2;
        let (first, rest) = bytes.split_at(bytes.len().min(head_max - self.head.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let tail_max = self.max - head_max;
        if self.tail.len() > tail_max {
            let excess = self.tail.len() - tail_max;
            self.tail.drain(..excess);
            self.dropped += excess as u64;
        }
    }

    /// What was kept, with a line that says how much was not.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        let mut bytes = self.head;
        if self.dropped > 0 {
            bytes.extend_from_slice(format!("\n… {} bytes cut …\n", self.dropped).as_bytes());
        }
        bytes.extend(self.tail);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::Cut;

    #[test]
    fn head_and_tail_are_kept() {
        let check = |max: usize, parts: &[&str], expect: &str| {
            let mut cut = Cut::new(max);
            for part in parts {
                cut.push(part.as_bytes());
            }
            assert_eq!(String::from_utf8(cut.into_bytes()).unwrap(), expect);
        };
        check(8, &["abc"], "abc");
        check(8, &["abcd", "efgh"], "abcdefgh");
        check(8, &["abcdefghij"], "abcd\n… 2 bytes cut …\nghij");
        check(8, &["ab", "cdef", "ghij", "k"], "abcd\n… 3 bytes cut …\nhijk");
        check(0, &["ab"], "\n… 2 bytes cut …\n");
    }
}
