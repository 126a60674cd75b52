//! Values of a normalised compose file: text, words, numbers, sizes and times.

use std::{collections::BTreeMap, time::Duration};

use serde_json::Value;

/// A text in which `$$` stands for `$`: what Compose prints is made to be read by it again.
pub(super) fn as_text(text: &str) -> String {
    text.replace("$$", "$")
}

/// A list of texts.
pub(super) fn as_words(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|word| word.as_str().map(as_text)).collect()
}

/// Variables; one that the host was to give and has not is left out, as Compose does.
pub(super) fn as_env(value: &Value) -> Option<BTreeMap<String, String>> {
    let variables = value.as_object()?.iter();
    let set = variables.filter(|(_, value)| !value.is_null());
    set.map(|(name, value)| Some((name.clone(), as_text(value.as_str()?)))).collect()
}

/// A number, or the text of one.
pub(super) fn as_number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

/// Bytes.
pub(super) fn size(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

/// A time as Go writes it: `1m30s`, `500ms`.
pub(super) fn duration(text: &str) -> Option<Duration> {
    const UNITS: [(&str, f64); 6] =
        [("h", 3600.0), ("ms", 1e-3), ("m", 60.0), ("us", 1e-6), ("ns", 1e-9), ("s", 1.0)];
    let mut seconds = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, behind) = rest.split_at(digits);
        let (unit, factor) = UNITS.iter().find(|(unit, _)| behind.starts_with(unit))?;
        seconds += number.parse::<f64>().ok()? * factor;
        rest = &behind[unit.len()..];
    }
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        let check = |text: &str, expect: Option<u64>| {
            let expect = expect.map(Duration::from_millis);
            assert_eq!(duration(text), expect, "{text}");
        };
        check("1s", Some(1000));
        check("1m30s", Some(90_000));
        check("500ms", Some(500));
        check("1h0m0.5s", Some(3_600_500));
        check("5", None);
        check("1x", None);
    }
}
