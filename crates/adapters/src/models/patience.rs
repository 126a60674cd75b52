//! How patient one is with a provider ([`Patience`]), and when it wants to be asked again ([`wanted_delay`]).

use std::time::{Duration, SystemTime};

use hyper::HeaderMap;
use serde_json::Value;

/// How long what is asked again and waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// A provider that has failed for so long without an answer between is given up.
    pub outage_max: Duration,
    /// The pause before the second asking; each later one is twice as long.
    pub delay_first: Duration,
    /// The longest pause that the provider did not ask for.
    pub delay_max: Duration,
    /// The longest wait for the head of an answer.
    pub head_max: Duration,
    /// The longest silence within an answer.
    pub idle_max: Duration,
    /// The longest that an answer may take.
    pub answer_max: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            outage_max: Duration::from_secs(20 * 60),
            delay_first: Duration::from_secs(1),
            delay_max: Duration::from_secs(60),
            head_max: Duration::from_secs(15 * 60),
            idle_max: Duration::from_secs(5 * 60),
            answer_max: Duration::from_secs(60 * 60),
        }
    }
}

impl Patience {
    /// The pause before asking again: what the provider asks for, else longer each time; `spread` from 0 to 255 keeps
    /// sessions from asking all at once.
    pub(crate) fn delay(&self, retries: u32, asked: Option<Duration>, spread: u8) -> Duration {
        let doubled = self.delay_first.saturating_mul(1 << retries.min(16));
        let own = doubled.min(self.delay_max);
        let base = asked.unwrap_or(own);
        base + own.mul_f64(f64::from(spread) / 1024.0)
    }
}

/// For how long a provider wants not to be asked.
pub(crate) fn wanted_delay(headers: &HeaderMap, body: &[u8], now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let seconds = |number: f64| Duration::try_from_secs_f64(number).ok();
    if let Some(ms) = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return seconds(ms / 1000.0);
    }
    if let Some(after) = text("retry-after") {
        return match after.parse::<f64>() {
            Ok(number) => seconds(number),
            Err(_) => {
                let at = httpdate::parse_http_date(after).ok()?;
                Some(at.duration_since(now).unwrap_or_default())
            }
        };
    }
    let body: Value = serde_json::from_slice(body).ok()?;
    let details = body.pointer("/error/details")?.as_array()?;
    let wanted = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    wanted.strip_suffix('s')?.parse().ok().and_then(seconds)
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn a_provider_says_when_to_ask_again() {
        let check = |name: &'static str, value: &str, body: &str, expected: Option<u64>| {
            let mut headers = HeaderMap::new();
            let value = HeaderValue::from_str(value).expect("a value");
            headers.insert(HeaderName::from_static(name), value);
            let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
            let found = wanted_delay(&headers, body.as_bytes(), now);
            assert_eq!(found, expected.map(Duration::from_millis), "{name} {headers:?} {body}");
        };
        check("retry-after", "7", "", Some(7_000));
        check("retry-after", "0.5", "", Some(500));
        check("retry-after-ms", "250", "", Some(250));
        check("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT", "", Some(10_000));
        check("retry-after", "Sun, 06 Nov 1994 08:49:27 GMT", "", Some(0));
        check("retry-after", "soon", "", None);
        check("retry-after", "-1", "", None);
        check("retry-after", "1e300", "", None);
        let body = r#"{"error": {"details": [{}, {"retryDelay": "3s"}]}}"#;
        check("x-other", "1", body, Some(3_000));
        check("x-other", "1", "{", None);
    }

    #[test]
    fn pauses_grow_to_a_bound() {
        let patience = Patience::default();
        let check = |retries, asked: Option<u64>, spread, expected_ms: u64| {
            let found = patience.delay(retries, asked.map(Duration::from_secs), spread);
            assert_eq!(found, Duration::from_millis(expected_ms), "{retries} {asked:?} {spread}");
        };
        check(0, None, 0, 1_000);
        check(3, None, 0, 8_000);
        check(30, None, 0, 60_000);
        check(0, Some(90), 0, 90_000);
        check(0, None, 128, 1_125);
    }
}
