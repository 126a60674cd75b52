//! Reads the reward files that a verifier left, exactly as Harbor does; the outcome is a [`CompletionOutcome`].

use domain::session::CompletionOutcome;
use serde_json::Value;

/// The key under which a plain `reward.txt` counts.
const PLAIN_KEY: &str = "reward";

/// What two reward files come to: `reward.json` counts before `reward.txt`, unless both are readable and
/// give different values for the same key.
pub fn read_reward(json: Option<&[u8]>, text: Option<&[u8]>) -> CompletionOutcome {
    match (json.map(read_json), text.map(read_text)) {
        (None, None) => CompletionOutcome::NoReward,
        (None, Some(Ok(value))) => CompletionOutcome::Rewards(vec![(PLAIN_KEY.to_owned(), value)]),
        (None, Some(Err(why))) => CompletionOutcome::BadReward(format!("reward.txt: {why}")),
        (Some(Err(why)), _) => CompletionOutcome::BadReward(format!("reward.json: {why}")),
        (Some(Ok(rewards)), Some(Ok(plain))) => {
            match rewards.iter().find(|(key, _)| key == PLAIN_KEY) {
                Some((_, value)) if *value != plain => CompletionOutcome::Contradictory(format!(
                    "reward.json says {value}, reward.txt says {plain}"
                )),
                _ => CompletionOutcome::Rewards(rewards),
            }
        }
        (Some(Ok(rewards)), _) => CompletionOutcome::Rewards(rewards),
    }
}

fn read_text(bytes: &[u8]) -> Result<f64, String> {
    let text = as_text(bytes)?;
    let number = text.trim();
    if number.is_empty() {
        return Err("nothing but white space".to_owned());
    }
    let Some(digits) = without_separators(number) else {
        return Err(format!("not a number: {}", shown(number)));
    };
    match digits.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(_) => Err(format!("not a finite number: {}", shown(number))),
        Err(_) => Err(format!("not a number: {}", shown(number))),
    }
}

fn read_json(bytes: &[u8]) -> Result<Vec<(String, f64)>, String> {
    let text = as_text(bytes)?;
    let value: Value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
    let Value::Object(fields) = value else {
        return Err("not an object".to_owned());
    };
    let mut rewards = Vec::with_capacity(fields.len());
    for (key, field) in fields {
        let number = match field {
            Value::Bool(is_true) => f64::from(u8::from(is_true)),
            Value::Number(number) => match number.as_f64() {
                Some(value) if value.is_finite() => value,
                _ => return Err(format!("`{key}` is not a finite number")),
            },
            Value::Null => return Err(format!("`{key}` is null")),
            Value::String(_) => return Err(format!("`{key}` is a string")),
            Value::Array(_) => return Err(format!("`{key}` is a list")),
            Value::Object(_) => return Err(format!("`{key}` is an object")),
        };
        rewards.push((key, number));
    }
    rewards.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(rewards)
}

fn as_text(bytes: &[u8]) -> Result<&str, String> {
    if bytes.is_empty() {
        return Err("empty".to_owned());
    }
    std::str::from_utf8(bytes).map_err(|_| "not UTF-8".to_owned())
}

/// Single underscores between digits are Harbor's digit separators; anywhere else they make it no number.
fn without_separators(number: &str) -> Option<String> {
    let bytes = number.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        let digit = |place: Option<&u8>| place.is_some_and(u8::is_ascii_digit);
        if *byte == b'_' && !(at > 0 && digit(bytes.get(at - 1)) && digit(bytes.get(at + 1))) {
            return None;
        }
    }
    Some(number.replace('_', ""))
}

fn shown(text: &str) -> String {
    let short: String = text.chars().take(40).collect();
    if short.len() < text.len() { format!("`{short}…`") } else { format!("`{short}`") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: Option<&str>, text: Option<&str>, expect: &str) {
        let outcome = read_reward(json.map(str::as_bytes), text.map(str::as_bytes));
        let got = match outcome {
            CompletionOutcome::Rewards(rewards) => {
                let shown: Vec<String> =
                    rewards.iter().map(|(key, value)| format!("{key}={value}")).collect();
                format!("rewards {}", shown.join(" ")).trim_end().to_owned()
            }
            CompletionOutcome::NoReward => "none".to_owned(),
            CompletionOutcome::BadReward(why) => format!("bad {why}"),
            CompletionOutcome::Contradictory(why) => format!("contradictory {why}"),
            CompletionOutcome::TimedOut => "timed out".to_owned(),
        };
        assert!(got.starts_with(expect), "{json:?} {text:?}: got `{got}`, expected `{expect}`");
    }

    #[test]
    fn rewards_are_read_as_harbor_reads_them() {
        check(None, None, "none");
        check(None, Some("1\n"), "rewards reward=1");
        check(None, Some(" 0.5 "), "rewards reward=0.5");
        check(None, Some("1e-2"), "rewards reward=0.01");
        check(None, Some("1_0"), "rewards reward=10");
        check(None, Some("_10"), "bad reward.txt: not a number");
        check(None, Some(""), "bad reward.txt: empty");
        check(None, Some(" \n"), "bad reward.txt: nothing but white space");
        check(None, Some("nan"), "bad reward.txt: not a finite number");
        check(None, Some("inf"), "bad reward.txt: not a finite number");
        check(None, Some("1e309"), "bad reward.txt: not a finite number");
        check(None, Some("1 1"), "bad reward.txt: not a number");
        check(None, Some("passed"), "bad reward.txt: not a number");
        check(Some("{\"reward\": 1}"), None, "rewards reward=1");
        check(Some("{\"b\": true, \"a\": false}"), None, "rewards a=0 b=1");
        check(Some("{}"), None, "rewards");
        check(Some("{}"), Some("1"), "rewards");
        check(Some(""), Some("1"), "bad reward.json: empty");
        check(Some("   "), None, "bad reward.json: not JSON");
        check(Some("1"), None, "bad reward.json: not an object");
        check(Some("[1]"), None, "bad reward.json: not an object");
        check(Some("{\"reward\": \"1\"}"), None, "bad reward.json: `reward` is a string");
        check(Some("{\"reward\": null}"), None, "bad reward.json: `reward` is null");
        check(Some("{\"reward\": {\"x\": 1}}"), None, "bad reward.json: `reward` is an object");
        check(Some("{\"reward\": [1]}"), None, "bad reward.json: `reward` is a list");
        check(Some("{\"reward\": NaN}"), None, "bad reward.json: not JSON");
        check(Some("{\"reward\": 1e309}"), None, "bad reward.json: not JSON");
        check(Some("{\"reward\": 0}"), Some("1"), "contradictory reward.json says 0");
        check(Some("{\"reward\": 1}"), Some("1.0"), "rewards reward=1");
        check(Some("{\"reward\": 1}"), Some("junk"), "rewards reward=1");
        check(Some("{\"score\": 0}"), Some("1"), "rewards score=0");
    }
}
