//! The file that says where models are and what they cost ([`ModelsFile`]). Keys are named by the variable of the host that
//! holds them, and never stand in it.

use domain::{
    evidence::WireFormat,
    usage::{Price, PriceTable},
};
use serde::Deserialize;
use thiserror::Error;

/// Why a models file cannot be used.
#[derive(Debug, Error)]
pub enum ModelsFileProblem {
    /// It is no such TOML.
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    /// A form that there is not.
    #[error("[[model]] `{name}`: format `{format}`: expected one of {}", formats())]
    Format {
        /// The model.
        name: String,
        /// As it is written.
        format: String,
    },
    /// A number that cannot be.
    #[error("[[model]] `{name}`: {key} = 0: expected at least 1")]
    Zero {
        /// The model.
        name: String,
        /// Which key.
        key: &'static str,
    },
    /// What names a key is no name of a variable; it may be the key itself and is not shown.
    #[error(
        "[[model]] `{0}`: key: expected the name of the variable that holds the key, never the key itself"
    )]
    Key(String),
    /// Two of one name.
    #[error("[[model]] `{0}` stands twice")]
    Twice(String),
    /// A price that cannot be.
    #[error(
        "[[price]] `{model}`: {key} = {value}: expected US dollars for a million tokens, from 0"
    )]
    Price {
        /// The model.
        model: String,
        /// Which key.
        key: &'static str,
        /// As it is written.
        value: f64,
    },
}

/// Where models are and what they cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelsFile {
    /// The models.
    pub models: Vec<ModelEntry>,
    /// The prices.
    pub prices: PriceTable,
}

/// Where one model is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelEntry {
    /// As it is called here.
    pub name: String,
    /// As its provider calls it.
    pub model: String,
    /// The form that the provider speaks.
    pub format: WireFormat,
    /// The provider's base address, which ends in its version.
    pub base: String,
    /// The variable of the host that holds the key; none for a server without keys.
    pub key: Option<String>,
    /// The file with the certificates of the authorities that the provider is trusted by; none means those of the host.
    pub ca: Option<String>,
    /// Calls at once.
    pub at_once: u32,
    /// Calls begun in a minute; none bounds them not.
    pub per_minute: Option<u32>,
    /// How long one call may take, asking again included.
    pub deadline_sec: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default, rename = "model")]
    models: Vec<WrittenModel>,
    #[serde(default, rename = "price")]
    prices: Vec<WrittenPrice>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenModel {
    name: String,
    model: Option<String>,
    format: String,
    base: String,
    key: Option<String>,
    ca: Option<String>,
    at_once: Option<u32>,
    per_minute: Option<u32>,
    deadline_sec: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPrice {
    model: String,
    input: f64,
    cached_input: Option<f64>,
    cache_write: Option<f64>,
    output: f64,
}

impl ModelsFile {
    /// Reads the text of such a file.
    pub fn parse(text: &str) -> Result<Self, ModelsFileProblem> {
        let written: Written = toml::from_str(text)?;
        let mut models: Vec<ModelEntry> = Vec::new();
        for one in written.models {
            let entry = one.entry()?;
            if models.iter().any(|known| known.name == entry.name) {
                return Err(ModelsFileProblem::Twice(entry.name));
            }
            models.push(entry);
        }
        let prices =
            written.prices.into_iter().map(WrittenPrice::price).collect::<Result<_, _>>()?;
        Ok(Self { models, prices: PriceTable { prices } })
    }

    /// The model of that name.
    pub fn model(&self, name: &str) -> Option<&ModelEntry> {
        self.models.iter().find(|entry| entry.name == name)
    }
}

impl WrittenModel {
    fn entry(self) -> Result<ModelEntry, ModelsFileProblem> {
        let Some(format) = WireFormat::parse(&self.format) else {
            return Err(ModelsFileProblem::Format { name: self.name, format: self.format });
        };
        let (at_once, deadline_sec) = (self.at_once.unwrap_or(8), self.deadline_sec.unwrap_or(300));
        if self.key.as_deref().is_some_and(|key| !is_variable(key)) {
            return Err(ModelsFileProblem::Key(self.name));
        }
        let zeros = [
            ("at_once", at_once == 0),
            ("per_minute", self.per_minute == Some(0)),
            ("deadline_sec", deadline_sec == 0),
        ];
        if let Some((key, _)) = zeros.into_iter().find(|(_, is_zero)| *is_zero) {
            return Err(ModelsFileProblem::Zero { name: self.name, key });
        }
        Ok(ModelEntry {
            model: self.model.unwrap_or_else(|| self.name.clone()),
            name: self.name,
            format,
            base: self.base,
            key: self.key,
            ca: self.ca,
            at_once,
            per_minute: self.per_minute,
            deadline_sec,
        })
    }
}

impl WrittenPrice {
    /// Dollars for a million tokens are millionths of a dollar for one, so a millionth of that is exact enough.
    fn price(self) -> Result<Price, ModelsFileProblem> {
        let exact = |key: &'static str, value: f64| {
            if !(0.0..1e9).contains(&value) {
                let model = self.model.clone();
                return Err(ModelsFileProblem::Price { model, key, value });
            }
            // Within range by the line above.
            Ok((value * 1e6).round() as u64)
        };
        let maybe = |key, value: Option<f64>| value.map(|value| exact(key, value)).transpose();
        Ok(Price {
            input: exact("input", self.input)?,
            cached_input: maybe("cached_input", self.cached_input)?,
            cache_write: maybe("cache_write", self.cache_write)?,
            output: exact("output", self.output)?,
            model: self.model.clone(),
        })
    }
}

fn is_variable(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(is_part)
}

fn formats() -> String {
    WireFormat::ALL.map(WireFormat::name).join(", ")
}

#[cfg(test)]
mod tests {
    use domain::usage::Tokens;

    use super::*;

    #[test]
    fn models_and_prices_are_read_or_refused_with_a_reason() {
        let model = |more: &str| {
            format!("[[model]]\nname = \"a\"\nformat = \"gemini\"\nbase = \"https://b\"\n{more}")
        };
        let check = |text: &str, expected: Result<usize, &str>| match expected {
            Ok(count) => assert_eq!(ModelsFile::parse(text).expect(text).models.len(), count),
            Err(part) => {
                let problem = ModelsFile::parse(text).expect_err(text).to_string();
                assert!(problem.contains(part), "{problem}");
            }
        };
        check("", Ok(0));
        check(&model(""), Ok(1));
        check(&model("api_key = \"sk-1\""), Err("unknown field `api_key`"));
        check(&model("at_once = 0"), Err("at_once = 0"));
        check(&model("key = \"A_KEY\"\nca = \"ca.pem\""), Ok(1));
        check(&model("key = \"sk-a-key\""), Err("never the key itself"));
        check(&format!("{}{}", model(""), model("")), Err("`a` stands twice"));
        check(&model("").replace("gemini", "smoke"), Err("openai_chat, openai_responses"));
        let price = "[[price]]\nmodel = \"m\"\ninput = -1\noutput = 2";
        check(price, Err("input = -1"));
        check(&price.replace("-1", "nan"), Err("input = NaN"));
    }

    #[test]
    fn dollars_for_a_million_tokens_are_exact() {
        let text = "[[price]]\nmodel = \"m*\"\ninput = 1.25\ncached_input = 0.125\noutput = 10";
        let file = ModelsFile::parse(text).expect("a file");
        let tokens = Tokens {
            input: Some(1_000_000),
            cached_input: Some(400_000),
            output: Some(100_000),
            ..Tokens::default()
        };
        // 0.6 × 1.25 + 0.4 × 0.125 + 0.1 × 10 dollars
        assert_eq!(file.prices.cost_microusd("m-1", &tokens), Some(1_800_000));
        assert_eq!(file.prices.cost_microusd("other", &tokens), None);
    }
}
