//! "Did you mean": the known word that is nearest to an unknown one ([`remedy`]).

use alloc::{borrow::ToOwned, format, string::String, vec, vec::Vec};

/// A remedy that names the nearest of the known words, or all of them.
pub fn remedy<'w>(unknown: &str, known: impl IntoIterator<Item = &'w str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let listed = known.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    match nearest(unknown, &known) {
        _ if known.is_empty() => "remove it".to_owned(),
        Some(word) => format!("did you mean `{word}`? known here: {listed}"),
        None => format!("known here: {listed}"),
    }
}

fn nearest<'w>(unknown: &str, known: &[&'w str]) -> Option<&'w str> {
    let allowed = 1 + unknown.chars().count() / 4;
    known
        .iter()
        .map(|word| (distance(unknown, word), *word))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, word)| word)
}

/// Edits between two words: insertion, deletion, replacement, swap of neighbours.
fn distance(a: &str, b: &str) -> usize {
    let fold = |text: &str| text.to_lowercase().replace('-', "_").chars().collect::<Vec<_>>();
    let (a, b) = (fold(a), fold(b));
    let mut rows = vec![(0..=b.len()).collect::<Vec<_>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    #[test]
    fn nearest_word_is_offered() {
        let check = |unknown: &str, expect: Option<&str>| {
            let known = ["turns", "agent_time_sec", "tokens", "cost_usd"];
            assert_eq!(super::nearest(unknown, &known), expect, "{unknown}");
        };
        check("truns", Some("turns"));
        check("agent-time-sec", Some("agent_time_sec"));
        check("token", Some("tokens"));
        check("agent_timeout_sec", Some("agent_time_sec"));
        check("patience", None);
        check("x", None);
    }
}
