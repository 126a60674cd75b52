//! Added and removed lines between two texts ([`lines`]), the same on every machine.

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Above so many lines on both sides together, what stands between the common beginning and end is taken as
/// replaced whole: an exact difference of generated giants would cost minutes.
const EXACT_MAX: usize = 60_000;

/// Added and removed lines, without their ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lines {
    pub(super) added: Vec<String>,
    pub(super) removed: Vec<String>,
}

/// The difference of two contents; none if one of them is not text.
pub(super) fn lines(before: &[u8], after: &[u8]) -> Option<Lines> {
    let (before, after) = (as_text(before)?, as_text(after)?);
    let before: Vec<&str> = before.split_terminator('\n').collect();
    let after: Vec<&str> = after.split_terminator('\n').collect();
    let start = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
    let (before, after) = (&before[start..], &after[start..]);
    let end = before.iter().rev().zip(after.iter().rev()).take_while(|(a, b)| a == b).count();
    let (before, after) = (&before[..before.len() - end], &after[..after.len() - end]);
    let mut found = Lines::default();
    if before.len() + after.len() > EXACT_MAX {
        found.removed = owned(before);
        found.added = owned(after);
        return Some(found);
    }
    for op in capture_diff_slices(Algorithm::Myers, before, after) {
        if !matches!(op, DiffOp::Equal { .. }) {
            found.removed.extend(owned(&before[op.old_range()]));
            found.added.extend(owned(&after[op.new_range()]));
        }
    }
    Some(found)
}

fn owned(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

fn as_text(bytes: &[u8]) -> Option<&str> {
    if bytes.contains(&0) { None } else { std::str::from_utf8(bytes).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_apart() {
        let check = |before: &str, after: &str, expect: Option<(&str, &str)>| {
            let got = lines(before.as_bytes(), after.as_bytes())
                .map(|found| (found.removed.join("|"), found.added.join("|")));
            let expect = expect.map(|(removed, added)| (removed.to_owned(), added.to_owned()));
            assert_eq!(got, expect, "{before:?} -> {after:?}");
        };
        check("a\nb\nc\n", "a\nx\nc\n", Some(("b", "x")));
        check("", "a\nb\n", Some(("", "a|b")));
        check("a\nb\n", "", Some(("a|b", "")));
        check("a\nb\nc\nd\n", "b\nc\nd\na\n", Some(("a", "a")));
        check("a\r\n", "a\n", Some(("a\r", "a")));
        check("a", "a\n", Some(("", "")));
        check("a\0", "b", None);
    }
}
