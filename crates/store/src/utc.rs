//! Times of the host's wall clock as text, for records that people read; nothing is ordered by them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A time as `2026-11-30T14:53:07Z`; times before 1970 are shown as 1970.
pub fn text(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The time so many milliseconds after one that [`text`] wrote, as `2026-11-30T14:53:07.042Z`; none if it is no such
/// time. It is as exact as a clock that shows seconds.
pub fn later(start: &str, elapsed_ms: u64) -> Option<String> {
    let number = |from: usize, to: usize| start.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let seconds = days(year, month, day)? * 86_400 + hour * 3_600 + minute * 60 + second;
    let at_ms = seconds.checked_mul(1_000)?.checked_add(elapsed_ms)?;
    let at = text(UNIX_EPOCH + Duration::from_millis(at_ms / 1_000 * 1_000));
    let is_time = text(UNIX_EPOCH + Duration::from_secs(seconds)) == start;
    is_time.then(|| format!("{}.{:03}Z", at.trim_end_matches('Z'), at_ms % 1_000))
}

/// Days from 1970-01-01 to a day; the inverse of [`civil`].
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    let year = if month <= 2 { year.checked_sub(1)? } else { year };
    let (era, year_of_era) = (year / 400, year % 400);
    let shifted_month = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = ((153 * shifted_month + 2) / 5 + day).checked_sub(1)?;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (era * 146_097 + day_of_era).checked_sub(719_468)
}

/// Year, month and day of a day counted from 1970-01-01, by eras of 400 years that begin in March.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn times_are_written_as_people_read_them() {
        let check = |seconds: u64, expect: &str| {
            assert_eq!(super::text(UNIX_EPOCH + Duration::from_secs(seconds)), expect);
        };
        check(0, "1970-01-01T00:00:00Z");
        check(951_782_399, "2000-02-28T23:59:59Z");
        check(951_782_400, "2000-02-29T00:00:00Z");
        check(1_796_050_387, "2026-11-30T14:53:07Z");
        check(4_107_542_400, "2100-03-01T00:00:00Z");
    }

    #[test]
    fn times_are_added_to() {
        let check = |start: &str, elapsed_ms: u64, expect: Option<&str>| {
            assert_eq!(
                super::later(start, elapsed_ms).as_deref(),
                expect,
                "{start} + {elapsed_ms}"
            );
        };
        check("1970-01-01T00:00:00Z", 0, Some("1970-01-01T00:00:00.000Z"));
        check("2000-02-28T23:59:59Z", 1_001, Some("2000-02-29T00:00:00.001Z"));
        check("2026-11-30T14:53:07Z", 86_400_042, Some("2026-12-01T14:53:07.042Z"));
        check("2099-12-31T23:59:59Z", 60_000, Some("2100-01-01T00:00:59.000Z"));
        for wrong in
            ["", "soon", "2026-11-31T14:53:07Z", "2026-13-01T00:00:00Z", "1969-12-31T23:59:59Z"]
        {
            check(wrong, 5, None);
        }
        check("2026-00-00T00:00:00Z", 5, None);
        check("2026-11-30T14:53:07Z", u64::MAX, None);
    }
}
