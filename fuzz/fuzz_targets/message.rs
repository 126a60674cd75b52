//! What an agent says: interpreted the same each time, and every span lies within the text.
#![no_main]

use domain::{
    ids::TopicId,
    interpret::{Context, interpret, text},
    release::{PermissionAnswer, PermissionTable, Topic},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|message: &str| {
    let words = ["which format".to_owned(), "install".to_owned()].to_vec();
    let topics = [Topic { id: TopicId::new("form"), words }];
    let permissions = PermissionTable { default: PermissionAnswer::Refused, entries: Vec::new() };
    let context = Context { topics: &topics, permissions: &permissions };
    let meaning = interpret(message, &context);
    assert_eq!(meaning, interpret(message, &context));
    assert!(!meaning.silent || meaning.asks.is_empty() && meaning.claims.is_empty());
    for span in text::code_spans(message).into_iter().chain(text::quotations(message)) {
        let _ = &message[span];
    }
    let _ = text::holds_code(message);
    assert!(!text::holds_code(&text::without_code(message)), "what is left holds no code");
    let _ = text::list_lines(message);
    for sentence in text::sentences(&text::prose(message)) {
        let _ = text::words(sentence).count();
    }
});
