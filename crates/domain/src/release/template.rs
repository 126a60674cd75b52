//! Environment variables as a task writes them ([`EnvTable`]): a value is text, or stands for a variable of the host
//! that is looked up when the run starts.

use alloc::{borrow::ToOwned as _, collections::BTreeMap, string::String, vec::Vec};
use core::fmt;

/// Environment variables by name, those of the host not looked up yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvTable(pub BTreeMap<String, EnvValue>);

/// What a variable is set to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EnvValue {
    /// This text.
    Text(String),
    /// The value of a variable of the host: a secret that no file of a run may hold.
    OfHost {
        /// The host's variable.
        name: String,
        /// What stands in for one that is not set.
        default: Option<String>,
    },
}

/// Variables of the host that a task wants and that are not set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not set on this host: {}", .0.join(", "))]
pub struct MissingVariables(
    /// Their names, each once.
    pub Vec<String>,
);

impl EnvValue {
    /// Reads a value: one that is `${NAME}` or `${NAME:-default}` as a whole stands for a variable of the host,
    /// everything else is text.
    pub fn parse(text: &str) -> Self {
        let of_host = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
        let (name, default) = match of_host.map(|inner| (inner, inner.split_once(":-"))) {
            None => return EnvValue::Text(text.to_owned()),
            Some((_, Some((name, default)))) => (name, Some(default)),
            Some((inner, None)) => (inner, None),
        };
        if !is_name(name) || default.is_some_and(|default| default.contains('}')) {
            return EnvValue::Text(text.to_owned());
        }
        EnvValue::OfHost { name: name.to_owned(), default: default.map(str::to_owned) }
    }
}

impl fmt::Display for EnvValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EnvValue::Text(text) => formatter.write_str(text),
            EnvValue::OfHost { name, default: None } => write!(formatter, "${{{name}}}"),
            EnvValue::OfHost { name, default: Some(default) } => {
                write!(formatter, "${{{name}:-{default}}}")
            }
        }
    }
}

impl EnvTable {
    /// The variables with those of the host looked up by `host`.
    ///
    /// # Errors
    /// [`MissingVariables`] names each that is not set and has no default.
    pub fn resolve(
        &self,
        host: impl Fn(&str) -> Option<String>,
    ) -> Result<BTreeMap<String, String>, MissingVariables> {
        let mut resolved = BTreeMap::new();
        let mut missing = Vec::new();
        for (key, value) in &self.0 {
            let found = match value {
                EnvValue::Text(text) => Some(text.clone()),
                EnvValue::OfHost { name, default } => {
                    let found = host(name).or_else(|| default.clone());
                    if found.is_none() && !missing.contains(name) {
                        missing.push(name.clone());
                    }
                    found
                }
            };
            if let Some(found) = found {
                resolved.insert(key.clone(), found);
            }
        }
        if missing.is_empty() { Ok(resolved) } else { Err(MissingVariables(missing)) }
    }

    /// The same with what `over` sets laid over it.
    #[must_use]
    pub fn overlaid(&self, over: &EnvTable) -> EnvTable {
        let mut all = self.0.clone();
        all.extend(over.0.iter().map(|(key, value)| (key.clone(), value.clone())));
        EnvTable(all)
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<K: Into<String>, V: AsRef<str>> FromIterator<(K, V)> for EnvTable {
    /// Reads each value as [`EnvValue::parse`] does.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let parsed = |(key, value): (K, V)| (key.into(), EnvValue::parse(value.as_ref()));
        EnvTable(pairs.into_iter().map(parsed).collect())
    }
}

/// Whether a text can name a variable.
fn is_name(text: &str) -> bool {
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.starts_with(is_start) && text.chars().all(|c| is_start(c) || c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn values_stand_for_variables_of_the_host_as_a_whole() {
        let check = |text: &str, expect: Option<(&str, Option<&str>)>| {
            let expect = match expect {
                None => EnvValue::Text(text.to_owned()),
                Some((name, default)) => {
                    EnvValue::OfHost { name: name.to_owned(), default: default.map(str::to_owned) }
                }
            };
            let parsed = EnvValue::parse(text);
            assert_eq!(parsed, expect, "{text}");
            assert_eq!(parsed.to_string(), text);
        };
        check("plain", None);
        check("${KEY}", Some(("KEY", None)));
        check("${_k2:-a b}", Some(("_k2", Some("a b"))));
        check("${KEY:-}", Some(("KEY", Some(""))));
        check("${KEY:-a:-b}", Some(("KEY", Some("a:-b"))));
        for text in ["a${KEY}", "${KEY}b", "${}", "${2K}", "${A-B}", "$KEY", "${A}${B}", "${A:-}}"]
        {
            check(text, None);
        }
    }

    #[test]
    fn variables_of_the_host_are_looked_up() {
        let table: EnvTable =
            [("A", "${HAS}"), ("B", "${LACKS:-instead}"), ("C", "text")].into_iter().collect();
        let host = |name: &str| (name == "HAS").then(|| "value".to_owned());
        let resolved = table.resolve(host).expect("nothing is missing");
        let texts: Vec<&str> = resolved.values().map(String::as_str).collect();
        assert_eq!(texts, ["value", "instead", "text"]);
        let missing =
            [("A", "${X}"), ("B", "${X}"), ("C", "${Y}")].into_iter().collect::<EnvTable>();
        let error = missing.resolve(|_| None).expect_err("two are missing");
        assert_eq!(error.to_string(), "not set on this host: X, Y");
    }

    #[test]
    fn later_tables_win() {
        let table = |pairs: &[(&str, &str)]| pairs.iter().copied().collect::<EnvTable>();
        let all = table(&[("A", "1"), ("B", "2")]).overlaid(&table(&[("B", "3")]));
        assert_eq!(all, table(&[("A", "1"), ("B", "3")]));
    }
}
