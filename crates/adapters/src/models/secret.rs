//! A key ([`Secret`]) that cannot be printed, compared or written by accident.

use std::fmt;

/// Text that must not appear anywhere but in the header that it is meant for.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for the header that it is meant for.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_not_printed() {
        let printed = format!("{:?}", Secret::new("sk-very-secret"));
        assert!(!printed.contains("very"), "{printed}");
    }
}
