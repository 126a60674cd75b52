//! First words of a program at its wire: questions for names, first messages of TLS, heads and bodies of requests.
#![no_main]

use adapters::wire::{
    dns::{Answer, Question},
    hello::{Hello, server_name},
    request::{BodyEnd, Head, Read, Target},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(question) = Question::parse(bytes) {
        let answer = question.answer(Answer::NoSuchName);
        // An answer repeats the question that it was read from.
        assert!(bytes[12..].starts_with(&answer[12..]));
    }
    if let Hello::Named(_) = server_name(bytes) {
        // What follows a whole message changes nothing.
        let more = [bytes, b"more"].concat();
        assert_eq!(server_name(&more), server_name(bytes));
    }
    if let Read::Head(head) = Head::parse(bytes) {
        assert!(head.length <= bytes.len());
        let mut end = BodyEnd::new(head.body);
        let body = &bytes[head.length..];
        assert!(end.take(body).is_none_or(|taken| taken <= body.len()));
        if !matches!(head.target, Target::Connect(_)) {
            // What goes on is understood as what came, and holds one host at the most.
            let Read::Head(again) = Head::parse(&head.forwarded()) else {
                panic!("{:?}", String::from_utf8_lossy(&head.forwarded()))
            };
            assert_eq!((again.path(), again.body), (head.path(), head.body));
        }
    }
});
