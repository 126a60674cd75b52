//! Lints of the checks `artifact`, `db` and `secret`: keys that go together, and every check asks something.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use crate::release::{ArtifactCheck, CheckKind, DbCheck, QueryAnswer, SecretCheck};

/// What is wrong with a key of a check.
pub(super) struct Slip {
    /// The key, empty for the check as a whole.
    pub(super) key: String,
    pub(super) message: String,
    pub(super) remedy: &'static str,
}

/// All that is wrong with a check of these kinds.
pub(super) fn slips(kind: &CheckKind) -> Vec<Slip> {
    let mut slips = Vec::new();
    let mut slip = |key: &str, message: String, remedy| {
        slips.push(Slip { key: key.to_string(), message, remedy });
    };
    match kind {
        CheckKind::Artifact(artifact) => of_artifact(artifact, &mut slip),
        CheckKind::Db(database) => of_database(database, &mut slip),
        CheckKind::Secret(secret) => of_secret(secret, &mut slip),
        _ => {}
    }
    slips
}

fn of_artifact(artifact: &ArtifactCheck, slip: &mut dyn FnMut(&str, String, &'static str)) {
    if artifact.path.is_empty() {
        slip("path", "no file is meant".into(), "name a `path`");
    }
    if artifact.format.is_none() && artifact.runs.is_empty() {
        slip("", "the check asks nothing".into(), "add `format` or `runs`");
    }
    let has_elements = artifact.format.is_some_and(|format| format.has_elements());
    for (key, is_asked) in [
        ("self_contained", artifact.self_contained),
        ("has", !artifact.has.is_empty()),
        ("lacks", !artifact.lacks.is_empty()),
    ] {
        if is_asked && !has_elements {
            let message = format!("`{key}` is about elements, and the format has none");
            slip(key, message, "set `format = \"html\"` or `\"svg\"`, or use `text`");
        }
    }
    if !artifact.text.is_empty() && !artifact.format.is_some_and(|format| format.has_text()) {
        slip("text", "the format has no text".into(), "set a `format` that has");
    }
    let is_csv = artifact.format == Some(crate::release::ArtifactFormat::Csv);
    for (key, is_asked) in [
        ("rows_min", artifact.rows_min.is_some()),
        ("columns", !artifact.columns.is_empty()),
        ("delimiter", artifact.delimiter != ','),
    ] {
        if is_asked && !is_csv {
            let message = format!("`{key}` is about tables, and the format is no table");
            slip(key, message, "set `format = \"csv\"`");
        }
    }
    if !artifact.delimiter.is_ascii() || "\"\r\n\0".contains(artifact.delimiter) {
        let message = format!("{:?} cannot separate fields", artifact.delimiter);
        slip("delimiter", message, "use one character of ASCII, for instance `;`");
    }
    for (key, selectors) in [("has", &artifact.has), ("lacks", &artifact.lacks)] {
        for (at, selector) in selectors.iter().enumerate() {
            if let Some(trouble) = selector_trouble(selector) {
                let message = format!("the selector `{selector}` {trouble}");
                slip(&format!("{key}.{at}"), message, "write a CSS selector");
            }
        }
    }
    if artifact.prints.is_some() && artifact.runs.is_empty() {
        let remedy = "add `runs = [\"./PROGRAM\"]`";
        slip("prints", "nothing runs that could print".into(), remedy);
    }
    if artifact.timeout_sec == 0 {
        slip("timeout_sec", "no time is given".into(), "use at least 1");
    }
}

/// What cannot be a selector at all; whether it means something is known where pages are read.
fn selector_trouble(selector: &str) -> Option<&'static str> {
    let mut open = Vec::new();
    let mut quote = None;
    for letter in selector.chars() {
        match (letter, quote) {
            (_, Some(mark)) => quote = (letter != mark).then_some(mark),
            ('"' | '\'', None) => quote = Some(letter),
            ('(' | '[', None) => open.push(letter),
            (')', None) if open.pop() != Some('(') => return Some("closes what is not open"),
            (']', None) if open.pop() != Some('[') => return Some("closes what is not open"),
            ('{' | '}' | ';', None) => return Some("holds a rule"),
            _ => {}
        }
    }
    if selector.trim().is_empty() {
        return Some("is empty");
    }
    (!open.is_empty() || quote.is_some()).then_some("has an open bracket or quote")
}

fn of_database(database: &DbCheck, slip: &mut dyn FnMut(&str, String, &'static str)) {
    if database.path.contains(['*', '?', '[']) {
        slip("path", "the path is a pattern".into(), "name one file");
    }
    let asks =
        database.catalogue.is_some() || !database.adds_none.is_empty() || database.query.is_some();
    if !asks {
        let remedy = "add `catalogue`, `adds_none` or `query`";
        slip("", "the check asks nothing".into(), remedy);
    }
    let Some(query) = &database.query else { return };
    let statement = query.sql.trim().trim_end_matches(';').trim_end();
    let first = statement.split_whitespace().next().unwrap_or_default().to_lowercase();
    if !["select", "with", "values"].contains(&first.as_str()) {
        slip("query", "the query does not read".into(), "write `SELECT …`");
    }
    if let QueryAnswer::Is(rows) = &query.answer
        && let Some(first) = rows.first()
        && rows.iter().any(|row| row.len() != first.len() || row.is_empty())
    {
        let remedy = "write each row as a list of equally many values";
        slip("is", "the rows are not equally wide".into(), remedy);
    }
}

fn of_secret(secret: &SecretCheck, slip: &mut dyn FnMut(&str, String, &'static str)) {
    /// What is shorter stands somewhere by chance, in one disguise or another.
    const LETTERS_MIN: usize = 8;
    if secret.value.chars().count() < LETTERS_MIN {
        let message = format!("a value of less than {LETTERS_MIN} letters is found by chance");
        slip("value", message, "use a longer value");
    }
    if secret.on.is_empty() {
        slip("on", "the check looks nowhere".into(), "name a place, for instance `[\"files\"]`");
    }
    if secret.on.iter().any(|place| place.nature() != secret.nature()) {
        slip(
            "on",
            "`messages`, `programs` and `network` are events, `files`, `diff` and `history` are states".into(),
            "make two checks of it",
        );
    }
    use crate::release::SecretPlace::{Diff, Files, History};
    let counts_paths = secret.looks_at(Files) || secret.looks_at(Diff);
    for (key, paths) in [("under", &secret.under), ("except", &secret.except)] {
        if !paths.is_empty() && !counts_paths {
            let message = format!("`{key}` is about paths, and none is looked at");
            slip(key, message, "leave it out, or look on `files` or `diff`");
        }
    }
    if secret.repo.is_some() && !secret.looks_at(History) {
        slip("repo", "no history is looked at".into(), "leave it out, or look on `history`");
    }
}
