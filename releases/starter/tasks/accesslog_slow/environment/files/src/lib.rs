//! Reads lines of access logs and counts them. The main type is [`Record`].

use std::collections::BTreeMap;

/// What a line of the log says about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub method: String,
    /// Path without the query.
    pub path: String,
    pub status: u16,
    /// Size of the answer; 0 if there was none.
    pub bytes: u64,
}

/// The request in `line`, or nothing if the line is not one of an access log.
pub fn parse_line(line: &str) -> Option<Record> {
    let (_, rest) = line.split_once('[')?;
    let (_, rest) = rest.split_once("] \"")?;
    let (request, rest) = quoted(rest)?;
    let mut words = request.split(' ');
    let method = words.next().filter(|method| !method.is_empty())?;
    let target = words.next().filter(|target| !target.is_empty())?;
    let mut fields = rest.split_ascii_whitespace();
    let status = fields.next()?.parse().ok()?;
    let bytes = match fields.next()? {
        "-" => 0,
        size => size.parse().ok()?,
    };
    Some(Record {
        method: method.to_string(),
        path: target.split('?').next()?.to_string(),
        status,
        bytes,
    })
}

/// Number of requests by path: most first, equal ones by path.
pub fn count_by_path(records: &[Record]) -> Vec<(String, usize)> {
    let mut counts = BTreeMap::new();
    for record in records {
        *counts.entry(record.path.clone()).or_insert(0) += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1));
    counts
}

/// Number of requests by status code, in the order of the codes.
pub fn count_by_status(records: &[Record]) -> BTreeMap<u16, usize> {
    let mut counts = BTreeMap::new();
    for record in records {
        *counts.entry(record.status).or_insert(0) += 1;
    }
    counts
}

/// Splits `text` at its first quote without a backslash in front; backslashes are taken off.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut inside = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((inside, &text[at + 1..])),
            '\\' => inside.push(characters.next()?.1),
            _ => inside.push(character),
        }
    }
    None
}

// canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
