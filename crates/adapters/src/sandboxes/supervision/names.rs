//! Names of the kernel as text: what is not UTF-8 is written as `\xNN`, so that no two names become one.

use std::fmt::Write;

/// Bytes as text.
pub(crate) fn text_of(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::text_of;

    #[test]
    fn what_is_not_text_stays_distinct() {
        let check = |bytes: &[u8], expect: &str| assert_eq!(text_of(bytes), expect);
        check(b"plain", "plain");
        check("grün".as_bytes(), "grün");
        check(b"a\xffb", "a\\xffb");
        check(b"a\xfeb", "a\\xfeb");
    }
}
