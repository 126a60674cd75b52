//! Server-sent events, taken apart as bytes arrive ([`Sse`]); a part that never ends is given up at a bound.

/// The most bytes of one event.
const EVENT_BYTES_MAX: usize = 16 << 20;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// Its name; empty if it has none.
    pub name: String,
    /// Its data, lines joined.
    pub data: String,
}

/// An event was larger than any that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseOverflow;

/// Takes a stream apart into events.
#[derive(Debug, Default)]
pub struct Sse {
    line: Vec<u8>,
    event: SseEvent,
    has_data: bool,
    /// The last byte was a carriage return, whose line feed may follow.
    is_after_return: bool,
    has_begun: bool,
    is_overflown: bool,
}

impl Sse {
    /// Takes in bytes and tells each event that they complete. After an overflow nothing is told any more.
    pub fn push(
        &mut self,
        bytes: &[u8],
        mut tell: impl FnMut(SseEvent),
    ) -> Result<(), SseOverflow> {
        let mut rest = bytes;
        while !rest.is_empty() && !self.is_overflown {
            if std::mem::take(&mut self.is_after_return) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            match rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
                Some(end) => {
                    self.line.extend_from_slice(&rest[..end]);
                    self.is_after_return = rest[end] == b'\r';
                    rest = &rest[end + 1..];
                    self.line_ended(&mut tell);
                }
                None => {
                    self.line.extend_from_slice(rest);
                    rest = &[];
                }
            }
            if self.line.len() + self.event.data.len() > EVENT_BYTES_MAX {
                self.is_overflown = true;
                self.line = Vec::new();
                self.event = SseEvent::default();
            }
        }
        if self.is_overflown { Err(SseOverflow) } else { Ok(()) }
    }

    /// Whether bytes of an event that is not complete were taken in.
    pub fn is_inside_event(&self) -> bool {
        !self.line.is_empty() || self.has_data
    }

    fn line_ended(&mut self, tell: &mut impl FnMut(SseEvent)) {
        let line = std::mem::take(&mut self.line);
        let mut line = String::from_utf8_lossy(&line);
        if !std::mem::replace(&mut self.has_begun, true) {
            line = line.strip_prefix('\u{feff}').map(|rest| rest.to_owned().into()).unwrap_or(line);
        }
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            // An event without data is none.
            if std::mem::take(&mut self.has_data) {
                tell(event);
            }
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            // Comments, ids and retry times are no one's concern here.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(pieces: &[&[u8]]) -> Vec<(String, String)> {
        let mut sse = Sse::default();
        let mut found = Vec::new();
        for piece in pieces {
            sse.push(piece, |event| found.push((event.name, event.data))).expect("small");
        }
        found
    }

    #[test]
    fn events_are_the_same_however_they_are_cut() {
        let check = |stream: &[u8], expected: &[(&str, &str)]| {
            let expected: Vec<(String, String)> =
                expected.iter().map(|(n, d)| ((*n).to_owned(), (*d).to_owned())).collect();
            assert_eq!(events(&[stream]), expected, "whole");
            let bytes: Vec<&[u8]> = stream.chunks(1).collect();
            assert_eq!(events(&bytes), expected, "byte by byte");
        };
        check(b"data: a\n\n", &[("", "a")]);
        check(b"event: x\ndata: a\ndata:b\n\ndata: c\n\n", &[("x", "a\nb"), ("", "c")]);
        check(b"event: x\r\ndata: a\r\n\r\n", &[("x", "a")]);
        check(b"data: a\rdata: b\r\r", &[("", "a\nb")]);
        check(b": ping\n\nid: 1\n\n", &[]);
        check("\u{feff}data: ü\n\n".as_bytes(), &[("", "ü")]);
        check(b"data\n\n", &[("", "")]);
        check(b"data: never ended\n", &[]);
    }

    #[test]
    fn what_never_ends_is_given_up() {
        let mut sse = Sse::default();
        let piece = vec![b'a'; 1 << 20];
        let outcomes: Vec<_> = (0..20).map(|_| sse.push(&piece, |_| panic!("no event"))).collect();
        assert_eq!(outcomes.first(), Some(&Ok(())));
        assert_eq!(outcomes.last(), Some(&Err(SseOverflow)));
        assert_eq!(sse.push(b"\n\ndata: a\n\n", |_| panic!("no event")), Err(SseOverflow));
    }
}
