//! The descriptions that ship with the tool ([`SHIPPED`]), as data.

use super::description::CliDescription;

/// Names of agents, and how each is driven.
pub const SHIPPED: [(&str, &str); 9] = [
    ("aider", include_str!("shipped/aider.toml")),
    ("codex", include_str!("shipped/codex.toml")),
    ("copilot", include_str!("shipped/copilot.toml")),
    ("gemini", include_str!("shipped/gemini.toml")),
    ("goose", include_str!("shipped/goose.toml")),
    ("kimi", include_str!("shipped/kimi.toml")),
    ("opencode", include_str!("shipped/opencode.toml")),
    ("openhands", include_str!("shipped/openhands.toml")),
    ("pi", include_str!("shipped/pi.toml")),
];

/// The description of that name.
pub fn shipped(name: &str) -> Option<CliDescription> {
    let (_, text) = SHIPPED.into_iter().find(|(known, _)| *known == name)?;
    // That each can be read is a test below.
    CliDescription::read(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_can_be_read_and_is_called_as_its_file() {
        for (name, text) in SHIPPED {
            let read = CliDescription::read(text).map_err(|error| format!("{name}: {error}"));
            assert_eq!(read.map(|read| read.name), Ok(name.to_owned()));
            assert!(shipped(name).is_some());
        }
    }
}
